"""What an FMU shows of a case: inputs, parameters, outputs and metrics, each with its number and its unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs import units
from flexmbs.case import Case
from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression
from flexmbs.fmu.variables import INPUTS, METRICS, PARAMETERS, Port, Ports
from flexmbs.model.held import held_bodies
from flexmbs.simulate.record.ports import channels
from flexmbs.simulate.stepping import Simulation


def ports(case: Case, sim: Simulation, wanted: tuple[str, ...] = ()) -> Ports:
    """Sensors, the channels `wanted` or else the joint coordinates, metrics; inputs and parameters."""
    own = [
        f"joints.{name}.{word}"
        for name, joint in case.model().joints.items()
        if joint.n_beta
        for word in _WORDS
    ]
    listed = [f"sensors.{name}" for name in case.model().sensors]
    known = {f"{path.replace('/', '.')}" for path in sim.paths}
    chosen = tuple(dict.fromkeys([*listed, *(wanted or [name for name in own if name in known])]))
    found = channels(sim.history, chosen)
    outputs = [
        Port(1 + k, name, unit_of(unit), 0.0, place)
        for k, (name, unit, place) in enumerate(zip(found.names, found.units, found.places, strict=True))
    ]
    _check_known(case, sim, outputs)
    inputs = [(item.name, item.unit, item.default / item.factor) for item in case.model().inputs.values()]
    inputs += [
        (name, "", float(item.initial)) for name, item in case.model().states.items() if _is_held(item.rate)
    ]
    given = case.source.data.get("parameters", {})
    parameters = [name for name in case.parameters if not str(given.get(name, "")).startswith("=")]
    every = Ports(
        tuple(outputs),
        tuple(Port(METRICS + k, f"metrics.{name}") for k, name in enumerate(case.spec.metrics)),
        tuple(
            Port(INPUTS + k, f"inputs.{name}", unit_of(unit), start)
            for k, (name, unit, start) in enumerate(inputs)
        ),
        tuple(
            Port(PARAMETERS + k, f"parameters.{n}", "", case.parameters[n]) for k, n in enumerate(parameters)
        ),
    )
    if not every.outputs and not every.metrics:
        what = "the case has no sensor, joint coordinate or metric: the FMU would show nothing"
        raise InputError(
            Diagnostic("fmu.outputs", case.name, what, "add a sensor, or name channels with --channel")
        )
    return every


_WORDS = ("position", "velocity")


def _check_known(case: Case, sim: Simulation, outputs: list[Port]) -> None:
    """Refuse outputs that a body whose frame is held leaves unknown: no system model can use NaN."""
    for port in outputs if held_bodies(case.model()) else ():
        path, component = port.place
        if np.isnan(np.reshape(sim.field(path), -1)[component]):
            what = "is not known: a body does not say what holds it, nor what its rigid motions weigh"
            raise InputError(Diagnostic("body.held", port.name, what, "leave this output out"))


def _is_held(rate: Any) -> bool:
    """Whether an own state stays as it is: a number from outside, as cases had them before [inputs]."""
    if isinstance(rate, Expression):
        return rate.is_constant and rate.number() == 0.0
    return float(rate) == 0.0


def unit_of(text: str) -> str:
    """A unit as units are written in cases; "" where there is none, or several."""
    wanted = text.strip().replace(" ", "*")
    if wanted in ("", "1"):
        return ""
    try:
        units.parse_quantity(f"1 {wanted}")
    except units.UnitError:
        return ""
    return wanted
