"""Static responses of a body that may be free, with any of its markers held: one factorisation for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from flexmbs.errors import Diagnostic, InputError, SolverError
from flexmbs.fe.pieces.mapped import is_stored, kept, room
from flexmbs.fe.solve.cholesky import SingularMatrix
from flexmbs.fe.solve.shifted import OtherPattern, Shifted
from flexmbs.fe.solve.solvers import factorise
from flexmbs.modal.ties import TiedModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: freedoms up to which a body is small; part of the mass that is none
SMALL, MASSLESS = 300, 1e-12
#: columns that are in work together where memory is short: a pass over a factor on disk takes as many
PART = 24


class Factor(Protocol):
    """A factorised matrix; `fe/solve/solvers.py` has the real ones."""

    def solve(self, B: Floats) -> Floats: ...


class Statics:
    """The stiffness of a tied model, factorised once with as many dofs pinned as it has rigid motions.

    The pins carry nothing when the loads balance; every public method sees to that.
    """

    def __init__(self, model: TiedModel, factorise: Callable[..., Any] = factorise) -> None:
        self.model, self._factorise = model, factorise
        if not model.heavy:
            raise massless_motion()
        self.pins = _pins(model)
        self.node_of = model.node_of.copy()
        self.node_of[self.pins] = -1
        self._held: dict[tuple[bytes, ...], Constrained] = {}
        self._spare: Any = None
        try:
            self.factor: Factor | None = factorise(model.K.T, "spd", node_of=self.node_of)
        except SolverError:
            raise singular_stiffness(model) from None
        self._check_definite()

    def inertia(self, A: Shifted, B: Floats) -> tuple[int, Floats]:
        """Negative eigenvalues of K - omega2 M without the pins, and B^T A^-1 B.

        Its factor takes the place of that of K where it fits: no response can be computed afterwards.
        """
        old = self.factor or self._spare
        self.factor, self._held, self._spare = None, {}, None
        if hasattr(old, "inertia"):
            self._spare = old
            try:
                negative, product = old.inertia(A, B)
                return int(negative), np.asarray(product)
            except (SingularMatrix, OtherPattern):
                pass  # an unlucky shift for this order of pivots, or masses that no stiffness joins
        del old
        made = factorise if self._spare is None else self._factorise
        factor = made(A.whole(), "symmetric", node_of=self.node_of)
        return int(factor.negative_pivots), B.T @ factor.solve(B)

    def _check_definite(self) -> None:
        """A mechanism makes the pinned matrix singular: the response to a random load is then wrong."""
        load = np.random.default_rng(0).normal(size=(self.model.n, 1))
        left = self.model.K @ self.pinned(load) - load
        left[self.pins] = load[self.pins] = 0.0
        if not np.linalg.norm(left) < 1e-3 * np.linalg.norm(load):
            raise singular_stiffness(self.model)

    def pinned(self, F: Floats) -> Floats:
        """Response (n_t, m) to loads F (n_t, m), zero at the pins."""
        assert self.factor is not None
        return self.factor.solve(F)

    def holding(self, C: sp.csr_matrix | None = None) -> Constrained:
        """The same body with the coordinates C u held; made once for the same coordinates."""
        C = sp.csr_matrix((0, self.model.n)) if C is None else C
        key = (C.indptr.tobytes(), C.indices.tobytes(), C.data.tobytes())
        if key not in self._held:
            self._held[key] = Constrained(self, C)
        return self._held[key]


class Constrained:
    """Static responses of the body with the coordinates C u (m_c of them) held or prescribed.

    With u = K^+ (f + C^T lam) + R c, K^+ the pinned inverse and R the rigid motions, C u = d and the balance
    R^T (f + C^T lam) = 0 are a small system. Rigid motions that C leaves (`loose`, M-orthonormal) are taken
    out of loads and responses by inertia relief.
    """

    def __init__(self, statics: Statics, C: sp.csr_matrix) -> None:
        self.statics = statics
        self.model = statics.model
        self.C = C
        KC = statics.pinned(C.T.toarray()) if C.shape[0] else np.zeros((self.model.n, 0))
        self._moves = kept(np.concatenate([KC, self.model.rigid], axis=1))
        CR = C @ self.model.rigid
        m, r = CR.shape
        A = np.zeros((m + r, m + r))
        A[:m, :m] = C @ KC
        A[:m, m:], A[m:, :m] = CR, CR.T
        self._inverse, self._scale = _pseudo_inverse(A, m)
        self.loose = self.model.rigid @ _null_space(CR)
        self.M_loose = self.model.M @ self.loose

    @property
    def dimension(self) -> int:
        """Number of independent displacement fields of the held body, its loose rigid motions left out.

        Of small bodies only those that have mass: all of their modes may be asked for.
        """
        if self.model.n <= SMALL:
            rows = np.concatenate([self.C.toarray(), self.M_loose.T])
            return _rank_of_mass(self.model.M.toarray(), _null_space(rows))
        held = int(np.linalg.matrix_rank((self.C @ self.C.T).toarray())) if self.C.shape[0] else 0
        return self.model.n - held - self.loose.shape[1]

    def relieve(self, F: Floats) -> Floats:
        """Loads less the inertia forces of the rigid accelerations that they cause and C leaves."""
        return F - self.M_loose @ (self.loose.T @ F) if self.loose.shape[1] else F

    def respond(self, F: Floats | None = None, d: Floats | None = None) -> Floats:
        """Displacements (n_t, m) under loads F with C u = d (default: zero)."""
        if F is not None and d is None:
            return in_parts(self._respond, F)
        return self._respond(F, d)

    def _respond(self, F: Floats | None = None, d: Floats | None = None) -> Floats:
        m_c = self.C.shape[0]
        if F is None:
            assert d is not None
            F, U = np.zeros((self.model.n, d.shape[1])), np.zeros((self.model.n, d.shape[1]))
        else:
            F = self.relieve(F)
            U = self.statics.pinned(F)
        balance = -(self.model.rigid.T @ F)
        for _ in range(2):  # the second time takes back what rounding has left at the held coordinates
            rhs = np.concatenate([-(self.C @ U), balance])
            if d is not None:
                rhs[:m_c] += d
            U += self._moves @ (self._scale[:, None] * (self._inverse @ (self._scale[:, None] * rhs)))
            balance = np.zeros_like(balance)
        if self.loose.shape[1]:
            U -= self.loose @ (self.M_loose.T @ U)
        return U

    def inverse_mass(self, V: Floats) -> Floats:
        """K^-1 M V on the held body: the operator whose largest eigenvalues are 1/omega^2."""
        return in_parts(lambda part: self._respond(self.model.M @ part), V)

    def unbalanced(self, V: Floats, omega2: Floats) -> Floats:
        """K v - omega2 M v of every column, less the forces of the held coordinates."""
        r = self.model.K @ V - (self.model.M @ V) * omega2
        C = self.C
        return r - C.T @ np.linalg.solve((C @ C.T).toarray(), C @ r) if C.shape[0] else np.asarray(r)


def in_parts(of: Callable[[Floats], Floats], F: Floats) -> Floats:
    """`of` all columns; where large arrays are stored, of a few at a time, and the result is kept."""
    if not is_stored() or F.shape[1] <= PART:
        return of(F)
    result = room(F.shape)
    for begin in range(0, F.shape[1], PART):
        result[:, begin : begin + PART] = of(F[:, begin : begin + PART])
    return np.asarray(result)


def _rank_of_mass(M: Floats, N: Floats) -> int:
    """Rank of a mass matrix, whose entries may differ by as much as t^2 of a thin shell, on a space N."""
    size = np.sqrt(np.abs(np.diag(M)))
    sizes = np.outer(size, size)
    scaled = M / np.where(sizes > 0.0, sizes, 1.0)
    U, s, _ = np.linalg.svd(size[:, None] * N, full_matrices=False)
    Q = U[:, s > MASSLESS * s.max(initial=0.0)]
    return int(np.sum(np.linalg.eigvalsh(Q.T @ scaled @ Q) > MASSLESS))


def _pins(model: TiedModel) -> Ints:
    """As many coordinates as there are rigid motions, chosen so that they hold the body well."""
    R = model.rigid
    if not R.shape[1]:
        return np.zeros(0, dtype=np.int64)
    diagonal = np.abs(model.K.diagonal())
    usable = np.flatnonzero(diagonal > 1e-12 * diagonal.max(initial=0.0))
    _, _, order = qr(R[usable].T, mode="economic", pivoting=True)
    if len(order) < R.shape[1]:
        raise singular_stiffness(model)
    return np.sort(usable[order[: R.shape[1]]])


def _pseudo_inverse(A: Floats, m: int) -> tuple[Floats, Floats]:
    """Inverse of the small symmetric system on its range, with rows and columns scaled alike."""
    size = np.ones(len(A))
    if m:
        diagonal = np.abs(np.diag(A)[:m])
        largest = diagonal.max() if diagonal.max() > 0 else 1.0
        size[:m] = np.where(diagonal > 1e-14 * largest, diagonal, largest)
    scale = 1.0 / np.sqrt(size)
    coupling = np.linalg.norm(scale[:m, None] * A[:m, m:], axis=0)
    largest = coupling.max(initial=0.0) or 1.0
    scale[m:] = 1.0 / np.where(coupling > 1e-9 * largest, coupling, largest)  # motions that C does not feel
    inverse = np.asarray(np.linalg.pinv(scale[:, None] * A * scale, rcond=1e-12, hermitian=True), dtype=float)
    return inverse, scale


def _null_space(CR: Floats) -> Floats:
    """Combinations of rigid motions (r, k) that the rows do not feel."""
    if not CR.shape[0]:
        return np.eye(CR.shape[1])
    row = np.linalg.norm(CR, axis=1, keepdims=True)
    _, size, Vt = np.linalg.svd(CR / np.where(row > 0, row, 1.0), full_matrices=True)
    size = np.concatenate([size, np.zeros(CR.shape[1] - len(size))]) if CR.shape[1] else size
    return Vt[size <= 1e-9 * max(size.max(initial=0.0), 1e-300)].T


def singular_stiffness(model: TiedModel) -> InputError:
    """The stiffness has more zero modes than the supports explain (F51); says which nodes are loose."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(model.K, directed=False)
    if count > 1:
        sizes = np.bincount(label)
        first = [int(model.node_of[np.flatnonzero(label == k)[0]]) for k in range(min(count, 3))]
        places = [model.points[node] for node in first if node < len(model.points)]
        at = ", ".join("({:.4g}, {:.4g}, {:.4g})".format(*place) for place in places)
        what = f"the body falls into {count} parts (of {', '.join(map(str, sizes[:3]))} freedoms" + (
            f", beginning at [m] {at})" if at else ")"
        )
        remedy = "merge coincident nodes (--merge-tol), or tie the parts"
    else:
        what = "the stiffness matrix has more zero modes than rigid motions: a part can move without strain"
        remedy = "look for parts joined at a single node or edge"
    return InputError(Diagnostic("fe.mechanism", "mesh", what, remedy))


def massless_motion() -> InputError:
    """A rigid motion without inertia: nothing can be orthogonal to it."""
    return InputError(
        Diagnostic(
            "fe.massless_motion",
            "mesh",
            "a rigid motion has no inertia (for example a beam about its axis, or masses on a line)",
            "set rotary_inertia = true, add point masses with inertia, or hold that motion in [fix]",
        )
    )
