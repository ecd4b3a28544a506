"""Degrees of freedom and redundancy at a state (F28): by count, by rank, and which reactions are unique.

For the counts bodies are held rigid and drives left out: only the joint columns of G count. Couplings are one
row each. Which reactions are unique is told with drives as the constraints that they are, and by all columns,
as elastic ones lift redundancy.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.idle import hidden_freedoms
from flexmbs.dynamics.null_spaces import left_null_space
from flexmbs.dynamics.self_stress import open_reactions
from flexmbs.model.rows import Row
from flexmbs.model.state import State
from flexmbs.model.system import JointPlace, System

Array = NDArray[np.float64]


@dataclass
class Mobility:
    """Counts and names; `kind` is planar, spherical or spatial, `structure` open, closed or branched.

    n_loops = n_joints - n_bodies, the joints that are no branch of the tree. `driven`: freedoms of the
    mobility that drives take. `indeterminate_joints`: reactions, forces of couplings, efforts of drives that
    stay open. `stiffness_decides`: those that equilibrium leaves open, but flexible bodies or compliant
    joints do not.
    """

    mobility: int
    gruebler: int
    closure_rows: int
    closure_rank: int
    kind: str = "spatial"
    structure: str = "open"
    n_bodies: int = 0
    n_joints: int = 0
    n_loops: int = 0
    redundant_rows: list[str] = field(default_factory=list)
    indeterminate_joints: list[str] = field(default_factory=list)
    stiffness_decides: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    condition: float = 1.0
    driven: int = 0

    @property
    def redundant(self) -> int:
        """Rows of the closure that say nothing new."""
        return self.closure_rows - self.closure_rank

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
        if self.hidden:
            texts.append(f"{len(self.hidden)} of the freedoms hidden")
        return "; ".join(texts) or "count and rank agree"

    def lines(self) -> list[str]:
        """The report for people (F28)."""
        rows = [f"redundant   {row}" for row in self.redundant_rows[:20]]
        rows += [f"open        reaction of {item}" for item in self.indeterminate_joints[:20]]
        rows += [f"stiffness   decides the reaction of {item}" for item in self.stiffness_decides[:20]]
        if not self.indeterminate_joints:
            rows.append("unique      every component of the reactions")
        else:
            rows.append("unique      every other component of the reactions")
        loops = f"loops {self.n_joints} joints - {self.n_bodies} bodies = {self.n_loops}"
        rank = f"{self.mobility} by rank" + f", {self.driven} of it driven" * bool(self.driven)
        count = f"{self.gruebler} by the Gruebler-Kutzbach count"
        return [
            f"class       {self.kind}, {self.structure}; {loops}",
            f"mobility    {rank}, {count}; {self.difference}",
            f"closure     {self.closure_rows} rows, rank {self.closure_rank}, {self.redundant} redundant",
            *[f"hidden      {item}" for item in self.hidden],
            *rows,
        ]


def mobility(system: System, evaluator: Evaluator, state: State, *, bends: bool = True) -> Mobility:
    """Mobility at an assembled state (F28); `bends`: flexible bodies give way to what loads them."""
    G = evaluator.jacobian(state.copy())
    rigid, length = joint_speeds(system), characteristic_length(system, evaluator)
    names, rows = constraints(system, ("joint", "coupling"))
    kept, stress, condition = independent(evaluator, rows, G[:, rigid], length)
    kind = kinematic_class(system, evaluator)
    report = Mobility(
        mobility=int(rigid.sum()) - len(kept),
        gruebler=gruebler(system, kind),
        closure_rows=len(rows),
        closure_rank=len(kept),
        kind=kind,
        structure=structure(system),
        n_bodies=len(system.model.bodies),
        n_joints=len(system.joints),
        n_loops=len(system.topology.cuts),
        redundant_rows=[name for k, name in enumerate(names) if k not in set(kept)],
        hidden=hidden_freedoms(system, evaluator),
        condition=condition,
    )
    if system.model.drives:  # they hold what they drive: forces between them are as open as any
        free = rigid & (system.tables.driven < 0)
        _, rows = constraints(system, ("joint", "coupling", "drive"))
        kept, stress, _ = independent(evaluator, rows, G[:, free], length)
        report.driven = report.mobility - (int(free.sum()) - len(kept))
    if stress.shape[1]:
        gives_way = ~rigid & bends
        found = open_reactions(system, evaluator, rows, stress, G, gives_way, length)
        report.indeterminate_joints, report.stiffness_decides = found
    return report


def joint_speeds(system: System) -> NDArray[np.bool_]:
    """Which speeds are those of joints: the others are of modes."""
    t = system.tables
    rigid = np.zeros(system.n_vel, dtype=bool)
    for i in range(1, len(t.parent)):
        rigid[t.o_eta[i] : t.o_qd[i]] = True
    return rigid


def constraints(system: System, kinds: tuple[str, ...]) -> tuple[list[str], list[Row]]:
    """Rows of some kinds of groups, with their names; drives have rows on cut joints alone."""
    found = [(group, row) for group in system.groups if group.kind in kinds for row in group.rows]
    names = [f"{group.kind}s.{group.name} ({row.text})" for group, row in found]
    return names, [row for _, row in found]


def independent(
    evaluator: Evaluator, rows: list[Row], G: Array, length: float
) -> tuple[list[int], Array, float]:
    """Rows of G (n_rows, columns) that are independent, states of self-stress as multipliers, condition."""
    numbers = [row.number for row in rows]
    scale = np.array([length if row.is_moment else 1.0 for row in rows])
    scaled = G[numbers] * scale[:, None]
    norms = np.linalg.norm(scaled, axis=1)
    sizes = evaluator.row_sizes()[numbers] * scale
    # a row of rounding stays one: made as long as the others it would count
    rounding = norms <= 1e-12 * np.maximum(sizes, max(norms.max(initial=0.0), 1e-300))
    norms[rounding] = 1.0
    kept, null, condition = left_null_space(np.where(rounding[:, None], 0.0, scaled / norms[:, None]))
    return kept, null / norms[:, None] * scale[:, None], condition


def characteristic_length(system: System, evaluator: Evaluator) -> float:
    """A length of the model, which makes moments and forces comparable."""
    places = evaluator.ws.mark_x
    spread = places.max(axis=0) - places.min(axis=0) if len(places) else np.zeros(3)
    return float(np.linalg.norm(spread)) or 1.0


def structure(system: System) -> str:
    """open: a chain or tree without cuts; branched: with several children; closed: with loops."""
    if system.topology.cuts:
        return "closed"
    parents = [branch.parent for branch in system.topology.branches]
    return "branched" if len(parents) != len(set(parents)) else "open"


def gruebler(system: System, kind: str) -> int:
    """Gruebler-Kutzbach count: freedoms of the joints less 6 (3 for planar and spherical) per loop."""
    per_body = 6 if kind == "spatial" else 3
    lost = 0
    freedoms = 0
    for place in system.joints.values():
        free = freedoms_of(place, kind)
        if place.body:
            freedoms += free
        else:
            lost += per_body - free
    return freedoms - lost - len(system.model.couplings)


def freedoms_of(place: JointPlace, kind: str) -> int:
    """Freedoms of a joint in its class: 6 less its rows; in a plane or about a point at most 3."""
    joint = place.joint
    free = joint.n_eta if joint.has_motion else 6 - len(joint.locked)
    return free if kind == "spatial" else min(free, 3)


def kinematic_class(system: System, evaluator: Evaluator) -> str:
    """planar: axes parallel, travel square to them (or in one plane); spherical: axes through one point."""
    turns, travels = [], []
    for place in system.joints.values():
        found = screws(place, evaluator)
        if found is None:
            return "spatial"
        turns += found[0]
        travels += found[1]
    if not turns:
        return "planar" if len(travels) and np.linalg.matrix_rank(np.array(travels), 1e-8) < 3 else "spatial"
    axis = turns[0][0]
    if all(np.linalg.norm(np.cross(axis, n)) < 1e-8 for n, _ in turns):
        return "planar" if all(abs(axis @ d) < 1e-8 for d in travels) else "spatial"
    return "spherical" if not travels and through_one_point(turns) else "spatial"


def plane_normal(system: System, evaluator: Evaluator) -> Array | None:
    """Normal of the plane of a planar mechanism, else None."""
    if kinematic_class(system, evaluator) != "planar":
        return None
    for place in system.joints.values():
        found = screws(place, evaluator)
        if found is not None and found[0]:
            return np.asarray(found[0][0][0])
    return None


def screws(place: JointPlace, evaluator: Evaluator) -> tuple[list[tuple[Array, Array]], list[Array]] | None:
    """Turning axes (direction, point) and travel directions of a joint in ground; None when it has others."""
    ws, joint = evaluator.ws, place.joint
    if not joint.has_motion or any(item.turn != 0.0 and item.travel != 0.0 for item in joint.motion):
        return None
    P, Q = place.P.number, place.Q.number
    turns, travels = [], []
    for item in joint.motion:
        if item.axis < 0:
            turns += [(ws.mark_R[Q][:, k], ws.mark_x[Q]) for k in range(3)]
        elif item.turn != 0.0:
            frame = Q if item.axis == 1 else P  # the second pin of a universal joint is fixed in Q
            turns.append((ws.mark_R[frame][:, item.axis], ws.mark_x[Q]))
        else:
            travels.append(ws.mark_R[P][:, item.axis])
    return turns, travels


def through_one_point(lines: list[tuple[Array, Array]]) -> bool:
    """Whether all lines meet, by the point nearest to them."""
    A = np.zeros((3, 3))
    b = np.zeros(3)
    for n, p in lines:
        N = np.eye(3) - np.outer(n, n)
        A += N
        b += N @ p
    point = np.linalg.lstsq(A, b, rcond=None)[0]
    size = max(float(np.abs([p for _, p in lines]).max()), 1e-3)
    return all(np.linalg.norm(np.cross(n, p - point)) < 1e-8 * size for n, p in lines)
