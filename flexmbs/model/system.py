"""Model -> System: numbered, with constant tables for the kernels.

Ground is body 0; bodies follow in the order of the tree. `System.coordinates` lists the scalar coordinates
of all joints, cut joints included; springs, drives, couplings and sensors name them by their number there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import Copies, handle
from flexmbs.errors import Told, known_fields
from flexmbs.expressions import Expression, constant
from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.model.attitudes import Attitude
from flexmbs.model.blocks import block_tables
from flexmbs.model.fronts import front_tables, passed
from flexmbs.model.held import check_held
from flexmbs.model.laws.build import LawPart, collect
from flexmbs.model.laws.tables import Laws, LawWork
from flexmbs.model.laws.tables import workspace as law_workspace
from flexmbs.model.markers import Marker, Markers
from flexmbs.model.measure import SensorPart, collect_sensors
from flexmbs.model.model import Model
from flexmbs.model.numbering import (
    BodyNumbers,
    body_tables,
    coordinate_tables,
    ints,
    low_ranks,
    marker_tables,
    motion_tables,
    number_bodies,
    tree_tables,
)
from flexmbs.model.places import JointPlace, find_coordinate, place_joints
from flexmbs.model.row_tables import entries_of, joint_tables, relation_tables, row_tables
from flexmbs.model.rows import Coordinate, Group, Row
from flexmbs.model.tables import Tables, Workspace
from flexmbs.model.time_laws import TimeLaw, TimeLaws
from flexmbs.model.topology import Plane, Topology, build_topology, check_joints
from flexmbs.model.workspace import make_workspace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Numbered:
    """What has numbers before laws and sensors are written with them."""

    numbers: BodyNumbers
    joints: dict[str, JointPlace]
    groups: tuple[Group, ...]
    time_laws: tuple[TimeLaw, ...]
    travels: tuple[tuple[Expression, ...], ...]
    tables: Tables
    attitudes: tuple[Attitude, ...]


@dataclass(frozen=True)
class System(Told):
    """A mechanism, numbered. `tables` and `laws` go to the kernels; the rest says which number is what.

    `drive_efforts`: the drive of every effort. `free`: expressions that a caller wanted evaluated.
    """

    model: Model
    topology: Topology
    numbers: BodyNumbers
    markers: Markers
    joints: dict[str, JointPlace]
    coordinates: tuple[Coordinate, ...]
    groups: tuple[Group, ...]
    time_laws: tuple[TimeLaw, ...]
    travels: tuple[tuple[Expression, ...], ...]
    tables: Tables
    attitudes: tuple[Attitude, ...]
    laws: LawPart
    sensors: SensorPart
    drive_efforts: tuple[str, ...]
    free: dict[str, Expression]

    def __post_init__(self) -> None:
        known_fields(self, "joints")

    @cached_property
    def constants(self) -> tuple[Any, Any]:
        """Handles of `tables` and of the tables of `laws`, made once."""
        return handle(self.tables), handle(self.laws.tables)

    @cached_property
    def arrays(self) -> tuple[Any, Any]:
        """Arrays of evaluations, of tables and of laws, as often as somebody wants `new` ones."""
        return Copies(self.workspace), Copies(lambda: self.law_work(self.laws.tables))

    @cached_property
    def passed(self) -> tuple[Any, Any]:
        """Groups and bodies on whose joints or modes they depend, in pairs, sorted."""
        return passed(self.tables)

    def law_work(self, laws: Laws) -> LawWork:
        """What the kernels of laws write, with the inputs at their defaults."""
        found = law_workspace(laws)
        for name, place in self.laws.inputs.items():
            found.x[place] = self.model.inputs[name].default
        return found

    @property
    def n_pos(self) -> int:
        return self.numbers.n_pos

    @property
    def n_vel(self) -> int:
        return self.numbers.n_vel

    @property
    def n_rows(self) -> int:
        return int(self.tables.group.start[-1])

    @property
    def n_aux(self) -> int:
        """Own states of the case, then values of drives that are given by their rates."""
        return len(self.model.states) + len(self.law_starts)

    @property
    def law_starts(self) -> list[float]:
        """Where drives that are given by their rates begin: own states of scalar ones, then of rotations."""
        starts = [law.start for law in self.time_laws] + [item.start for item in self.attitudes]
        return [x for start in starts for x in start]

    @property
    def bodies(self) -> list[str]:
        """Names by number, ground first."""
        return self.numbers.names

    def integrals(self, body: str) -> ShapeIntegrals:
        found = self.numbers.integrals[self.numbers.index[body]]
        if found is None:
            raise KeyError(body)
        return found

    @property
    def efforts(self) -> dict[str, list[int]]:
        """Places of the efforts of each drive: one, or three of a ball (see `DriveTables.coord`)."""
        found: dict[str, list[int]] = {name: [] for name in self.model.drives}
        for number, drive in enumerate(self.drive_efforts):
            found[drive].append(number)
        return found

    def coordinate(self, joint: str, name: str | None = None) -> Coordinate:
        """Scalar coordinate of a joint by name; the name may be left out where there is only one."""
        return find_coordinate(self.joints, joint, name)

    def workspace(self) -> Workspace:
        """Arrays for one evaluation, filled with NaN; not to be shared between threads."""
        return make_workspace(self.tables, len(self.time_laws), len(self.travels))


def build_system(
    model: Model,
    free: dict[str, Expression] | None = None,
    *,
    absolute: bool = False,
    plane: Plane | None = None,
    massless: Sequence[int] = (),
) -> System:
    """Number a model and lay out its tables.

    `free`: expressions of channels by name that the caller wants evaluated (`until`, sensors). `absolute`:
    every body on a base of its own, every joint a cut: dependent coordinates (F32), those of a `plane` if
    it is given. `massless`: speeds whose inertia vanishes (F26a).
    """
    check_joints(model)
    topology = build_topology(model, absolute=absolute, plane=plane)
    check_held(model, topology)
    numbers = number_bodies(topology, model.bodies)
    markers = Markers(model, numbers.names)
    joints, coordinates = place_joints(model, topology, numbers, markers)
    laws = TimeLaws(model, joints)
    finish_laws, stiff = collect(model, markers, joints, free or {})
    groups = _groups(model, topology, joints, numbers, laws, massless) + stiff
    entries = entries_of(groups, coordinates)
    markers.end_loads()
    finish_sensors = collect_sensors(model, markers)
    found = markers.finish()
    length = model_length([joints[name] for name in model.joints], numbers)
    in_out = _tree_markers(numbers, joints, found)
    travels = tuple(
        tuple(x if isinstance(x, Expression) else constant(float(x)) for x in m.travel)
        for m in found
        if m.travel is not None
    )
    driven, driven_pos = laws.driven(numbers.n_vel)
    prim, vel_of_pos = motion_tables(numbers)
    marker, travel = marker_tables(numbers, found)
    rows = row_tables(groups, laws, coordinates)  # numbers the rows
    joint, drive, entry_joint = joint_tables(joints, groups, len(entries), laws.efforts)
    parts = dict(
        grav=np.asarray(model.gravity, dtype=float),
        length=np.array([length]),
        body=body_tables(numbers, low_ranks(numbers, found, in_out["m_out"])),
        tree=tree_tables(
            numbers,
            **in_out,
            driven=driven,
            driven_pos=driven_pos,
            attitude_pos=ints(item.pos for item in laws.attitudes),
            **_scales(numbers, length, massless),
            vel_of_pos=vel_of_pos,
        ),
        prim=prim,
        marker=marker,
        travel=travel,
        coord=coordinate_tables(coordinates),
        joint=joint,
        drive=drive,
        relation=relation_tables(entries, entry_joint),
        block=block_tables(groups, joints, numbers),
        **vars(rows),
    )
    front, slot, path = front_tables(SimpleNamespace(**parts))
    tables = Tables(**parts, front=front, slot=slot, path=path)
    numbered = Numbered(
        numbers, joints, tuple(groups), tuple(laws.items), travels, tables, tuple(laws.attitudes)
    )
    return System(
        model=model,
        topology=topology,
        markers=markers,
        coordinates=tuple(coordinates),
        laws=finish_laws(numbered),
        sensors=finish_sensors(),
        drive_efforts=tuple(effort.drive for effort in laws.efforts),
        free=free or {},
        **vars(numbered),
    )


def _scales(numbers: BodyNumbers, size: float, massless: Sequence[int]) -> dict[str, Any]:
    """What pivots are compared with, and what replaces those that vanish (F26a)."""
    mass = sum(found.mass for found in numbers.integrals if found is not None)
    added = np.zeros(numbers.n_vel)
    added[list(massless)] = mass * min(1.0, size * size) or 1.0
    return {"massless": added, "mass_scale": np.array([mass, mass * size * size])}


def model_length(joints: list[JointPlace], numbers: BodyNumbers) -> float:
    """Mean (of squares) lever of the joints about the mass centres of their bodies; 1 m where there is none.

    It knows neither ground nor body frames, neither forces nor sensors: forces that equilibrium leaves open
    are shared by it (F28), wherever the origins are and whatever is measured.
    """
    ends = {id(m): m for place in joints for m in (place.P, place.Q)}
    levers, sizes = [0.0], [0.0]
    for m in ends.values():
        found = numbers.integrals[numbers.index[m.body]]
        if found is not None and m.travel is None:
            levers.append(float(np.sum((m.u0 - found.com) ** 2)))
            sizes.append(float(np.sum(m.u0**2) + np.sum(found.com**2)))
    square = sum(levers) / max(len(levers) - 1, 1)
    return float(np.sqrt(square)) if square > 1e-18 * max(sizes) else 1.0  # else rounding of the places


def _tree_markers(numbers: BodyNumbers, joints: dict[str, JointPlace], found: list[Marker]) -> dict[str, Any]:
    """The tree joints and their markers on the inner and the outer side, by body."""
    m_in, m_out, joint = [0] * len(numbers.names), [0] * len(numbers.names), [-1] * len(numbers.names)
    for j, place in enumerate(joints.values()):
        if place.body:
            joint[place.body] = j
            inner, outer = (place.Q, place.P) if place.reverse else (place.P, place.Q)
            m_in[place.body], m_out[place.body] = inner.number, outer.number
    return {"m_in": ints(m_in), "m_out": ints(m_out), "joint": ints(joint)}


def _groups(
    model: Model,
    topology: Topology,
    joints: dict[str, JointPlace],
    numbers: BodyNumbers,
    laws: TimeLaws,
    massless: Sequence[int],
) -> list[Group]:
    """Constraint groups: cut joints, couplings, drives on cut joints, motions without inertia."""
    groups = [place.group for place in joints.values() if place.group is not None and place.group.rows]
    for name, part in model.couplings.items():
        groups.append(Group(name, "coupling", [_coupling_row(part.law(model), joints)]))
    groups += [Group(drive, "drive", rows) for drive, rows in laws.on_cuts]
    for speed in massless:
        body = int(np.searchsorted(numbers.o_eta, speed, side="right")) - 1
        row = Row("no inertia", massless=(int(speed), body))
        groups.append(Group(numbers.names[body], "massless", [row]))
    return groups


def _coupling_row(law: Any, joints: dict[str, JointPlace]) -> Row:
    row = Row(
        "law",
        expression=law.zero,
        constant_from_start=law.constant_from_start,
        scale=law.scale,
        side=law.side,
    )
    for factor, joint, number in law.terms:
        c = joints[joint].coordinates[number]
        if c.entry is None:
            row.coordinates.append((factor, c))
        else:
            row.entries.append((factor, c.entry))
    row.of = [joints[joint].coordinates[number] for joint, number in law.of]
    row.names = dict(zip(law.names, row.of, strict=True))
    return row
