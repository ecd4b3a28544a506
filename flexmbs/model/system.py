"""Model -> System: numbered, with constant tables for the kernels.

Ground is body 0; bodies follow in the order of the tree. `System.coordinates` lists the scalar coordinates
of all joints, cut joints included; springs, drives, couplings and sensors name them by their number there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.expressions import STACK, Expression, compile_table, constant
from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.model.forces.build import LawPart, collect
from flexmbs.model.joints.base import Joint
from flexmbs.model.markers import Marker, Markers
from flexmbs.model.measure import collect_sensors
from flexmbs.model.model import Model
from flexmbs.model.numbering import (
    BodyNumbers,
    body_tables,
    coordinate_tables,
    elastic_tables,
    ints,
    marker_tables,
    motion_tables,
    number_bodies,
)
from flexmbs.model.row_tables import entries_of, entry_tables, joint_tables, order_groups, row_tables
from flexmbs.model.rows import Coordinate, Entry, Group, Row, coordinate_entries, cut_group
from flexmbs.model.tables import Tables, Workspace
from flexmbs.model.topology import Topology, build_topology, check_joints
from flexmbs.spatial import shortest_rotation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TimeLaw:
    """A function of time that prescribes: `order` 0 the value, 1 its rate, 2 its second rate.

    For orders 1 and 2 the value (and the rate) are own states, from place `aux` on, that start at `start`.
    """

    expression: Expression
    order: int = 0
    aux: int = -1
    start: tuple[float, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class JointPlace:
    """Where a joint stands: `body` > 0 whose tree joint it is (`reverse`: its P is on that body), or a cut.

    P, Q: its markers. `pos`, `vel`: first places in the state, -1 for a cut. `coordinates`: its scalar ones.
    """

    joint: Joint
    P: Marker
    Q: Marker
    body: int
    reverse: bool
    pos: int
    vel: int
    coordinates: tuple[Coordinate, ...]
    group: Group | None = None


@dataclass(frozen=True)
class System:
    """A mechanism, numbered. `tables` go to the kernels; the rest says which number is what."""

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
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def n_pos(self) -> int:
        return self.numbers.n_pos

    @property
    def n_vel(self) -> int:
        return self.numbers.n_vel

    @property
    def n_rows(self) -> int:
        return int(self.tables.group_start[-1])

    @property
    def n_aux(self) -> int:
        """Own states of the case, then values of drives that are given by their rates."""
        return len(self.model.states) + sum(law.order for law in self.time_laws)

    @property
    def laws(self) -> LawPart:
        """Tables of forces, drives and own states."""
        return self.extra["laws"]

    @property
    def bodies(self) -> list[str]:
        """Names by number, ground first."""
        return self.numbers.names

    def integrals(self, body: str) -> ShapeIntegrals:
        found = self.numbers.integrals[self.numbers.index[body]]
        if found is None:
            raise KeyError(body)
        return found

    def coordinate(self, joint: str, name: str | None = None) -> Coordinate:
        """Scalar coordinate of a joint by name; the name may be left out where there is only one."""
        return find_coordinate(self.joints, joint, name)

    def workspace(self) -> Workspace:
        """Arrays for one evaluation, filled with NaN; not to be shared between threads."""
        return make_workspace(self.tables, len(self.time_laws), len(self.travels))


def find_coordinate(joints: dict[str, JointPlace], joint: str, name: str | None) -> Coordinate:
    if joint not in joints:
        raise InputError(
            Diagnostic("joint.unknown", "model", f'no joint "{joint}"', nearest(joint, list(joints)))
        )
    found = joints[joint].coordinates
    names = [c.name for c in found]
    if name is None and len(found) == 1:
        return found[0]
    if name not in names:
        what = f'no coordinate "{name}"' if name else "the joint has not exactly one scalar coordinate"
        remedy = nearest(name, names) if name else f"name one of: {', '.join(names) or 'none'}"
        raise InputError(Diagnostic("joint.coordinate", f"joints.{joint}", what, remedy))
    return found[names.index(name)]


def joint_markers(joint: Joint, markers: Markers) -> tuple[Marker, Marker]:
    """Markers P and Q of a joint, with its own axes."""
    turn = None if joint.axis is None else shortest_rotation(joint.axis)
    if joint.point is None:
        return markers.get(joint.from_frame, turn=turn), markers.get(joint.to_frame, turn=turn)
    both = []
    for path in (joint.from_frame, joint.to_frame):
        body, _ = markers.model.split_frame(path)
        part = markers.model.bodies.get(body)
        R = np.eye(3) if part is None else np.asarray(part.pose_rot, dtype=float)
        r = np.zeros(3) if part is None else np.asarray(part.pose_pos, dtype=float)
        axes = R.T if turn is None else R.T @ turn
        both.append(markers.place(body, R.T @ (np.asarray(joint.point, dtype=float) - r), axes))
    return both[0], both[1]


def build_system(
    model: Model,
    free: dict[str, Expression] | None = None,
    *,
    absolute: bool = False,
    massless: Sequence[int] = (),
) -> System:
    """Number a model and lay out its tables.

    `free`: expressions of channels by name that the caller wants evaluated (`until`, sensors). `absolute`:
    every body on a base of its own, every joint a cut: dependent coordinates (F32). `massless`: speeds
    whose inertia vanishes (F26a).
    """
    check_joints(model)
    topology = build_topology(model, absolute=absolute)
    numbers = number_bodies(topology, model.bodies)
    markers = Markers(model, numbers.names)
    joints, coordinates = _place_joints(model, topology, numbers, markers)
    laws = _Laws(model, joints)
    finish_laws, stiff = collect(model, markers, joints, free or {})
    groups = order_groups(_groups(model, topology, joints, numbers, laws, massless) + stiff, numbers)
    entries = entries_of(groups, coordinates)
    finish_sensors = collect_sensors(model, markers)
    found = markers.finish()
    in_out = _tree_markers(numbers, joints, found)
    travels = tuple(
        tuple(x if isinstance(x, Expression) else constant(float(x)) for x in m.travel)
        for m in found
        if m.travel is not None
    )
    driven, driven_pos = laws.driven(numbers.n_vel)
    rows = row_tables(groups, numbers, laws)  # numbers the rows
    tables = Tables(
        grav=np.asarray(model.gravity, dtype=float),
        length=np.array([model_length(found)]),
        **body_tables(numbers),
        **in_out,
        **elastic_tables(numbers, found, in_out["m_out"]),
        **motion_tables(numbers),
        driven=driven,
        driven_pos=driven_pos,
        **_scales(numbers, found, massless),
        **marker_tables(numbers, found),
        **coordinate_tables(coordinates),
        **joint_tables(joints, groups, laws.drive_of),
        **entry_tables(entries),
        **rows,
        row_laws=laws.row_table(coordinates),
    )
    system = System(
        model, topology, numbers, markers, joints, tuple(coordinates), tuple(groups),
        tuple(laws.items), travels, tables,
    )  # fmt: skip
    system.extra["laws"] = finish_laws(system)
    system.extra["sensors"] = finish_sensors(system)
    return system


def _place_joints(
    model: Model, topology: Topology, numbers: BodyNumbers, markers: Markers
) -> tuple[dict[str, JointPlace], list[Coordinate]]:
    places: dict[str, JointPlace] = {}
    coordinates: list[Coordinate] = []
    in_tree = {id(branch.joint): i for i, branch in enumerate(topology.branches, start=1)}
    bases = [b.joint for b in topology.branches if model.joints.get(b.joint.name) is not b.joint]
    for joint in [*model.joints.values(), *bases]:
        markers.where = f"joints.{joint.name}"
        P, Q = joint_markers(joint, markers)
        i = in_tree.get(id(joint), 0)
        reverse = bool(i) and topology.branches[i - 1].reverse
        pos = int(numbers.o_beta[i]) if i else -1
        vel = int(numbers.o_eta[i]) if i else -1
        own = _coordinates_of(joint, P, Q, i, pos, vel)
        group = None if i else cut_group(joint, P, Q, model.bodies)
        key = joint.name if id(joint) not in {id(b) for b in bases} else f"({joint.name})"
        places[key] = JointPlace(joint, P, Q, i, reverse, pos, vel, own, group)
        for c in own:
            c.number = len(coordinates)
            coordinates.append(c)
    return places, coordinates


def _coordinates_of(
    joint: Joint, P: Marker, Q: Marker, body: int, pos: int, vel: int
) -> tuple[Coordinate, ...]:
    """Scalar coordinates of a joint, in the order of its motions."""
    found = []
    entries = iter(coordinate_entries(joint, P, Q)) if not body else iter(())
    for item in joint.motion or ():
        if item.axis >= 0:
            entry: Entry | None = None if body else next(entries)
            found.append(Coordinate(joint.name, item.name, pos, vel, body, entry))
        if body:
            pos, vel = pos + (4 if item.axis < 0 else 1), vel + (3 if item.axis < 0 else 1)
    return tuple(found)


def _scales(numbers: BodyNumbers, markers: list[Marker], massless: Sequence[int]) -> dict[str, Any]:
    """What pivots are compared with, and what replaces those that vanish (F26a)."""
    mass = sum(found.mass for found in numbers.integrals if found is not None)
    size = model_length(markers)
    added = np.zeros(numbers.n_vel)
    added[list(massless)] = mass * min(1.0, size * size) or 1.0
    return {"massless": added, "mass_scale": np.array([mass, mass * size * size])}


def model_length(markers: list[Marker]) -> float:
    """Mean lever of the markers in their bodies; 1 m where all stand at the origins."""
    levers = [float(np.linalg.norm(m.u0)) for m in markers if np.any(m.u0)]
    return float(np.mean(levers)) if levers else 1.0


def _tree_markers(numbers: BodyNumbers, joints: dict[str, JointPlace], found: list[Marker]) -> dict[str, Any]:
    """Markers of the tree joints on the inner and the outer side, by body."""
    m_in, m_out = [0] * len(numbers.names), [0] * len(numbers.names)
    for place in joints.values():
        if place.body:
            inner, outer = (place.Q, place.P) if place.reverse else (place.P, place.Q)
            m_in[place.body], m_out[place.body] = inner.number, outer.number
    return {"m_in": ints(m_in), "m_out": ints(m_out)}


def _groups(
    model: Model,
    topology: Topology,
    joints: dict[str, JointPlace],
    numbers: BodyNumbers,
    laws: _Laws,
    massless: Sequence[int],
) -> list[Group]:
    """Constraint groups: cut joints, couplings, drives on cut joints, motions without inertia."""
    groups = [place.group for place in joints.values() if place.group is not None and place.group.rows]
    for name, part in model.couplings.items():
        groups.append(Group(name, "coupling", [_coupling_row(part.law(model), joints)]))
    for drive, coordinate, law in laws.on_cuts:
        assert coordinate.entry is not None
        row = Row("drive", entries=[(1.0, coordinate.entry)], law=law)
        groups.append(Group(drive, "drive", [row]))
    for speed in massless:
        body = int(np.searchsorted(numbers.o_eta, speed, side="right")) - 1
        row = Row("no inertia", massless=(int(speed), body))
        groups.append(Group(numbers.names[body], "massless", [row]))
    return groups


def _coupling_row(law: Any, joints: dict[str, JointPlace]) -> Row:
    row = Row("law", expression=law.zero, constant_from_start=law.constant_from_start, scale=law.scale)
    for factor, joint, number in law.terms:
        c = joints[joint].coordinates[number]
        if c.entry is None:
            row.coordinates.append((factor, c))
        else:
            row.entries.append((factor, c.entry))
    row.of = [joints[joint].coordinates[number] for joint, number in law.of]
    row.names = dict(zip(law.names, row.of, strict=True))
    return row


class _Laws:
    """Functions of time: drives, then lengths of rods; and expressions of rows."""

    def __init__(self, model: Model, joints: dict[str, JointPlace]) -> None:
        self.items: list[TimeLaw] = []
        self.on_tree: list[tuple[Coordinate, int]] = []
        self.on_cuts: list[tuple[str, Coordinate, TimeLaw]] = []
        self.rows: list[Row] = []
        aux = len(model.states)
        self.drive_of: dict[str, Coordinate] = {}
        for name, drive in model.drives.items():
            self.drive_of[name] = coordinate = find_coordinate(joints, drive.joint, drive.coordinate)
            law = _drive_law(name, drive, coordinate, joints[drive.joint].joint, aux)
            aux += law.order
            if coordinate.entry is None:
                self.on_tree.append((coordinate, len(self.items)))
            else:
                self.on_cuts.append((name, coordinate, law))
            self.items.append(law)

    def number_of(self, law: Any) -> int:
        if law is None:
            return -1
        if isinstance(law, Expression):
            law = TimeLaw(law)
        for number, item in enumerate(self.items):
            if item is law:
                return number
        self.items.append(law)
        return len(self.items) - 1

    def row_expression(self, row: Row) -> int:
        if row.expression is None:
            return -1
        self.rows.append(row)
        return len(self.rows) - 1

    def driven(self, n_vel: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        driven, pos = np.full(n_vel, -1, dtype=np.int64), np.full(n_vel, -1, dtype=np.int64)
        for coordinate, number in self.on_tree:
            driven[coordinate.vel], pos[coordinate.vel] = number, coordinate.pos
        return driven, pos

    def row_table(self, coordinates: Sequence[Coordinate]) -> Any:
        """Expressions of rows over slots: t, then all joint coordinates."""
        slots, expressions = {"t": 0}, []
        for k, row in enumerate(self.rows):
            names = {old: f"{old}#{k}" for old in row.names}
            expressions.append(_rename(row.expression, names))
            slots |= {names[old]: 1 + c.number for old, c in row.names.items()}
        return compile_table(expressions, slots)


def _rename(expression: Any, names: dict[str, str]) -> Expression:
    from dataclasses import replace

    def walk(node: Any) -> Any:
        if node.op == "name" and node.label in names:
            return replace(node, text=names[node.label], index=(), args=())
        return replace(node, args=tuple(walk(arg) for arg in node.args)) if node.args else node

    return replace(expression, tree=walk(expression.tree))


def _drive_law(name: str, drive: Any, c: Coordinate, joint: Joint, aux: int) -> TimeLaw:
    """Time law of a drive; a rate is integrated from the joint's initial values."""
    number = joint.coordinates.index(c.name)

    def start(values: Sequence[float] | None) -> float:
        return 0.0 if values is None else float(values[number])

    for order, given in enumerate((drive.position, drive.velocity, drive.acceleration)):
        if given is not None:
            expression = given if isinstance(given, Expression) else constant(float(given))
            begin = (start(joint.position), start(joint.velocity))[:order]
            return TimeLaw(expression, order, aux if order else -1, begin, name)
    raise InputError(
        Diagnostic("drive.empty", f"drives.{name}", "neither position, velocity nor acceleration")
    )


def make_workspace(t: Tables, n_laws: int, n_travels: int) -> Workspace:
    """Arrays of the sizes that the tables need; what never changes in them is there from the start."""
    bodies, n_vel, n_mark = len(t.parent), len(t.driven), len(t.mark_body)
    n_prim, n_coord, n_ent, n_rows = len(t.prim_axis), len(t.coord_pos), len(t.ent_kind), len(t.row_law)
    modes = int(t.nf.sum())
    sizes = t.group_start[1:] - t.group_start[:-1]
    path = np.repeat(sizes, t.path_start[1:] - t.path_start[:-1])
    speeds = t.o_eta[1:] - t.o_eta[:-1]

    def nan(*shape: int) -> Array:
        return np.full(shape, np.nan)

    k_low = int(max(0, t.low_rank.max(initial=0)))
    # as many states of self-stress as there can be, within 30 MB
    n_null = min(n_rows, int(4e6 / max(n_rows, 6 * len(t.joint_body), 1)))
    n_L = int((6 * t.nf[t.mark_body]).sum())
    return Workspace(
        r=nan(bodies, 3), R=nan(bodies, 3, 3), H=nan(n_vel, 6), B=nan(int((6 * t.nf[t.parent]).sum())),
        mark_x=nan(n_mark, 3), mark_R=nan(n_mark, 3, 3), mark_u=t.mark_u0.copy(), mark_Rl=t.mark_R0.copy(),
        mark_theta=np.zeros((n_mark, 3)), L=nan(n_L),
        e_axis=nan(n_prim, 3), e_point=nan(n_prim, 3), e_travel=nan(n_prim),
        v=nan(bodies, 6), a=nan(bodies, 6), mark_v=nan(n_mark, 6), mark_a=nan(n_mark, 6),
        mark_rel=np.zeros((n_mark, 12)),
        drive_x=nan(n_laws), drive_v=nan(n_laws), drive_a=nan(n_laws),
        stack=nan(STACK, 3), slots=np.zeros((3, 1 + n_coord)), out3=nan(3), travel=nan(n_travels, 3, 3),
        path_rows=nan(int(t.path_row[-1])),
        coord_x=nan(n_coord), coord_v=nan(n_coord), beta_ref=np.zeros(n_ent),
        body_out=nan(15 * bodies), rows=nan(7 * modes), f_app=np.zeros(6 * bodies + modes), tau=nan(n_vel),
        tau_coord=np.zeros(n_coord), K_coord=np.zeros(n_coord), D_coord=np.zeros(n_coord),
        K_tau=nan(n_vel), D_tau=nan(n_vel),
        M=nan(bodies, 6, 6), f=nan(bodies, 6), M_f=nan(6 * modes), N=nan(int((t.nf * t.nf).sum())),
        low_C=nan(k_low, k_low), low_R=nan(k_low, k_low), low_K=nan(k_low, k_low), low_p=nan(k_low),
        G=nan(6 * modes), U=nan(n_vel, 6), D=nan(n_vel), u=nan(n_vel), da=nan(bodies, 6), delta=nan(n_vel),
        f_p=nan(bodies, 6),
        ent=nan(n_ent, 10), rowent_c=nan(len(t.rowent)), rowdof_c=nan(len(t.rowdof_coord)),
        g=nan(n_rows), g_dot=nan(n_rows), g_ddot=nan(n_rows),
        gcol=nan(int(max([0, *(t.path_col + path)])), 6),
        gcol_f=nan(int(max([0, *(t.path_mode + path * t.nf[t.path_body])]))),
        e=nan(int((speeds[t.path_body] * path).sum())), S=nan(int(t.env_start[-1])), S_diag=nan(n_rows),
        redundant=np.zeros(n_rows, dtype=np.int64), rhs=nan(n_rows), lam=np.zeros(n_rows),
        soft=np.zeros(n_rows), row_force=np.zeros(n_rows), reaction=nan(len(t.joint_body), 6),
        effort=nan(len(t.drive_coord)),
        null=nan(n_null, n_rows), null_w=nan(n_null, 6 * len(t.joint_body)), null_A=nan(n_null, n_null),
        null_y=nan(n_null),
    )  # fmt: skip
