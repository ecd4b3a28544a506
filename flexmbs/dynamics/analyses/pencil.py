"""Mass and stiffness apart: E x_dot = F x, and eigenvalues in coordinates of like size (F38).

Accelerations mix what is soft with what is stiff: beside modes of 100 kHz those of 1 Hz drown in rounding. Of
forces each row keeps its own digits, the modal stiffness is taken as it stands, and in natural coordinates,
w q and q_dot of the symmetric part, rounding counts against frequencies, no more their squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.slopes import Slopes, slopes
from flexmbs.dynamics.tolerances import NOTHING
from flexmbs.errors import SolverError

if TYPE_CHECKING:
    from flexmbs.dynamics.analyses.linearize import Rates
    from flexmbs.dynamics.minimal.coordinates import Minimal
    from flexmbs.model.state import State

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

#: accelerations that inertia is taken from, of unit displacements: far above what loads make, so exact
LARGE = 2.0**30
LAST_DIGIT = 2.0**-52
#: eigenvalue of a scaled mass matrix below which rounding is all there is
NO_INERTIA = 1e-13


@dataclass
class Natural:
    """A in natural coordinates z: x = `basis` z, `own` = `inverse` A `basis`; `error` of its entries."""

    own: Array
    error: Array
    basis: Array
    inverse: Array

    def eigenvalues(self) -> tuple[Complex, Complex, Array]:
        """Eigenvalues, eigenvectors as x (n, modes), and the error of each eigenvalue by perturbation."""
        from scipy.linalg import eig

        if not len(self.own):
            return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex), np.zeros(0)
        values, left, right = eig(self.own, left=True, right=True)
        whole = self.error + LAST_DIGIT * np.linalg.norm(self.own)
        moved = np.einsum("ik,ij,jk->k", np.abs(left), whole, np.abs(right))
        angle = np.abs(np.einsum("ik,ik->k", left.conj(), right))
        bound = np.where(angle > 0.0, moved / np.maximum(angle, NOTHING), np.inf)
        # where two meet they part by the root of the change
        apart = np.sqrt(moved * np.linalg.norm(self.own))
        return values, self.basis @ right, np.minimum(bound, apart)


def as_it_stands(A: Array, error: Array, units: Array) -> Natural:
    """A in unit displacements."""
    scale = np.outer(1.0 / units, units)
    return Natural(A * scale, error * scale, np.diag(units), np.diag(1.0 / units))


class Forces:
    """Residual forces by positions, speeds and own states, at the accelerations of a state."""

    def __init__(self, minimal: Minimal, state: State, n_aux: int) -> None:
        self.minimal, self.state, self.n_aux = minimal, state, n_aux
        self.system, self.n = minimal.system, len(minimal.split.ind)
        t = self.system.tables
        n_q = int(t.body.nf.sum())
        self.stiffness, self.elastic, self.place = np.zeros((n_q, n_q)), np.zeros((2, n_q), dtype=np.int64), 0
        for i, nf in enumerate(t.body.nf):
            own = slice(self.place, self.place + nf)
            first = int(t.body.o_K[i]) + int(nf) ** 2
            self.stiffness[own, own] = t.body.K_data[first : first + nf * nf].reshape(nf, nf)
            self.elastic[:, own] = np.arange(nf) + np.array([[t.body.o_q[i]], [t.tree.o_qd[i]]])
            self.place += int(nf)
        self.q = state.pos[self.elastic[0]].copy()
        self.acc = np.zeros(self.n)

    def at(self, state: State) -> Array:
        """Forces on the independent coordinates without those of modal stiffness beyond the state's (F30)."""
        acc = self.minimal.close_rates(state, self.acc)
        J = self.minimal.loop_jacobian(state)
        load = self.minimal.evaluator.tree_forces(state, acc)
        load[self.elastic[1]] += self.stiffness @ (state.pos[self.elastic[0]] - self.q)
        return np.asarray(J.T @ load)

    def modal_stiffness(self) -> tuple[Array, Array]:
        """J^T K J of the elastic coordinates, and the size of its terms."""
        J = self.minimal.loop_jacobian(self.state)[self.elastic[1]]
        return J.T @ self.stiffness @ J, np.abs(J).T @ np.abs(self.stiffness) @ np.abs(J)

    def mass(self, unit: Array) -> Array:
        """Reduced mass matrix (F30): what forces lose by large accelerations."""
        rest, columns = self.minimal.forces(self.state, self.acc)[0], []
        for k in range(self.n):
            more = self.acc.copy()
            more[k] += LARGE * unit[k]
            columns.append((rest - self.minimal.forces(self.state, more)[0]) / (LARGE * unit[k]))
        M = np.array(columns).T.reshape(self.n, self.n)
        return 0.5 * (M + M.T)


@dataclass
class Pencil:
    """M q_ddot = by q, q_dot, own states: `rows` (n, size) of forces, `own` those of own states (F38)."""

    M: Array
    rows: Array
    rows_error: Array
    own: Array
    own_error: Array
    turning: Array
    found: Slopes

    def natural(self) -> Natural:
        """A in natural coordinates."""
        n, size = len(self.M), self.rows.shape[1]
        K, S = -self.rows[:, :n], 1.0 / np.sqrt(np.diag(self.M))
        X = S[:, None] * _modes(K * np.outer(S, S), self.M * np.outer(S, S))
        stiff = np.abs(np.einsum("ia,ij,ja->a", X, K, X))
        w = np.sqrt(np.maximum(stiff, 1e-12 * max(float(stiff.max(initial=0.0)), 1.0)))
        w = np.maximum(w, 1e-3)  # what nothing holds: a rate of its own
        back = X.T @ self.M
        basis, inverse = np.eye(size), np.eye(size)
        basis[:n, :n], basis[n : 2 * n, n : 2 * n] = X / w, X
        inverse[:n, :n], inverse[n : 2 * n, n : 2 * n] = w[:, None] * back, back
        own, error = np.zeros((size, size)), np.zeros((size, size))
        own[:n, :n] = inverse[:n, :n] @ self.turning @ basis[:n, :n]
        own[:n, n : 2 * n] = np.diag(w)
        own[n : 2 * n] = X.T @ self.rows @ basis
        own[2 * n :] = self.own @ basis
        error[n : 2 * n] = np.abs(X).T @ self.rows_error @ np.abs(basis)
        error[2 * n :] = self.own_error @ np.abs(basis)
        return Natural(own, error, basis, inverse)

    def matrix(self) -> tuple[Array, Array]:
        """A and the error of its entries."""
        n, size = len(self.M), self.rows.shape[1]
        A, error, inverse = np.zeros((size, size)), np.zeros((size, size)), np.linalg.inv(self.M)
        A[:n, :n], A[:n, n : 2 * n] = self.turning, np.eye(n)
        A[n : 2 * n], A[2 * n :] = inverse @ self.rows, self.own
        error[n : 2 * n], error[2 * n :] = np.abs(inverse) @ self.rows_error, self.own_error
        return A, error


def _modes(K: Array, M: Array) -> Array:
    """Modes (n, n) of the symmetric part of K, with X^T M X = 1 to rounding.

    Rounding mixes low ones among each other and with little of high ones; X^T K X keeps their digits.
    """
    from scipy.linalg import eigh

    if not len(K):
        return np.zeros((0, 0))
    X = eigh(0.5 * (K + K.T), M)[1]
    for _ in range(2):
        X = np.linalg.solve(np.linalg.cholesky(X.T @ M @ X), X.T).T
    return np.asarray(X)


def pencil(rates: Rates) -> Pencil | None:
    """The linear model by forces; none where accelerations are needed.

    That is where friction depends on reactions, and where something moves without inertia.
    """
    system, n = rates.system, rates.n
    if len(system.laws.tables.press_law) or np.any(system.tables.row.massless >= 0):
        return None
    forces = Forces(rates.minimal, rates.state, rates.n_aux)
    try:
        forces.acc = rates.at(np.zeros(len(rates.units)))[n : 2 * n]
    except SolverError:
        return None
    M = forces.mass(rates.units[:n])
    diagonal = np.diag(M)
    if n and not (diagonal > 0.0).all():
        return None
    S = 1.0 / np.sqrt(diagonal)
    if n and np.linalg.eigvalsh(M * np.outer(S, S))[0] < NO_INERTIA:
        return None

    def at(x: Array) -> Array:
        state = rates.state_at(x)
        rows = forces.at(state) / diagonal
        return np.concatenate([rows, rates.evaluator.rates_of_states(state)[: rates.n_aux]])

    found = slopes(at, rates.units)
    rows, error = diagonal[:, None] * found.values[:n], diagonal[:, None] * found.error[:n]
    stiffness, terms = forces.modal_stiffness()
    rows[:, :n] -= stiffness
    error[:, :n] += LAST_DIGIT * terms
    return Pencil(M, rows, error, found.values[n:], found.error[n:], rates._turning(), found)
