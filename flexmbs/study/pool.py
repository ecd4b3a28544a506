"""Processes that take designs one by one; one that dies or takes too long is replaced."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from flexmbs.errors import SolverError
from flexmbs.study.ends import GRACE, TRIES, NoPlace, ended, late, no_place, no_worker
from flexmbs.study.store import Row, Store

#: seconds between looks at the clock of a run
BEAT = 0.5


def serve(connection: Connection, folder: str) -> None:
    """The life of a process: designs come in, rows go out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from threadpoolctl import threadpool_limits

    from flexmbs.study.work import Worker, few_collections

    with suppress(EOFError, BrokenPipeError):
        try:
            worker = Worker(Path(folder))
            threadpool_limits(1)  # each worker has a core, and the same numbers as any other
        except Exception as error:  # said by the process that started this one
            connection.send(f"{type(error).__name__}: {error}")
            return
        connection.send("")
        gc.freeze()  # what stays is not looked through again and again
        with few_collections() as collect:
            while True:
                k = connection.recv()
                try:
                    connection.send(worker(k))
                except NoPlace as error:
                    connection.send({"id": "", "message": str(error), "place": False})
                except Exception as error:  # a defect of one design must not end the study
                    connection.send({"id": "", "message": f"{type(error).__name__}: {error}"})
                collect()


Life = Callable[[Connection, str], None]


class Process:
    """A worker and what it is doing."""

    def __init__(self, folder: Path, life: Life) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["flexmbs.study.work"])  # one import for all of them
        self.connection, other = context.Pipe()
        self.process = context.Process(target=life, args=(other, str(folder)), daemon=True)
        self.process.start()
        other.close()
        self.design, self.since = -1, 0.0
        self.started, self.said = False, ""

    def give(self, k: int) -> None:
        self.design, self.since = k, time.monotonic()
        with suppress(BrokenPipeError):
            self.connection.send(k)

    def take(self) -> Row | None:
        """What it answers; None where it died, or has only said that it is there."""
        try:
            found = self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):
            return None
        if isinstance(found, str):
            self.started, self.said, self.since = not found, found, time.monotonic()
            return None
        row: Row | None = found
        return row

    @property
    def spent(self) -> float:
        """Seconds since the design was given."""
        return time.monotonic() - self.since

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_all(store: Store, todo: Sequence[int], workers: int, *, life: Life = serve) -> Generator[Row]:
    """Rows of designs as they come to their end, by processes on this machine."""
    time_out, lost = store.data["time_out"], 0
    waiting, tries = deque(todo), dict.fromkeys(todo, 0)
    pool = [Process(store.folder, life) for _ in range(min(workers, len(todo)))]
    try:
        while waiting or any(item.design >= 0 for item in pool):
            for item in pool:
                if item.design < 0 and waiting:
                    item.give(waiting.popleft())
            wait([end for item in pool for end in (item.connection, item.process.sentinel)], BEAT)
            for place, item in enumerate(pool):
                row, k = item.take(), item.design
                is_late = time_out is not None and k >= 0 and item.started and item.spent > time_out + GRACE
                if row is not None:
                    item.design, lost = -1, 0
                    if not row.get("place", True):
                        raise no_place(store, row["message"])
                    yield (
                        row if row["id"] else store.write_row(k, ended("failed", row["message"], item.spent))
                    )
                elif is_late or not item.process.is_alive():
                    item.end()
                    if not item.started:  # no fault of the design
                        lost += 1
                        if lost >= TRIES:
                            raise _no_worker(store, item)
                    pool[place] = Process(store.folder, life)
                    if k < 0:
                        continue
                    if not item.started:
                        waiting.appendleft(k)
                        continue
                    tries[k] += 1
                    if is_late:
                        yield store.write_row(k, late(time_out, item.spent))
                    elif tries[k] < TRIES:
                        waiting.append(k)
                    else:
                        text = f"ended its process {TRIES} times, with code {item.process.exitcode}"
                        yield store.write_row(k, ended("crashed", text, item.spent))
    finally:
        for item in pool:
            item.end()


def _no_worker(store: Store, item: Process) -> SolverError:
    why = item.said or f"code {item.process.exitcode}"
    return no_worker(store, f"{TRIES} processes ended before their first design: {why}")
