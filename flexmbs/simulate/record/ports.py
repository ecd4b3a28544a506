"""Inputs and outputs of a linear model: B, C, D between chosen forces and channels of the result (F38)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.channels import Endings
from flexmbs.dynamics.analyses.linearize import Linear, Rates
from flexmbs.dynamics.analyses.slopes import slopes
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.forces.base import FORCES
from flexmbs.results.channels import find
from flexmbs.simulate.motion.equations import equations, state_vector
from flexmbs.simulate.record.fields import BLOCK
from flexmbs.simulate.record.history import History

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.results.layout import Field, Layout

Floats = NDArray[np.float64]
#: forces that are inputs: those that bring no coordinates of their own
INPUTS = ("point", "torque", "joint_force", "distributed")
#: unit loads on frames: the force that stands for them, its key, its unit
LOADS = {"force": ("point", "force", "N"), "torque": ("torque", "torque", "N m")}

#: a response is unknown where the error of A moves it by this part; rounds of the estimate; rounding
UNKNOWN, ROUNDS, EPSILON = 0.1, 32, 1e-15


@dataclass(frozen=True)
class Channels:
    """Components of fields, by name: what outputs of a linear model are."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    places: tuple[tuple[str, int], ...]

    def values(self, history: History, rows: Floats) -> Floats:
        """Their values at samples, (n, outputs)."""
        history.touches.load(rows)
        found = {path: history.value(path, rows).reshape(len(rows), -1) for path, _ in self.places}
        return np.array([found[path][:, k] for path, k in self.places]).reshape(-1, len(rows)).T


class Switched:
    """A mechanism with the forces that stand for inputs beside its own: they act one at a time, or none."""

    def __init__(self, system: Any, forces: list[Any]) -> None:
        names = [f"input {k}" for k in range(len(forces))]
        more = {name: replace(force, name=name) for name, force in zip(names, forces, strict=True)}
        built = build(replace(system.model, forces=system.model.forces | more), system.free)
        laws = built.laws.tables
        self.count, self.nothing, self.first = len(forces), len(laws.value), laws.first.copy()
        place = {f"forces.{name}": k for k, name in enumerate(names)}
        self.input_of = np.array([place.get(owner, -1) for owner in built.laws.owners], dtype=np.int64)
        # laws that do not act read their numbers behind all others, where zeros stand
        self.tables = laws._replace(value=np.append(laws.value, np.zeros(3)), first=laws.first.copy())
        self.system = replace(built, laws=replace(built.laws, tables=self.tables))
        self.act(-1)

    def act(self, k: int) -> None:
        """Let force k act alone, or none of them (-1)."""
        off = (self.input_of >= 0) & (self.input_of != k)
        self.tables.first[:] = np.where(off, self.nothing, self.first)


class Catalogue:
    """Fields of a layout by path, as channel names are looked up in a result."""

    path = "analysis.outputs"

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.fields: dict[str, Field] = {item.path: item for item in layout.fields}
        self.paths = [path for path in self.fields if not path.startswith("solver/")]

    def attributes_of(self, path: str) -> dict[str, Any]:
        axes = self.fields[path].axes
        return {"components": list(self.layout.axis(axes[-1]).labels)} if axes else {}


def channels(history: History, wanted: tuple[str, ...]) -> Channels:
    """Outputs by their names, `mid.y`, `joints.main.position`, `rod.q[0]`; vectors in all components."""
    catalogue = Catalogue(history.layout)
    known = Endings(catalogue.paths)
    names, units, places = [], [], []
    for text in wanted:
        name, _, index = text.partition("[")
        path, component = find(catalogue, name, known)
        size = int(np.prod(catalogue.layout.shape(catalogue.fields[path])))
        chosen = range(size) if component is None else [component]
        if index:
            chosen = [_index(text, index, size)]
        labels = catalogue.attributes_of(path).get("components", [])
        for k in chosen:
            end = "" if size == 1 else f".{labels[k]}" if len(labels) == size else f"[{k}]"
            names.append(path.replace("/", ".") + end)
            unit = catalogue.fields[path].units.split(", ")
            unit = [unit[0]] * 3 + [unit[1]] * 3 if (len(unit), size) == (2, 6) else unit  # a wrench
            units.append(unit[k] if len(unit) == size else unit[0] if len(unit) == 1 else "1")
            places.append((path, k))
    return Channels(tuple(names), tuple(units), tuple(places))


def _index(text: str, index: str, size: int) -> int:
    number = index.rstrip("]").strip()
    if not number.isdigit() or int(number) >= size:
        what = f'"{text}": components run from 0 to {size - 1}'
        raise InputError(Diagnostic("linear.output", "analysis.outputs", what))
    return int(number)


def excitation(system: Any, name: str) -> tuple[Any, str, str]:
    """A force that stands for an input: unit effort on a joint, unit load on a frame, or a force as it is.

    Returns the force, the complete name and the unit of the input.
    """
    model, words = system.model, name.split(".")
    if words[-1] in "xyz" and len(words) > 2 and words[-2] in LOADS:
        return _load(model, name, words)
    of_joint = words[0] == "joints" or (words[0] in model.joints and words[0] != "forces")
    words = words[1:] if words[0] in ("joints", "forces") else words
    force: Any = None if of_joint else model.forces.get(words[0])
    if force is not None and len(words) == 1:
        if type(force) in [FORCES[kind] for kind in INPUTS]:
            return replace(force, name=f"{force.name} again"), f"forces.{force.name}", "1"
        raise _no_input(f"forces.{force.name} is no input", f"choose {', '.join(INPUTS)}")
    of_it = [c for c in system.coordinates if c.joint == words[0] and words[0] in model.joints]
    found = [c for c in of_it if [c.joint, c.name][: len(words)] == words]
    if len(found) != 1:
        own = [c for c in system.coordinates if c.joint in model.joints]
        what = f'"{name}" names no joint coordinate, load or force' if not found else f'"{name}" has several'
        raise _no_input(what, nearest(name, [f"{c.joint}.{c.name}" for c in own] + list(model.forces)))
    c = found[0]
    unit = "N" if c.name in ("travel", "x", "y", "z") else "N m"
    effort = _made("joint_force", name="unit effort", joint=c.joint, coordinate=c.name, value=1.0)
    return effort, f"joints.{c.joint}.{c.name}", unit


def _load(model: Any, name: str, words: list[str]) -> tuple[Any, str, str]:
    """Unit force or torque `disc.force.x`, `rod.tip.torque.z` on a body or frame, ground axes."""
    on, kind = ".".join(words[:-2]).removeprefix("bodies."), words[-2]
    body, _, frame = on.partition(".")
    part = model.bodies.get(body)
    known = [] if part is None else [*part.frames, *getattr(getattr(part, "modal", None), "interfaces", ())]
    if part is None or (frame and frame not in known):
        raise _no_input(f'"{name}": there is no body or frame "{on}"', nearest(on, list(model.bodies)))
    unit = np.eye(3)["xyz".index(words[-1])].tolist()
    register, key, units = LOADS[kind]
    return _made(register, name="unit load", on=on, **{key: unit}), f"bodies.{on}.{kind}.{words[-1]}", units


def _made(register: str, **keys: Any) -> Any:
    """A force of a registered type."""
    return FORCES[register](**keys)


def _no_input(what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("linear.input", "analysis.inputs", what, remedy))


def with_ports(
    system: Any, state: State, linear: Linear, inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> tuple[Linear, Channels, list[str]]:
    """The linear model with B, C, D between `inputs` and `outputs`; by default the joint coordinates.

    An input adds its force, times u, to those that act. Returns the units of the inputs too.
    """
    rates, history = Rates(system, state), History(system, equations(system))
    own = [c for c in system.coordinates if c.joint in system.model.joints]
    chosen = channels(history, outputs or tuple(f"joints.{c.joint}.position.{c.name}" for c in own))
    forces = [excitation(system, name) for name in inputs or [f"joints.{c.joint}.{c.name}" for c in own]]

    def seen(x: Floats) -> Floats:
        return chosen.values(history, sampled(history, system, rates.state_at(x)))[0]

    found = slopes(seen, rates.units)
    found.require(list(chosen.names), linear.states)
    B, D = excited(Switched(system, [force for force, _, _ in forces]), state, chosen)
    findings = linear.findings + found.findings(list(chosen.names), linear.states)
    names, units = [name for _, name, _ in forces], [unit for _, _, unit in forces]
    return replace(linear, B=B, C=found.values, D=D, inputs=names, findings=findings), chosen, units


def sampled(history: History, system: Any, state: State) -> Floats:
    """Sample (1, width) of a state, with the accelerations that the equations give there."""
    return history.sampler.rows(np.array([state.t]), state_vector(system, state)[None, :])


def excited(switched: Switched, state: State, chosen: Channels) -> tuple[Floats, Floats]:
    """What a unit of each input changes of the rates, B, and of the outputs, D."""
    system, n = switched.system, switched.count
    rates, history = Rates(system, state), History(system, equations(system))
    rest = np.zeros(len(rates.units))
    at = rates.state_at(rest)
    B, D = np.zeros((len(rest), n)), np.zeros((len(chosen.names), n))
    x_dot, y = rates.of(at, rest), chosen.values(history, sampled(history, system, at))[0]
    for first in range(0, n, BLOCK):
        rows = []
        for k in range(first, min(first + BLOCK, n)):
            switched.act(k)
            B[:, k] = rates.of(at, rest) - x_dot
            rows.append(sampled(history, system, at))
        D[:, first : first + len(rows)] = (chosen.values(history, np.concatenate(rows)) - y).T
    return B, D


def response(linear: Linear, frequency_hz: Floats) -> NDArray[np.complex128]:
    """Frequency response C (i w - A)^-1 B + D, (frequency, output, input); `InputError` on a pole."""
    values = [linear.C @ resolvent(linear, f) @ linear.B + linear.D for f in frequency_hz]
    return np.array(values, dtype=np.complex128).reshape(len(frequency_hz), *linear.D.shape)


def resolvent(linear: Linear, frequency_hz: float) -> NDArray[np.complex128]:
    """(i w - A)^-1; `InputError` where the error of A alone could make it infinite."""
    s, one, natural = 2j * np.pi * frequency_hz, np.eye(len(linear.A)), linear.natural
    try:
        found = np.linalg.inv(s * one - natural.own)
    except np.linalg.LinAlgError:
        raise _pole(linear, frequency_hz) from None
    if growth(np.abs(found) @ (natural.error + EPSILON * np.abs(s) * one)) > UNKNOWN:
        raise _pole(linear, frequency_hz)
    return np.asarray(natural.basis @ found @ natural.inverse, dtype=np.complex128)


def growth(M: Floats) -> float:
    """About the spectral radius of a matrix without negative entries, whatever the units of its rows."""
    v, total = np.ones(len(M)), 0.0
    for _ in range(ROUNDS if len(M) else 0):
        v = M @ v
        size = float(v.max())
        if size == 0.0 or not np.isfinite(size):
            return size
        v, total = v / size, total + np.log(size)
    return float(np.exp(total / ROUNDS)) if len(M) else 0.0


def _pole(linear: Linear, frequency_hz: float) -> InputError:
    k = int(np.argmin(np.abs(linear.eigenvalues - 2j * np.pi * frequency_hz)))
    mode = (
        f"mode {k + 1} ({linear.frequency_hz[k]:.6g} Hz, damping ratio {linear.damping_ratio[k] + 0.0:.3g})"
    )
    what = f"the response at {frequency_hz:.6g} Hz has no bound: {mode} stands there"
    remedy = "ask beside it, damp the mode, or hold what moves freely"
    return InputError(Diagnostic("linear.pole", "analysis.frequencies", what, remedy))
