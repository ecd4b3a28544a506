"""Designs on a Dask cluster: workers on any machine that sees the folder of the study (`--cluster`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from flexmbs import __version__, disk
from flexmbs.errors import Diagnostic, InputError, SolverError, UsageError, missing_component
from flexmbs.study.bodies import Task, reduce_body
from flexmbs.study.pool import TRIES, ended
from flexmbs.study.store import Row, Store
from flexmbs.study.work import Worker

PROBE = "probe"
#: schemes of addresses without encryption
OPEN = ("tcp://", "ws://", "ucx://")


@lru_cache(maxsize=4)
def _worker(folder: str) -> Worker:
    """What a process of the cluster keeps of a study."""
    return Worker(Path(folder))


def design(folder: str, k: int) -> Row:
    """A design, on a worker: its row, which is written there."""
    return _worker(folder)(k)


def started(folder: str) -> str:
    """What keeps a worker from the case of the study; nothing where it has it, from now on."""
    try:
        _worker(folder)
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
    **security: Any,
) -> Iterator[Row]:
    """Rows of designs as they come to their end, on the workers of a scheduler.

    bodies : what is reduced there before, by the content of the recipes.
    is_open : the scheduler may be reached without encryption; whoever reaches it can run code on its workers.
    """
    try:
        from distributed import Client, as_completed
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise missing_component("sweep --cluster", "distributed", "studies") from None
    if address.startswith(OPEN) and not is_open and not _is_here(address):
        what = f"{address} is not encrypted: whoever reaches it can run code on its workers"
        remedy = "take tls://, or --open-cluster where the network is yours"
        raise UsageError(Diagnostic("study.open_cluster", "--cluster", what, remedy))
    folder = str(store.folder.resolve())
    try:
        client = Client(address, timeout="10s", **security)
    except (OSError, TimeoutError, ValueError) as error:
        what, remedy = f"no scheduler answers at {address}: {error}", "start one: dask scheduler, dask worker"
        raise InputError(Diagnostic("study.cluster", "--cluster", what, remedy)) from None
    with client:
        client.wait_for_workers(1, timeout=60)
        _check_workers(client, store)
        reduced = [
            client.submit(reduce_body, folder, k, name, key=f"flexmbs-body-{file}", pure=False)
            for k, name, file in bodies
        ]
        client.gather(reduced, errors="skip")  # designs say what is wrong with theirs
        futures = {
            client.submit(design, folder, k, key=f"flexmbs-{store.ids[k]}", pure=False): k for k in todo
        }
        for future in as_completed(futures):
            k = futures.pop(future)
            try:
                row = future.result()
            except CancelledError:  # no fault of the design
                raise _lost(store, address) from None
            except KilledWorker:
                text = f"ended its worker {TRIES} times"
                row = store.row(k) or store.write_row(k, ended("crashed", text))
            except Exception as error:  # a defect of one design must not end the study
                row = store.write_row(k, ended("failed", f"{type(error).__name__}: {error}"))
            future.release()
            yield row


def _lost(store: Store, address: str) -> SolverError:
    """The scheduler is gone, and what it knew; rows are where they were computed."""
    what = f"the scheduler at {address} is gone; what was computed is in {store.folder}"
    return SolverError(Diagnostic("study.scheduler", "--cluster", what, "start one, and go on with --resume"))


def _is_here(address: str) -> bool:
    """Whether a scheduler listens on this machine only."""
    host = address.partition("://")[2].rpartition(":")[0]
    return host in ("127.0.0.1", "localhost", "[::1]")


def _check_workers(client: Any, store: Store) -> None:
    """Every worker must see the folder and run this version, before anything is computed."""
    said = os.urandom(8).hex()
    with disk.atomic_file(store.folder / PROBE, overwrite=True) as file:
        file.write(said.encode())
    found = client.run(seen, str(store.folder.resolve()))
    disk.unlink(store.folder / PROBE)
    for worker, (version, text) in found.items():
        if version != __version__:
            what = f"worker {worker} runs flexmbs {version}, here is {__version__}"
            raise InputError(
                Diagnostic("study.cluster", "--cluster", what, "install the same on all of them")
            )
        if text != said:
            what = f"worker {worker} does not see {store.folder.resolve()}"
            remedy = "put the study with -o on a disk that all machines share, under the same name"
            raise InputError(Diagnostic("study.cluster", "--cluster", what, remedy))
    for worker, text in client.run(started, str(store.folder.resolve())).items():
        if text:
            what = f"worker {worker} cannot begin: {text}"
            raise InputError(Diagnostic("study.worker", "--cluster", what, "mend that, then --resume"))
