"""Complete reductions in pieces beside the direct route: `python -m tests.benchmarks.pieces [FREEDOMS ...]`.

With `--foretell` only what is foretold: of the graph, in a minute for a million freedoms; `casting:N` there
and here is a compact casting with ribs. `--count N` takes N modes in place of 20; `--least` gives pieces no
memory beyond what they need, so that all matrices and fields go to files; `--rounds N` lets the routes take
turns so often, and the least seconds of each count. With `--modes N` only
factor and N modes, by both routes in turn in one process, where memory holds the files of the factor; and
the gain of workers by the work of the tree beside that by the measured seconds of its pieces.

Connecting rods of tet10 with two interfaces, 12 + 20 modes, stiffening, stress modes and certificate; each
in a process of its own with one thread, in turn. Memory is what the process has for itself: pages of files
that are mapped can be given back at any time, and count for nothing. Seconds are those of the processor, and
by the clock in brackets. The direct route, and with it all differences, is left out where memory has no room
for it. A million freedoms: 20 minutes, 17 GB of disk.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import agreement
from tests.benchmarks.conrod import casting, conrod
from tests.benchmarks.runner import DATA, Clock, measurement, run_alone

FREEDOMS = (100_000, 200_000)
LONG = 4 * 3600.0  # seconds that one measurement may take
OPTIONS: dict[str, Any] = {"interfaces": ["big", "small"], "modes": 20}


def body(name: str) -> Any:
    """The mesh of `N`, a rod, or of `casting:N`."""
    from tests.benchmarks.stage1 import rod_mesh

    shape, _, dof = name.rpartition(":")
    if not shape:
        return rod_mesh(conrod(int(dof)))
    found = casting(int(dof))
    return rod_mesh({**found, "corners": found["points"]})


@measurement
def mesh_of_body(name: str) -> dict[str, Any]:
    return {"nodes": len(body(name).points)}


class Memory(threading.Thread):
    """The most memory that belongs to this process alone, of fifty looks a second; two are for its files."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.most, self.disk, self.ended = folder, 0, 0, threading.Event()

    def run(self) -> None:
        looks = 0
        while not self.ended.wait(0.02):
            looks += 1
            text = Path("/proc/self/status").read_text("ascii")
            line = next(row for row in text.splitlines() if row.startswith("RssAnon"))
            self.most = max(self.most, 1024 * int(line.split()[1]))
            if looks % 25 == 1:
                self.disk = max(self.disk, disk_of(self.folder))


def disk_of(folder: Path) -> int:
    """Bytes of the files of a folder, those without a name that are mapped among them."""
    sizes: dict[int, int] = {}
    for path in folder.glob("*/*"):
        with contextlib.suppress(OSError):  # gone meanwhile
            status = path.stat()
            sizes[status.st_ino] = 512 * status.st_blocks
    for row in Path("/proc/self/maps").read_text("utf-8").splitlines():
        addresses, _, offset, _, inode, *path = row.split(maxsplit=5)
        if path and path[0].startswith(str(folder)) and int(inode) not in sizes:
            begin, end = (int(text, 16) for text in addresses.split("-"))
            sizes[int(inode)] = int(offset, 16) + end - begin
    return sum(sizes.values())


@measurement
def reduction_by_route(name: str, pieces: str, modes: str, room: str) -> dict[str, Any]:
    """One reduction, with what was foretold of it; what both routes give is kept to be compared."""
    import flexmbs as fm
    from flexmbs.fe.pieces import route
    from flexmbs.fe.pieces.estimate import available_bytes
    from flexmbs.modal import craig_bampton
    from tests.benchmarks.stage1 import rod_mesh, steel

    known: list[Any] = []
    real = route.estimate
    route.estimate = lambda *a: known.append(real(*a)) or known[-1]
    static: list[Any] = []
    shapes = craig_bampton.constraint_modes
    craig_bampton.constraint_modes = lambda *a: static.append(shapes(*a)) or static[-1]
    mesh = body(name)
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        most = 10**12 if room == "all" else least(mesh, int(modes))
        limits = fm.Limits(pieces, most, Path(folder))
        fm.reduce(rod_mesh(conrod(3000)), material=steel(), limits=limits, **OPTIONS)
        memory = Memory(Path(folder))
        memory.start()
        started = time.perf_counter()
        with Clock() as clock:
            modal = fm.reduce(mesh, material=steel(), limits=limits, **OPTIONS | {"modes": int(modes)})
        wall = time.perf_counter() - started
        memory.ended.set()
        agreement.store(stored(name, pieces), modal, static[-1].U)
    found = known[-1]
    answer = {"seconds": clock.seconds, "wall": wall, "peak": memory.most, "taken": memory.disk}
    foretold, disk = found.pieces, found.disk
    if room == "all" and found.roomy + found.factor <= available_bytes():
        foretold, disk = found.roomy + found.factor, found.roomy_disk
    return answer | {
        "dof": 3 * len(mesh.points),
        "foretold": found.direct if pieces == "direct" else foretold,
        "disk": disk,
        "in_memory": found.direct,
    }


def least(mesh: Any, modes: int) -> int:
    """Memory [bytes] in which a reduction in pieces is possible, and hardly more."""
    from flexmbs.fe.graph import graph_of_cells
    from flexmbs.fe.pieces.estimate import estimate

    return estimate(graph_of_cells(len(mesh.points), mesh.cells), 3, modes, 12).pieces + 10**8


def stored(name: str, pieces: str) -> Path:
    """Where the results of a route are kept for a while."""
    return DATA / f"pieces_{pieces}_{name}"


@measurement
def foretold_of(name: str) -> dict[str, Any]:
    """Memory, disk, work of a reduction with 20 modes and 12 static shapes, and what workers would gain."""
    from flexmbs.fe.graph import graph_of_cells
    from flexmbs.fe.pieces import estimate

    known: list[Any] = []
    real = estimate.make_plan
    estimate.make_plan = lambda *a: known.append(real(*a)) or known[-1]
    mesh = body(name)
    with Clock() as clock:
        found = estimate.estimate(graph_of_cells(len(mesh.points), mesh.cells), 3, 20, 12)
    plan = known[0]
    answer = {key: getattr(found, key) for key in ("freedoms", "direct", "pieces", "disk", "front")}
    separators = [work for work, piece in zip(plan.work, plan.pieces, strict=True) if piece.children]
    answer |= {"work": plan.work.sum(), "factor": 8.0 * plan.stored.sum(), "top": sum(separators)}
    gains = {f"gain_{n}": (plan.gain(plan.work, n), plan.gain(plan.stored, n)) for n in (2, 4, 8)}
    return answer | gains | {"seconds": clock.seconds, "pieces_of": len(plan.pieces)}


def foretold_line(name: str) -> str:
    run_alone("mesh_of_body", name, timeout=LONG)
    found = run_alone("foretold_of", name, timeout=LONG)
    if "failed" in found:
        return f"| {name} | failed: {found['failed']} |"
    which = " (casting)" if ":" in name else ""
    words = f"| {found['freedoms']}{which} | {found['direct'] / 1e9:.1f} GB | {found['pieces'] / 1e9:.1f} GB "
    words += (
        f"| {found['front'] / 1e9:.2f} GB | {found['factor'] / 1e9:.1f} GB | {found['disk'] / 1e9:.0f} GB "
    )
    words += f"| {found['work']:.1e} | {100 * found['top'] / found['work']:.0f} % | {found['pieces_of']} "
    gains = zip(*(found[f"gain_{n}"] for n in (2, 4, 8)), strict=True)
    return f"{words}| {' | '.join(', '.join(f'{gain:.1f}' for gain in row) for row in gains)} |"


def line(name: str, modes: int, room: str, rounds: int) -> str:
    """A row of the table of the page."""
    from flexmbs.fe.pieces.estimate import available_bytes

    run_alone("mesh_of_body", name, timeout=LONG)
    ours = run_alone("reduction_by_route", name, "always", modes, room, timeout=LONG)
    if "failed" in ours:
        return f"| {name} | failed: {ours['failed']} |"
    which = " (casting)" if ":" in name else ""
    if ours["in_memory"] > available_bytes():
        shutil.rmtree(stored(name, "always"))
        return f"{words_of(ours, which)}| | {ours['in_memory'] / 1e9:.1f} GB (foretold) {'| ' * 6}|"
    other = run_alone("reduction_by_route", name, "direct", modes, "all", timeout=LONG)
    for _ in range(rounds - 1):
        if "failed" not in other:
            ours = faster(ours, run_alone("reduction_by_route", name, "always", modes, room, timeout=LONG))
            other = faster(other, run_alone("reduction_by_route", name, "direct", modes, "all", timeout=LONG))
    if "failed" in other:
        return f"{words_of(ours, which)}| failed: {other['failed']} |"
    ways = [stored(name, way) for way in ("direct", "always")]
    found = agreement.differences(*map(agreement.load, ways))
    for way in ways:
        shutil.rmtree(way)
    print(f"{name}: {', '.join(f'{key} {value:.1e}' for key, value in found.items())}", file=sys.stderr)
    words = f"{words_of(ours, which)}| {seconds_of(other)} | {other['peak'] / 1e9:.2f} GB "
    return f"{words}| {ours['seconds'] / other['seconds']:.2f} | {agreement.in_words(found)} |"


def faster(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """That of two runs which took the processor for less time."""
    print(f"{seconds_of(one)}, {seconds_of(other)}", file=sys.stderr)
    return min(one, other, key=lambda answer: answer["seconds"])


def words_of(ours: dict[str, Any], which: str) -> str:
    """Of the reduction in pieces: seconds, memory and disk, taken and foretold."""
    words = f"| {ours['dof']}{which} | {seconds_of(ours)} | {ours['peak'] / 1e9:.2f} GB "
    words += f"| {ours['foretold'] / 1e9:.2f} GB | {ours['taken'] / 1e9:.1f} GB "
    return f"{words}| {ours['disk'] / 1e9:.1f} GB "


def seconds_of(answer: dict[str, Any]) -> str:
    """Of the processor, and by the clock on the wall."""
    return f"{answer['seconds']:.0f} s ({answer['wall']:.0f} s)"


@measurement
def modes_by_both(dof: str, modes: str) -> dict[str, Any]:
    """Seconds of factor and fixed-interface modes by both routes, and of the pieces."""
    from flexmbs.fe.pieces import factor, mapped
    from flexmbs.fe.solve.cholesky import SparseFactor
    from flexmbs.modal.eigen import BLOCK, lowest_modes
    from tests.benchmarks.stage1 import clamped_rod

    cost, real = list[float](), factor.eliminate

    def timed(*arguments: Any) -> Any:
        started = time.thread_time()
        made = real(*arguments)
        cost.append(time.thread_time() - started)
        return made

    factor.eliminate = timed
    for size in ("3000", dof):  # compiled kernels are loaded by the first
        K, M = clamped_rod(size)
        node_of, n = np.arange(K.shape[0]) // 3, int(modes)
        cost.clear()
        with tempfile.TemporaryDirectory(dir=DATA) as name, mapped.storing_in(Path(name)):
            with Clock() as first:
                pieces = factor.PiecesFactor(K, node_of, folder=Path(name))
            with Clock() as second:
                pieces.wide = BLOCK  # as where memory holds the files
                begun = pieces.iteration(M, K[:0].tocsr())
                ours = lowest_modes(pieces.solve, M, n, begun=begun).frequency_hz
        with Clock() as third:
            direct = SparseFactor(K, node_of)
        with Clock() as fourth:
            theirs = lowest_modes(direct.solve, M, n).frequency_hz
    plan = pieces.plan
    return {
        "dof": K.shape[0],
        "pieces": (first.seconds, second.seconds),
        "direct": (third.seconds, fourth.seconds),
        "differ": float(np.abs(ours / theirs - 1.0).max()),
        "gains": [(plan.gain(plan.work, n), plan.gain(np.array(cost), n)) for n in (2, 4, 8)],
    }


def modes_line(modes: int, dof: int) -> str:
    run_alone("mesh_of_rod", dof, timeout=LONG)
    found = run_alone("modes_by_both", dof, modes, timeout=LONG)
    if "failed" in found:
        return f"{dof}: failed: {found['failed']}"
    ours, theirs = found["pieces"], found["direct"]
    words = f"{found['dof']} freedoms, {modes} modes: in pieces {ours[0]:.1f} + {ours[1]:.1f} s, "
    words += (
        f"direct {theirs[0]:.1f} + {theirs[1]:.1f} s, frequencies differ by {found['differ']:.0e}; gain of "
    )
    gains = zip((2, 4, 8), found["gains"], strict=True)
    return words + "; ".join(f"{n} workers {one:.1f}, measured pieces {two:.1f}" for n, (one, two) in gains)


def foretell(names_of: list[str]) -> None:
    names = ["freedoms", "in memory", "in pieces", "largest front", "factor", "disk", "multiplications"]
    names += ["of them above pieces", "pieces", "elimination on 2, 4, 8 workers", "pass on 2, 4, 8"]
    print(f"| {' | '.join(names)} |", f"{'| --- ' * len(names)}|", sep="\n")
    for name in names_of:
        print(foretold_line(name), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--foretell"]:
        foretell(sys.argv[2:])
        sys.exit()
    if sys.argv[1:2] == ["--modes"]:
        for number in map(int, sys.argv[3:] or FREEDOMS):
            print(modes_line(int(sys.argv[2]), number), flush=True)
        sys.exit()
    heads = ["freedoms", "in pieces", "memory", "foretold", "disk", "foretold", "direct", "memory", "ratio"]
    heads += ["frequencies differ by", "integrals", "static shapes", "stiffening", "stresses"]
    print(f"| {' | '.join(heads)} |", f"{'| --- ' * len(heads)}|", sep="\n")
    count, room, rounds, words = OPTIONS["modes"], "all", 1, sys.argv[1:]
    while words and words[0].startswith("--"):
        option = words.pop(0)
        if option == "--least":
            room = "least"
        elif option == "--rounds":
            rounds = int(words.pop(0))
        elif option == "--count":
            count = int(words.pop(0))
        else:
            sys.exit(f"{option}?")
    for word in words or map(str, FREEDOMS):
        print(line(word, count, room, rounds), flush=True)
