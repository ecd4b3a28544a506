"""Factor and 20 modes of held rods beside SLEPc with MUMPS: `python -m tests.benchmarks.slepc [FREEDOMS]`.

SLEPc and MUMPS are those of Debian's packages, `apt install python3-petsc4py python3-slepc4py
libopenblas0-serial` (the reference BLAS is four times slower), under Debian's own interpreter; where they are
not there, that is said. Each in a process of its own with one thread: seconds of the processor, most memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.runner import DATA, measurement, run_alone

FREEDOMS = (100_000, 200_000)
MODES = 20
DEBIAN = "/usr/bin/python3"
LONG = 4 * 3600.0  # seconds that one measurement may take


def places() -> dict[str, str]:
    """Where Debian keeps the two for its Python; nothing where they are not installed."""
    found = {}
    for name in ("petsc", "slepc"):
        builds = sorted(Path(f"/usr/lib/{name}dir").glob("*/*-real"))
        if not builds:
            return {}
        found[f"{name.upper()}_DIR"] = str(builds[-1])
    return found


@measurement
def matrices_of_rod(dof: str, folder: str) -> dict[str, Any]:
    """Writes what the other program reads."""
    from tests.benchmarks.stage1 import clamped_rod

    K, M = clamped_rod(dof)
    for name, A in (("K", K.tocsr()), ("M", M.tocsr())):
        for part in ("indptr", "indices"):
            np.save(Path(folder) / f"{name}_{part}.npy", getattr(A, part).astype(np.int32))
        np.save(Path(folder) / f"{name}_data.npy", A.data)
    return {"dof": K.shape[0]}


@measurement
def modes_in_pieces(dof: str) -> dict[str, Any]:
    """Factor on disk, in passes of 8 vectors, and the modes."""
    from flexmbs.fe.pieces.factor import PiecesFactor
    from flexmbs.fe.pieces.mapped import storing_in
    from flexmbs.modal.eigen import BLOCK, lowest_modes
    from tests.benchmarks.pieces import Memory
    from tests.benchmarks.runner import Clock
    from tests.benchmarks.stage1 import clamped_rod, modes_answer

    for size in ("3000", dof):  # compiled kernels are loaded by the first
        K, M = clamped_rod(size)
        with tempfile.TemporaryDirectory(dir=DATA) as name, storing_in(Path(name)):
            memory = Memory(Path(name))
            memory.start()
            with Clock() as clock:
                factor = PiecesFactor(K, np.arange(K.shape[0]) // 3, folder=Path(name))
                factor.wide = BLOCK  # as where memory holds the files
                modes = lowest_modes(factor.solve, M, MODES, begun=factor.iteration(M, K[:0].tocsr()))
            memory.ended.set()
    answer = modes_answer(K, M, modes.omega2, modes.V, clock.seconds)
    return answer | {"anonymous": memory.most, "disk": memory.disk}


def slepc(folder: str) -> dict[str, Any]:
    """The answer of the other program."""
    script = Path(__file__).with_name("slepc_solve.py")
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [DEBIAN, str(script), folder, str(MODES)]
    done = subprocess.run(command, capture_output=True, text=True, env={**known, **places(), **threads})
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    return dict(json.loads(lines[-1]))


def line(dof: int) -> str:
    """A row of the table: ours in memory, ours in pieces, and SLEPc."""
    run_alone("mesh_of_rod", dof, timeout=LONG)
    direct = run_alone("modes_flexmbs", dof, timeout=LONG)
    pieces = run_alone("modes_in_pieces", dof, timeout=LONG)
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        run_alone("matrices_of_rod", dof, folder, timeout=LONG)
        peer = slepc(folder)
    failed = [item["failed"] for item in (direct, pieces, peer) if "failed" in item]
    if failed:
        return f"| {dof} | failed: {'; '.join(failed)} |"
    apart = max(abs(peer["f1"] / direct["f1"] - 1.0), abs(peer["f_n"] / direct["f20"] - 1.0))
    words = f"| {direct['dof']} | {direct['seconds']:.1f} s | {direct['peak_gb']:.2f} GB "
    words += f"| {pieces['seconds']:.1f} s | {pieces['anonymous'] / 1e9:.2f} GB "
    words += f"| {peer['factor']:.1f} + {peer['seconds'] - peer['factor']:.1f} s "
    return f"{words}| {peer['peak_gb']:.2f} GB | {apart:.0e} |"


if __name__ == "__main__":
    if not places() or not Path(DEBIAN).exists():
        print("SLEPc is not there: apt install python3-petsc4py python3-slepc4py libopenblas0-serial")
        sys.exit()
    heads = ["freedoms", "in memory", "memory", "in pieces", "memory", "SLEPc + MUMPS", "memory"]
    print(f"| {' | '.join([*heads, 'frequencies differ by'])} |", f"{'| --- ' * 8}|", sep="\n")
    for word in sys.argv[1:] or map(str, FREEDOMS):
        print(line(int(word)), flush=True)
