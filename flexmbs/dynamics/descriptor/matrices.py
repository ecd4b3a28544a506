"""M, Phi_s and forces in dependent coordinates: place, Euler parameters, elastic ones (F12, F32)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.descriptor.rows import cross
from flexmbs.dynamics.descriptor.saddle import Pattern
from flexmbs.ffrf.mass import evaluate as body_inertia
from flexmbs.ffrf.table import SYM
from flexmbs.spatial import skew

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from flexmbs.dynamics.descriptor.rows import Found, RowSums
    from flexmbs.model.system import System
    from flexmbs.model.tables import Workspace

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: places in the six numbers of a symmetric matrix
WHOLE = np.empty((3, 3), dtype=np.int64)
for n, (k, m) in enumerate(SYM):
    WHOLE[k, m] = WHOLE[m, k] = n

#: H^-1 of each of the four parameters alone, as rows
RATES = np.array([[[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]] for w, x, y, z in 2.0 * np.eye(4)])
RATES = RATES.reshape(4, 12)


def rate_matrices(e: Array) -> Array:
    """H^-1 of Euler parameters (n, 4), body axes: w = H^-1 e_dot, (n, 3, 4) (F12)."""
    return np.asarray(e @ RATES).reshape(-1, 3, 4)


class Coordinates:
    """Places of the dependent coordinates: z = [r, e, q] of a body, [r] of a particle; body by body.

    State arrays of a system in dependent coordinates hold the same positions (`pos`), with the speeds
    [r_dot, w, q_dot] (w in body axes) in place of z_dot.
    """

    def __init__(self, system: System) -> None:
        t = system.tables
        self.bodies = np.arange(1, len(t.tree.parent))
        self.turning = np.array(
            [i for i in self.bodies if t.tree.o_qd[i] - t.tree.o_eta[i] == 6], dtype=np.int64
        )
        o_pos = np.array([0, *(t.body.o_q[i] - (7 if i in set(self.turning) else 3) for i in self.bodies)])
        self.r, self.q, self.nf = o_pos, t.body.o_q, t.body.nf
        self.n = system.n_pos
        self.speed = t.tree.o_eta[:-1]
        r = self.r[1:, None] + np.arange(3)
        self.r_of, self.v_of = r, self.speed[1:, None] + np.arange(3)
        self.e_of = self.r[self.turning][:, None] + 3 + np.arange(4)
        self.w_of = self.speed[self.turning][:, None] + 3 + np.arange(3)
        self.modes = [
            (i, t.body.o_q[i] + np.arange(n), t.tree.o_qd[i] + np.arange(n))
            for i, n in enumerate(t.body.nf)
            if n
        ]

    def to_speeds(self, z_dot: Array, H: Array) -> Array:
        """[r_dot, w, q_dot] of z_dot; the same for second rates, as H^-1_dot e_dot = 0. H: rate matrices."""
        out = np.zeros(self.n - len(self.turning))
        out[self.v_of] = z_dot[self.r_of]
        out[self.w_of] = np.einsum("nij,nj->ni", H, z_dot[self.e_of])
        for _, q, q_dot in self.modes:
            out[q_dot] = z_dot[q]
        return out

    def to_rates(self, vel: Array, H: Array) -> Array:
        """z_dot of the speeds: e_dot = H^-1^T w / 4."""
        out = np.zeros(self.n)
        out[self.r_of] = vel[self.v_of]
        out[self.e_of] = 0.25 * np.einsum("nij,ni->nj", H, vel[self.w_of])
        for _, q, q_dot in self.modes:
            out[q] = vel[q_dot]
        return out


class Matrices:
    """Patterns of M and Phi_s of a system; values of a state."""

    planar = False

    def __init__(self, system: System, at: Coordinates, sums: RowSums) -> None:
        self.system, self.at, self.sums = system, at, sums
        self.tables = t = system.tables
        self.n_joint_rows = len(sums.rows)
        self.n_rows = self.n_joint_rows + len(at.turning)
        integrals = [found for found in system.numbers.integrals[1:] if found is not None]
        self.mass = np.array([found.mass for found in integrals])
        self.S = np.array([found.S_O for found in integrals]).reshape(-1, 3)
        self.J = np.array([found.inertia for found in integrals]).reshape(-1, 3, 3)
        self.turn_place = np.full(len(t.tree.parent), -1)
        self.turn_place[at.turning] = np.arange(len(at.turning))
        self._sides()
        self._gradient_patterns()
        self._mass_pattern()
        self.M = Pattern(self.M_row, self.M_col, (self.at.n, self.at.n))

    def _sides(self) -> None:
        """Every term of every row acts on two bodies, ground left out; then the coordinates of joints."""
        t = self.tables
        with_entry = np.flatnonzero(t.coord.entry >= 0)
        term_row = np.concatenate([self.sums.part, self.n_rows + with_entry]).astype(np.int64)
        term_entry = np.concatenate([self.sums.entry, t.coord.entry[with_entry]]).astype(np.int64)
        self.n_terms, self.with_entry = len(self.sums.part), with_entry
        term = np.tile(np.arange(len(term_row)), 2)
        mark = np.concatenate([t.relation.q[term_entry], t.relation.p[term_entry]]).astype(np.int64)
        sign = np.repeat([1.0, -1.0], len(term_row))
        keep = t.marker.body[mark] > 0
        self.s_term, self.s_mark, self.s_sign = term[keep], mark[keep], sign[keep]
        self.s_entry, self.s_row = term_entry[self.s_term], term_row[self.s_term]
        self.s_body = t.marker.body[self.s_mark]
        self.s_place = self.turn_place[self.s_body]
        self.s_turn = np.flatnonzero(self.s_place >= 0)
        self._columns()

    def _columns(self) -> None:
        """Rows and columns of all numbers in the gradients."""
        t = self.tables
        soft = [k for k in range(len(self.s_mark)) if t.marker.row[self.s_mark[k]] >= 0]
        counts = [int(t.body.nf[self.s_body[k]]) for k in soft]
        self.f_side = np.repeat(np.array(soft, dtype=np.int64), counts)
        a = np.concatenate([*(np.arange(n) for n in counts), np.zeros(0, dtype=int)]).astype(np.int64)
        self.f_L = t.marker.L[self.s_mark[self.f_side]] // 6 + a
        col_f = t.body.o_q[self.s_body[self.f_side]] + a
        turning = self.s_body[self.s_turn]
        col_e = self.at.r[turning][:, None] + 3 + np.arange(4)
        col_r = self.at.r[self.s_body][:, None] + np.arange(3)
        self.G_row = np.concatenate(
            [np.repeat(self.s_row, 3), np.repeat(self.s_row[self.s_turn], 4), self.s_row[self.f_side]]
        )
        self.G_col = np.concatenate([col_r.ravel(), col_e.ravel(), col_f])

    def wrenches_on_bodies(self, ws: Workspace, found: Found, coef: Array) -> tuple[Array, Array, Array]:
        """Force and moment of a unit multiplier or effort on its bodies, side by side; where they act."""
        c = self.s_sign * np.concatenate([coef, np.ones(len(self.with_entry))])[self.s_term]
        F, m = c[:, None] * found.force[self.s_entry], c[:, None] * found.moment[self.s_entry]
        return F, m, ws.marker.x[self.tables.relation.q[self.s_entry]]

    def jacobian(self, ws: Workspace, H: Array, e: Array, found: Found, coef: Array) -> tuple[Any, Any]:
        """Phi_s: rows of joints, then the normalisations; and the gradients of the joint coordinates."""
        F, m, place = self.wrenches_on_bodies(ws, found, coef)
        k = self.s_turn
        T = m[k] + cross(place[k] - ws.body.r[self.s_body[k]], F[k])
        T = np.einsum("nij,ni->nj", ws.body.R[self.s_body[k]], T)
        data = [F, np.einsum("nij,ni->nj", H[self.s_place[k]], T)]
        if len(self.f_side):
            k = self.f_side
            at_marker = np.hstack([F[k], m[k] + cross(place[k] - ws.marker.x[self.s_mark[k]], F[k])])
            data.append(np.einsum("ni,ni->n", ws.marker.L[6 * self.f_L[:, None] + np.arange(6)], at_marker))
        data.append(e)
        return self.gradients(np.concatenate([x.ravel() for x in data]))

    def gradients(self, data: Array) -> tuple[csc_matrix, csc_matrix]:
        """Phi_s and the gradients of the joint coordinates from the numbers of all their places."""
        return self.Phi.matrix(data[self.of_rows]), self.gradient.matrix(data[self.of_coordinates])

    def _gradient_patterns(self) -> None:
        n_e = len(self.at.turning)
        rows = np.concatenate([self.G_row, np.repeat(self.n_joint_rows + np.arange(n_e), 4)])
        cols = np.concatenate([self.G_col, self.at.e_of.ravel()])
        self.of_rows, self.of_coordinates = (
            np.flatnonzero(rows < self.n_rows),
            np.flatnonzero(rows >= self.n_rows),
        )
        k, n = self.of_rows, self.of_coordinates
        self.Phi = Pattern(rows[k], cols[k], (self.n_rows, self.at.n))
        self.gradient = Pattern(rows[n] - self.n_rows, cols[n], (len(self.tables.coord.entry), self.at.n))

    def wrenches(self, found: Found, coef: Array, joint_of: Ints, n_joints: int) -> tuple[Any, Any]:
        """Maps to the wrenches of joints (6 n_joints): from multipliers, from efforts on coordinates."""
        entry = np.concatenate([self.sums.entry, self.tables.coord.entry[self.with_entry]]).astype(np.int64)
        column = np.concatenate([self.sums.part, self.n_rows + self.with_entry])
        c = np.concatenate([coef, np.ones(len(self.with_entry))])
        data = c[:, None] * np.concatenate([found.force, found.moment], axis=1)[entry]
        rows = 6 * joint_of[entry][:, None] + np.arange(6)
        size = (6 * n_joints, self.n_rows + len(self.tables.coord.entry))
        from scipy.sparse import csc_matrix

        whole = csc_matrix((data.ravel(), (rows.ravel(), np.repeat(column, 6))), size)
        return whole[:, : self.n_rows], whole[:, self.n_rows :]

    def _mass_pattern(self) -> None:
        at = self.at
        rows: list[Any] = []
        cols: list[Any] = []

        def block(r: Any, c: Any) -> None:
            rows.append(np.broadcast_to(r[:, :, None], (*r.shape, c.shape[1])).ravel())
            cols.append(np.broadcast_to(c[:, None, :], (len(c), r.shape[1], c.shape[1])).ravel())

        rows.append(at.r_of.ravel())
        cols.append(at.r_of.ravel())
        r_turn = at.r_of[at.turning - 1]
        for r, c in ((r_turn, at.e_of), (at.e_of, r_turn), (at.e_of, at.e_of)):
            block(r, c)
        for i, q, _ in at.modes:
            r, e = at.r_of[i - 1][None], at.e_of[self.turn_place[i]][None]
            for a, b in ((r, q[None]), (q[None], r), (e, q[None]), (q[None], e), (q[None], q[None])):
                block(a, b)
        self.M_row, self.M_col = np.concatenate(rows), np.concatenate(cols)

    def inertia(self, ws: Workspace, H: Array, pos: Array, vel: Array) -> tuple[csc_matrix, Array]:
        """M, and the velocity, elastic and gravity forces p1 (F12-F15)."""
        at, t = self.at, self.tables
        S, J, w, R, elastic = self.S.copy(), self.J.copy(), np.zeros_like(self.S), ws.body.R[1:], []
        w[at.turning - 1] = vel[at.w_of]
        W = skew(w)
        Q = -W @ np.concatenate([W @ S[..., None], J @ w[..., None]], axis=2)  # Q_T, Q_R as columns
        for i, q, q_dot in at.modes:
            body, rows = body_inertia(self.system.numbers.blocks[i], pos[q], vel[q_dot], w[i - 1])
            S[i - 1], Q[i - 1] = body[:3], body[9:15].reshape(2, 3).T
            J[i - 1] = body[3:9][WHOLE]
            elastic.append(rows)
        force, k = np.empty(at.n), at.turning - 1
        force[at.r_of] = (R @ Q[..., :1])[..., 0] + self.mass[:, None] * t.grav
        S_tilde, R_t = skew(S[k]), R[k]
        torque = Q[k, :, 1:] + S_tilde @ (t.grav @ R_t)[..., None]
        force[at.e_of] = (torque.transpose(0, 2, 1) @ H)[:, 0]
        m_re, m_ee = -R_t @ (S_tilde @ H), H.transpose(0, 2, 1) @ (J[k] @ H)
        data = [np.repeat(self.mass, 3), m_re.ravel(), m_re.transpose(0, 2, 1).ravel(), m_ee.ravel()]
        for (i, q, q_dot), rows in zip(at.modes, elastic, strict=True):
            found = self.system.numbers.integrals[i]
            assert found is not None
            m_rf, m_ef = R[i - 1] @ rows[:, :3].T, H[self.turn_place[i]].T @ rows[:, 3:6].T
            data += [m_rf.ravel(), m_rf.T.ravel(), m_ef.ravel(), m_ef.T.ravel(), found.m_ff.ravel()]
            force[q] = rows[:, 6] - found.K_ff @ pos[q] - found.D_ff @ vel[q_dot] + m_rf.T @ t.grav
        return self.M.matrix(np.concatenate(data)), force

    def applied(self, ws: Workspace, H: Array) -> Array:
        """Forces of all laws on bodies, from f_app (body axes), in dependent coordinates (F16)."""
        at, t = self.at, self.tables
        first = t.body.o_f[1:, None]
        force = np.zeros(at.n)
        force[at.r_of] = np.einsum("nij,nj->ni", ws.body.R[1:], ws.body.f_app[first + np.arange(3)])
        torque = ws.body.f_app[first[at.turning - 1] + 3 + np.arange(3)]
        force[at.e_of] = np.einsum("nij,ni->nj", H, torque)
        for i, q, _ in at.modes:
            force[q] = ws.body.f_app[t.body.o_f[i] + 6 : t.body.o_f[i] + 6 + len(q)]
        return force
