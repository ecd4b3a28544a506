"""Supernodal factorisation of sparse symmetric matrices, A = P^T L S L^T P with S = diag(+1, -1).

Left-looking over supernodes, dense work by BLAS and LAPACK. Positive definite matrices have S = 1
(Cholesky). Indefinite ones are factored without pivoting, which is what counts of eigenvalues (Sylvester)
need; the number of -1 in S is the number of negative eigenvalues.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs._jit import blas_address, call_fortran, kernel, lapack_address
from flexmbs.fe.solve.shifted import Shifted
from flexmbs.fe.solve.substitution import Part, substitute
from flexmbs.fe.solve.symbolic import Ints, Symbolic, analyse

Floats = NDArray[np.float64]

N, T, R_SIDE, LOWER = ord("N"), ord("T"), ord("R"), ord("L")
#: of the largest entry of the diagonal: what is no stiffness, and what needs no scale
LEAST, ALIKE = 1e-24, 1e-6
BLOCK = 48  # columns of a step of the signed dense factorisation
DGEMM, DTRSM, DPOTRF = range(3)


def routine_addresses() -> Ints:
    """Addresses of the dense routines, in the order of the constants above."""
    return np.array([blas_address("dgemm"), blas_address("dtrsm"), lapack_address("dpotrf")])


@kernel
def _signed_block(block, at, ld, n, sign, tiny):
    """Unblocked L S L^T of the n x n lower triangle at `block[at]`; returns the first bad column or -1."""
    for j in range(n):
        d = block[at + j + j * ld]
        if not (abs(d) > tiny):
            return j
        sign[j] = 1.0 if d > 0.0 else -1.0
        root = np.sqrt(abs(d))
        block[at + j + j * ld] = root
        for i in range(j + 1, n):
            block[at + i + j * ld] *= sign[j] / root
        for k in range(j + 1, n):
            factor = block[at + k + j * ld] * sign[j]
            for i in range(k, n):
                block[at + i + k * ld] -= block[at + i + j * ld] * factor
    return -1


@kernel
def _signed_dense(routines, panel, at, ld, n, sign, tiny, work):
    """Blocked L S L^T of the n x n lower triangle at `panel[at]`; returns the first bad column or -1."""
    for j in range(0, n, BLOCK):
        width = min(BLOCK, n - j)
        here = at + j + j * ld
        bad = _signed_block(panel, here, ld, width, sign[j:], tiny)
        if bad >= 0:
            return j + bad
        below = n - j - width
        if below == 0:
            return -1
        low = here + width
        _divide(routines, panel, here, low, ld, width, below, sign[j:])
        for c in range(width):
            for i in range(below):
                work[i + c * below] = panel[low + i + c * ld] * sign[j + c]
        right = panel[low + width * ld :]
        args = (N, T, below, below, width, -1.0, panel[low:], ld, work, below, 1.0, right, ld)
        call_fortran(routines[DGEMM], args)
    return -1


@kernel
def _divide(routines, panel, diagonal, low, ld, width, below, sign):
    """Rows below a factored diagonal block: L21 = A21 L11^-T S."""
    args = (R_SIDE, LOWER, T, N, below, width, 1.0, panel[diagonal:], ld, panel[low:], ld)
    call_fortran(routines[DTRSM], args)
    for c in range(width):
        if sign[c] < 0.0:
            for i in range(below):
                panel[low + i + c * ld] = -panel[low + i + c * ld]


@kernel
def _gather_matrix(s, shape, matrix, L, local):
    """Add the entries of A to the panel of supernode s; fills `local` (row -> row of panel)."""
    (order, place, first, row_start, rows, panel, _), (indptr, indices, data) = shape, matrix
    ld = row_start[s + 1] - row_start[s]
    for r in range(ld):
        local[rows[row_start[s] + r]] = r
    for k in range(first[s], first[s + 1]):
        column = panel[s] + (k - first[s]) * ld
        for p in range(indptr[order[k]], indptr[order[k] + 1]):
            i = place[indices[p]]
            if i >= k:
                L[column + local[i]] += data[p]


@kernel
def _apply_descendant(routines, d, s, begin, shape, L, sign, scratch):
    """Subtract from panel s what rows of d from `begin` on contribute; returns the first row beyond s."""
    (_, _, first, row_start, rows, panel, _), (local, reach, work, scaled, _) = shape, scratch
    n_rows = row_start[d + 1] - row_start[d]
    width = first[d + 1] - first[d]
    end = begin
    while end < n_rows and rows[row_start[d] + end] < first[s + 1]:
        end += 1
    m, n = n_rows - begin, end - begin
    negative = False
    for c in range(first[d], first[d + 1]):
        negative = negative or sign[c] < 0.0
    left = L[panel[d] + begin :]
    right, ld_right = left, n_rows
    if negative:
        right, ld_right = scaled, n
        for c in range(width):
            for i in range(n):
                scaled[i + c * n] = L[panel[d] + begin + i + c * n_rows] * sign[first[d] + c]
    ld = row_start[s + 1] - row_start[s]
    for i in range(m):
        reach[i] = local[rows[row_start[d] + begin + i]]
    if reach[m - 1] - reach[0] == m - 1:  # rows side by side: no detour; nobody reads above the diagonal
        goal = L[panel[s] + reach[0] * (ld + 1) :]
        args = (N, T, m, n, width, -1.0, left, n_rows, right, ld_right, 1.0, goal, ld)
        call_fortran(routines[DGEMM], args)
        return end
    call_fortran(routines[DGEMM], (N, T, m, n, width, 1.0, left, n_rows, right, ld_right, 0.0, work, m))
    for j in range(n):
        column = panel[s] + reach[j] * ld
        for i in range(j, m):
            L[column + reach[i]] -= work[i + j * m]
    return end


@kernel
def _factor_panel(routines, s, shape, L, sign, tiny, work, info):
    """Factor the diagonal block of panel s and divide the rows below; returns the first bad column or -1."""
    _, _, first, row_start, _, panel, _ = shape
    ld, width, at = row_start[s + 1] - row_start[s], first[s + 1] - first[s], panel[s]
    for c in range(width):
        for i in range(c, width):
            work[i + c * width] = L[at + i + c * ld]
    call_fortran(routines[DPOTRF], (LOWER, width, L[at:], ld, info))
    own_sign = sign[first[s] :]
    own_sign[:width] = 1.0
    smallest = tiny + 1.0
    if info[0] == 0:
        for c in range(width):
            smallest = min(smallest, L[at + c + c * ld] ** 2)
    if info[0] != 0 or not (smallest > tiny):
        for c in range(width):
            for i in range(c, width):
                L[at + i + c * ld] = work[i + c * width]
        bad = _signed_dense(routines, L, at, ld, width, own_sign, tiny, work)
        if bad >= 0:
            return bad
    if ld > width:
        _divide(routines, L, at, at + width, ld, width, ld - width, own_sign)
    return -1


@kernel
def factor(routines, shape, matrix, n_own, tiny, L, sign, scratch):
    """Numeric factorisation; returns -1, or the position of the first pivot that is zero to rounding.

    `shape` = (order, place, first, row_start, rows, panel, super_of) of a `Symbolic`, `matrix` = (indptr,
    indices, data), added to what L holds. Supernodes behind the first `n_own` are not factored: they end as
    what is left of the matrix (Schur complement).
    Writes: L, sign, scratch = (local, reach, work, scaled, info).
    """
    (_, _, first, row_start, rows, _, super_of), (local, _, work, _, info) = shape, scratch
    n_super = len(first) - 1
    head = np.full(n_super, -1, np.int64)  # descendants that reach supernode s next, as linked lists
    link = np.full(n_super, -1, np.int64)
    pos = np.zeros(n_super, np.int64)
    for s in range(n_super):
        _gather_matrix(s, shape, matrix, L, local)
        d = head[s]
        while d != -1:
            following = link[d]
            pos[d] = _apply_descendant(routines, d, s, pos[d], shape, L, sign, scratch)
            if pos[d] < row_start[d + 1] - row_start[d]:
                up = super_of[rows[row_start[d] + pos[d]]]
                link[d], head[up] = head[up], d
            d = following
        if s >= n_own:
            continue
        bad = _factor_panel(routines, s, shape, L, sign, tiny, work, info)
        if bad >= 0:
            return first[s] + bad
        pos[s] = first[s + 1] - first[s]
        if pos[s] < row_start[s + 1] - row_start[s]:
            up = super_of[rows[row_start[s] + pos[s]]]
            link[s], head[up] = head[up], s
    return -1


def factorise_into(
    sym: Symbolic, A: sparse.csc_matrix, tiny: float, L: Floats, sign: Floats, n_own: int | None = None
) -> int:
    """`factor` with the room that it needs, of all supernodes or the first `n_own`. Writes: L, sign."""
    n_work, n_scaled = scratch_sizes(sym)
    shape = sym.order, sym.place, sym.first, sym.row_start, sym.rows, sym.panel, sym.super_of
    indices, data = A.indices.astype(np.int32, copy=False), A.data.astype(np.float64, copy=False)
    matrix = A.indptr.astype(np.int64), indices, data
    places = np.zeros(sym.n, np.int64), np.empty(sym.n, np.int64)
    scratch = *places, np.empty(n_work), np.empty(n_scaled), np.zeros(1, np.int32)
    own = len(sym.first) - 1 if n_own is None else n_own
    return int(factor(routine_addresses(), shape, matrix, own, tiny, L, sign, scratch))


def scale_of(A: sparse.csc_matrix) -> Floats | None:
    """Powers of two that bring the diagonal of a matrix near one; None where its entries are alike.

    Rotations of a shell of a micron have stiffnesses of 1e-13 of those of its displacements: without a scale
    their pivots count as zero. Powers of two change no digit of the factor.
    """
    diagonal = np.abs(A.diagonal())
    largest = float(diagonal.max(initial=0.0))
    known = diagonal > LEAST * largest
    if not known.any() or float(diagonal[known].min()) > ALIKE * largest:
        return None
    scale = np.ones(len(diagonal))
    scale[known] = 2.0 ** np.round(-0.5 * np.log2(diagonal[known]))
    return scale * 2.0 ** np.round(0.5 * np.log2(largest))


class SingularMatrix(ArithmeticError):
    """A pivot is zero to rounding; `unknown` is its number in the matrix."""

    def __init__(self, unknown: int) -> None:
        super().__init__(f"pivot of unknown {unknown} is zero to rounding")
        self.unknown = unknown


class SparseFactor:
    """Factor of a sparse symmetric matrix (stored in full); `solve` takes one or many right-hand sides.

    Unknowns with a negative `node_of` are left out, with their rows and columns; solutions are zero there.

    `symbolic` of an earlier factor of a matrix with the same pattern saves the ordering; with its `memory`
    (its L) the new factor takes the place of the old one, which is lost.
    """

    def __init__(
        self,
        A: sparse.csc_matrix,
        node_of: Ints | None = None,
        *,
        symbolic: Symbolic | None = None,
        memory: Floats | None = None,
        pivot_tolerance: float = 1e-14,
    ) -> None:
        node_of = np.arange(A.shape[0]) if node_of is None else np.asarray(node_of)
        self.symbolic = symbolic or analyse(A, node_of)
        n = self.symbolic.n
        self.L = np.zeros(self.symbolic.n_entries) if memory is None else memory
        if memory is not None:
            memory.fill(0.0)
        self.sign = np.ones(n)
        self.scale = scale_of(A)
        if self.scale is not None:
            columns = np.repeat(self.scale, np.diff(A.indptr))
            A = sparse.csc_matrix((A.data * columns * self.scale[A.indices], A.indices, A.indptr), A.shape)
        tiny = pivot_tolerance * (float(np.abs(A.diagonal()).max()) if n else 0.0)
        bad = factorise_into(self.symbolic, A, tiny, self.L, self.sign)
        if bad >= 0:
            raise SingularMatrix(int(self.symbolic.order[bad]))

    def inertia(self, A: Shifted, B: Floats) -> tuple[int, Floats]:
        """Negative eigenvalues of another matrix with the same pattern, and B^T A^-1 B; this one is lost."""
        new = SparseFactor(A.of_same_pattern(), symbolic=self.symbolic, memory=self.L)
        return new.negative_pivots, B.T @ new.solve(B)

    @property
    def negative_pivots(self) -> int:
        """Number of negative eigenvalues of A (Sylvester)."""
        return int(np.sum(self.sign < 0.0))

    def solve(self, B: Floats) -> Floats:
        """A^-1 B for B (n,) or (n, m)."""
        B = np.asarray(B, dtype=np.float64)
        sign, columns = self.sign if self.negative_pivots else None, B.reshape(len(B), -1)
        if self.scale is None:
            return substitute(self.symbolic, self._parts, sign, columns).reshape(B.shape)
        scale = self.scale[:, None]
        return (scale * substitute(self.symbolic, self._parts, sign, scale * columns)).reshape(B.shape)

    def _parts(self, upward: bool) -> tuple[Part, ...]:
        return ((0, len(self.symbolic.first) - 1, self.L),)


def scratch_sizes(sym: Symbolic) -> tuple[int, int]:
    """Entries of the largest update or diagonal block, and of the largest scaled copy of rows."""
    heights, widths = np.diff(sym.row_start), np.diff(sym.first)
    if len(widths) == 0:
        return 1, 1
    # an update of one supernode into another has at most `below` rows and as many columns as both allow
    columns = np.minimum(heights - widths, widths.max())
    work = max(1, ((heights - widths) * columns).max(), (widths * widths).max(), (heights * BLOCK).max())
    return int(work), int(max(1, (widths * columns).max()))
