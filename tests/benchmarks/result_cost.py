"""What a result costs beside its numbers: `python -m tests.benchmarks.result_cost [BODIES SAMPLES ...]`.

Of a chain of pendulums: CPU seconds of the whole run (once the kernels are compiled) and of packing, size of
the file over its numbers, and wall seconds of processes that read it.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.results import writer

SIZES = ((240, 51), (1000, 6), (1000, 1000))


def links(bodies: int, samples: int) -> Case:
    """Rigid links in a row, each hinged to the one before."""
    frames = {"end": {"pos": [0.1, 0, 0]}}
    link = {"type": "rigid", "mass": 1, "com": [0.05, 0, 0], "frames": frames,
            "inertia": {"ixx": 1e-4, "iyy": 1e-3, "izz": 1e-3}}  # fmt: skip
    pin = {"type": "revolute", "axis": [0, 0, 1]}
    return Case.from_dict(
        {
            "gravity": [0, -9.81, 0],
            "bodies": {f"link{k}": link for k in range(bodies)},
            "joints": {
                f"pin{k}": pin | {"from": f"link{k - 1}.end" if k else "ground", "to": f"link{k}"}
                for k in range(bodies)
            },
            "analysis": {"type": "dynamics", "t_end": 1e-3, "method": "dopri5"},
            "output": {"every": 1e-3 / (samples - 1)},
        }
    )


def numbers(result: Any) -> int:
    """Bytes of all histories."""
    return sum(np.asarray(result[p]).nbytes for p in result.paths if result.dimensions(p)[:1] == ("time",))


def measure(bodies: int, samples: int, folder: Path) -> str:
    path, spent = folder / f"{bodies}.h5", [0.0]

    def timed(*args: Any) -> None:
        started = time.process_time()
        packed(*args)
        spent[0] = time.process_time() - started

    packed, started = writer.pack, time.process_time()
    with patch.object(writer, "pack", timed):
        fm.run(links(bodies, samples), path)
    whole, size = time.process_time() - started, path.stat().st_size
    bytes_of = numbers(fm.Result.load(path))
    read = f"import flexmbs as fm; fm.Result.load({str(path)!r})['bodies/link1/position']"
    empty = least([sys.executable, "-c", "import flexmbs"])
    cells = [bodies, samples, f"{whole:.1f} s", f"{spent[0]:.2f} s", f"{bytes_of / 1e6:.2f} MB",
             f"{size / 1e6:.2f} MB", f"{(size - 1.2 * bytes_of) / bodies / 1e3:.1f} kB",
             f"{least([sys.executable, '-c', read]) - empty:.2f} s",
             f"{least([sys.executable, '-m', 'flexmbs.cli.main', 'info', str(path)]):.2f} s"]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def least(command: list[str]) -> float:
    """Wall seconds of a process, the least of three."""
    found = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        found.append(time.perf_counter() - started)
    return min(found)


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]]
    pairs = list(zip(sizes[::2], sizes[1::2], strict=True)) or list(SIZES)
    print("| bodies | samples | run | packing | numbers | file | beyond 1.2, a body | one channel | info |")
    print("| --- " * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        fm.run(links(2, 3), Path(folder) / "warm.h5")
        for bodies, samples in pairs:
            print(measure(bodies, samples, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
