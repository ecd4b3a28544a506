"""Designs on a Dask cluster: workers on any machine that sees the folder of the study (`--cluster`)."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from typing import Any

from flexmbs import __version__, disk
from flexmbs.errors import (
    Diagnostic,
    FlexmbsError,
    InputError,
    SolverError,
    UsageError,
    missing_component,
)
from flexmbs.study.bodies import Task, reduce_body
from flexmbs.study.pool import TRIES, ended
from flexmbs.study.store import Row, Store
from flexmbs.study.work import NoPlace, Worker, needs_place

logger = logging.getLogger(__name__)

PROBE = "probe"
#: designs that a scheduler has for every thread of its workers: more are memory, fewer leave some idle
AHEAD = 8
#: seconds in which the first worker must come
PATIENCE = 60.0
#: seconds between looks at who is there, at least
LOOK = 0.2
#: schemes of addresses without encryption
OPEN = ("tcp://", "ws://", "ucx://")


@lru_cache(maxsize=4)
def _worker(folder: str) -> Worker:
    """What a process of the cluster keeps of a study."""
    return Worker(Path(folder))


class Unfit(Exception):
    """A worker, by its address, that cannot take part, and why: no fault of a design."""


def design(folder: str, k: int, version: str) -> Row:
    """A design, on a worker: its row, which is written there."""
    from distributed import get_worker

    if version != __version__:
        raise Unfit(get_worker().address, f"runs flexmbs {__version__}, the study is of {version}")
    if not (Path(folder) / "study.json").is_file():
        raise Unfit(get_worker().address, f"does not see {folder}")
    try:
        return _tried(_worker(folder), k)
    except NoPlace as error:
        raise Unfit(get_worker().address, str(error)) from None


def _tried(worker: Worker, k: int) -> Row:
    """The row of a design, of which a file says meanwhile how many workers have begun it."""
    store = worker.store
    try:
        before = store.begin_try(k)
    except FlexmbsError as error:
        needs_place(error)
        raise
    try:
        if before < TRIES:
            return worker(k)
        # the scheduler allows more
        return store.row(k) or store.write_row(k, ended("crashed", _lost(before)))
    finally:
        store.end_tries(k)


def _lost(times: int) -> str:
    return f"ended its worker {times} times"


async def started(folder: str) -> str:
    """What keeps a worker from the case of the study; nothing where it has it, from now on.

    In a thread: a worker that says nothing while it loads kernels would be taken for dead.
    """
    try:
        await asyncio.to_thread(_worker, folder)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def seen(folder: str) -> tuple[str, str]:
    """The version of flexmbs of a worker, and what it reads in the probe file."""
    with suppress(OSError):
        return __version__, (Path(folder) / PROBE).read_text("ascii")
    return __version__, ""


def run_on_cluster(
    store: Store,
    todo: Sequence[int],
    address: str,
    bodies: Sequence[Task] = (),
    *,
    is_open: bool = False,
    work: Callable[[str, int, str], Row] = design,
    **security: Any,
) -> Iterator[Row]:
    """Rows of designs as they come to their end, on the workers of a scheduler.

    bodies : what is reduced there before, by the content of the recipes.
    is_open : the scheduler may be reached without encryption; whoever reaches it can run code on its workers.
    work : what a worker does with a design.
    """
    try:
        from distributed import Client, Security
        from distributed.client import ClosedClientError
    except ImportError:
        raise missing_component("sweep --cluster", "distributed", "studies") from None
    if address.startswith(OPEN) and not is_open and not _is_here(address):
        what = f"{address} is not encrypted: whoever reaches it can run code on its workers"
        remedy = "take tls://, or --open-cluster where the network is yours"
        raise UsageError(Diagnostic("study.open_cluster", "--cluster", what, remedy))
    keys = security.get("security") or Security()
    if address.startswith("tls://") and not keys.get_connection_args("client").get("ssl_context"):
        # asked before, since a client that fails in its making blocks the next one
        what = f"{address} is encrypted, and there are no certificates"
        remedy = "name them in the settings of Dask: distributed.comm.tls"
        raise InputError(Diagnostic("study.cluster", "--cluster", what, remedy))
    folder = str(store.folder.resolve())
    try:
        client = Client(address, timeout="10s", **security)
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
            _check_workers(client, store)
            reduced = [
                client.submit(reduce_body, folder, k, name, key=f"flexmbs-body-{file}", pure=False)
                for k, name, file in bodies
            ]
            client.gather(reduced, errors="skip")  # designs say what is wrong with theirs
            yield from _designs(client, store, todo, address, work)
        except (CancelledError, ClosedClientError):
            what = f"the scheduler at {address} is gone; what was computed is in {store.folder}"
            remedy = "start one, and go on with --resume"
            raise SolverError(Diagnostic("study.scheduler", "--cluster", what, remedy)) from None


def _designs(
    client: Any, store: Store, todo: Sequence[int], address: str, work: Callable[[str, int, str], Row]
) -> Iterator[Row]:
    """Rows as they come; the scheduler has few designs more than its workers can begin."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    left, numbers = iter(todo), dict[str, int]()
    running, fleet = as_completed(), _Fleet(client, address)

    def submit(k: int) -> None:
        key = f"flexmbs-{store.ids[k]}-{next(fleet.number)}"
        folder, chosen = str(store.folder.resolve()), fleet.chosen
        future = client.submit(work, folder, k, __version__, key=key, pure=False, workers=chosen)
        numbers[key] = k
        running.add(future)

    for k in islice(left, fleet.most):
        submit(k)
    for future in running:
        k = numbers.pop(future.key)
        try:
            # it lies on the disk that all share: to fetch it from its worker takes a connection to that
            row = (store.row(k) if future.status == "finished" else None) or future.result()
        except CancelledError:
            raise  # no fault of the design
        except Unfit as error:
            fleet.leave_out(*error.args)
            future.release()
            submit(k)
            continue
        except KilledWorker as error:  # the scheduler allows fewer
            text = _lost(error.allowed_failures + 1)
            row = store.row(k) or store.write_row(k, ended("crashed", text))
        except Exception as error:  # a defect of one design must not end the study
            row = store.write_row(k, ended("failed", f"{type(error).__name__}: {error}"))
        future.release()
        yield row
        fleet.look()
        for k in islice(left, max(fleet.most - len(numbers), 0)):
            submit(k)


class _Fleet:
    """Workers of a scheduler, as they come and go: how many designs they want, and who is left out.

    chosen : addresses that designs may go to; None for all
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address, self._bad = client, address, dict[str, str]()
        self.number, self._next = count(), 0.0
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
                name, why = next(iter(self._bad.items()))
                raise _unfit(f"worker {name} {why}, and nobody else is there")
        self.most, now = AHEAD * (1 + sum(there.values())), time.monotonic()
        self._next = now + max(LOOK, 20.0 * (now - begun))

    def leave_out(self, name: str, why: str) -> None:
        """A worker gets nothing more."""
        if name not in self._bad:
            logger.warning("worker %s takes no part any more: it %s", name, why)
        self._bad[name] = why
        self._next = 0.0
        self.look()


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


def _check_workers(client: Any, store: Store) -> None:
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
    for worker, text in _of_all(client, started, store).items():
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
