"""Designs on a Dask cluster: workers on any machine that sees the folder of the study (`--cluster`)."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import count
from typing import Any

from flexmbs import __version__, disk
from flexmbs.errors import Diagnostic, FlexmbsError, InputError, SolverError, UsageError, missing_component
from flexmbs.study.bodies import Task, reduce_body
from flexmbs.study.ends import TRIES, crashed, ended, no_place, no_worker
from flexmbs.study.on_worker import PROBE, Full, Unfit, Work, design, designs, seen, started
from flexmbs.study.store import Row, Store

logger = logging.getLogger(__name__)

#: tasks that a scheduler has for every thread of its workers: more are memory, fewer leave some idle
AHEAD = 8
#: seconds that a task takes where designs are short: a task costs milliseconds beside them
SLICE = 1.0
#: designs by whose seconds those of the next ones are known
MEMORY = 50
#: seconds in which the first worker must come
PATIENCE = 60.0
#: seconds between looks at who is there, at least
LOOK = 1.0
#: schemes of addresses without encryption
OPEN = ("tcp://", "ws://", "ucx://")


def run_on_cluster(
    store: Store,
    todo: Sequence[int],
    address: str,
    bodies: Sequence[Task] = (),
    *,
    is_open: bool = False,
    own: Any = None,
    work: Work = design,
    tell: Callable[[int], None] = lambda count: None,
) -> Generator[Row]:
    """Rows of designs as they come to their end, on the workers of a scheduler.

    bodies : what is reduced there before, by the content of the recipes; `tell` is called with how many are.
    is_open : the scheduler may be reached without encryption; whoever reaches it can run code on its workers.
    own : the keys of a scheduler that was started here for this study.
    work : what a worker does with a design.
    """
    try:
        from distributed import Client, Security, as_completed
        from distributed.client import ClosedClientError
    except ImportError:
        raise missing_component("sweep --cluster", "distributed", "studies") from None
    if address.startswith(OPEN) and not is_open and not _is_here(address):
        what = f"{address} is not encrypted: whoever reaches it can run code on its workers"
        remedy = "take tls://, or --open-cluster where the network is yours"
        raise UsageError(Diagnostic("study.open_cluster", "--cluster", what, remedy))
    keys = own or Security()
    if address.startswith("tls://") and not keys.get_connection_args("client").get("ssl_context"):
        # asked before, since a client that fails in its making blocks the next one
        what = f"{address} is encrypted, and there are no certificates"
        remedy = "name them in the settings of Dask: distributed.comm.tls"
        raise InputError(Diagnostic("study.cluster", "--cluster", what, remedy))
    folder = str(store.folder.resolve())
    try:
        client = Client(address, timeout="10s", security=keys)
    except (OSError, TimeoutError, ValueError) as error:
        what, remedy = f"no scheduler answers at {address}: {error}", "start one: dask scheduler, dask worker"
        raise InputError(Diagnostic("study.cluster", "--cluster", what, remedy)) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            what = f"the scheduler at {address} has no workers"
            remedy = f"start some: dask worker {address}"
            raise InputError(Diagnostic("study.cluster", "--cluster", what, remedy)) from None
        try:
            _check_workers(client, store, own is not None)
            reduced = [
                client.submit(reduce_body, folder, k, name, key=f"flexmbs-body-{file}", pure=False)
                for k, name, file in bodies
            ]
            for n, _ in enumerate(as_completed(reduced)):  # designs say what is wrong with theirs
                tell(n + 1)
            yield from _Study(client, store, todo, work, address, own is not None).rows()
        except (CancelledError, ClosedClientError):
            what = f"the scheduler at {address} is gone; what was computed is in {store.folder}"
            remedy = "go on with --resume" if own else "start one, and go on with --resume"
            raise SolverError(Diagnostic("study.scheduler", "--cluster", what, remedy)) from None


class _Study:
    """Designs on their way: some in tasks that a scheduler has, few more than its workers can begin."""

    def __init__(
        self, client: Any, store: Store, todo: Sequence[int], work: Work, address: str, is_own: bool
    ) -> None:
        from distributed import as_completed

        self._client, self._store, self._work = client, store, work
        self._left, self._again, self._seconds = deque(todo), deque[int](), deque[float](maxlen=MEMORY)
        self._lost, self._number = dict[int, int](), count()
        self._given, self._running = dict[str, list[int]](), as_completed()
        self._fleet = _Fleet(client, store, address, is_own)

    def rows(self) -> Iterator[Row]:
        """Rows as they come."""
        self._submit()
        for future in self._running:
            batch = self._given.pop(future.key)
            yield from self._rows_of(future, batch)
            future.release()
            self._fleet.look()
            self._submit()

    def _submit(self) -> None:
        """Give the scheduler what it has room for; what was tried before goes alone."""
        most = (AHEAD if self._seconds else 2) * self._fleet.threads + 1  # first of all their time is tried
        while len(self._given) < most and (self._again or self._left):
            if self._again:
                batch = [self._again.popleft()]
            else:
                batch = [self._left.popleft() for _ in range(self._size())]
            key, folder = f"flexmbs-{self._store.ids[batch[0]]}-{next(self._number)}", self._store.folder
            told = (self._work, str(folder.resolve()), batch, __version__)
            chosen = self._fleet.chosen
            self._given[key] = batch
            self._running.add(self._client.submit(designs, *told, key=key, pure=False, workers=chosen))

    def _size(self) -> int:
        """Of a batch: for some time, and for all workers until the end; one while nothing is known."""
        each = sum(self._seconds) / len(self._seconds) if self._seconds else SLICE
        share = len(self._left) // (2 * self._fleet.threads + 1)
        return max(1, min(int(SLICE / max(each, 1e-6)), share))

    def _rows_of(self, future: Any, batch: list[int]) -> Iterator[Row]:
        """Rows of a batch that has come to its end; what has none and is not to blame is tried again."""
        from distributed.scheduler import KilledWorker

        # they lie on the disk that all share: to fetch them from their worker takes a connection to that
        rows, told = [self._store.row(k) for k in batch], list[Row | None]([None] * len(batch))
        blamed = ""
        if None in rows or future.status != "finished":
            try:
                told = future.result()
            except CancelledError:
                raise  # no fault of the designs
            except Unfit as error:
                self._fleet.leave_out(error)
            except KilledWorker:  # also of what only waited there: a file knows what was begun
                for k in batch:
                    self._lost[k] = self._lost.get(k, 0) + 1
            except Exception as error:
                blamed = f"{type(error).__name__}: {error}"
        for k, row, said in zip(batch, rows, told, strict=True):
            if row is None and said is not None:
                row = said if "id" in said else self._store.write_row(k, said)
            elif row is None and self._lost.get(k, 0) >= TRIES:
                row = self._store.write_row(k, crashed(self._lost[k]))
            elif row is None and blamed and len(batch) == 1:
                row = self._store.write_row(k, ended("failed", blamed))
            if row is None:
                self._again.append(k)
                continue
            self._seconds.append(row["seconds"])
            yield row


class _Fleet:
    """Workers of a scheduler, as they come and go: how many threads they have, and who is left out.

    chosen : addresses that designs may go to; None for all
    is_own : all of them are here, and for this study alone
    """

    def __init__(self, client: Any, store: Store, address: str, is_own: bool) -> None:
        self._client, self._store, self._address, self._is_own = client, store, address, is_own
        self._bad, self._next = dict[str, Unfit](), 0.0
        self.chosen: list[str] | None = None
        self.look()

    def look(self) -> None:
        """Count them; in a small part of the time, as it takes milliseconds, and more of many."""
        begun = time.monotonic()
        if begun < self._next:
            return
        there = {name: n for name, n in _asked(self._client.nthreads).items() if name not in self._bad}
        if self._bad:
            self.chosen = list(there)
            if not there:
                raise self._nobody()
        self.threads, now = sum(there.values()), time.monotonic()
        self._next = now + max(LOOK, 20.0 * (now - begun))

    def leave_out(self, unfit: Unfit) -> None:
        """A worker gets nothing more."""
        name, why = unfit.args
        if self._is_own and isinstance(unfit, Full):
            raise no_place(self._store, why)
        if name not in self._bad:
            logger.warning("worker %s takes no part any more: it %s", name, why)
        self._bad[name] = unfit
        self._next = 0.0
        self.look()

    def _nobody(self) -> FlexmbsError:
        name, why = next(iter(self._bad.values())).args
        return _unfit(f"worker {name} {why}, and nobody else is there")


def _asked(question: Callable[..., Any], *about: Any, **how: Any) -> Any:
    """What a scheduler answers; one that does not has cancelled all that it was given."""
    try:
        return question(*about, **how)
    except (OSError, RuntimeError) as error:  # refused, or on a connection that is closed since
        raise CancelledError(str(error)) from None


def _is_here(address: str) -> bool:
    """Whether a scheduler listens on this machine only."""
    host = address.partition("://")[2].rpartition(":")[0]
    return host in ("127.0.0.1", "localhost", "[::1]")


def _check_workers(client: Any, store: Store, is_own: bool) -> None:
    """Every worker must see the folder and run this version, before anything is computed."""
    said = os.urandom(8).hex()
    with disk.atomic_file(store.folder / PROBE, overwrite=True) as file:
        file.write(said.encode())
    found = _of_all(client, seen, store)
    disk.unlink(store.folder / PROBE)
    for worker, (version, text) in found.items():
        if version != __version__:
            raise _unfit(f"worker {worker} runs flexmbs {version}, here is {__version__}")
        if text != said:
            raise _unfit(f"worker {worker} does not see {store.folder.resolve()}")
    begun = _of_all(client, started, store)
    if is_own and not begun:
        raise no_worker(store, "all workers of this machine ended before their first design")
    for worker, text in begun.items():
        if text:
            what = f"worker {worker} cannot begin: {text}"
            raise InputError(Diagnostic("study.worker", "--cluster", what, "mend that, then --resume"))


def _of_all(client: Any, question: Callable[[str], Any], store: Store) -> dict[str, Any]:
    """Answers of the workers; one that was lost before it answered takes no part."""
    found = _asked(client.run, question, str(store.folder.resolve()), on_error="return")
    return {worker: answer for worker, answer in found.items() if not isinstance(answer, OSError)}


def _unfit(what: str) -> InputError:
    """A worker that cannot take part."""
    remedy = "install the same on all of them"
    if "does not see" in what:
        remedy = "put the study with -o on a disk that all machines share, under the same name"
    return InputError(Diagnostic("study.cluster", "--cluster", what, f"{remedy}; then go on with --resume"))
