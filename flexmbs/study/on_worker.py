"""What a worker of a Dask cluster does for a study, on whatever machine it is."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs import __version__
from flexmbs.errors import FlexmbsError
from flexmbs.study.ends import GRACE, TRIES, NoPlace, crashed, ended, late, needs_place
from flexmbs.study.store import Row

if TYPE_CHECKING:
    from flexmbs.study.work import Worker

PROBE = "probe"
#: what Python writes where it ends a process after a time
LATE = b"Timeout"
#: what a worker does with a design: folder of the study, its number, the version of flexmbs
Work = Callable[[str, int, str], Row]


class Unfit(Exception):
    """A worker, by its address, that cannot take part, and why: no fault of a design."""


class Full(Unfit):
    """A worker that cannot write."""


@lru_cache(maxsize=4)
def _worker(folder: str) -> Worker:
    """What a process of the cluster keeps of a study."""
    from flexmbs.study.work import Worker

    found = Worker(Path(folder))
    gc.freeze()  # what stays is not looked through again and again
    return found


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


def designs(work: Work, folder: str, batch: Sequence[int], version: str) -> list[Row]:
    """Some designs, one after the other: their rows; those without an id are not written yet."""
    from flexmbs.study.work import few_collections

    rows: list[Row] = []
    with few_collections() as collect:
        for k in batch:
            try:
                rows.append(work(folder, k, version))
            except Unfit:
                raise
            except Exception as error:  # a defect of one design must not end the others
                rows.append(ended("failed", f"{type(error).__name__}: {error}"))
            collect()
    return rows


def design(folder: str, k: int, version: str) -> Row:
    """A design: its row, which is written there."""
    from distributed import get_worker

    if version != __version__:
        raise Unfit(get_worker().address, f"runs flexmbs {__version__}, the study is of {version}")
    if not (Path(folder) / "study.json").is_file():
        raise Unfit(get_worker().address, f"does not see {folder}")
    try:
        return _tried(_worker(folder), k, is_alone=get_worker().state.nthreads == 1)
    except NoPlace as error:
        raise Full(get_worker().address, str(error)) from None


def _tried(worker: Worker, k: int, *, is_alone: bool) -> Row:
    """The row of a design, of which a file says meanwhile how many workers have begun it.

    is_alone : nothing else is computed by this process, so that it may be ended.
    """
    store, time_out = worker.store, worker.store.data["time_out"]
    try:
        handle, before = store.begin_try(k)
    except FlexmbsError as error:
        needs_place(error)
        raise
    try:
        if LATE in before:
            return store.row(k) or store.write_row(k, late(time_out, time_out + GRACE))
        if len(before) >= TRIES:  # the scheduler allows more
            return store.row(k) or store.write_row(k, crashed(len(before)))
        with _ended_after(time_out + GRACE if is_alone and time_out is not None else None, handle):
            return worker(k)
    finally:
        store.end_tries(k, handle)


@contextmanager
def _ended_after(seconds: float | None, handle: int) -> Iterator[None]:
    """End this process after a time, also where it is in a kernel, and say so in a file."""
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds, exit=True, file=handle)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
