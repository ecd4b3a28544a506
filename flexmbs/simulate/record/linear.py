"""The linear model about a state as items of a result (F38; interface, `/linear`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.linearize import Linear, linearize
from flexmbs.results import Item
from flexmbs.simulate.record.ports import Channels, response, with_ports
from flexmbs.simulate.record.whirl import whirl

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]


def parts(values: Any) -> Floats:
    """Complex numbers as (..., re im)."""
    values = np.asarray(values, dtype=complex)
    return np.stack([values.real, values.imag], axis=-1)


def linear_items(
    system: Any, state: State, settings: RunSettings, say: Callable[[str], None]
) -> dict[str, Any]:
    """Matrices, eigenvalues, shapes, response; `motion/<body>` are the shapes as motions of the bodies."""
    linear, chosen, units = with_ports(
        system, state, linearize(system, state), settings.inputs, settings.outputs
    )
    if not linear.states:
        say("warning: nothing moves freely: the linear model has no states and no modes")
    for finding in linear.findings:
        say(f"warning: {finding.what}; {finding.remedy}")
    motion = body_motions(system, state, linear.shapes)
    return {
        "linear": {
            **_axes(system, linear, chosen),
            "eigenvalues": item(parts(linear.eigenvalues), "1/s", "mode", "re_im"),
            "frequency_hz": item(linear.frequency_hz, "Hz", "mode"),
            "frequency_error_hz": item(linear.frequency_error_hz, "Hz", "mode"),
            "damping_ratio": item(linear.damping_ratio, "1", "mode"),
            "whirl": item(whirl(system, state, motion, len(linear.eigenvalues)), "1", "mode"),
            "shapes": item(parts(linear.shapes), "1", "mode", "speed", "re_im"),
            "A": item(linear.A, "1", "rate", "state"),
            "B": item(linear.B, "1", "rate", "input"),
            "C": item(linear.C, "1", "output", "state"),
            "D": item(linear.D, "1", "output", "input"),
            "states": names(linear.states, "state"),
            "inputs": names(linear.inputs, "input"),
            "outputs": names(chosen.names, "output"),
            "input_units": names(units, "input"),
            "output_units": names(chosen.units, "output"),
            "motion": {
                name: Item(
                    parts(values), "m/s, rad/s, modal", "F38", axes=("linear/mode", "", "linear/re_im")
                )
                for name, values in motion.items()
            },
            **_response(linear, settings),
        }
    }


def item(values: Any, units: str, *axes: str, group: str = "linear") -> Item:
    """An item of `/linear` with the scales of its axes, by name within the group."""
    labels = {"components": ["re", "im"]} if axes[-1] == "re_im" else {}
    return Item(values, units, "F38", labels, tuple(f"{group}/{axis}" for axis in axes))


def names(texts: Sequence[str], axis: str) -> Item:
    """Texts along a scale of `/linear`."""
    return Item(list(texts), axes=(f"linear/{axis}",)) if len(texts) else Item(["none"])


def axis(values: Any, units: str = "1", labels: Sequence[str] = ()) -> Item:
    """A dimension scale; `labels` name its entries."""
    named = {"labels": list(labels)} if len(labels) else {}
    return Item(np.asarray(values), units, attributes=named, scale=True)


def _axes(system: Any, linear: Linear, chosen: Channels) -> dict[str, Item]:
    size = np.arange(len(linear.states))
    return {
        "mode": axis(1 + np.arange(len(linear.eigenvalues))),
        "re_im": axis(np.arange(2), labels=["re", "im"]),
        "speed": axis(np.arange(system.n_vel)),
        "state": axis(size, labels=linear.states),
        "rate": axis(size, labels=linear.states),
        "input": axis(np.arange(len(linear.inputs)), labels=linear.inputs),
        "output": axis(np.arange(len(chosen.names)), labels=chosen.names),
    }


def _response(linear: Linear, settings: RunSettings) -> dict[str, Any]:
    """Frequency response between inputs and outputs, where frequencies are asked for."""
    if not settings.frequencies:
        return {}
    frequency = np.array(settings.frequencies)
    H = parts(response(linear, frequency))
    path = ("linear/response/frequency", "linear/output", "linear/input", "linear/re_im")
    labels = {"components": ["re", "im"]}
    return {"response": {"frequency": axis(frequency, "Hz"), "H": Item(H, "1", "F38", labels, path)}}


def body_motions(system: Any, state: State, shapes: Any) -> dict[str, Any]:
    """Velocity of the origin, angular velocity, elastic speeds of every body by shape, (modes, 6 + nf)."""
    evaluator, tables = system.evaluator(), system.tables

    def velocities(vel: Floats) -> Floats:
        trial = state.copy()
        trial.vel[:] = vel
        evaluator.kinematics(trial)
        return np.asarray(evaluator.ws.body.v.copy())

    rest = velocities(np.zeros(system.n_vel))
    found: dict[str, list[Any]] = {name: [] for name in system.bodies[1:]}
    for shape in np.asarray(shapes, dtype=complex):
        v = velocities(shape.real) - rest + 1j * (velocities(shape.imag) - rest)
        for i, name in enumerate(system.bodies):
            if i:
                elastic = shape[tables.tree.o_qd[i] : tables.tree.o_qd[i] + tables.body.nf[i]]
                found[name].append(np.concatenate([v[i], elastic]))
    return {name: np.array(values) for name, values in found.items() if values}
