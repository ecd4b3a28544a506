"""The system with its equations of motion: what Python callers use.

system = build(model);  state = system.initial_state();  motion = system.forward_dynamics(state)
motion.bodies["rod"].acceleration;  motion["joints.main.reaction_force"]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.guess import initial_aux
from flexmbs.dynamics.analyses.initial import assemble
from flexmbs.dynamics.analyses.mobility import plane_normal
from flexmbs.dynamics.descriptor.own_energies import require_no_energies
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.contradiction import check_rows
from flexmbs.errors import Diagnostic, Known, SolverError, Told, UsageError, nearest
from flexmbs.ffrf.mass import mass_matrix as body_mass_matrix
from flexmbs.ffrf.mass import quadratic_velocity_forces as body_velocity_forces
from flexmbs.model.bodies import FlexibleBody, RigidBody
from flexmbs.model.held import held_bodies, holding_joints
from flexmbs.model.rows import no_turns
from flexmbs.model.state import State
from flexmbs.model.system import JointPlace, System, build_system
from flexmbs.model.topology import Plane
from flexmbs.model.touching.ends import load_of
from flexmbs.spatial import quat_from_matrix, shortest_rotation

if TYPE_CHECKING:
    from flexmbs.dynamics.by_symbol import Matrices
    from flexmbs.expressions import Expression
    from flexmbs.model.model import Model

Array = NDArray[np.float64]


@dataclass
class BodyMotion(Told):
    """Motion of the body frame's origin, ground axes; quaternion body to ground; elastic coordinates."""

    position: Array
    quaternion: Array
    velocity: Array
    angular_velocity: Array
    acceleration: Array
    angular_acceleration: Array
    applied: Array
    q: Array
    q_dot: Array
    q_ddot: Array


@dataclass
class JointMotion(Told):
    """Coordinates in the order of the interface's table; force and moment of `from` on `to`, ground axes."""

    position: Array
    velocity: Array
    acceleration: Array
    reaction_force: Array
    reaction_moment: Array


#: tables of a motion
KINDS = ("bodies", "joints", "couplings", "drives")


@dataclass
class Motion(Told):
    """A state with its accelerations and forces, under the names of results."""

    time: float
    bodies: dict[str, BodyMotion]
    joints: dict[str, JointMotion]
    couplings: dict[str, float]
    drives: dict[str, Any]
    acc: Array = field(repr=False)

    def __getitem__(self, path: str) -> Any:
        """`motion["joints.main.acceleration"]`; couplings end in `.force`, drives in `.effort`."""
        kind, _, rest = path.partition(".")
        name, _, quantity = rest.partition(".")
        table = getattr(self, kind) if kind in KINDS else {}
        if kind not in KINDS or name not in table:
            raise self._unknown(path)
        item = table[name]
        if not quantity or quantity == {"couplings": "force", "drives": "effort"}.get(kind):
            return item
        if kind not in ("bodies", "joints") or quantity not in {f.name for f in fields(item)}:
            raise self._unknown(path)
        return getattr(item, quantity)

    def _unknown(self, path: str) -> UsageError:
        return UsageError(
            Diagnostic("motion.name", path, "is not in this motion", nearest(path, self.names()))
        )

    def names(self) -> list[str]:
        """All paths."""
        found = [f"bodies.{b}.{f.name}" for b in self.bodies for f in fields(BodyMotion)]
        found += [f"joints.{j}.{f.name}" for j in self.joints for f in fields(JointMotion)]
        return (
            found
            + [f"couplings.{c}.force" for c in self.couplings]
            + [f"drives.{d}.effort" for d in self.drives]
        )


@dataclass(frozen=True)
class Mechanism(System):
    """A numbered system and what can be asked of it at a state."""

    formulation: str = "recursive"

    def evaluator(self) -> Evaluator:
        """Fresh arrays for one line of evaluations."""
        return Evaluator(self)

    def initial_state(self) -> State:
        """Assembled state at t = 0 (F34)."""
        if self.topology.absolute:
            # assembly moves joint coordinates: it is done in those, then carried over
            tree = build(self.model)
            return self.state_like(tree, tree.initial_state())
        return assemble(self)

    def state_like(self, other: System, state: State) -> State:
        """The state of another numbering of the same model in the coordinates of this one.

        For changes of cuts or of the formulation. Bodies keep their poses and velocities.
        """
        from flexmbs.dynamics.analyses.transfer import transfer

        return transfer(other, state, self)

    def forward_dynamics(self, state: State) -> Motion:
        """Accelerations of joints, modes and bodies, and the reactions (F22-F28, F30, F32)."""
        state = state.copy()
        if self.topology.absolute:
            from flexmbs.dynamics.descriptor.equations import Descriptor

            descriptor = Descriptor(self)
            return motion_of(descriptor.evaluator, state, descriptor.observe(state))
        require_no_energies(self.model, self.formulation)
        evaluator = self.evaluator()
        if self.formulation == "minimal":
            from flexmbs.dynamics.minimal.coordinates import Minimal
            from flexmbs.dynamics.minimal.forces import observe

            acc = observe(Minimal(evaluator, state), state)
        else:
            acc = evaluator.observe(state)
        forces, mass = np.abs(evaluator.ws.row.force).max(initial=0.0), self.tables.tree.mass_scale[0]
        check_rows(self, evaluator.ws, state, acc, float(forces / mass) if mass > 0.0 else 0.0)
        return motion_of(evaluator, state, acc)

    def explain(self, state: State, *, rotations: Iterable[str] = (), rows: str = "notes") -> Matrices:
        """Every symbol of the notes at a state, as arrays by name and body (F10-F32).

        `found["M_star", "rod"]`, `found.bodies["rod"].M_star`, `found.loops.lam`, `found.minimal.M_hat`,
        `found.descriptor.Phi_s`. `rotations`: parametrisations in which bodies are written too, as "zyx".
        """
        from flexmbs.dynamics.by_symbol import Matrices

        for name in held_bodies(self.model):
            what = "the matrices need what its rigid motions weigh, which is not known"
            raise UsageError(
                Diagnostic("body.held", f"bodies.{name}", what, "look at the body of the recipe")
            )
        return Matrices(self, state, rotations=rotations, rows=rows)

    def _of_body(self, state: State, body: str) -> tuple[Any, dict[str, Any], int]:
        if body not in self.model.bodies:
            remedy = nearest(body, list(self.model.bodies))
            raise UsageError(Diagnostic("model.body", body, "there is no such body", remedy))
        part, i = self.model.bodies[body], self.numbers.index[body]
        options: dict[str, Any] = {}
        if isinstance(part, FlexibleBody):
            stiffening = part.geometric_stiffening is not False
            options = {"inertia_terms": part.inertia_terms, "stiffening": stiffening}
        return self.integrals(body), options, i

    def mass_matrix(self, state: State, body: str) -> Array:
        """M of one body at its elastic coordinates, (6+nf, 6+nf), body axes (F12); NaN where not known."""
        integrals, options, i = self._of_body(state, body)
        q = state.pos[self.tables.body.o_q[i] :][: integrals.nf]
        M = body_mass_matrix(integrals, q, **options)
        if body in held_bodies(self.model):
            M[:6] = M[:, :6] = np.nan
        return M

    def quadratic_velocity_forces(self, state: State, body: str) -> Array:
        """Q_v of one body, (6+nf,), body axes (F13)."""
        integrals, options, i = self._of_body(state, body)
        evaluator = self.evaluator()
        evaluator.kinematics(state.copy())
        w = evaluator.ws.body.R[i].T @ evaluator.ws.body.v[i, 3:]
        q, q_dot = state.pos[self.tables.body.o_q[i] :], state.vel[self.tables.tree.o_qd[i] :]
        return body_velocity_forces(integrals, q[: integrals.nf], q_dot[: integrals.nf], w, **options)


def build(
    model: Model, free: dict[str, Expression] | None = None, *, formulation: str = "recursive"
) -> Mechanism:
    """Number a model; `free`: expressions of channels that the caller wants evaluated.

    `formulation`: "recursive" (default); "minimal", independent coordinates (F30); "descriptor", every body
    with its own coordinates, six or in a plane three, every joint as constraints with multipliers (F32).
    """
    absolute = formulation == "descriptor"
    plane = plane_of(build(model)) if absolute else None
    massless: list[int] = []
    while True:
        system = build_system(model, free, absolute=absolute, plane=plane, massless=massless)
        mechanism = Mechanism(**vars(system), formulation=formulation)
        found = motions_without_inertia(mechanism)
        if not set(found) - set(massless):
            return mechanism
        massless = sorted({*massless, *found})


def plane_of(system: Mechanism) -> Plane | None:
    """Plane in which all bodies move, recognised from the axes of the joints, or None (F32)."""
    if not all(isinstance(body, RigidBody) for body in system.model.bodies.values()):
        return None  # elastic bodies may leave the plane
    if system.attitudes:
        return None  # so may what is turned about any axis
    evaluator = system.evaluator()
    try:
        evaluator.kinematics(system.initial_state())
    except SolverError:
        return None  # said where the state itself is asked for
    normal = plane_normal(system, evaluator)
    if normal is None:
        return None
    axes = shortest_rotation(normal)
    bodies = {}
    for i, name in enumerate(system.bodies[1:], start=1):
        found, R = system.integrals(name), evaluator.ws.body.R[i]
        centre = found.S_O / (found.mass or 1.0)
        bodies[name] = (centre, R.T @ axes, float(axes[:, 2] @ (evaluator.ws.body.r[i] + R @ centre)))
    return Plane(axes, bodies)


def motions_without_inertia(system: Mechanism) -> list[int]:
    """Speeds whose pivot vanishes wherever the bodies are (F26a), by trial at an arbitrary place."""
    evaluator = system.evaluator()
    rng = np.random.default_rng(0)
    pos, t = rng.uniform(-0.5, 0.5, system.n_pos), system.tables
    pos[t.prim.ball_beta] = 1.0
    for i, nf in enumerate(t.body.nf):
        pos[t.body.o_q[i] : t.body.o_q[i] + nf] = 0.0
    state = State(0.0, pos, np.zeros(system.n_vel), initial_aux(system), no_turns(t.relation.kind))
    return evaluator.vanishing_pivots(state)


def motion_of(evaluator: Evaluator, state: State, acc: Array) -> Motion:
    """Everything reported at a state, after `Evaluator.observe`."""
    system, ws, t = evaluator.system, evaluator.ws, evaluator.tables
    # whole arrays are copied once: their parts, one per body, are views of these
    body, pos, vel, acc = ws.body, state.pos.copy(), state.vel.copy(), acc.copy()
    r, v, a, applied = body.r.copy(), body.v.copy(), body.a.copy(), body.f_app.copy()
    quaternions, reactions = quat_from_matrix(body.R), ws.joint.reaction.copy()
    for name in holding_joints(system.model):
        reactions[list(system.joints).index(name)] = np.nan
    places = (t.body.o_q, t.tree.o_qd, t.body.nf, t.body.o_f)
    numbers = zip(*(x[: len(system.bodies)].tolist() for x in places), strict=True)
    bodies = {
        name: BodyMotion(
            r[i], quaternions[i], v[i, :3], v[i, 3:], a[i, :3], a[i, 3:], applied[o : o + 6 + n],
            pos[q : q + n], vel[k : k + n], acc[k : k + n],
        )
        for i, (name, (q, k, n, o)) in enumerate(zip(system.bodies, numbers, strict=True))
        if i
    }  # fmt: skip
    joints = {}
    for j, (name, place) in enumerate(system.joints.items()):
        if name in system.model.joints:
            motion = joint_coordinates(ws, (pos, vel, acc), place)
            joints[name] = JointMotion(*motion, reactions[j, :3], reactions[j, 3:])
    for name, added in loads_of_touches(evaluator):
        joints[name].reaction_force += added[:3]
        joints[name].reaction_moment += added[3:]
    couplings = {
        g.name: float(ws.row.force[g.rows[0].number]) * g.rows[0].scale
        for g in system.groups
        if g.kind == "coupling"
    }
    drives: dict[str, Any] = {name: ws.joint.effort[n].copy() for name, n in system.efforts.items()}
    drives = {name: float(x[0]) if len(x) == 1 else x for name, x in drives.items()}
    return Motion(
        state.t, Known("motion.bodies", bodies), Known("motion.joints", joints),
        Known("motion.couplings", couplings), Known("motion.drives", drives), acc,
    )  # fmt: skip


def loads_of_touches(evaluator: Evaluator) -> list[tuple[str, Array]]:
    """What teeth and cams put on the joints of their parts beyond the effort of the law, ground axes."""
    system, ws, found = evaluator.system, evaluator.ws, []
    for group in system.groups:
        part = system.model.couplings.get(group.name) if group.kind == "coupling" else None
        touching = None if part is None else part.touching(system.model)
        if touching is None:
            continue
        y = np.zeros(1)
        if touching.follows:
            y = ws.coord.x[[system.joints[touching.follows].coordinates[0].number]]
        touch, holder = (
            touching.at(ws.row.force[[group.rows[0].number]], y),
            system.bodies.index(touching.holder),
        )
        force, point = (
            touch.force @ ws.body.R[holder].T,
            ws.body.r[holder] + touch.point @ ws.body.R[holder].T,
        )
        for item in touching.path:
            i = system.bodies.index(item.Q.body)
            found.append(
                (item.joint, load_of(item, force, point, ws.body.r[i] + ws.body.R[i] @ item.Q.pos)[0])
            )
    return found


def joint_coordinates(
    ws: Any, tree: tuple[Array, Array, Array], place: JointPlace
) -> tuple[Array, Array, Array]:
    """Positions, speeds and their rates of a joint, in the order of the interface's table.

    Of a joint of the tree they are parts of `tree`: positions, speeds and rates of the whole tree.
    """
    joint = place.joint
    if place.body:
        pos, speeds = slice(place.pos, place.pos + joint.n_beta), slice(place.vel, place.vel + joint.n_eta)
        return tree[0][pos], tree[1][speeds], tree[2][speeds]
    x: list[float] = []
    v: list[float] = []
    a: list[float] = []
    entries = iter(place.coordinates)
    P, Q = place.P.number, place.Q.number
    R_Q = ws.marker.R[Q]
    for item in joint.motion or ():
        if item.axis >= 0:
            coordinate = next(entries)
            assert coordinate.entry is not None
            row = ws.relation.at[coordinate.entry.number]
            x, v, a = [*x, row[0]], [*v, row[1]], [*a, row[2]]
        else:
            w_P, w_Q = ws.marker.v[P, 3:], ws.marker.v[Q, 3:]
            x += list(quat_from_matrix(ws.marker.R[P].T @ R_Q))
            v += list(R_Q.T @ (w_Q - w_P))
            a += list(R_Q.T @ (ws.marker.a[Q, 3:] - ws.marker.a[P, 3:] + np.cross(w_Q, w_P)))
    return np.array(x), np.array(v), np.array(a)
