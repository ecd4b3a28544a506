"""How the stiffness of a body is factored: in memory, or in pieces in a folder; decided before it begins."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs import disk
from flexmbs._simd import LANES
from flexmbs.errors import Diagnostic, FlexmbsError, InputError, Interrupted
from flexmbs.fe.pieces.cluster import Cluster
from flexmbs.fe.pieces.estimate import (
    Estimate,
    available_bytes,
    certainly_fits,
    estimate,
    in_words,
)
from flexmbs.fe.pieces.factor import PiecesFactor, key_of
from flexmbs.fe.pieces.mapped import map_matrix, storing_in
from flexmbs.fe.pieces.plan import Plan, make_plan
from flexmbs.fe.pieces.store import Store
from flexmbs.fe.pieces.workers import WorkersFactor, gain_in_words, refuse_front
from flexmbs.fe.solve import solvers
from flexmbs.fe.solve.cholesky import SingularMatrix
from flexmbs.fe.solve.symbolic import analyse

Ints = NDArray[np.int64]
Progress = Callable[[float, str], None]

CHOICES = ("auto", "direct", "always")
FOLDER = "flexmbs-pieces-"
#: where a finding of the machine, and not of a file, stands
HERE = "reduce"
UNITS = {
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}


@dataclass(frozen=True)
class Limits:
    """What a reduction may take of this machine: bytes of memory, a folder for factors on disk."""

    pieces: str = "auto"
    memory: int | None = None
    scratch: Path | None = None
    say: Callable[[str], None] | None = None  # hears what was decided, before anything is taken
    cluster: str = ""  # address of a Dask scheduler, whose workers have the fronts and the factor
    open_cluster: bool = False  # it may be reached without encryption


def bytes_of(text: str) -> int:
    """Bytes of `8GB`, `7.5 GiB`, `800MB`."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]+)\s*", text)
    units = {name.lower(): size for name, size in UNITS.items()}
    if not found or found[2].lower() not in units or not float(found[1]):
        what, remedy = f'"{text}" is no amount of memory', f"a number and {', '.join(UNITS)}: 8GB"
        raise InputError(Diagnostic("pieces.amount", HERE, what, remedy))
    return int(float(found[1]) * units[found[2].lower()])


class Route:
    """Makes the factors of one reduction; as a context it removes what lies on disk when all is done.

    progress : hears of pieces that are done
    """

    def __init__(
        self, limits: Limits | None = None, solver: str = "auto", progress: Progress | None = None
    ) -> None:
        self.limits, self.solver, self.progress = limits or Limits(), solver, progress
        self.in_pieces = self.limits.pieces == "always"
        self.found: Estimate | None = None
        self.spare = 0  # bytes of the memory that was given that nothing else needs
        self.cluster: Cluster | None = None
        self._there: WorkersFactor | None = None
        self._stores: list[Store] = []
        self._locks = ExitStack()
        if self.limits.pieces not in CHOICES:
            what, remedy = f'"{self.limits.pieces}"', f"choices: {', '.join(CHOICES)}"
            raise InputError(Diagnostic("pieces.choice", HERE, what, remedy))
        if self.in_pieces and solver != "auto":
            what = f'the solver "{solver}" keeps its factor in memory'
            raise InputError(Diagnostic("pieces.solver", HERE, what, "leave out --solver or --pieces"))

    def __enter__(self) -> Route:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or (isinstance(error, FlexmbsError) and not _goes_on(error)):
            self.clear()
        self._forget()
        self._locks.close()

    def _forget(self) -> None:
        """Workers give the disk of a factor back."""
        if self._there is not None:
            self._there.drop()
        self._there = None

    def clear(self, but: str = "") -> None:
        """Remove the factors that have been made."""
        for store in self._stores:
            if store.folder.name != but:
                store.remove()
        self._stores = [store for store in self._stores if store.folder.name == but]

    def decide(
        self, graph: Callable[[], Any], n_nodes: int, n_per_node: int, modes: int | None, static: int
    ) -> None:
        """Direct or in pieces, from the graph of the nodes; a limit that cannot be met is refused.

        modes, static : numbers of shapes, which take memory as well. Writes: in_pieces, found.
        """
        limits, freedoms, memory = self.limits, n_nodes * n_per_node, self._memory()
        if limits.pieces != "always" and limits.memory is None:
            if limits.pieces == "direct" or self.solver != "auto" or certainly_fits(freedoms, memory):
                return
        found = estimate(graph(), n_per_node, modes, static)
        can = limits.pieces == "auto" and self.solver == "auto"
        self.in_pieces = limits.pieces == "always" or (can and found.direct > memory)
        if self.in_pieces and limits.cluster:
            found = self._on_workers(found)
        room = available_bytes() - found.factor  # the system can keep the files of the factor beside that
        roomy = self.in_pieces and found.roomy <= min(memory, room)
        if roomy:
            found = replace(found, pieces=found.roomy, disk=found.roomy_disk)
            self.spare = min(limits.memory or 0, available_bytes()) - found.roomy
        self.found = found
        words = (
            f"{freedoms} freedoms: in memory {in_words(found.direct)}; "
            f"in pieces {in_words(found.pieces)}, and {in_words(found.disk)} on disk"
        )
        if (found.pieces if self.in_pieces else found.direct) > memory:
            self._refuse(words, found, memory)
        if self.in_pieces:
            folder = self._require_disk(found.disk, f"{FOLDER}*")
            self._locks.enter_context(storing_in(None if roomy else folder))
        taken = "in pieces" if self.in_pieces else "in memory"
        taken += f" on {len(self.cluster.workers())} workers" if self.cluster is not None else ""
        minutes = max(found.seconds / 60.0, 1.0)
        if limits.say is not None:
            limits.say(f"{words}, about {minutes:.0f} min; the limit is {in_words(memory)}: {taken}")

    def _on_workers(self, found: Estimate) -> Estimate:
        """What is left for this machine when workers have the factor."""
        self.cluster = self._locks.enter_context(Cluster(self.limits.cluster, self.limits.open_cluster))
        refuse_front(found.front, self.cluster.memory())
        front, factor = found.front, found.factor
        return replace(
            found,
            pieces=found.pieces - front,
            disk=found.disk - factor,
            factor=0,
            roomy=found.roomy - front,
            roomy_disk=found.roomy_disk - factor,
        )

    def _memory(self) -> int:
        return available_bytes() if self.limits.memory is None else self.limits.memory

    def _refuse(self, words: str, found: Estimate, memory: int) -> None:
        pieces = self.in_pieces or self.limits.pieces != "direct" and self.solver == "auto"
        least = min(found.pieces, found.direct) if pieces else found.direct
        remedy = f"--memory {np.ceil(1.02e-8 * least) / 10:.1f}GB would do"
        if not pieces and found.pieces <= memory:
            remedy += ", or --pieces auto"
        what = f"{words}; the limit is {in_words(memory)}"
        raise InputError(Diagnostic("pieces.memory", HERE, what, remedy))

    def _folder(self) -> Path:
        folder = self.limits.scratch or Path.cwd()
        if not folder.is_dir():
            raise InputError(Diagnostic("pieces.scratch", str(folder), "is no folder", "create it"))
        return folder

    def _require_disk(self, size: int, names: str) -> Path:
        """The folder of factors, when what is free there, and what earlier runs have left, is enough."""
        folder = self._folder()
        left = sum(512 * path.stat().st_blocks for path in folder.glob(f"{names}/*"))
        free = shutil.disk_usage(folder).free + left
        if free < size:
            what = f"{in_words(free)} are free, the factor takes {in_words(size)}"
            remedy = "make room, or name a folder on another disk with --scratch"
            raise InputError(Diagnostic("pieces.disk", str(folder), what, remedy))
        return folder

    def factorise(self, A: Any, kind: str = "symmetric", node_of: Ints | None = None) -> solvers.Factor:
        """As `fe.solve.solvers.factorise`, by the route that was decided."""
        if not self.in_pieces:
            return solvers.factorise(A, kind, self.solver, node_of)
        A = sparse.csc_matrix(A)
        nodes = solvers.equal_columns(A) if node_of is None else np.asarray(node_of)
        plan = make_plan(analyse(A, nodes))
        name = f"{FOLDER}{key_of(A, plan).hex()[:16]}"
        self.clear(but=name)  # one factor is in use at a time
        self._forget()
        here = plan.disk_bytes if self.cluster is None else 0
        folder = self._require_disk(here, name) / name
        self._open(folder)
        factor: PiecesFactor | WorkersFactor
        try:
            if self.cluster is not None:
                factor = self._there = self._eliminate_there(A, plan, folder, self.cluster)
            else:
                factor = PiecesFactor(
                    A,
                    nodes,
                    folder=folder,
                    plan=plan,
                    spare=self.spare,
                    progress=self.progress,
                    say=self.limits.say,
                )
        except SingularMatrix as problem:
            raise solvers.singular(f"the pivot of unknown {problem.unknown} is zero to rounding") from None
        if kind == "spd" and factor.negative_pivots:
            raise solvers.singular(f"{factor.negative_pivots} eigenvalues are negative")
        if isinstance(factor, WorkersFactor):
            return factor
        if self.found is not None and self.found.pieces + plan.disk_bytes <= available_bytes():
            factor.wide = LANES  # the system can keep the files in memory: no need to save passes
        if factor.found and self.limits.say is not None:
            self.limits.say(f"{factor.found} of {len(plan.pieces)} pieces were there from an earlier run")
        return factor

    def _eliminate_there(self, A: Any, plan: Plan, folder: Path, cluster: Cluster) -> WorkersFactor:
        if self.limits.say is not None:
            self.limits.say(gain_in_words(plan, len(cluster.workers())))
        return WorkersFactor(
            lambda which: sparse.csc_matrix(A[:, which]),
            A.diagonal(),
            plan=plan,
            cluster=cluster,
            store=Store(folder, key_of(A, plan)),
            progress=self.progress,
            say=self.limits.say,
        )

    def keep(self, *matrices: Any) -> None:
        """Matrices that stay until the end go where the factor goes. Writes: their entries, in place."""
        for A in matrices:
            map_matrix(A)

    def _open(self, folder: Path) -> None:
        """Take a folder for this run alone."""
        if folder in (store.folder for store in self._stores):
            return
        try:
            self._locks.enter_context(disk.lock(folder))
        except InputError as error:
            what, remedy = error.diagnostics[0].what, "wait for it: the same body is reduced there"
            raise InputError(Diagnostic("pieces.busy", str(folder), what, remedy)) from None
        self._stores.append(Store(folder))
        with disk.told(folder):
            if not folder.is_dir():
                disk.make_folder(folder)


def _goes_on(error: FlexmbsError) -> bool:
    """Whether the same command can go on where this error stopped it."""
    codes = {item.code for item in error.diagnostics}
    return isinstance(error, Interrupted) or bool(codes & {"pieces.full", "pieces.changed", "file.write"})
