"""Locked relations of joints in dependent coordinates: values, rates, wrenches, all at once (F19, F32).

The descriptor form's own reading of the joint data: each relation is differentiated as it stands, in NumPy.
The kernels of `model/joints/relations.py` and the recursion have no part in it, so that the two agree only
when both are right.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions import STACK
from flexmbs.expressions.machine import evaluate
from flexmbs.model.joints.base import DISTANCE, EQUAL_TURN, OFFSET, SLIDE, SQUARE
from flexmbs.model.rows import ANGLE, ANGLE_FIRST, ANGLE_SECOND
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


class _Ends(NamedTuple):
    """Motion of Q seen from P, and the turning of both, for some relations."""

    R_P: Array
    R_Q: Array
    w_P: Array
    w_Q: Array
    al_P: Array
    al_Q: Array
    d: Array
    d_v: Array
    d_a: Array


class Relations:
    """All relations of a system, sorted by kind once."""

    def __init__(self, t: Tables) -> None:
        self.p, self.q, self.n = t.ent_p, t.ent_q, len(t.ent_kind)
        self.a, self.b, self.size = t.ent_a, t.ent_b, t.ent_value
        kinds = np.asarray(t.ent_kind)
        self.of_kind = {int(k): np.flatnonzero(kinds == k) for k in np.unique(kinds)}

    def at(self, ws: Workspace, turns: Array) -> Found:
        """Needs markers moving at zero accelerations; `turns` (n,) are last values, to count whole turns."""
        n = self.n
        out = Found(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3)))
        for kind, i in self.of_kind.items():
            ends, a, b = self._ends(ws, i), self.a[i], self.b[i]
            if kind == OFFSET:
                _add(out, i, _offset(ends, a), 1.0)
            elif kind == SQUARE:
                _add(out, i, _square(ends, a, b), 1.0)
            elif kind == EQUAL_TURN:
                _add(out, i, _square(ends, a, b), 1.0)
                _add(out, i, _square(ends, b, a), -1.0)
            elif kind == DISTANCE:
                _add(out, i, _distance(ends), 1.0 / self.size[i])
            elif kind == SLIDE:
                pitch = self.size[i]
                travel = _offset(ends, a)
                _add(out, i, travel, 1.0)
                _add(out, i, _turn(ends, a, True, travel.value / pitch), -pitch)
            elif kind in (ANGLE, ANGLE_FIRST):
                _add(out, i, _turn(ends, a, True, turns[i], b if kind == ANGLE_FIRST else None), 1.0)
            elif kind == ANGLE_SECOND:
                _add(out, i, _turn(ends, b, False, turns[i], a), 1.0)
        return out

    def _ends(self, ws: Workspace, i: Ints) -> _Ends:
        p, q = self.p[i], self.q[i]
        x, v, a = ws.mark_x, ws.mark_v, ws.mark_a
        return _Ends(
            ws.mark_R[p], ws.mark_R[q], v[p, 3:], v[q, 3:], a[p, 3:], a[q, 3:],
            x[q] - x[p], v[q, :3] - v[p, :3], a[q, :3] - a[p, :3],
        )  # fmt: skip


def _add(out: Found, i: Ints, part: Found, factor: Any) -> None:
    column = np.reshape(factor, (-1, 1))
    out.value[i] += factor * part.value
    out.rate[i] += factor * part.rate
    out.bias[i] += factor * part.bias
    out.force[i] += column * part.force
    out.moment[i] += column * part.moment


def dot(x: Array, y: Array) -> Array:
    return np.einsum("nk,nk->n", x, y)


def cross(x: Array, y: Array) -> Array:
    """Row by row; numpy's own is ten times slower on a few rows."""
    out = np.empty(np.broadcast_shapes(x.shape, y.shape))
    out[:, 0] = x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1]
    out[:, 1] = x[:, 2] * y[:, 0] - x[:, 0] * y[:, 2]
    out[:, 2] = x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]
    return out


def _axis(R: Array, k: Ints, w: Array, alpha: Array) -> tuple[Array, Array, Array]:
    """A body-fixed axis with its first and second rate."""
    n = R[np.arange(len(k)), :, k]
    n_dot = cross(w, n)
    return n, n_dot, cross(alpha, n) + cross(w, n_dot)


def _offset(e: _Ends, a: Ints) -> Found:
    """n.d with n an axis of P."""
    n, n_dot, n_ddot = _axis(e.R_P, a, e.w_P, e.al_P)
    rate = dot(n_dot, e.d) + dot(n, e.d_v)
    bias = dot(n_ddot, e.d) + 2.0 * dot(n_dot, e.d_v) + dot(n, e.d_a)
    return Found(dot(n, e.d), rate, bias, n, np.zeros_like(n))


def _square(e: _Ends, a: Ints, b: Ints) -> Found:
    """x.y with x an axis of P, y one of Q."""
    x, x_dot, x_ddot = _axis(e.R_P, a, e.w_P, e.al_P)
    y, y_dot, y_ddot = _axis(e.R_Q, b, e.w_Q, e.al_Q)
    bias = dot(x_ddot, y) + 2.0 * dot(x_dot, y_dot) + dot(x, y_ddot)
    return Found(dot(x, y), dot(x_dot, y) + dot(x, y_dot), bias, np.zeros_like(x), cross(y, x))


def _distance(e: _Ends) -> Found:
    """d.d / 2"""
    bias = dot(e.d_v, e.d_v) + dot(e.d, e.d_a)
    return Found(0.5 * dot(e.d, e.d), dot(e.d, e.d_v), bias, e.d, np.zeros_like(e.d))


def _turn(e: _Ends, k: Ints, of_p: bool, near: Array, other: Ints | None = None) -> Found:
    """Angle about axis k of P (or of Q), by its rate; nearest to a reference.

    `other`: the second axis of a joint of two pins, R = R_k(angle) R_other(..), or the first when k is of Q.
    """
    R, w, al = (e.R_P, e.w_P, e.al_P) if of_p else (e.R_Q, e.w_Q, e.al_Q)
    n, n_dot, _ = _axis(R, k, w, al)
    w_r, al_r = e.w_Q - e.w_P, e.al_Q - e.al_P
    C = np.einsum("nki,nkj->nij", e.R_P, e.R_Q)
    rows = np.arange(len(k))
    if other is None:  # plain turn: R = R_k(angle)
        i, j = (k + 1) % 3, (k + 2) % 3
        angle = np.arctan2(C[rows, j, i], C[rows, i, i])
    elif of_p:  # second axis of Q stays square to the first of P
        c, b = 3 - k - other, other
        sign = np.where((b - k) % 3 == 1, 1.0, -1.0)
        angle = np.arctan2(sign * C[rows, c, b], C[rows, b, b])
    else:
        c, a = 3 - k - other, other
        sign = np.where((k - a) % 3 == 1, 1.0, -1.0)
        angle = np.arctan2(sign * C[rows, a, c], C[rows, a, a])
    angle = angle + 2.0 * np.pi * np.round((near - angle) / (2.0 * np.pi))
    return Found(angle, dot(n, w_r), dot(n_dot, w_r) + dot(n, al_r), np.zeros_like(n), n)


class RowSums:
    """Constraint rows as sums of relations, expressions and laws of time (F27); rows without joints left out.

    `rows` are the numbers of the rows that are constraints: no forces, no massless motions (F26a): M may be
    singular here. `part`, `entry`: row (among those) and relation of every term, `coordinate` the joint
    coordinate by which an expression sees the relation, or -1.
    """

    def __init__(self, t: Tables, kinds: list[str]) -> None:
        kind = np.array([kinds[g] for g in t.group_of_row])
        self.tables = t
        self.rows = np.flatnonzero((kind != "force") & (kind != "massless"))
        sizes = np.diff(t.rowent_start)[self.rows]
        self.part = np.repeat(np.arange(len(self.rows)), sizes)
        terms = [np.arange(t.rowent_start[r], t.rowent_start[r + 1]) for r in self.rows]
        picked = np.concatenate([*terms, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        self.entry, self.coordinate = t.rowent[picked], t.rowent_coord[picked]
        self.factor = t.rowent_coef[picked]
        self.laws, self.expression = t.row_law[self.rows], t.row_expr[self.rows]
        self.expressions = np.flatnonzero(self.expression >= 0)

    def at(self, ws: Workspace, t: float, found: Found) -> tuple[Array, Array, Array, Array]:
        """g, its rate, its second rate at zero accelerations, and the coefficients of all terms."""
        coef, const = self.factor.copy(), self.coordinate < 0
        g, g_dot, gamma = (
            -self.tables.row_const[self.rows],
            np.zeros(len(self.rows)),
            np.zeros(len(self.rows)),
        )
        timed = self.laws >= 0
        d = self.laws[timed]
        g[timed] -= ws.drive_x[d]
        g_dot[timed] -= ws.drive_v[d]
        gamma[timed] -= ws.drive_a[d]
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
        table, k, tables = self.tables.row_laws, int(self.expression[r]), self.tables
        own = np.flatnonzero((self.part == r) & (self.coordinate >= 0))
        x = np.zeros((3, 1 + len(tables.coord_entry)))
        stack, out = np.zeros((STACK, 3)), np.zeros(3)
        x[0, 0] = t
        seen = tables.coord_entry >= 0
        x[0, 1:][seen] = found.value[tables.coord_entry[seen]]
        slopes = []
        for n in own:
            x[1, 1 + self.coordinate[n]] = 1.0
            evaluate(table, k, x[0], x[1], x[2], stack, out)
            x[1, 1 + self.coordinate[n]] = 0.0
            slopes.append(out[1])
        x[1, 0] = 1.0
        x[1, 1:][seen] = found.rate[tables.coord_entry[seen]]
        x[2, 1:][seen] = found.bias[tables.coord_entry[seen]]
        evaluate(table, k, x[0], x[1], x[2], stack, out)
        return out.copy(), np.array(slopes)
