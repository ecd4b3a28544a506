"""Columns of sample rows -> fields of a result, by name (interface, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.ffrf.mass import LEDGER_TERMS, ledger
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.laws.tables import FORCE, LENGTH, MOMENT, N_OUT, POTENTIAL, RATE, VALUE
from flexmbs.results import Axis, Field, Layout
from flexmbs.results.layout import COMMON_AXES
from flexmbs.simulate.record.sampling import BALL, BODY, Sampler
from flexmbs.spatial import quat_to_matrix

if TYPE_CHECKING:
    from flexmbs.model.system import JointPlace, System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: rows (n, width) -> history (n, ...)
Take = Callable[[Floats], Floats]


#: samples that are computed together
BLOCK = 64


def by_blocks(take: Take) -> Take:
    """The same, always for as many rows at a time: BLAS rounds by the shape of what it is given.

    So no number depends on how many samples happen to come together.
    """

    def blocks(rows: Floats) -> Floats:
        n = len(rows)
        if not n:
            return take(rows)
        rest = n - n % BLOCK
        pieces = [take(rows[k : k + BLOCK]) for k in range(0, rest, BLOCK)]
        if rest < n:
            last = np.empty((BLOCK, rows.shape[1]))
            last[: n - rest], last[n - rest :] = rows[rest:], rows[-1]
            pieces.append(take(last))
        return np.concatenate(pieces)[:n]

    return blocks


@dataclass(frozen=True)
class Sum:
    """Columns added one after another, each times a factor: no row depends on what stands beside it.

    `width`: columns that stand together, from each of the places on; none for a number without axes.
    """

    places: tuple[int, ...]
    factors: tuple[float, ...] = ()
    width: int = 0

    def __call__(self, rows: Floats) -> Floats:
        found = np.zeros((len(rows), self.width) if self.width else len(rows))
        for k, place in enumerate(self.places):
            columns = rows[:, place : place + self.width] if self.width else rows[:, place]
            found += columns * self.factors[k] if self.factors else columns
        return found


@dataclass
class Fields:
    """Fields of a result and how each is taken from sample rows.

    `open_parts`: paths of joints, couplings and drives whose forces redundancy leaves open.
    """

    open_parts: set[str] = field(default_factory=set)
    axes: list[Axis] = field(default_factory=lambda: list(COMMON_AXES))
    fields: list[Field] = field(default_factory=list)
    takes: list[Take] = field(default_factory=list)
    quaternions: list[str] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)

    def add(
        self, path: str, take: Take | slice | Ints | Sum, axes: tuple[str, ...] = (), units: str = "1",
        **more: Any,
    ) -> None:  # fmt: skip
        """A field; `take` is a function of the rows, or columns."""
        if isinstance(take, slice | np.ndarray):
            columns = take
            take = (lambda rows: rows[:, columns]) if axes else (lambda rows: rows[:, columns][:, 0])
        elif not isinstance(take, Sum):
            take = by_blocks(take)
        self.place[path] = len(self.fields)
        equation = more.pop("equation", "")
        self.fields.append(
            Field(path, axes, units, equation, more) if more else _field(path, axes, units, equation)
        )
        self.takes.append(take)

    def take(self, path: str) -> Take:
        """How one field is taken."""
        return self.takes[self.place[path]]

    def known(self, path: str) -> dict[str, Any]:
        """Attributes of the forces of a part: whether equilibrium or stiffness decides them."""
        return {"determinate": False} if path in self.open_parts else {}

    def axis(self, path: str, size: int, labels: tuple[str, ...] = (), first: int = 0) -> str:
        values = tuple(float(first + k) for k in range(size)) if first else ()
        self.axes.append(Axis(path, size, labels, values))
        return path

    def layout(self) -> Layout:
        return Layout(tuple(self.axes), tuple(self.fields))

    def histories(self, rows: Floats) -> dict[str, Floats]:
        """All fields of the samples `rows`."""
        found = {f.path: take(rows) for f, take in zip(self.fields, self.takes, strict=True)}
        return {path: np.ascontiguousarray(values) for path, values in found.items()}


@lru_cache(maxsize=4096)
def _field(path: str, axes: tuple[str, ...], units: str, equation: str) -> Field:
    """A field without attributes of its own; runs of a study have the same ones."""
    return Field(path, axes, units, equation)


def balls_of(system: System) -> list[tuple[str, Any]]:
    """Cut joints with a ball, in order."""
    return [
        (name, place)
        for name, place in system.joints.items()
        if not place.body and any(item.axis < 0 for item in place.joint.motion or ())
    ]


def body_fields(fields: Fields, system: System, sampler: Sampler) -> None:
    """Motion of the body frames, elastic coordinates, applied forces (F1, F16)."""
    at, tables = sampler.places, system.tables
    if any(isinstance(body, FlexibleBody) for body in system.model.bodies.values()):
        fields.axis("term", len(LEDGER_TERMS), LEDGER_TERMS)
    for i, name in enumerate(system.bodies):
        if i == 0:
            continue
        first = at["body"] + BODY * (i - 1)

        def part(offset: int, size: int, first: int = first) -> slice:
            return slice(first + offset, first + offset + size)

        path = f"bodies/{name}/"
        fields.add(path + "position", part(0, 3), ("xyz",), "m")
        fields.add(path + "velocity", part(7, 3), ("xyz",), "m/s")
        fields.add(path + "acceleration", part(13, 3), ("xyz",), "m/s^2")
        fields.add(path + "angular_velocity", part(10, 3), ("xyz",), "rad/s")
        fields.add(path + "angular_acceleration", part(16, 3), ("xyz",), "rad/s^2")
        fields.add(path + "quaternion", part(3, 4), ("wxyz",))
        fields.quaternions.append(path + "quaternion")
        nf, o = int(tables.body.nf[i]), at["f_app"] + int(tables.body.o_f[i])
        row = fields.axis(path + "row", 6 + nf)
        fields.add(path + "applied", slice(o, o + 6 + nf), (row,), "N, N m, modal", equation="F16")
        if isinstance(system.model.bodies[name], FlexibleBody) or nf:
            mode = fields.axis(path + "mode", nf, first=1)
            q, k = at["pos"] + int(tables.body.o_q[i]), int(tables.tree.o_qd[i])
            unit = unit_of_q(system.integrals(name).m_ff)
            fields.add(path + "q", slice(q, q + nf), (mode,), unit, equation="F1")
            for dot, base, per in (("q_dot", "vel", "s"), ("q_ddot", "acc", "s^2")):
                fields.add(path + dot, slice(at[base] + k, at[base] + k + nf), (mode,), f"{unit}/{per}")
            columns = (part(3, 4), part(7, 6), slice(q, q + nf), slice(at["vel"] + k, at["vel"] + k + nf))
            fields.add(path + "ledger", ledger_of(system, name, columns), ("term",), "J", equation="F12")


def unit_of_q(m_ff: Floats) -> str:
    """Unit of elastic coordinates: of modes of unit mass (F51), or of given shapes, which have no unit."""
    return "m kg^0.5" if np.allclose(m_ff, np.eye(len(m_ff)), atol=1e-6) else "m"


def ledger_of(system: System, name: str, columns: tuple[slice, ...]) -> Take:
    """Kinetic energy of a body by inertia term, from its quaternion, twist, q and q_dot (F12, F17a)."""
    body, integrals = system.model.bodies[name], system.integrals(name)
    stiffening = isinstance(body, FlexibleBody) and body.geometric_stiffening is not False

    def take(rows: Floats) -> Floats:
        quat, twist, q, q_dot = (rows[:, column] for column in columns)
        R = quat_to_matrix(quat)
        v, w = (np.einsum("tki,tk->ti", R, twist[:, s]) for s in (slice(0, 3), slice(3, 6)))
        return ledger(integrals, q, np.hstack([v, w, q_dot]), stiffening=stiffening)

    return take


def joint_columns(system: System, sampler: Sampler, place: JointPlace, ball: int) -> tuple[Ints, Ints, Ints]:
    """Columns of positions, speeds and accelerations of a joint, in the order of the interface's table."""
    at, joint = sampler.places, place.joint
    if place.body:
        beta, eta = np.arange(joint.n_beta) + place.pos, np.arange(joint.n_eta) + place.vel
        return at["pos"] + beta, at["vel"] + eta, at["acc"] + eta
    x: list[int] = []
    v: list[int] = []
    a: list[int] = []
    entries = iter(place.coordinates)
    for item in joint.motion or ():
        if item.axis >= 0:
            entry = next(entries).entry
            assert entry is not None
            first = at["ent"] + 3 * entry.number
            x, v, a = [*x, first], [*v, first + 1], [*a, first + 2]
        else:
            first = at["ball"] + BALL * ball
            x, v, a = [*x, *range(first, first + 4)], [*v, *range(first + 4, first + 7)], [
                *a, *range(first + 7, first + 10),
            ]  # fmt: skip
    return np.array(x, dtype=int), np.array(v, dtype=int), np.array(a, dtype=int)


def units_of(place: JointPlace, suffix: str) -> str:
    """Units of the coordinates of a joint, or with `/s` behind of its speeds."""
    return _units_of(tuple(place.joint.motion or ()), suffix)


@lru_cache(maxsize=256)
def _units_of(motion: tuple[Any, ...], suffix: str) -> str:
    units = []
    for item in motion:
        angle = item.turn != 0.0
        units += ["1"] * 4 if item.axis < 0 and not suffix else ["rad" if angle else "m"] * (
            3 if item.axis < 0 else 1
        )  # fmt: skip
    return ", ".join(u + suffix for u in dict.fromkeys(units)) or "1"


def joint_fields(fields: Fields, system: System, sampler: Sampler) -> None:
    """Coordinates and reactions of all joints (F19, F21)."""
    numbers = {name: k for k, (name, _) in enumerate(balls_of(system))}
    for j, (name, place) in enumerate(system.joints.items()):
        if name not in system.model.joints:
            continue
        path = f"joints/{name}/"
        x, v, a = joint_columns(system, sampler, place, numbers.get(name, 0))
        labels: list[str] = []
        speeds: list[str] = []
        for item in place.joint.motion or ():
            labels += ["w", "x", "y", "z"] if item.axis < 0 else [item.name]
            speeds += ["wx", "wy", "wz"] if item.axis < 0 else [item.name]
        if len(set(labels)) < len(labels):  # free: x y z, then a quaternion
            labels = [f"q{k}" if k in "wxyz" and labels.index(k) != n else k for n, k in enumerate(labels)]
        if place.joint.motion is not None and len(x):
            beta = fields.axis(path + "coordinate", len(x), tuple(labels))
            eta = beta
            if len(v) != len(x):
                eta = fields.axis(path + "speed", len(v), tuple(speeds))
                fields.quaternions.append(path + "position")
            fields.add(path + "position", x, (beta,), units_of(place, ""))
            fields.add(path + "velocity", v, (eta,), units_of(place, "/s"))
            fields.add(path + "acceleration", a, (eta,), units_of(place, "/s^2"))
        first = sampler.places["reaction"] + 6 * j
        known = fields.known(path)
        fields.add(path + "reaction_force", slice(first, first + 3), ("xyz",), "N", equation="F21", **known)
        fields.add(
            path + "reaction_moment", slice(first + 3, first + 6), ("xyz",), "N m", equation="F21", **known
        )


def part_fields(fields: Fields, system: System, sampler: Sampler) -> None:
    """Drives, forces, own states and inputs."""
    at = sampler.places
    for name, places in system.efforts.items():
        columns = slice(at["effort"] + places[0], at["effort"] + places[-1] + 1)
        ball, path = len(places) == 3, f"drives/{name}/"
        units = "N m" if ball else "N, N m"
        fields.add(path + "effort", columns, ("xyz",) if ball else (), units, **fields.known(path))
    of_owner: dict[str, list[int]] = {}
    for k, owner in enumerate(system.laws.owners):
        of_owner.setdefault(owner, []).append(k)
    for name, force in system.model.forces.items():
        first = at["law"] + N_OUT * np.array(of_owner.get(f"forces.{name}", []), dtype=int)
        law_fields(fields, f"forces/{name}/", first, type(force).__name__)
    for k, name in enumerate(system.model.states):
        fields.add(f"states/{name}", slice(at["aux"] + k, at["aux"] + k + 1))
    for name in system.model.inputs:
        if (number := system.laws.free.get(f"input:{name}")) is not None:
            fields.add(
                f"inputs/{name.replace('.', '/')}", slice(at["free"] + number, at["free"] + number + 1)
            )


def law_fields(fields: Fields, path: str, first: Ints, kind: str) -> None:
    """Force and moment on the `on` or `to` side, and what a spring shows (F16)."""
    if not len(first):
        return
    if kind == "JointForce":
        fields.add(path + "value", slice(first[0] + VALUE, first[0] + VALUE + 1), (), "N, N m")
        return
    for name, offset, units in (("force", FORCE, "N"), ("moment", MOMENT, "N m")):
        fields.add(path + name, Sum(tuple((first + offset).tolist()), width=3), ("xyz",), units)
    if kind == "SpringDamper":
        for name, offset, units in (("length", LENGTH, "m"), ("rate", RATE, "m/s"), ("value", VALUE, "N")):
            fields.add(path + name, slice(first[0] + offset, first[0] + offset + 1), (), units)


def energy_fields(fields: Fields, system: System, sampler: Sampler) -> None:
    """Energies with their balance, mass centre and momenta of the system (F12-F15)."""
    at = sampler.places
    first = [at["body"] + BODY * i for i in range(len(system.bodies) - 1)]
    places = {
        "kinetic": [k + 19 for k in first],
        "gravity": [k + 20 for k in first],
        "strain": [k + 21 for k in first],
        "spring": [at["law"] + POTENTIAL + N_OUT * k for k in range(len(system.laws.owners))],
        "dissipated": [at["dissipated"]],
        "work": [at["work"]],
    }
    for name, columns in places.items():
        fields.add(f"energy/{name}", Sum(tuple(columns)), (), "J")
    signs = [-1.0 if name == "work" else 1.0 for name, columns in places.items() for _ in columns]
    everything = tuple(k for columns in places.values() for k in columns)
    fields.add("energy/balance_error", Sum(everything, tuple(signs)), (), "J")
    tables = system.tables
    mass = np.array([tables.body.block_data[tables.body.o_block[i]] for i in range(1, len(system.bodies))])
    momentum, angular, moments = (Sum(tuple(k + place for k in first), width=3) for place in (23, 26, 29))
    fields.add("system/momentum", momentum, ("xyz",), "kg m/s")
    fields.add("system/angular_momentum", angular, ("xyz",), "kg m^2/s")
    whole = float(mass.sum()) or np.nan
    fields.add("system/com", lambda rows: moments(rows) / whole, ("xyz",), "m")
