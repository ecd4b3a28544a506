"""Degrees of freedom and redundancy at a state (F28): by count, by rank, and which reactions are unique.

For the counts bodies are held rigid and drives left out: only the joint columns of G count. Couplings are one
row each. Which reactions are unique is told with drives as the constraints that they are, and by all columns,
as elastic ones lift redundancy.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.directions import in_ground
from flexmbs.dynamics.analyses.idle import Hidden, hidden_freedoms
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.null_spaces import Blocks, left_null_space
from flexmbs.dynamics.reactions.self_stress import open_reactions
from flexmbs.dynamics.tolerances import NOTHING
from flexmbs.dynamics.tree.screws import free_twists
from flexmbs.model.bodies import GROUND, Particle
from flexmbs.model.held import holding_joints
from flexmbs.model.rows import Row, cut_group
from flexmbs.model.topology import body_of, floating
from flexmbs.spatial import skew

if TYPE_CHECKING:
    from flexmbs.model.model import Model
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]

#: sine of an angle up to which axes are parallel
PARALLEL = 1e-8


@dataclass
class Mobility:
    """Counts and names; what only reports tell is counted when they ask.

    `system` at an assembled `state`. `closure_rows` with their rank; `indeterminate_joints`: reactions,
    forces of couplings, efforts of drives that stay open. `stiffness_decides`: those that equilibrium leaves
    open, but flexible bodies or compliant joints do not. `driven`: freedoms of the mobility that drives take.
    """

    system: System = field(repr=False)
    state: State = field(repr=False)
    mobility: int
    closure_rows: int
    closure_rank: int
    redundant_rows: list[str] = field(default_factory=list)
    indeterminate_joints: list[str] = field(default_factory=list)
    stiffness_decides: list[str] = field(default_factory=list)
    condition: float = 1.0
    driven: int = 0

    @cached_property
    def _evaluator(self) -> Evaluator:
        found = Evaluator(self.system)
        found.kinematics(self.state.copy())
        return found

    @cached_property
    def kind(self) -> str:
        """planar, spherical or spatial."""
        return kinematic_class(self.system, self._evaluator)

    @cached_property
    def _hidden(self) -> list[Hidden]:
        return hidden_freedoms(self.system, self._evaluator, self.state)

    @property
    def hidden(self) -> list[str]:
        """Motions of bodies that move nothing else."""
        return [item.text for item in self._hidden]

    @property
    def n_hidden(self) -> int:
        return sum(len(item.twists) for item in self._hidden)

    @property
    def gruebler(self) -> int:
        """Freedoms by count."""
        return gruebler(self.system, self.kind)

    @property
    def structure(self) -> str:
        """open, closed or branched."""
        return structure(self.system.model)

    @property
    def n_bodies(self) -> int:
        return len(self.system.model.bodies)

    @property
    def n_joints(self) -> int:
        return len(self.system.model.joints)

    @property
    def n_floating(self) -> int:
        """Groups of bodies that no joint connects to ground."""
        return len(floating(self.system.model))

    @property
    def body_freedoms(self) -> int:
        """f_sz = 6 n_t, 3 of a mass point."""
        return body_freedoms(self.system.model, 6)

    @property
    def conditions(self) -> int:
        """b of all joints and couplings, in the tree or not."""
        return sum(conditions(self.system)) + len(self.system.model.couplings)

    @property
    def not_known(self) -> list[str]:
        """Reactions of joints that hold the frame of a body whose file does not say what holds it."""
        return [f"joints.{name}" for name in holding_joints(self.system.model)]

    @property
    def redundant(self) -> int:
        """Rows of the closure that say nothing new."""
        return self.closure_rows - self.closure_rank

    @property
    def n_loops(self) -> int:
        """Independent loops n_h = n_k - n_t; the free connection of what floats is one of the n_k."""
        return self.n_joints + self.n_floating - self.n_bodies

    @property
    def determinacy(self) -> str:
        """Statically determinate or r-fold indeterminate, kinematically determinate or movable."""
        known = f"indeterminate, {self.redundant}-fold" if self.redundant else "determinate"
        moves = "indeterminate, it moves" if self.mobility else "determinate, nothing moves"
        return f"statically {known}; kinematically {moves}"

    @property
    def shared(self) -> str:
        """What decides the forces of redundant rows."""
        by_stiffness = "by the stiffness of bodies and joints" if self.stiffness_decides else ""
        by_squares = "by least squares" if self.indeterminate_joints or not by_stiffness else ""
        return f"shared {', the rest '.join(x for x in (by_stiffness, by_squares) if x)}"

    @property
    def difference(self) -> str:
        """Why the count and the rank agree or not."""
        more, outside = self.mobility - self.gruebler, self.gruebler + self.redundant - self.mobility
        kept = {"planar": "in its plane", "spherical": "about its point"}.get(self.kind, "")
        texts = []
        if more:
            texts.append(f"{more} more than counted: as many rows of the loops follow from the others")
        if kept and outside > 0:
            texts.append(f"{outside} redundant rows hold the mechanism {kept}, which the count leaves out")
        if self.n_hidden:
            texts.append(f"{self.n_hidden} of the freedoms hidden")
        return "; ".join(texts) or "count and rank agree"

    def lines(self) -> list[str]:
        """The report for people (F28)."""
        rows = [f"redundant   {row}" for row in self.redundant_rows[:20]]
        rows += [f"open        reaction of {item}" for item in self.indeterminate_joints[:20]]
        rows += [f"stiffness   decides the reaction of {item}" for item in self.stiffness_decides[:20]]
        rows += [
            f"not known   reaction of {item}: its body does not say what holds it" for item in self.not_known
        ]
        other = "other " * bool(self.indeterminate_joints or self.not_known)
        rows.append(f"unique      every {other}component of the reactions")
        free = f" + {self.n_floating} free" if self.n_floating else ""
        loops = f"loops {self.n_joints} joints{free} - {self.n_bodies} bodies = {self.n_loops}"
        rank = f"{self.mobility} by rank" + f", {self.driven} of it driven" * bool(self.driven)
        count = f"{self.gruebler} by the Gruebler-Kutzbach count"
        return [
            f"class       {self.kind}, {self.structure}; {loops}",
            f"mobility    {rank}, {count}; {self.difference}",
            f"conditions  free bodies {self.body_freedoms} freedoms, b = {self.conditions} conditions, "
            f"{self.conditions - self.redundant} independent: {self.determinacy}",
            f"closure     {self.closure_rows} rows, rank {self.closure_rank}, {self.redundant} redundant",
            *[f"hidden      {item}" for item in self.hidden],
            *rows,
        ]


def mobility(system: System, evaluator: Evaluator, state: State, *, bends: bool = True) -> Mobility:
    """Mobility at an assembled state (F28); `bends`: flexible bodies give way to what loads them."""
    evaluator.loops(state.copy())
    rigid, length = joint_speeds(system), characteristic_length(system, evaluator)
    names, rows = constraints(system, ("joint", "coupling"))
    kept, stress, condition = independent(evaluator, rows, ~rigid, length)
    others = np.setdiff1d(np.arange(len(rows)), kept)
    report = Mobility(
        system,
        state.copy(),
        mobility=int(rigid.sum()) - len(kept),
        closure_rows=len(rows),
        closure_rank=len(kept),
        redundant_rows=in_ground([names[k] for k in others], [rows[k] for k in others], evaluator),
        condition=condition,
    )
    if system.model.drives:  # they hold what they drive: forces between them are as open as any
        free = rigid & (system.tables.tree.driven < 0)
        _, rows = constraints(system, ("joint", "coupling", "drive"))
        kept, stress, _ = independent(evaluator, rows, ~free, length)
        report.driven = report.mobility - (int(free.sum()) - len(kept))
    if stress:
        gives_way = ~rigid & bends
        found = open_reactions(system, evaluator, rows, stress, gives_way, length)
        report.indeterminate_joints, report.stiffness_decides = found
    return report


def joint_speeds(system: System) -> NDArray[np.bool_]:
    """Which speeds are those of joints: the others are of modes."""
    t = system.tables
    rigid = np.zeros(system.n_vel, dtype=bool)
    for i in range(1, len(t.tree.parent)):
        rigid[t.tree.o_eta[i] : t.tree.o_qd[i]] = True
    return rigid


def constraints(system: System, kinds: tuple[str, ...]) -> tuple[list[str], list[Row]]:
    """Rows of some kinds of groups, with their names; drives have rows on cut joints alone."""
    found = [(group, row) for group in system.groups if group.kind in kinds for row in group.rows]
    names = [f"{group.kind}s.{group.name} ({row.text})" for group, row in found]
    return names, [row for _, row in found]


def independent(
    evaluator: Evaluator, rows: list[Row], held: NDArray[np.bool_], length: float
) -> tuple[list[int], Blocks, float]:
    """Rows of G that are independent, states of self-stress as multipliers, condition.

    `held`: speeds that are left out. Needs `loops`.
    """
    numbers = np.array([row.number for row in rows], dtype=np.int64)
    scale = np.array([length if row.is_moment else 1.0 for row in rows])
    scaled = evaluator.sparse_rows().take(numbers).without(held).scaled(scale)
    norms = scaled.lengths()
    sizes = evaluator.row_sizes()[numbers] * scale
    # a row of rounding stays one: made as long as the others it would count
    rounding = norms <= 1e-12 * np.maximum(sizes, max(norms.max(initial=0.0), NOTHING))
    norms[rounding] = 1.0
    factor = scale / norms
    plain = scaled.divided(np.where(rounding, np.inf, norms)).without(held)
    kept, null, condition = left_null_space(plain)
    return kept, [(own, states * factor[own, None]) for own, states in null], condition


def characteristic_length(system: System, evaluator: Evaluator) -> float:
    """A length of the model, which makes moments and forces comparable."""
    places = evaluator.ws.marker.x
    spread = places.max(axis=0) - places.min(axis=0) if len(places) else np.zeros(3)
    return float(np.linalg.norm(spread)) or 1.0


def structure(model: Model) -> str:
    """open: a chain without loops; branched: several of them, or one with branches; closed: with loops."""
    free = len(floating(model))
    if len(model.joints) + free > len(model.bodies):
        return "closed"
    ends = [body_of(path) for joint in model.joints.values() for path in (joint.from_frame, joint.to_frame)]
    degree = Counter(ends)
    from_ground = degree.pop(GROUND, 0) + free
    return "branched" if from_ground > 1 or max(degree.values(), default=0) > 2 else "open"


def gruebler(system: System, kind: str) -> int:
    """Gruebler-Kutzbach count: freedoms of the bodies less rows of joints and couplings (F28).

    A body has 6 freedoms, 3 in a plane or about a point, and so has a particle anywhere; a joint takes what
    it does not leave of them.
    """
    model, per_body = system.model, 6 if kind == "spatial" else 3
    held = sum(per_body - min(6 - n, per_body) for n in conditions(system))
    return body_freedoms(model, per_body) - held - len(model.couplings)


def body_freedoms(model: Model, per_body: int) -> int:
    """Freedoms of the bodies without joints; a mass point has three translations."""
    return sum(3 if isinstance(body, Particle) else per_body for body in model.bodies.values())


def conditions(system: System) -> list[int]:
    """Rows b_i = 6 - f_i of every joint; of a particle only the place is held."""
    places = [system.joints[name] for name in system.model.joints]
    return [len(cut_group(p.joint, p.P, p.Q, system.model.bodies).rows) for p in places]


def kinematic_class(system: System, evaluator: Evaluator) -> str:
    """planar: axes parallel, travel square to them (or in one plane); spherical: axes through one point.

    By what the joints leave free; what floats moves in space.
    """
    if not system.model.joints or floating(system.model):
        return "spatial"
    v, w = joint_twists(system, evaluator)
    if not np.abs(w).max(initial=0.0) > PARALLEL:
        return "planar" if len(v) and np.linalg.matrix_rank(v, PARALLEL) < 3 else "spatial"
    if common_normal(v, w) is not None:
        return "planar"
    # the velocity of a point that none of them moves: v + w x p = 0
    rows, size = -np.reshape(skew(w), (-1, 3)), max(float(np.abs(v).max()), 1e-3)
    p = np.linalg.lstsq(rows, v.ravel(), rcond=None)[0]
    return "spherical" if np.abs(rows @ p - v.ravel()).max() < PARALLEL * size else "spatial"


def plane_normal(system: System, evaluator: Evaluator) -> Array | None:
    """Normal of the plane of a planar mechanism with axes, else None."""
    if kinematic_class(system, evaluator) != "planar":
        return None
    return common_normal(*joint_twists(system, evaluator))


def joint_twists(system: System, evaluator: Evaluator) -> tuple[Array, Array]:
    """What all joints leave free: velocities of the origin of ground (n, 3), and angular velocities."""
    places = [system.joints[name] for name in system.model.joints]
    twists = np.vstack([free_twists(place, evaluator) for place in places])
    return twists[:, :3], twists[:, 3:]


def common_normal(v: Array, w: Array) -> Array | None:
    """Direction that all angular velocities have and no velocity has a part in; None without any turn."""
    size = np.linalg.norm(w, axis=1)
    if not size.max(initial=0.0) > PARALLEL:
        return None
    n = w[np.argmax(size)] / size.max()
    n = np.where(np.abs(n) < 1e-15, 0.0, n)  # rounding, as the axes of a plane are made of it
    n /= np.linalg.norm(n) * np.sign(n[np.argmax(np.abs(n))])
    along = np.abs(v @ n).max() / max(float(np.abs(v).max()), 1.0)
    return n if along < PARALLEL and np.abs(np.cross(w, n)).max() < PARALLEL else None
