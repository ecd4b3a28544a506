"""CPU time, phases and peak memory of a complete reduction, on one thread.

usage: python benchmarks/reduction.py MESH INTERFACE... [--modes 20] [--repeat 2]
       python benchmarks/reduction.py PEERS/conrod_50000.npz     mesh of the peer benchmarks, two bores

The first repetition loads the kernels; the last one counts. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers import read_mesh


def load(path: Path, interfaces: list[str]) -> tuple[Mesh, list[str]]:
    """A mesh file, or the arrays of the peer benchmarks."""
    if path.suffix != ".npz":
        return read_mesh(path), interfaces
    data = np.load(path)
    bores = {name: bore_nodes(data, k + 1) for k, name in enumerate(("big", "small"))}
    return Mesh(data["x2"], {"tet10": data["t10"]}, node_sets=bores, source=path.name), list(bores)


def bore_nodes(data: Any, kind: int) -> Any:
    """Corners of the triangles of a bore, and the mid-nodes of their edges."""
    triangles = data["tris"][data["tkind"] == kind]
    n = len(data["xyz"])
    edges = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]]), axis=1
    )
    mids = np.flatnonzero(np.isin(data["edges"] @ [n, 1], edges @ [n, 1]))
    return np.concatenate([np.unique(triangles), n + mids])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mesh", type=Path)
    parser.add_argument("interfaces", nargs="*")
    parser.add_argument("--modes", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args()
    mesh, interfaces = load(args.mesh, args.interfaces)
    phases: dict[str, float] = {}
    modal = None
    for _ in range(args.repeat):
        marks: list[tuple[float, str]] = []
        start = time.process_time()
        modal = fm.reduce(
            mesh,
            material={"young": 2.1e11, "poisson": 0.3, "density": 7850.0},
            interfaces=interfaces,
            modes=args.modes,
            progress=lambda fraction, text, marks=marks: marks.append((time.process_time(), text)),
        )
        total = time.process_time() - start
        ends = [at for at, _ in marks[1:]] + [start + total]
        phases = {}
        for (begin, text), end in zip(marks, ends, strict=True):
            phases[text] = round(phases.get(text, 0.0) + end - begin, 3)
    assert modal is not None
    print(
        json.dumps(
            {
                "dof": 3 * mesh.n_nodes,
                "modes": modal.nf,
                "cpu_s": round(total, 3),
                "phases": phases,
                "peak_rss_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3),
                "first_hz": round(float(modal.frequency_hz[0]), 3),
            }
        )
    )


if __name__ == "__main__":
    main()
