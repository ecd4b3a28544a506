"""Lowest modes of K v = omega2 M v by shift-invert Lanczos, each pair checked and all of them counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from flexmbs.errors import Diagnostic, InputError, SolverError
from flexmbs.fe.solvers import FACTORS, factorise, require_solver

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Modes:
    """Eigenpairs of K v = omega2 M v: omega2 (n,) ascending, V (n_dof, n) with V^T M V = 1.

    residuals (n,): |K v - omega2 M v| over |K| |v| + omega2 |M| |v|, largest entries for the norms.
    """

    omega2: Floats
    V: Floats
    residuals: Floats

    @property
    def frequency_hz(self) -> Floats:
        return np.sqrt(np.maximum(self.omega2, 0.0)) / (2.0 * np.pi)


def smallest_modes(
    K: Any,
    M: Any,
    n: int | None = None,
    fmax: float | None = None,
    shift: float | None = None,
    solver: str = "auto",
) -> Modes:
    """The lowest n modes, or all up to fmax [Hz], by Lanczos on (K - shift M)^-1 M.

    The default shift is slightly negative, so that a free body (K singular) needs no other treatment. The
    residual of each pair is checked, and the inertia of a factor above the last one proves their number.
    """
    require_solver(solver)
    if (n is None) == (fmax is None):
        raise InputError(Diagnostic("modes", "modes", "give either their number or fmax", ""))
    # the BLAS pools of numpy and SciPy spin against each other: one thread is faster than two
    with threadpool_limits(1, user_api="blas"):
        return _modes(K, M, n, fmax, shift, solver)


def _modes(K: Any, M: Any, n: int | None, fmax: float | None, shift: float | None, solver: str) -> Modes:
    size = K.shape[0]
    count = _count_below(K, M, (2.0 * np.pi * fmax) ** 2, solver) if fmax is not None else int(n or 0)
    count = min(count, size)
    if count == 0:
        return Modes(np.zeros(0), np.zeros((size, 0)), np.zeros(0))
    sigma = default_shift(K, M) if shift is None else float(shift)
    extra = min(size, count + max(4, count // 10))
    omega2, V = _lowest_pairs(K, M, extra, sigma, solver)
    modes = Modes(omega2, V, _residuals(K, M, omega2, V))
    _require_converged(modes)
    _require_complete(K, M, modes, count, solver)
    return Modes(modes.omega2[:count], modes.V[:, :count], modes.residuals[:count])


def default_shift(K: Any, M: Any) -> float:
    """Slightly negative: small against every elastic omega2, large against the rounding of the highest."""
    stiffness, mass = K.diagonal(), M.diagonal()
    moving = mass > 0.0
    return -1e-9 * float((stiffness[moving] / mass[moving]).max(initial=1.0))


def _lowest_pairs(K: Any, M: Any, n: int, sigma: float, solver: str) -> tuple[Floats, Floats]:
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = K.shape[0]
    if size <= max(60, 2 * n + 2):
        omega2, V = eigh(K.toarray(), M.toarray(), subset_by_index=[0, n - 1])
        return omega2, V
    if solver == "slepc":
        return _slepc_pairs(K, M, n, sigma)
    factor = factorise(K - sigma * M, solver=solver)
    inverse = LinearOperator((size, size), matvec=factor.solve, dtype=float)
    start = np.random.default_rng(0).normal(size=size)  # the same numbers in every run
    omega2, V = eigsh(K, n, M, sigma=sigma, OPinv=inverse, v0=start, ncv=min(size, max(2 * n + 1, 30)))
    order = np.argsort(omega2)
    return omega2[order], V[:, order]


def _slepc_pairs(K: Any, M: Any, n: int, sigma: float) -> tuple[Floats, Floats]:
    from petsc4py import PETSc
    from slepc4py import SLEPc

    def matrix(A: Any) -> Any:
        rows = sp.csr_matrix(A)
        return PETSc.Mat().createAIJ(size=rows.shape, csr=(rows.indptr, rows.indices, rows.data))

    problem = SLEPc.EPS().create()
    problem.setOperators(matrix(K), matrix(M))
    problem.setProblemType(SLEPc.EPS.ProblemType.GHEP)
    problem.setDimensions(n)
    problem.setTarget(sigma)
    problem.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    problem.getST().setType(SLEPc.ST.Type.SINVERT)
    problem.solve()
    found = min(n, problem.getConverged())
    V = np.empty((K.shape[0], found))
    omega2 = np.empty(found)
    vector = problem.getOperators()[0].createVecRight()
    for a in range(found):
        omega2[a] = problem.getEigenpair(a, vector).real
        V[:, a] = vector.getArray()
    order = np.argsort(omega2)
    return omega2[order], V[:, order]


def _residuals(K: Any, M: Any, omega2: Floats, V: Floats) -> Floats:
    KV, MV = K @ V, M @ V
    scale = abs(K).max() * np.abs(V).max(axis=0) + np.abs(omega2) * abs(M).max() * np.abs(V).max(axis=0)
    return np.asarray(np.abs(KV - MV * omega2).max(axis=0) / scale)


def _require_converged(modes: Modes, tolerance: float = 1e-9) -> None:
    worst = float(modes.residuals.max(initial=0.0))
    if not worst < tolerance:
        raise SolverError(
            Diagnostic(
                "solver.residual",
                f"mode {int(modes.residuals.argmax()) + 1}",
                f"relative residual {worst:.1e} (tolerance {tolerance:.0e})",
                "try another solver, or check the mesh for extremely small or stiff cells",
            )
        )


def _count_below(K: Any, M: Any, omega2: float, solver: str) -> int:
    """Number of eigenvalues below omega2 (Sylvester)."""
    name = solver if solver in FACTORS else "auto"
    return factorise(K - omega2 * M, solver=name).negative_pivots


def _require_complete(K: Any, M: Any, modes: Modes, count: int, solver: str) -> None:
    """Count the eigenvalues below the widest gap at or above the last wanted mode: none may be missing."""
    if len(modes.omega2) == K.shape[0]:
        return
    gaps = np.diff(modes.omega2[count - 1 :])
    at = count - 1 + int(gaps.argmax())
    edge = 0.5 * (modes.omega2[at] + modes.omega2[at + 1])
    found = _count_below(K, M, edge, solver)
    if found != at + 1:
        raise SolverError(
            Diagnostic(
                "solver.missing_modes",
                f"{np.sqrt(max(edge, 0.0)) / (2.0 * np.pi):.6g} Hz",
                f"{at + 1} modes found below, the inertia of the factor counts {found}",
                "try another solver",
            )
        )
