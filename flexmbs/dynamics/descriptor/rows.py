"""Locked relations of joints in dependent coordinates: values, rates, wrenches, all at once (F19, F32).

Their sums to constraint rows are the descriptor form's own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions.machine import evaluate
from flexmbs.expressions.table import STACK
from flexmbs.model.tables import Tables, Workspace

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Found(NamedTuple):
    """Relations at a state: value, rate, second rate at zero accelerations; force, moment on Q at its origin.

    A unit multiplier puts `force` and `moment` on Q; their power is the rate.
    """

    value: Array  # (n,)
    rate: Array
    bias: Array
    force: Array  # (n, 3) ground axes
    moment: Array
    angle: Array  # (n,) those that are followed


def found_in(ws: Workspace) -> Found:
    """The relations of the kinematics that was evaluated last, at zero accelerations."""
    at = ws.relation.at.copy()
    return Found(at[:, 0], at[:, 1], at[:, 2], at[:, 3:6], at[:, 6:9], ws.relation.angle[:, 0].copy())


def cross(x: Array, y: Array) -> Array:
    """Row by row; numpy's own is ten times slower on a few rows."""
    out = np.empty(np.broadcast_shapes(x.shape, y.shape))
    out[:, 0] = x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1]
    out[:, 1] = x[:, 2] * y[:, 0] - x[:, 0] * y[:, 2]
    out[:, 2] = x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]
    return out


class RowSums:
    """Constraint rows as sums of relations, expressions and laws of time (F27); rows without joints left out.

    `rows` are the numbers of the rows that are constraints: no forces, no massless motions (F26a): M may be
    singular here. `part`, `entry`: row (among those) and relation of every term, `coordinate` the joint
    coordinate by which an expression sees the relation, or -1.
    """

    def __init__(self, t: Tables, kinds: list[str]) -> None:
        kind = np.array([kinds[g] for g in t.row.group])
        self.tables = t
        self.rows = np.flatnonzero((kind != "force") & (kind != "massless"))
        sizes = np.diff(t.term.start)[self.rows]
        self.part = np.repeat(np.arange(len(self.rows)), sizes)
        terms = [np.arange(t.term.start[r], t.term.start[r + 1]) for r in self.rows]
        picked = np.concatenate([*terms, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        self.entry, self.coordinate = t.term.relation[picked], t.term.coord[picked]
        self.factor = t.term.coef[picked]
        self.laws, self.expression = t.row.law[self.rows], t.row.expr[self.rows]
        self.expressions = np.flatnonzero(self.expression >= 0)

    def at(self, ws: Workspace, t: float, found: Found) -> tuple[Array, Array, Array, Array]:
        """g, its rate, its second rate at zero accelerations, and the coefficients of all terms."""
        coef, const = self.factor.copy(), self.coordinate < 0
        g, g_dot, gamma = (
            -self.tables.row.const[self.rows],
            np.zeros(len(self.rows)),
            np.zeros(len(self.rows)),
        )
        timed = self.laws >= 0
        d = self.laws[timed]
        g[timed] -= ws.law.x[d]
        g_dot[timed] -= ws.law.v[d]
        gamma[timed] -= ws.law.a[d]
        for r in self.expressions:
            value, coef[(self.part == r) & ~const] = self._expression(int(r), t, found)
            g[r] += value[0]
            g_dot[r] += value[1]
            gamma[r] += value[2]
        e, c, size = self.entry, np.where(const, coef, 0.0), len(self.rows)
        g += np.bincount(self.part, c * found.value[e], size)
        g_dot += np.bincount(self.part, c * found.rate[e], size)
        gamma += np.bincount(self.part, c * found.bias[e], size)
        return g, g_dot, gamma, coef

    def _expression(self, r: int, t: float, found: Found) -> tuple[Array, Array]:
        """Value and two rates of the expression of a row, and its derivatives by its coordinates."""
        table, k, tables = self.tables.row.laws, int(self.expression[r]), self.tables
        own = np.flatnonzero((self.part == r) & (self.coordinate >= 0))
        x = np.zeros((3, 1 + len(tables.coord.entry)))
        stack, out = np.zeros((STACK, 3)), np.zeros(3)
        x[0, 0] = t
        seen = tables.coord.entry >= 0
        x[0, 1:][seen] = found.value[tables.coord.entry[seen]]
        slopes = []
        for n in own:
            x[1, 1 + self.coordinate[n]] = 1.0
            evaluate(table, k, x[0], x[1], x[2], stack, out)
            x[1, 1 + self.coordinate[n]] = 0.0
            slopes.append(out[1])
        x[1, 0] = 1.0
        x[1, 1:][seen] = found.rate[tables.coord.entry[seen]]
        x[2, 1:][seen] = found.bias[tables.coord.entry[seen]]
        evaluate(table, k, x[0], x[1], x[2], stack, out)
        return out.copy(), np.array(slopes)
