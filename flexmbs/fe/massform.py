"""The inertia form of a mesh: what (F2a-F7a) multiply, for solids, beams, lumped and attached masses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Attached:
    """Point masses and rotary inertias that follow the mesh by linear rows.

    Points: `mass` (n_p,), `position` (n_p, 3), `rows` (3 n_p, n_dof) their displacement.
    Inertias: `inertia` (n_j, 3, 3) about their place, body axes, `turn_rows` (3 n_j, n_dof) their rotation.
    A point mass on a node is no entry here: it stands on the diagonal of the mass matrix itself.
    """

    mass: Floats
    position: Floats
    rows: Any
    inertia: Floats
    turn_rows: Any

    @staticmethod
    def none(n_dof: int) -> Attached:
        empty = sp.csr_array((0, n_dof))
        return Attached(np.zeros(0), np.zeros((0, 3)), empty, np.zeros((0, 3, 3)), empty)

    def join(self, other: Attached) -> Attached:
        """Both sets."""
        for one, rest in ((self, other), (other, self)):
            if not len(rest.mass) + len(rest.inertia):
                return one
        return Attached(
            np.concatenate([self.mass, other.mass]),
            np.concatenate([self.position, other.position]),
            sp.vstack([self.rows, other.rows], format="csr"),
            np.concatenate([self.inertia, other.inertia]),
            sp.vstack([self.turn_rows, other.turn_rows], format="csr"),
        )

    def matrix(self) -> Any:
        """Their part of M_fe (n_dof, n_dof)."""
        n = len(self.inertia)
        found = sp.csr_array((self.rows.shape[1],) * 2)
        if len(self.mass):
            found = self.rows.T @ sp.diags_array(np.repeat(self.mass, 3)) @ self.rows
        if n:
            place = (self.inertia.reshape(n, 3, 3), np.arange(n), np.arange(n + 1))
            blocks = sp.csr_array(sp.bsr_array(place, shape=(3 * n, 3 * n)))
            turning = self.turn_rows.T @ blocks @ self.turn_rows
            found = found + turning if len(self.mass) else turning
        found = sp.csc_array(found)
        found.sort_indices()  # sums of unsorted matrices take ten times as long
        return found


@dataclass(frozen=True)
class MassForm:
    """Bilinear form `int rho u_k w_l` of two nodal fields (n_dof, m), dof = node n_per_node + component.

    Solids and lumped masses: the scalar `Ms` acts on the k-rows of the fields, whatever k and l.
    Elements with rotations: `Ms_kl[k][l] = int rho N_k^T N_l` over all nodal dofs; `Ms` is then None.
    `attached` adds what moves by rows of its own (F2a-F7a).
    """

    n_per_node: int
    Ms: Any = None
    Ms_kl: tuple[tuple[Any, ...], ...] | None = None
    attached: Attached = field(default_factory=lambda: Attached.none(0))

    @property
    def operators(self) -> list[Any]:
        """The sparse matrices that it is made of."""
        return [self.Ms] if self.Ms_kl is None else [item for row in self.Ms_kl for item in row]

    def component(self, U: Floats, k: int) -> Floats:
        """What the form multiplies for direction k: the k-rows of a field, or all of them."""
        return U[k :: self.n_per_node] if self.Ms_kl is None else U

    def inner(self, k: int, A: Floats, ell: int, B: Floats) -> Floats:
        """`A_k^T Ms^kl B_l`, (m_A, m_B); without `attached` (F2a-F7a)."""
        operator = self.Ms if self.Ms_kl is None else self.Ms_kl[k][ell]
        right = np.ascontiguousarray(self.component(B, ell))
        return np.asarray(self.component(A, k).T @ (operator @ right))

    @property
    def inertias(self) -> Floats:
        """Rotary inertias (n_j, 3, 3), body axes."""
        return self.attached.inertia

    def turns(self, U: Floats) -> Floats:
        """Rotations (n_j, 3, m) of the inertias in a field."""
        return np.asarray(self.attached.turn_rows @ U).reshape(len(self.inertias), 3, U.shape[1])

    def moves(self, U: Floats) -> Floats:
        """Displacements (n_p, 3, m) of the attached point masses in a field."""
        return np.asarray(self.attached.rows @ U).reshape(len(self.attached.mass), 3, U.shape[1])
