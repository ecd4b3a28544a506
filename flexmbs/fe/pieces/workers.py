"""A factor on the workers of a Dask cluster: a task for every piece, whose panels stay where they were made.

A worker keeps its panels, and what it left to the piece above, in files of its own folder; only boundaries
travel. When it is lost, its pieces are made again elsewhere: they are functions of the matrix and of what the
pieces below them left.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.pieces import on_worker
from flexmbs.fe.pieces.cluster import Cluster
from flexmbs.fe.pieces.elimination import front_of
from flexmbs.fe.pieces.factor import COLUMNS, digest_of
from flexmbs.fe.pieces.iteration import Iteration
from flexmbs.fe.pieces.plan import Plan
from flexmbs.fe.pieces.store import Store, stopped
from flexmbs.fe.solve.cholesky import SingularMatrix
from flexmbs.fe.solve.shifted import Shifted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[float, str], None]
Columns = Callable[[Ints], sparse.csc_matrix]


class Lost(Exception):
    """A worker is gone, and what it had."""


class WorkersFactor:
    """Factor of a sparse symmetric matrix in the folders of workers; `solve` as that in memory.

    columns : those of the matrix with these numbers, in full;  diagonal : its largest entry decides what is
        zero to rounding;  store : where vectors of an iteration go, here
    """

    wide = COLUMNS

    def __init__(
        self,
        columns: Columns,
        diagonal: Floats,
        *,
        plan: Plan,
        cluster: Cluster,
        store: Store,
        pivot_tolerance: float = 1e-14,
        progress: Progress | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.plan, self.cluster, self.store, self.say = plan, cluster, store, say
        self.progress, self.columns, self.name = progress, columns, f"{cluster.name} {uuid.uuid4().hex}"
        self.pivot_tolerance = pivot_tolerance
        self.tiny = pivot_tolerance * float(np.abs(diagonal).max(initial=0.0))
        self.sign = np.ones(plan.shape.n)
        self.owner: dict[int, str] = {}
        self.full: set[str] = set()  # workers whose disk is
        self.parent = {child: k for k, piece in enumerate(plan.pieces) for child in piece.children}
        self.made = 0
        try:
            self._make()
        except BaseException:
            self.drop()
            raise

    def _make(self) -> None:
        """Eliminate the pieces that no worker has, children first."""
        running: dict[Any, int] = {}
        pieces = self.plan.pieces
        while len(self.owner) < len(pieces):
            for k, piece in enumerate(pieces):
                ready = k not in self.owner and all(child in self.owner for child in piece.children)
                if ready and k not in running.values():
                    running[self._submit(k)] = k
            done = self.cluster.first_of(list(running))
            if self._forget_lost():
                self.cluster.cancel(running)
                running = {}
            for future in [item for item in done if item in running]:
                self._take(running.pop(future), future)

    def _submit(self, k: int) -> Any:
        piece, shape, cluster = self.plan.pieces[k], self.plan.shape, self.cluster
        own = self.columns(shape.order[piece.columns])
        front = front_of(self.plan, piece, own, np.arange(len(piece.columns)))
        rests = [cluster.submit(on_worker.rest, self.name, c, on=self.owner[c]) for c in piece.children]
        boundaries = [self.plan.pieces[c].boundary for c in piece.children]
        size = self.plan.bytes_of(piece)
        usable = [name for name in cluster.workers() if name not in self.full]
        if not usable:
            raise stopped(self.store.folder, "the disks of all workers are full")
        return cluster.submit(
            on_worker.eliminated, self.name, k, front, self.tiny, boundaries, *rests, on=usable, memory=size
        )

    def _take(self, k: int, future: Any) -> None:
        """What a worker says of a piece that it was to make."""
        try:
            worker, sign = self.cluster.result(future)
        except SingularMatrix as problem:
            raise SingularMatrix(int(self.plan.shape.order[problem.unknown])) from None
        if sign is None:
            self.full.add(worker)
            return
        self.sign[self.plan.pieces[k].columns] = sign
        self.owner[k] = worker
        self.made += 1
        if self.progress is not None:
            work = self.plan.work
            part = sum(work[j] for j in self.owner) / max(work.sum(), 1.0)
            self.progress(part, f"piece {len(self.owner)} of {len(work)} on {worker}")

    def _forget_lost(self) -> bool:
        """Pieces of workers that are gone have to be made again."""
        alive = set(self.cluster.workers())
        lost = [k for k, worker in self.owner.items() if worker not in alive]
        for k in lost:
            del self.owner[k]
        if lost and self.say is not None:
            self.say(f"a worker is lost: {len(lost)} of {len(self.plan.pieces)} pieces are made again")
        return bool(lost)

    @property
    def negative_pivots(self) -> int:
        """Number of negative eigenvalues of A (Sylvester)."""
        return int(np.sum(self.sign < 0.0))

    def solve(self, B: Floats) -> Floats:
        """A^-1 B for B (n,) or (n, m)."""
        B = np.asarray(B, dtype=np.float64)
        flat = B.reshape(len(B), -1)
        result = np.zeros(flat.shape)
        for begin in range(0, flat.shape[1], COLUMNS):
            part = slice(begin, begin + COLUMNS)
            while True:
                try:
                    result[:, part] = self._pass(flat[:, part])
                    break
                except Lost:
                    self._make()
        return result.reshape(B.shape)

    def _pass(self, B: Floats) -> Floats:
        """Up the tree and down again."""
        pieces, order, cluster = self.plan.pieces, self.plan.shape.order, self.cluster
        up, down = list[Any](), dict[int, Any]()
        for k, piece in enumerate(pieces):
            known = np.concatenate([piece.columns, piece.boundary])
            places = [np.searchsorted(known, pieces[c].boundary) for c in piece.children]
            below = [up[c] for c in piece.children]
            own = B[order[piece.columns]]
            up.append(cluster.submit(on_worker.forward, self.name, k, own, places, *below, on=self.owner[k]))
        for k in range(len(pieces) - 1, -1, -1):
            place, above = None, None
            if k in self.parent:
                over = pieces[self.parent[k]]
                place = np.searchsorted(np.concatenate([over.columns, over.boundary]), pieces[k].boundary)
                above = down[self.parent[k]]
            down[k] = cluster.submit(on_worker.backward, self.name, k, place, above, up[k], on=self.owner[k])
        result = np.zeros(B.shape)
        for k, X in self._gathered(down).items():
            columns = pieces[k].columns
            result[order[columns]] = X[: len(columns)]
        return result

    def _gathered(self, futures: dict[int, Any]) -> dict[int, Floats]:
        """Results of tasks that are bound to the workers that have the panels."""
        left = set(futures.values())
        while left:
            left -= set(self.cluster.first_of(list(left)))
            if self._forget_lost():
                self.cluster.cancel(futures.values())
                raise Lost
        try:
            return dict(zip(futures, self.cluster.gather(list(futures.values())), strict=True))
        except (on_worker.Gone, OSError, CancelledError):  # lost while the results were on their way
            if not self._forget_lost():
                raise
            raise Lost from None

    def inertia(self, A: Shifted, B: Floats) -> tuple[int, Floats]:
        """Negative eigenvalues of another matrix, and B^T A^-1 B; this factor is given up."""
        self.drop()
        other = WorkersFactor(
            lambda which: sparse.csc_matrix(A.rows(which).T),
            A.diagonal(),
            plan=self.plan,
            cluster=self.cluster,
            store=self.store,
            pivot_tolerance=self.pivot_tolerance,
            say=self.say,
        )
        try:
            return other.negative_pivots, B.T @ other.solve(B)
        finally:
            other.drop()

    def iteration(self, M: Any, C: Any) -> Iteration:
        """Vectors of the modes of M with C u held, here; those of a killed run are there."""
        known = digest_of([M.indptr, M.indices, M.data, C.indptr, C.indices, C.data])
        return Iteration(self.store, f"modes-{known.hex()[:16]}", M.shape[0])

    def drop(self) -> None:
        """Let the workers forget it."""
        self.cluster.everywhere(on_worker.forget, self.name)
        self.owner = {}


def refuse_front(front: int, memory: Sequence[int]) -> None:
    """A front that no worker has memory for."""
    most = max(memory, default=0)
    if front > most:
        what = f"the largest front takes {front / 1e9:.1f} GB, the largest worker has {most / 1e9:.1f} GB"
        remedy = f"start one with --memory-limit {np.ceil(1.2e-8 * front) / 10:.1f}GB"
        raise InputError(Diagnostic("pieces.workers", "--cluster", what, remedy))


def gain_in_words(plan: Plan, n_workers: int) -> str:
    """What the tree gains by so many workers."""
    faster = plan.gain(plan.work, n_workers), plan.gain(plan.stored, n_workers)
    top = plan.work[-1] / max(plan.work.sum(), 1.0)
    words = (
        f"{len(plan.pieces)} pieces on {n_workers} workers: by the tree the elimination is {faster[0]:.1f}"
    )
    words += f" times as fast as on one, a pass {faster[1]:.1f} times; the last piece has"
    return f"{words} {100 * top:.0f} % of the work"
