"""Dependent coordinates of a planar mechanism: x, y, phi of the mass centre of every body (F32).

M is constant and diagonal, joints have the rows that lie in the plane. Forces and moments out of the plane
move nothing; what joints take of them follows from the balance of all six components of every body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.descriptor.matrices import Matrices
from flexmbs.dynamics.descriptor.rows import Found, RowSums, cross

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from flexmbs.model.system import System
    from flexmbs.model.tables import Workspace

Array = NDArray[np.float64]


class PlanarCoordinates:
    """Places of x, y, phi, body by body, in the axes of the plane; their rates are the speeds."""

    def __init__(self, system: System) -> None:
        t = system.tables
        self.bodies = np.arange(1, len(t.tree.parent))
        self.turning = np.zeros(0, dtype=np.int64)
        self.n = system.n_pos
        self.z = t.body.o_q[1:] - 3
        self.e_of = np.zeros((0, 4), dtype=np.int64)
        self.w_of = np.zeros((0, 3), dtype=np.int64)
        self.modes: list[Any] = []

    def to_speeds(self, z_dot: Array, H: Array) -> Array:
        """The rates themselves."""
        return z_dot.copy()

    def to_rates(self, vel: Array, H: Array) -> Array:
        """The speeds themselves."""
        return vel.copy()


class PlanarMatrices(Matrices):
    """M and Phi_s in x, y, phi, ground axes, moments about the mass centres."""

    planar = True

    def __init__(self, system: System, at: PlanarCoordinates, sums: RowSums) -> None:
        plane = system.topology.plane
        assert plane is not None
        self.e1, self.e2, self.normal = np.asarray(plane.axes).T
        self.com = np.array([plane.bodies[name][0] for name in system.bodies[1:]]).reshape(-1, 3)
        self.place = at.z
        super().__init__(system, at, sums)  # type: ignore[arg-type]
        c, m = self.com, self.mass
        square = np.einsum("ni,ni->n", c, c)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", c, c)
        self.J_com = self.J - m[:, None, None] * square
        normal = np.array([plane.bodies[name][1][:, 2] for name in system.bodies[1:]]).reshape(-1, 3)
        self.J_plane = np.einsum("ni,nij,nj->n", normal, self.J_com, normal)

    def _columns(self) -> None:
        place = self.place[self.s_body - 1]
        self.G_row = np.repeat(self.s_row, 3)
        self.G_col = (place[:, None] + np.arange(3)).ravel()

    def _mass_pattern(self) -> None:
        self.M_row = self.M_col = (self.place[:, None] + np.arange(3)).ravel()

    def _centres(self, ws: Workspace) -> Array:
        return np.asarray(ws.body.r[1:] + np.einsum("nij,nj->ni", ws.body.R[1:], self.com))

    def jacobian(self, ws: Workspace, H: Array, e: Array, found: Found, coef: Array) -> tuple[Any, Any]:
        """Phi_s, and the gradients of the joint coordinates."""
        F, m, place = self.wrenches_on_bodies(ws, found, coef)
        turn = (m + cross(place - self._centres(ws)[self.s_body - 1], F)) @ self.normal
        return self.gradients(np.stack([F @ self.e1, F @ self.e2, turn], axis=1).ravel())

    def inertia(self, ws: Workspace, H: Array, pos: Array, vel: Array) -> tuple[csc_matrix, Array]:
        """M, and gravity; there are no velocity forces."""
        data = np.stack([self.mass, self.mass, self.J_plane], axis=1)
        force = np.zeros(self.at.n)
        force[self.place] = self.mass * (self.tables.grav @ self.e1)
        force[self.place + 1] = self.mass * (self.tables.grav @ self.e2)
        return self.M.matrix(data.ravel()), force

    def _applied_wrenches(self, ws: Workspace) -> tuple[Array, Array]:
        """Forces of all laws and their moments about the mass centres, ground axes."""
        first, R = self.tables.body.o_f[1:, None][: len(self.com)], ws.body.R[1:]
        F = np.einsum("nij,nj->ni", R, ws.body.f_app[first + np.arange(3)])
        T = np.einsum("nij,nj->ni", R, ws.body.f_app[first + 3 + np.arange(3)])
        return F, T - cross(np.einsum("nij,nj->ni", R, self.com), F)

    def applied(self, ws: Workspace, H: Array) -> Array:
        F, T = self._applied_wrenches(ws)
        force = np.zeros(self.at.n)
        force[self.place], force[self.place + 1] = F @ self.e1, F @ self.e2
        force[self.place + 2] = T @ self.normal
        return force

    def _whole(self, ws: Workspace, found: Found, coef: Array) -> csc_matrix:
        """Wrenches on the bodies, six rows each, of all multipliers, then of all efforts on coordinates."""
        from scipy.sparse import csc_matrix

        F, m, place = self.wrenches_on_bodies(ws, found, coef)
        T = m + cross(place - self._centres(ws)[self.s_body - 1], F)
        rows = 6 * (self.s_body - 1)[:, None] + np.arange(6)
        size = (6 * len(self.com), self.n_rows + len(self.tables.coord.entry))
        data = np.concatenate([F, T], axis=1)
        return csc_matrix((data.ravel(), (rows.ravel(), np.repeat(self.s_row, 6))), size)

    def balance(self, ws: Workspace, found: Found, coef: Array, mass: float) -> tuple[Any, Any]:
        """Matrices of the balance of all six components of every body: a problem whose motion is zero."""
        from scipy.sparse import identity

        rows = self._whole(ws, found, coef)[:, : self.n_rows]
        return rows.T.tocsc(), mass * identity(rows.shape[0], format="csc")

    def missing(self, ws: Workspace, found: Found, coef: Array, tau: Array) -> Array:
        """What the multipliers must balance, given efforts `tau`. Needs accelerations of the bodies."""
        return np.asarray(self._whole(ws, found, coef)[:, self.n_rows :] @ tau - self._missing(ws))

    def _missing(self, ws: Workspace) -> Array:
        R, c, mass = ws.body.R[1:], self.com, self.mass[:, None]
        w, alpha = ws.body.v[1:, 3:], ws.body.a[1:, 3:]
        lever = np.einsum("nij,nj->ni", R, c)
        a = ws.body.a[1:, :3] + cross(alpha, lever) + cross(w, cross(w, lever))
        J = np.einsum("nij,njk,nlk->nil", R, self.J_com, R)
        spin = np.einsum("nij,nj->ni", J, alpha) + cross(w, np.einsum("nij,nj->ni", J, w))
        F, T = self._applied_wrenches(ws)
        return np.asarray(np.concatenate([mass * (a - self.tables.grav) - F, spin - T], axis=1).ravel())
