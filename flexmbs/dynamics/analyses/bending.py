"""Shapes of elastic bodies in balance with the loads of a prescribed motion, by compiled passes (F36, F44).

The passes are those of an implicit step so long that in every mode stiffness outweighs inertia. By how much
they would change the rate of an elastic coordinate, times the square of the step, is what it misses to
balance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import prepare
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.columns import ACCELERATION
from flexmbs.dynamics.loops.projection import project
from flexmbs.dynamics.tolerances import GAP, ROUNDED
from flexmbs.model.state import State

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: stiffness over inertia of the softest mode in the passes
OUTWEIGHS = 1000.0
#: rounds, the last change of the shapes, of their size (a tenth or less is left), and rounding, of positions
ROUNDS, SHAPES_SETTLED, STILL_SHAPES = 30, 1e-5, 1e-15
#: rounds of closing, and gaps that are closed, of how far shapes move
CLOSING, GAP_OF_SHAPES = 20, 1e-4
#: rates of shapes that close loops, of the largest speed: more is none of joints alone
SHARE = 1e-6
#: how far shapes move at first [m], as far as it is known, and where they are lost
FIRST, LOST = 1e-8, 1e10


class Bending:
    """Settles shapes where drives and loops leave nothing free. `shift`: the square of the step [s^2]."""

    def __init__(self, evaluator: Evaluator, shift: float) -> None:
        self.evaluator, self.shift = evaluator, shift
        body, tree = evaluator.tables.body, evaluator.tables.tree
        self.shape, self.rates = spans(body.o_q, body.nf), spans(tree.o_qd[: len(body.nf)], body.nf)
        self.still, self.acc = np.zeros(evaluator.system.n_vel), np.zeros(evaluator.system.n_vel)
        self._ready: dict[Any, Any] = {}

    def _call(self, entry: Any, *args: Any) -> Any:
        if entry not in self._ready:
            self._ready[entry] = prepare(entry, *args)
        return self._ready[entry](*args)

    def settle(self, state: State) -> Array | None:
        """Take positions, speeds and shapes to where they are in balance; accelerations there.

        None where that is not found; the state is then anywhere. What is left falls by a ratio, as loads
        follow the shape by their inertia; the last round tells it.
        """
        left, bent, moved = np.zeros(0), np.zeros(0), FIRST
        pos, rates, shift = state.pos, self.rates, (0.0, self.shift, ACCELERATION)
        size, args = float(np.abs(pos).max()), self.evaluator._args(state, self.still)
        for _ in range(ROUNDS):
            self._project(state, args, max(ROUNDED * max(size, 1.0), GAP_OF_SHAPES * moved))
            if self._call(evaluate.with_friction, *args, shift, self.acc) != 0:
                return None
            last, left = left, self.shift * self.acc[rates]
            less = left - last if len(last) else left
            square = float(less @ less)
            bent = left - (float(left @ less) / square * (bent + less) if len(last) and square > 0.0 else 0.0)
            pos[self.shape] += bent
            moved = float(np.abs(bent).max())
            if not moved < LOST:
                return None
            if moved <= max(SHAPES_SETTLED * float(np.abs(pos[self.shape]).max()), STILL_SHAPES * size):
                self.acc[rates], lam = 0.0, args[1].row.lam.copy()
                closed = self._close(state, args, 10.0 * ROUNDED * max(size, 1.0))
                args[1].row.lam[:], state.vel[rates] = lam, 0.0
                return self.acc.copy() if closed else None
        return None

    def _project(self, state: State, args: tuple[Any, ...], tolerance: float) -> tuple[float, float]:
        """Close loops, shapes at rest; the gaps that are left, of positions and of speeds."""
        state.vel[self.rates] = 0.0
        worst, worst_dot, _ = self._call(project, *args, 0.0, self.shift, (tolerance, CLOSING, False))
        self.still[:] = 0.0
        return worst, worst_dot

    def _close(self, state: State, args: tuple[Any, ...], tolerance: float) -> bool:
        """Close loops by joints; whether these alone can."""
        worst, worst_dot = self._project(state, args, tolerance)
        speed = max(float(np.abs(state.vel).max()), 1.0)
        return worst < GAP and max(worst_dot, float(np.abs(state.vel[self.rates]).max())) < SHARE * speed

    def forces(self, state: State, acc: Array) -> None:
        """Everything that is reported of a state that is settled. Writes: ws, as `Evaluator.observe` does."""
        self.still[:] = acc
        self._call(evaluate.joint_forces, *self.evaluator._args(state, self.still))


def bending(evaluator: Evaluator) -> Bending | None:
    """Passes for the elastic bodies of a system; None where a shape has no stiffness."""
    from scipy.linalg import eigh  # 0.1 s of every start

    body, squares = evaluator.tables.body, []
    for i in np.flatnonzero(body.nf):
        nf = int(body.nf[i])
        M, K = body.K_data[body.o_K[i] : body.o_K[i] + 2 * nf * nf].reshape(2, nf, nf)
        found = eigh(K, M, eigvals_only=True)
        if not found[0] > ROUNDED * found[-1]:
            return None
        squares.append(found[0])
    return Bending(evaluator, OUTWEIGHS / min(squares)) if squares else None


def spans(first: Ints, count: Ints) -> Ints:
    """All numbers of ranges that begin at `first`."""
    return np.concatenate([np.zeros(0, dtype=int), *map(np.arange, first, first + count)])
