"""Sparse symmetric systems behind one small interface.

`factorise` gives an object with `solve` (many right-hand sides) and `negative_pivots` (Sylvester). Solvers:
"auto" is the supernodal factorisation of `fe.cholesky`; "superlu" that of SciPy, ordered by METIS;
"cholmod" and "pardiso" where scikit-sparse and pypardiso are installed.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, MissingComponentError, SolverError, nearest
from flexmbs.fe.solve.cholesky import SingularMatrix, SparseFactor
from flexmbs.fe.solve.symbolic import dissection, node_graph

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Name of the solver -> module that it needs beyond flexmbs' own dependencies, and how to get it.
SOLVERS = {
    "auto": ("", ""),
    "superlu": ("", ""),
    "cholmod": ("sksparse", "pip install scikit-sparse"),
    "pardiso": ("pypardiso", "pip install pypardiso"),
}


class Factor(Protocol):
    """A factorised symmetric matrix A."""

    def solve(self, B: Floats) -> Floats:
        """A^-1 B for B (n,) or (n, m)."""

    @property
    def negative_pivots(self) -> int:
        """Number of negative eigenvalues of A (Sylvester)."""


def factorise(A: Any, kind: str = "symmetric", solver: str = "auto", node_of: Ints | None = None) -> Factor:
    """Factor of a sparse symmetric matrix stored in full.

    kind : "spd" when A must be positive definite (anything else is an error), or "symmetric"
    node_of : (n,) node of each unknown, for the ordering; found from the pattern when not given. Unknowns
        with a negative node are left out, with their rows and columns; solutions are zero there
    """
    require_solver(solver)
    if kind not in ("spd", "symmetric"):
        raise ValueError(f"kind {kind!r}: spd or symmetric")
    A = sp.csc_matrix(A)
    nodes = equal_columns(A) if node_of is None else np.asarray(node_of)
    try:
        factor = FACTORS[solver](A, nodes) if solver in FACTORS else SparseFactor(A, nodes)
    except SingularMatrix as problem:
        raise singular(f"the pivot of unknown {problem.unknown} is zero to rounding") from None
    if kind == "spd" and factor.negative_pivots:
        raise singular(f"{factor.negative_pivots} eigenvalues are negative")
    return factor


def require_solver(solver: str) -> None:
    """Raise when a solver is unknown or not installed."""
    if solver not in SOLVERS:
        raise InputError(Diagnostic("solver", "solver", f'"{solver}"', nearest(solver, list(SOLVERS))))
    module, install = SOLVERS[solver]
    if module and find_spec(module) is None:
        found = f'"{solver}" needs {module}, which is not installed'
        raise MissingComponentError(
            Diagnostic("missing.solver", "solver", found, f'install it with: {install}; or take "auto"')
        )


def singular(what: str) -> SolverError:
    return SolverError(
        Diagnostic(
            "solver.singular", "matrix", what, "is a part loose, or a support or an interface missing?"
        )
    )


def equal_columns(A: Any) -> Ints:
    """Group number of each unknown: neighbours in the numbering whose columns have the same pattern.

    The three dofs of a node have; a graph of nodes instead of dofs orders nine times faster.
    """
    n = A.shape[0]
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    # a random number per row makes the sum over a column a fingerprint of its pattern
    weight = np.random.default_rng(0).integers(1, 2**62, size=n, dtype=np.int64)
    total = np.concatenate([[0], np.cumsum(weight[A.indices])])
    mark = total[A.indptr[1:]] - total[A.indptr[:-1]]
    length = np.diff(A.indptr)
    new = (mark[1:] != mark[:-1]) | (length[1:] != length[:-1])
    return np.concatenate([[0], np.cumsum(new)])


def largest_entry(A: Any) -> float:
    """Largest absolute value of a sparse matrix, NaN when it has one; without a copy of it."""
    return max(float(A.data.max()), -float(A.data.min())) if A.nnz else 0.0


class SuperLUFactor:
    """SuperLU in symmetric mode on a METIS order of the nodes, pivots on the diagonal."""

    def __init__(self, A: Any, node_of: Ints) -> None:
        from scipy.sparse.linalg import splu

        _, node_of = np.unique(node_of, return_inverse=True)
        place = np.empty(int(node_of.max(initial=-1)) + 1, dtype=np.int64)
        place[dissection(node_graph(A, node_of))] = np.arange(len(place))
        self.order = np.argsort(place[node_of], kind="stable")
        ordered = sp.csc_matrix(A[self.order][:, self.order])
        options = {"SymmetricMode": True}
        try:
            self.lu = splu(ordered, permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options)
        except RuntimeError:
            raise singular("the matrix is singular to rounding") from None

    def solve(self, B: Floats) -> Floats:
        B = np.asarray(B, dtype=float)
        X = np.empty_like(B)
        X[self.order] = self.lu.solve(np.ascontiguousarray(B[self.order]))
        return X

    @property
    def negative_pivots(self) -> int:
        if not np.array_equal(self.lu.perm_r, self.lu.perm_c):
            raise SolverError(
                Diagnostic(
                    "solver.count", "superlu", "had to pivot, eigenvalues cannot be counted", 'take "auto"'
                )
            )
        return int((self.lu.U.diagonal() < 0.0).sum())


class CholmodFactor:
    """CHOLMOD through scikit-sparse, nested dissection; LDL^T, so that indefinite matrices pass."""

    def __init__(self, A: Any, node_of: Ints) -> None:
        from sksparse.cholmod import CholmodError, cholesky

        try:
            self.factor = cholesky(A, ordering_method="metis", mode="supernodal")
            self.negative_pivots = 0
            return
        except CholmodError:
            pass  # supernodal CHOLMOD stops at the first negative pivot; the simplicial LDL^T goes on
        try:
            self.factor = cholesky(A, ordering_method="metis", mode="simplicial")
        except CholmodError as problem:
            raise singular(f"CHOLMOD: {problem}") from None
        pivots = self.factor.D()
        if not np.abs(pivots).min(initial=np.inf) > 1e-14 * np.abs(A.diagonal()).max(initial=0.0):
            raise singular("a pivot is zero to rounding")
        self.negative_pivots = int((pivots < 0.0).sum())

    def solve(self, B: Floats) -> Floats:
        return np.asarray(self.factor.solve_A(np.asarray(B, dtype=float)))


class PardisoFactor:
    """MKL PARDISO through pypardiso, symmetric indefinite."""

    def __init__(self, A: Any, node_of: Ints) -> None:
        from pypardiso import PyPardisoSolver
        from pypardiso.pardiso_wrapper import PyPardisoError

        self.upper = sp.csr_matrix(sp.triu(A))
        self.pardiso = PyPardisoSolver(mtype=-2)
        try:
            self.pardiso.factorize(self.upper)
        except (PyPardisoError, ValueError) as problem:
            raise singular(f"PARDISO: {problem}") from None
        if self.pardiso.iparm[13]:
            raise singular(f"PARDISO had to change {self.pardiso.iparm[13]} pivots")
        self.negative_pivots = int(self.pardiso.iparm[22])

    def solve(self, B: Floats) -> Floats:
        return np.asarray(self.pardiso.solve(self.upper, np.asfortranarray(B, dtype=float)))


class PartFactor:
    """Factor of the rows and columns that are not left out, by a solver that knows whole matrices only."""

    def __init__(self, solver: Any, A: Any, node_of: Ints) -> None:
        self.kept = np.flatnonzero(node_of >= 0)
        whole = len(self.kept) == len(node_of)
        part = A if whole else sp.csc_matrix(A[self.kept][:, self.kept])
        self.factor: Factor = solver(part, node_of[self.kept])

    @property
    def negative_pivots(self) -> int:
        return self.factor.negative_pivots

    def solve(self, B: Floats) -> Floats:
        B = np.asarray(B, dtype=float)
        X = np.zeros_like(B)
        X[self.kept] = self.factor.solve(B[self.kept])
        return X


FACTORS: dict[str, Any] = {
    "superlu": partial(PartFactor, SuperLUFactor),
    "cholmod": partial(PartFactor, CholmodFactor),
    "pardiso": partial(PartFactor, PardisoFactor),
}
