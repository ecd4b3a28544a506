"""Time and memory of reading a block of a million nodes: python -m tests.benchmarks.reading"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import meshio

from flexmbs.fe.readers import read_mesh
from flexmbs.fe.shapes.parametric import box

STEEL = "*MATERIAL, NAME=S\n*ELASTIC\n2.1e11, .3\n*DENSITY\n7850.\n"
MATERIAL = {
    ".inp": f"{STEEL}*SOLID SECTION, ELSET=E, MATERIAL=S\n",
    ".bdf": "PSOLID,1,1\nMAT1,1,2.1+11,,.3,7850.\nENDDATA\n",
}


#: name of the format in meshio, and what else its writer takes
BY_MESHIO: dict[str, tuple[str, dict[str, str]]] = {
    ".med": ("med", {}),
    ".xdmf": ("xdmf", {}),
    ".xmf": ("xdmf", {"data_format": "XML"}),
}


def write(path: Path, n: int) -> None:
    """A block of 8 n^3 bricks."""
    mesh = box((0.4, 0.2, 0.1), (4 * n, 2 * n, n), element="hex8")
    if path.suffix in BY_MESHIO:
        kind, options = BY_MESHIO[path.suffix]
        whole = meshio.Mesh(mesh.points, [("hexahedron", mesh.cells["hex8"])])
        meshio.write(path, whole, file_format=kind, **options)
        return
    points, cells = mesh.points.tolist(), (mesh.cells["hex8"] + 1).tolist()
    with path.open("w") as file:
        if path.suffix == ".inp":
            file.write("*NODE\n")
            file.writelines(f"{k}, {x:.9g}, {y:.9g}, {z:.9g}\n" for k, (x, y, z) in enumerate(points, 1))
            file.write("*ELEMENT, TYPE=C3D8, ELSET=E\n")
            file.writelines(f"{k}, {', '.join(map(str, row))}\n" for k, row in enumerate(cells, 1))
        else:
            file.write("BEGIN BULK\n")
            file.writelines(
                f"GRID    {k:8d}        {x:8.5f}{y:8.5f}{z:8.5f}\n" for k, (x, y, z) in enumerate(points, 1)
            )
            for k, row in enumerate(cells, 1):
                words = [f"{word:8d}" for word in (k, 1, *row)]
                file.write(f"CHEXA   {''.join(words[:8])}\n        {''.join(words[8:])}\n")
        file.write(MATERIAL[path.suffix])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bricks", type=int, default=50, help="bricks along the shortest edge")
    parser.add_argument("--formats", nargs="*", help="endings, as .med; all without")
    parser.add_argument("--file", type=Path, help="read this file and say what it takes")
    options = parser.parse_args()
    if options.file:
        start = time.process_time()
        mesh = read_mesh(options.file)
        own, child = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        seconds = time.process_time() - start + child.ru_utime + child.ru_stime
        peak = f"{own.ru_maxrss / 1e6:.2f} GB"
        beside = f" and {child.ru_maxrss / 1e6:.2f} GB of a process beside it" if child.ru_maxrss else ""
        print(f"{options.file.suffix}: {mesh.n_nodes} nodes, {seconds:.1f} CPU s, {peak}{beside}")
        return
    with tempfile.TemporaryDirectory() as folder:
        for ending in options.formats or [*MATERIAL, *BY_MESHIO]:
            path = Path(folder) / f"block{ending}"
            write(path, options.bricks)
            subprocess.run([sys.executable, "-m", "tests.benchmarks.reading", "--file", path], check=True)


if __name__ == "__main__":
    main()
