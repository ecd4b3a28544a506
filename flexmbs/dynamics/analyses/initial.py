"""Initial assembly: the consistent state nearest to what is given (F34).

Start: `initial` where given, else the poses, else zero. What moves are joint coordinates; elastic ones, held
and driven ones stay. "Nearest" puts given values before those of the poses, and these before defaults, and
counts cut joints like those of the tree: so the result does not depend on the choice of the cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.closure import cause, closure_limits, keep_apart, model_size
from flexmbs.dynamics.analyses.guess import Guess, first_guess
from flexmbs.dynamics.evaluator import Evaluator, no_value
from flexmbs.dynamics.loops.frontal import Frontal
from flexmbs.dynamics.loops.null_spaces import blocks
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.loops.sparse import Sparse
from flexmbs.dynamics.tolerances import NOTHING, RANK
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.joints.base import EQUAL_TURN, SQUARE

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]

ASSEMBLY = 1e-12  # of the size of the model
ITERATIONS, CLOSING = 60, 10


def assemble(system: System, evaluator: Evaluator | None = None) -> State:
    """State at t = 0 with all constraints met, or `SolverError` with the rows that cannot be met (F34)."""
    evaluator = evaluator or Evaluator(system)
    guess = first_guess(system, evaluator)
    state = guess.state
    nothing = evaluator.times_without_value(state.copy())
    if nothing:
        raise SolverError(no_value(nothing, state.t))
    late = np.array([row.constant_from_start for group in system.groups for row in group.rows], dtype=bool)
    _positions(system, evaluator, guess, ~late)
    evaluator.kinematics(state)
    # what couplings take from the start
    system.tables.row.const[late] += evaluator.ws.row.g[late]
    evaluator.kinematics(state)
    _check_closure(system, evaluator)
    keep_apart(system, evaluator)
    evaluator.kinematics(state)
    _check_orientation(system, evaluator)
    _velocities(system, evaluator, guess)
    state.turns[:] = evaluator.ws.relation.angle[:, 0]
    return state


@dataclass
class _Problem:
    """Least change: hard rows G change = -g, then soft rows A change = b, level by level."""

    A: Array
    b: Array
    level: NDArray[np.int64]
    G: Array
    g: Array

    def solve(self, relax: float = 1.0) -> Array:
        """Change that meets the hard rows; what they leave free goes to the soft rows of highest priority.

        Priorities instead of large weights: a given value then stays to rounding where it can. Loops that
        share no speed are solved apart. `relax`: the
        part of the way to the soft rows that is taken.
        """
        n, change = len(self.g), np.zeros(self.G.shape[1])
        longest = float(np.linalg.norm(self.G, axis=1).max(initial=0.0))
        for rows, columns in blocks(Sparse.of(np.vstack([self.G, self.A]))):
            if not len(columns):
                continue
            hard, soft = rows[rows < n], rows[rows >= n] - n
            part = _Problem(
                self.A[np.ix_(soft, columns)], self.b[soft], self.level[soft],
                self.G[np.ix_(hard, columns)], self.g[hard],
            )  # fmt: skip
            change[columns] = part.solve_block(longest, relax)
        return change

    def solve_block(self, longest: float, relax: float) -> Array:
        """The same where all rows hang together; `longest`: length of the longest of all hard rows."""
        change, Z = _meet(self.G, -self.g, longest)
        for level in sorted(set(self.level), reverse=True):
            if not Z.shape[1]:
                break
            rows = self.level == level
            AZ = self.A[rows] @ Z
            U, s, Vt = np.linalg.svd(AZ, full_matrices=len(AZ) < AZ.shape[1])
            rank = int(np.sum(s > RANK * max(1.0, float(s[0])))) if len(s) else 0
            missing = self.b[rows] - self.A[rows] @ change
            change = change + relax * (Z @ (Vt[:rank].T @ ((U[:, :rank].T @ missing) / s[:rank])))
            Z = Z @ Vt[rank:].T
        return change


def _meet(G: Array, value: Array, longest: float) -> tuple[Array, Array]:
    """Least-norm x with G x = value, and the null space."""
    factors = Frontal(Sparse.of(G), 1e-9 * longest)
    return factors.least(value), factors.null()


def _without_rounding(evaluator: Evaluator, G: Array) -> Array:
    """G with entries that are rounding against their row as zeros.

    Where elastic coordinates alone close a loop, joint columns of its rows hold nothing else, and a step
    to rounding over rounding would lead anywhere.
    """
    sizes = np.maximum(evaluator.row_sizes(), np.abs(G).max(axis=1, initial=0.0))
    return np.where(np.abs(G) <= 1e-13 * sizes[:, None], 0.0, G)


def _movable(system: System, guess: Guess) -> NDArray[np.int64]:
    """Speeds that assembly may change: joint speeds that are neither driven nor held."""
    t = system.tables
    free = np.zeros(system.n_vel, dtype=bool)
    for i in range(1, len(t.tree.parent)):
        free[t.tree.o_eta[i] : t.tree.o_qd[i]] = True
    free &= t.tree.driven < 0
    free[guess.held] = False
    return np.flatnonzero(free)


def _positions(system: System, evaluator: Evaluator, guess: Guess, active: NDArray[np.bool_]) -> None:
    """Newton iteration on the positions, nearest to the guess."""
    state, free = guess.state, _movable(system, guess)
    start = state.copy()
    size = model_size(system)
    evaluator.kinematics(state)
    if not np.any(active) and not guess.cut_targets:
        return
    best, relax, last, limits = np.inf, 1.0, np.zeros(len(free)), closure_limits(system)[active]
    for k in range(ITERATIONS + CLOSING):
        G = _without_rounding(evaluator, evaluator.jacobian(state))[np.ix_(active, free)]
        g = evaluator.ws.row.g[active].copy()
        best = float(np.abs(g).max(initial=0.0))
        change = _Problem(*guess.soft_rows(evaluator, start, free), G, g).solve(relax)
        closed = best <= ASSEMBLY * size or bool(np.all(np.abs(g) <= limits))
        if closed and (k > 0 or not guess.cut_targets) and _small(change):
            return
        _damped_step(evaluator, state, free, change, active, best)
        if k + 1 >= ITERATIONS:
            relax = 0.0  # closed comes before nearest
        elif k > 3 and change @ last < -0.25 * last @ last:
            relax *= 0.5  # curved far from the guess: full steps to the nearest swing about it
        last = change
    if best > 1e-9 * size:
        evaluator.kinematics(state)


def _small(change: Array) -> bool:
    return bool(np.abs(change).max(initial=0.0) < 1e-12)


def _damped_step(
    evaluator: Evaluator,
    state: State,
    free: NDArray[np.int64],
    change: Array,
    active: NDArray[np.bool_],
    before: float,
) -> None:
    """Take the step, or as much of it as does not open the loops further."""
    full = np.zeros(len(state.vel))
    full[free] = change * min(1.0, 0.7 / max(float(np.abs(change).max(initial=0.0)), NOTHING))
    old = state.pos.copy()
    for _ in range(8):
        add_increment(evaluator.tables, old, full, state.pos)
        evaluator.kinematics(state)
        after = float(np.abs(evaluator.ws.row.g[active]).max(initial=0.0))
        if after <= max(1.5 * before, 1e-9):
            return
        full *= 0.5


def _velocities(system: System, evaluator: Evaluator, guess: Guess) -> None:
    """Speeds nearest to the given ones that keep all constraints."""
    state, free = guess.state, _movable(system, guess)
    if not system.n_rows and not guess.cut_targets:
        evaluator.kinematics(state)
        return
    G = _without_rounding(evaluator, evaluator.jacobian(state))
    g_dot = evaluator.ws.row.g_dot.copy()
    soft = guess.soft_speed_rows(evaluator, free)
    state.vel[free] += _Problem(*soft, G[:, free], g_dot).solve()
    evaluator.kinematics(state)
    worst = np.abs(evaluator.ws.row.g_dot)
    scale = float(np.abs(state.vel).max(initial=0.0)) * max(float(np.abs(G).max(initial=0.0)), 1.0)
    if worst.max(initial=0.0) > 1e-8 * max(scale, 1.0):
        _fail(system, worst, np.full(len(worst), 1e-8 * max(scale, 1.0)), "velocities", "/s")


def elsewhere(system: System, evaluator: Evaluator, state: State, rest: set[str]) -> State | None:
    """A closed position a tenth of a radian beside a closed one, for trials; None where there is none.

    Leaves the evaluator at it. Joints in `rest`, and what is driven or elastic, stay.
    """
    t, moved, step = system.tables, state.copy(), np.zeros(system.n_vel)
    tree = [p for name, p in system.joints.items() if p.body and name not in rest]
    speeds = [k for p in tree for k in range(p.vel, p.vel + p.joint.n_eta) if t.tree.driven[k] < 0]
    free = np.array(speeds, dtype=np.int64)
    step[free] = np.random.default_rng(0).uniform(-0.1, 0.1, len(free)) * min(1.0, model_size(system))
    for _ in range(20):
        G = _without_rounding(evaluator, evaluator.jacobian(moved))[:, free]
        g = evaluator.ws.row.g + G @ step[free]
        if not (np.isfinite(G).all() and np.isfinite(g).all()):
            return None  # beyond the domain of a coupling
        step[free] += _Problem(G[:0], g[:0], np.zeros(0, dtype=np.int64), G, g).solve()
        add_increment(evaluator.tables, moved.pos.copy(), step, moved.pos)
        step[:] = 0.0
        evaluator.kinematics(moved)
        if float(np.abs(evaluator.ws.row.g).max(initial=0.0)) <= ASSEMBLY * model_size(system):
            return moved
    return None


def _check_closure(system: System, evaluator: Evaluator) -> None:
    left, limits = np.abs(evaluator.ws.row.g), closure_limits(system)
    if not np.all(left <= limits):
        _fail(system, left, limits, "positions")


def row_names(system: System) -> list[str]:
    """`joints.name (translation x)` for every row."""
    kinds = {
        "joint": "joints", "coupling": "couplings", "drive": "drives", "force": "forces", "massless": "bodies"
    }  # fmt: skip
    return [f"{kinds[g.kind]}.{g.name} ({row.text})" for g in system.groups for row in g.rows]


def _unit(name: str, rate: str) -> str:
    """Unit of what is left open in a row of a joint; rows of couplings and drives have those of their law."""
    kinds = {"(translation": " m", "(rotation": " rad"}
    return next((unit + rate for kind, unit in kinds.items() if kind in name), "")


def _fail(system: System, worst: Array, limits: Array, what: str, rate: str = "") -> None:
    names = row_names(system)
    order = np.argsort(-np.nan_to_num(worst / limits, nan=np.inf))
    items = [
        f"{names[r]} |g| = {worst[r]:.3g}{_unit(names[r], rate)}"
        for r in order[:3]
        if not worst[r] <= limits[r]
    ]
    where = names[order[0]].partition(" ")[0]
    raise SolverError(
        Diagnostic(
            "assembly.open",
            where,
            f"{what} cannot be assembled, left open: {'; '.join(items)} (tolerance {limits[order[0]]:.1e})",
            cause(system, where, float(worst[order[0]])),
        )
    )


def _check_orientation(system: System, evaluator: Evaluator) -> None:
    """Parallel rows and axial vectors vanish for the opposite orientation too."""
    ws = evaluator.ws
    for group in system.groups:
        if group.kind != "joint":
            continue
        kinds = {row.entries[0][1].kind for row in group.rows}
        entry = group.rows[0].entries[0][1]
        R = ws.marker.R[entry.P.number].T @ ws.marker.R[entry.Q.number]
        squares = [
            row for row in group.rows
            if row.entries[0][1].kind == SQUARE and row.entries[0][1].b == 2 and row.entries[0][1].a < 2
        ]  # fmt: skip
        turned = len(squares) == 2 and R[2, 2] < 0.0
        if (
            EQUAL_TURN in kinds
            and len([1 for row in group.rows if row.entries[0][1].kind == EQUAL_TURN]) == 3
        ):
            turned = np.trace(R) < 0.0
        if turned:
            raise SolverError(
                Diagnostic(
                    "assembly.opposite",
                    f"joints.{group.name}",
                    "it closes with its axes in opposite directions",
                    "turn one of the frames round, or give initial positions nearer to the closed loop",
                )
            )
