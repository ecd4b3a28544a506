"""Memory, disk and time of a reduction before any of it is taken, from the graph of the mesh."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs.fe.pieces.factor import COLUMNS
from flexmbs.fe.pieces.plan import Plan, make_plan
from flexmbs.fe.solve.symbolic import analyse_graph

Ints = NDArray[np.int64]

#: bytes of an entry of a sparse matrix
ENTRY = 12
#: of the bytes of the stiffness: all matrices in memory; those in files; what an elimination has in memory
MATRICES, MAPPED, ELIMINATING = 3.8, 3.5, 0.5
#: fields of displacements that are alive on the direct route: with every mode, beside them
PER_MODE, BESIDE = 8, 100
#: the same in pieces: those in work, of every mode and beside them, and those in files
PER_SHAPE, IN_WORK, PER_SHAPE_STORED, STORED = 6, 20, 14, 250
#: vectors of an iteration for every mode
BASIS = 8
#: modes where a recipe says a frequency and no number
SOME_MODES = 40
#: passes over a factor; seconds for a gigabyte of it; for a freedom of all that is no factor
PASSES, PER_GIGABYTE, PER_FREEDOM = 24, 0.7, 6e-5
#: a factor takes less than this of a freedom, times the cube root of their number; below, nobody asks
CERTAIN, CERTAIN_ROOT = 15_000, 400


@dataclass(frozen=True)
class Estimate:
    """Of a body with `freedoms`: bytes of memory by both routes and on disk, seconds of the processor.

    In pieces that is the least; `roomy` is what it takes when all but the factor stays in memory.
    """

    freedoms: int
    direct: int
    pieces: int
    disk: int
    seconds: float
    front: int  # of the memory in pieces what workers have in place of this machine
    factor: int  # the same of the disk
    roomy: int
    roomy_disk: int


def certainly_fits(freedoms: int, memory: int) -> bool:
    """Whether a body is so small that the direct route fits, whatever its shape."""
    return freedoms * (CERTAIN + CERTAIN_ROOT * freedoms ** (1 / 3)) < memory


def estimate(graph: sparse.csr_matrix, n_per_node: int, modes: int | None, static: int) -> Estimate:
    """What a reduction to so many modes and static shapes takes; `graph` is that of nodes."""
    n = graph.shape[0] * n_per_node
    unknowns = np.arange(n)
    shape = analyse_graph(graph, unknowns // n_per_node, unknowns, n)
    plan, count = make_plan(shape), SOME_MODES if modes is None else modes
    rows = 8 * (len(shape.rows) + len(plan.shape.rows))
    stiffness = ENTRY * (graph.nnz + graph.shape[0]) * n_per_node**2
    kept = 8 * n * (PER_MODE * (count + static) + BESIDE)
    in_memory = MATRICES * stiffness + 8 * (shape.n_entries + len(shape.rows)) + kept
    in_work = 8 * n * (PER_SHAPE * max(count + static, COLUMNS) + IN_WORK)
    in_pieces = rows + plan.front_bytes + max(in_work, ELIMINATING * stiffness)
    roomy = MATRICES * stiffness + rows + plan.front_bytes + kept
    stored = 8 * n * (PER_SHAPE_STORED * (count + static) + STORED)
    base, disk = resident_bytes(), plan.disk_bytes + MAPPED * stiffness + stored
    return Estimate(
        n,
        int(base + in_memory),
        int(base + in_pieces),
        int(disk),
        seconds_of(plan),
        plan.front_bytes,
        plan.disk_bytes,
        int(base + roomy),
        int(plan.disk_bytes + 8 * n * BASIS * max(count, COLUMNS)),
    )


def seconds_of(plan: Plan) -> float:
    """Two eliminations, of which one counts, and passes over the factor, at the speed of this processor."""
    side = 384
    block = np.ones((side, side))
    block @ block
    start = time.thread_time()
    for _ in range(4):
        block @ block
    rate = 4 * side**3 / max(time.thread_time() - start, 1e-3)  # some clocks of threads are coarse
    stored = 8e-9 * float(plan.shape.panel[-1])
    return float(2 * plan.work.sum() / rate + PASSES * PER_GIGABYTE * stored + PER_FREEDOM * plan.shape.n)


def resident_bytes() -> int:
    """Memory that this process has now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: the most it has had
        import resource

        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def available_bytes() -> int:
    """Memory that this process can have: its own, and what the machine or its group has left."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path, read in (("/proc/meminfo", _available), ("/sys/fs/cgroup/memory.max", _limit)):
        try:
            with open(path, encoding="ascii") as file:
                found.append(read(file.read()))
        except (OSError, ValueError, IndexError):
            continue
    return min(found)


def _available(text: str) -> int:
    line = next(row for row in text.splitlines() if row.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024 + resident_bytes()


def _limit(text: str) -> int:
    return int(text)


def in_words(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
