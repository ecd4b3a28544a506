"""`flexmbs stress` on a large body: `python -m tests.benchmarks.recovery [NODES] [SAMPLES]`.

Writes modal data of 30 modes and 12 static shapes and a result made by formulas, and measures the command as
it is typed: reading, envelope at all nodes, hot spots, HDF5. Two threads at most.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.modaldata import ModalData, StaticStress
from tests.post.synthetic import box_mesh, case, lumped_integrals, rod_modal, write_result

MODES, SHAPES = 30, 12


def large_body(n_nodes: int) -> ModalData:
    """Bricks of the rod with modes and stresses out of random numbers."""
    rng = np.random.default_rng(1)
    side = round((n_nodes / 6.0) ** (1.0 / 3.0))
    mesh = box_mesh((6 * side, side, side))
    Phi = rng.normal(size=(MODES, mesh.n_nodes, 3))
    frequency = np.sort(rng.uniform(100.0, 9000.0, size=MODES))
    from flexmbs.ffrf.integrals import BODY_LOADS

    integrals = lumped_integrals(1.9, mesh.points, Phi, frequency)
    loads = tuple(BODY_LOADS)
    integrals = type(integrals)(
        **vars(integrals) | {"K_geo": np.zeros((len(loads), MODES, MODES)), "loads": loads}
    )
    return ModalData(
        mesh=mesh,
        integrals=integrals,
        Phi=Phi,
        stress=1e6 * rng.normal(size=(MODES, mesh.n_nodes, 6)),
        stress_at="nodes",
        static_stress=StaticStress(
            rng.normal(size=(SHAPES, mesh.n_nodes, 6)),
            rng.normal(size=(SHAPES, len(loads))),
            np.zeros((MODES, len(loads))),
        ),
        frequency_hz=frequency,
        kind=("random",) * MODES,
        effective_mass=np.zeros((MODES, 6)),
        materials=rod_modal().materials,
    )


def measure(folder: Path, n_nodes: int, n_samples: int) -> dict[str, Any]:
    """Wall and CPU seconds and peak memory of the command."""
    large_body(n_nodes).save(folder / "rod.modal.h5")
    write_large(folder / "large.h5", n_samples)
    line = [sys.executable, "-m", "flexmbs.cli.main", "stress", "large.h5", "rod", "-o", "s.h5", "--quiet"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": time.perf_counter() - started, "cpu": cpu, "memory": after.ru_maxrss / 2**20}


def write_large(path: Path, n_samples: int) -> None:
    """The rod without joints, thrown about at random."""
    rng = np.random.default_rng(2)

    def more(t: Any) -> dict[str, Any]:
        q = (("bodies/rod/mode",), "1", rng.normal(size=(len(t), MODES)))
        words = ("acceleration", "angular_velocity", "angular_acceleration")
        moving = {f"bodies/rod/{word}": (("xyz",), "1", rng.normal(size=(len(t), 3))) for word in words}
        return moving | {"bodies/rod/q": q, "bodies/rod/q_dot": q}

    write_result(path, n=n_samples, case_data=case() | {"joints": {}}, more=more)


def main() -> None:
    n_nodes, n_samples = (int(text) for text in (*sys.argv[1:], "100000", "1000")[:2])
    with tempfile.TemporaryDirectory() as name:
        done = measure(Path(name), n_nodes, n_samples)
    print(
        f"{n_nodes} nodes, {MODES} modes and {SHAPES} static shapes, {n_samples} samples: "
        f"{done['wall']:.1f} s ({done['cpu']:.1f} s CPU), {done['memory']:.2f} GB"
    )


if __name__ == "__main__":
    main()
