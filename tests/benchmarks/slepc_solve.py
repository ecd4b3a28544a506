"""Modes by SLEPc with MUMPS: `/usr/bin/python3 slepc_solve.py FOLDER MODES`, run by `slepc.py`.

Debian's interpreter runs it, which has petsc4py and slepc4py and nothing of ours. The folder has the arrays
of K and M (csr).
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def matrix(folder: Path, name: str) -> Any:
    from petsc4py import PETSc

    indptr, indices, data = (np.load(folder / f"{name}_{part}.npy") for part in ("indptr", "indices", "data"))
    found = PETSc.Mat().createAIJ((len(indptr) - 1,) * 2, csr=(indptr, indices, data))
    found.setOption(PETSc.Mat.Option.SYMMETRIC, True)
    found.setOption(PETSc.Mat.Option.SPD, True)
    return found


def solver(K: Any, M: Any, n: int) -> Any:
    """Krylov-Schur about zero, Cholesky of K by MUMPS in the order of METIS."""
    from petsc4py import PETSc
    from slepc4py import SLEPc

    PETSc.Options()["mat_mumps_icntl_7"] = 5  # METIS
    eps = SLEPc.EPS().create(PETSc.COMM_SELF)
    eps.setOperators(K, M)
    eps.setProblemType(SLEPc.EPS.ProblemType.GHEP)
    eps.setDimensions(n)
    eps.setTolerances(1e-9, 200)
    eps.setTarget(0.0)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    st = eps.getST()
    st.setType(SLEPc.ST.Type.SINVERT)
    st.getKSP().setType(PETSc.KSP.Type.PREONLY)
    pc = st.getKSP().getPC()
    pc.setType(PETSc.PC.Type.CHOLESKY)
    pc.setFactorSolverType("mumps")
    return eps


def main(folder: Path, n: int) -> None:
    import slepc4py

    slepc4py.init([])
    K, M = matrix(folder, "K"), matrix(folder, "M")
    started = time.process_time()
    eps = solver(K, M, n)
    eps.setUp()
    factored = time.process_time()
    eps.solve()
    ended = time.process_time()
    omega2 = sorted(eps.getEigenvalue(k).real for k in range(eps.getConverged()))[:n]
    answer = {"factor": factored - started, "seconds": ended - started, "modes": len(omega2)}
    answer |= {"f1": (omega2[0] ** 0.5) / (2 * np.pi), "f_n": (omega2[-1] ** 0.5) / (2 * np.pi)}
    answer["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
