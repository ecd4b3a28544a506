"""Block Lanczos iteration for the lowest modes of a held or free body, many right-hand sides at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError
from flexmbs.fe.pieces.mapped import kept, room
from flexmbs.fe.solve.solvers import largest_entry

if TYPE_CHECKING:
    from flexmbs.modal.statics import Constrained

Floats = NDArray[np.float64]

BLOCK = 8
TOLERANCE = 1e-9  # residual of a Ritz vector, of its Ritz value; the frequency is then good to its square
LEFT = 1e-8  # square of what must be left of a vector for one sweep of orthogonalisation to be enough
FLOOR = 1e-15  # of the largest Ritz value: rounding of the operator
MAX_VECTORS = 3000
MAX_BYTES = 2**31  # of the basis, unless that leaves fewer than MIN_VECTORS
MIN_VECTORS = 400
#: force of a mode that its inertia does not balance, of the largest of the stiffness, that is rounding
BALANCED = 1e-9


@dataclass(frozen=True)
class Modes:
    """Eigenpairs: omega2 (n,) ascending, V (n_t, n) M-orthonormal; `all_found` up to the limit asked for."""

    omega2: Floats
    V: Floats

    @property
    def frequency_hz(self) -> Floats:
        return np.sqrt(np.maximum(self.omega2, 0.0)) / (2.0 * np.pi)

    def first(self, n: int) -> Modes:
        return Modes(self.omega2[:n], self.V[:, :n])


def modes_of(
    held: Constrained, n: int | None, fmax: float | None, progress: Callable[[float, str], None] | None = None
) -> Modes:
    """The lowest n modes, or all up to fmax [Hz], of a held or free body, each in balance with its inertia.

    Responses carry rounding in directions that are stiff and have hardly a mass, as in thin shells, and high
    modes what is left where large responses cancel: those are corrected by their residual.
    """
    model = held.model
    factor: Any = held.statics.factor
    block = getattr(factor, "wide", BLOCK)
    begun = factor.iteration(model.M, held.C) if hasattr(factor, "iteration") else None
    modes = lowest_modes(held.respond, model.M, n, fmax, progress, held.dimension, block, begun)
    V, r = modes.V, held.unbalanced(modes.V, modes.omega2)
    off = np.linalg.norm(r, axis=0) > BALANCED * largest_entry(model.K) * np.linalg.norm(V, axis=0)
    if not off.any():
        return modes
    V = V.copy()
    V[:, off] -= held.respond(r[:, off])
    L = np.linalg.cholesky(V.T @ (model.M @ V))  # lower modes keep their shape, higher ones give way
    return Modes(modes.omega2, kept(np.linalg.solve(L, V.T).T))


def lowest_modes(
    respond: Callable[[Floats], Floats],
    M: sp.spmatrix,
    n: int | None = None,
    fmax: float | None = None,
    progress: Callable[[float, str], None] | None = None,
    dimension: int | None = None,
    block: int = BLOCK,
    begun: Steps | None = None,
) -> Modes:
    """The lowest n modes, or all up to fmax [Hz], of the operator K^-1 M; `respond` gives K^-1 F.

    dimension : of the space of responses; what rounding leaves beyond it is not a mode
    block : vectors that go through `respond` together, at least; many where each call reads files
    begun : where its steps are written, and those of an earlier run are
    Full reorthogonalisation; grows until the Ritz residuals of all wanted modes are below the tolerance.
    """
    size = M.shape[0]
    if n is not None:
        n = min(n, size)
    if n == 0:
        return Modes(np.zeros(0), np.zeros((size, 0)))
    block = max(block, BLOCK * min((n or 0) // 160, 8))  # wide blocks orthogonalise many vectors faster
    columns = min(4 * (n or 16) + 4 * block, most_vectors(size) + 2 * block)
    vectors = Vectors(size, min(columns, size + block), begun)
    basis = _Krylov(respond, M, min(block, size), vectors, size if dimension is None else dimension)
    limit = np.inf if fmax is None else 1.0 / (2.0 * np.pi * fmax) ** 2
    check_at = 2 * (n or 0)  # never fewer, unless the space is exhausted
    while True:
        grown = basis.grow()
        if grown and basis.count < check_at and basis.count <= most_vectors(size):
            continue
        if basis.count**3 > 100 * size:  # a Ritz problem per block would cost more than the blocks
            check_at = basis.count + basis.count // 16
        mu, W, residual = basis.ritz()
        if not len(mu):  # everything that has mass is held
            return Modes(np.zeros(0), np.zeros((size, 0)))
        good = residual <= np.maximum(TOLERANCE * mu, FLOOR * mu[0])
        wanted = len(mu) if n is None else n
        leading = int(np.argmin(good)) if not good.all() else len(good)
        if n is not None and (leading >= n or not grown):
            wanted = min(n, int(np.sum(mu > 1e-14 * mu[0])))
            break
        if n is None and leading and (mu[leading - 1] < limit or not grown):
            wanted = int(np.sum(mu[:leading] >= limit))
            break
        if not grown:
            wanted = 0
            break
        if progress is not None and n is not None:
            progress(min(leading / n, 1.0), f"{leading} of {n} modes")
        if basis.count > most_vectors(size):
            what = f"{leading} modes are found and more are asked for; the limit is reached"
            raise SolverError(Diagnostic("modal.many_modes", "modes", what, "lower --fmax or --modes"))
    V = kept(basis.normed(W[:, :wanted]))
    return Modes(1.0 / mu[:wanted], V)


def most_vectors(size: int) -> int:
    """Largest number of basis vectors for a body of this many freedoms."""
    return min(MAX_VECTORS, max(MIN_VECTORS, MAX_BYTES // (8 * size)))


class Steps(Protocol):
    """Where a basis is written block by block, to go on from it: `fe/pieces/iteration.py`."""

    #: so far: vectors of the block that is next, projection, residual factor
    steps: list[tuple[int, Floats, Floats]]

    def vectors(self, columns: int) -> Floats: ...

    def keep(self, block: Floats, A: Floats, R: Floats) -> None: ...


class Vectors:
    """The vectors of a basis (n, count) in one array, which grows, and behind them those of the next block.

    begun : where they are written, if not in memory alone
    """

    def __init__(self, n: int, columns: int, begun: Steps | None) -> None:
        self.begun, self.count = begun, 0
        self._Q = (room((columns, n)) if begun is None else begun.vectors(columns)).T

    def place(self, block: Floats, A: Floats, R: Floats) -> None:
        """The block that is next, with the projection A of the vectors before it; `take` makes it count."""
        end = self.count + block.shape[1]
        if end > self._Q.shape[1]:
            self._widen(2 * end)
        if self.begun is None:
            self._Q[:, self.count : end] = block
        else:
            self.begun.keep(block, A, R)

    def _widen(self, columns: int) -> None:
        if self.begun is not None:
            self._Q = self.begun.vectors(columns).T
            return
        wider = room((columns, len(self._Q))).T
        wider[:, : self.count] = self._Q[:, : self.count]
        self._Q = wider

    def following(self, columns: int) -> Floats:
        """So many of the next block."""
        return np.asarray(self._Q[:, self.count : self.count + columns])

    def take(self, columns: int) -> Floats:
        """The next block, of so many, which counts from now on."""
        block = self.following(columns)
        self.count += columns
        return block

    def product(self, MV: Floats) -> Floats:
        """Products of all vectors with the columns of MV."""
        return np.asarray(self._Q[:, : self.count].T @ MV)

    def combine(self, C: Floats, first: int = 0) -> Floats:
        """The combination C of the vectors from `first` on."""
        return np.asarray(self._Q[:, first : first + len(C)] @ C)


class _Krylov:
    """M-orthonormal block Krylov basis with the projection of the operator on it.

    Images by M are kept of the last two blocks only: the basis is most of the memory beside the factor.
    """

    def __init__(
        self,
        respond: Callable[[Floats], Floats],
        M: sp.spmatrix,
        block: int,
        vectors: Vectors,
        dimension: int,
    ) -> None:
        self.respond, self.M, self.dimension, self.vectors = respond, M, dimension, vectors
        self.count = self.older = 0  # vectors; those older than the last two blocks
        self.A = np.zeros((0, 0))
        self.residual_factor = np.zeros((0, 0))
        self.M_before = np.empty((M.shape[0], 0))
        if vectors.begun is not None and vectors.begun.steps:
            self._go_on(vectors.begun.steps)
            return
        start = respond(np.random.default_rng(7).normal(size=(M.shape[0], block)))
        self._place(*self._orthonormal(start)[:2])

    def _place(self, block: Floats, M_block: Floats) -> None:
        """The block that comes next, with what is known of those before it."""
        self.vectors.place(block, self.A, self.residual_factor)
        self.width, self.M_block = block.shape[1], M_block

    def _go_on(self, steps: list[tuple[int, Floats, Floats]]) -> None:
        """Behind the last step of an earlier run."""
        before = self.M_before
        for width, _, _ in steps[:-1]:
            self.older, before = self.count, self.vectors.take(width)
            self.count += width
        self.width, self.A, self.residual_factor = steps[-1]
        self.M_before, self.M_block = self.M @ before, self.M @ self.vectors.following(self.width)

    def _orthonormal(
        self, V: Floats, removed: float = 0.0, noise: float = 0.0
    ) -> tuple[Floats, Floats, Floats]:
        """V made M-orthonormal and orthogonal to the basis, dependent directions dropped: new, M new, R.

        removed : largest length of what a column has lost to the basis already; a second sweep follows when
            little is left of a direction, because rounding is much of that
        noise : length at which a direction is nothing but rounding;  V = new R
        """
        total = np.eye(V.shape[1])
        largest = 0.0
        MV = self.M @ V
        for sweep in range(2):
            V = V - self.vectors.combine(self.vectors.product(MV))
            MV = self.M @ V
            gram = V.T @ MV
            value, vector = np.linalg.eigh(0.5 * (gram + gram.T))
            largest = max(largest, float(value.max(initial=0.0))) if sweep == 0 else 1.0
            keep = value > max(1e-26 * largest, noise**2 if sweep == 0 else 0.0)
            keep[: max(len(value) + self.count - self.dimension, 0)] = False  # the smallest come first
            turn = vector[:, keep] / np.sqrt(value[keep])
            V, MV = V @ turn, MV @ turn
            total = (vector[:, keep] * np.sqrt(value[keep])).T @ total
            if value.min(initial=np.inf) > LEFT * max(largest, removed**2):
                break
        return V, MV, total

    def grow(self) -> bool:
        """Add one block; False when the space is exhausted."""
        if not self.width:
            return False
        before = self.count
        self.vectors.take(self.width)
        self.count += self.width
        image = self.respond(self.M_block)
        # without rounding the operator is symmetric, and leads from a block to its neighbours only
        near = slice(self.older, self.count)
        H = np.vstack([self.M_before.T @ image, self.M_block.T @ image])
        own = H[before - self.older :]
        A = np.zeros((self.count, self.count))
        A[:before, :before] = self.A
        A[near, before:] = H
        A[before:, near] = H.T
        A[before:, before:] = 0.5 * (own + own.T)
        self.A = A
        removed = float(np.max(np.linalg.norm(H, axis=0)))
        noise = 10.0 * float(np.abs(own - own.T).max())
        image -= self.vectors.combine(H, self.older)
        self.older, self.M_before = before, self.M_block
        block, M_block, self.residual_factor = self._orthonormal(image, removed, noise)
        self._place(block, M_block)
        return self.width > 0

    def ritz(self) -> tuple[Floats, Floats, Floats]:
        """Ritz values, descending, vectors in the basis, and M-norms of their residuals."""
        mu, W = np.linalg.eigh(self.A)
        mu, W = mu[::-1], W[:, ::-1]
        last = W[self.count - self.residual_factor.shape[1] :] if self.residual_factor.size else W[:0]
        residual = np.linalg.norm(self.residual_factor @ last, axis=0) if len(last) else np.zeros(len(mu))
        return mu, W, residual

    def normed(self, W: Floats) -> Floats:
        V = self.vectors.combine(W)
        return V / np.sqrt(np.einsum("ij,ij->j", V, self.M @ V))
