"""The connection to a Dask cluster whose workers eliminate pieces (`--cluster`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from flexmbs import __version__
from flexmbs.errors import Diagnostic, InputError, SolverError, UsageError, missing_component
from flexmbs.fe.pieces import on_worker

#: schemes of addresses without encryption; machines that are this one
OPEN, HERE = ("tcp://", "ws://", "ucx://"), ("127.0.0.1", "localhost", "[::1]")
#: seconds between looks for workers that are gone, and to wait for an answer
LOOK, PATIENCE = 1.0, 30.0
#: what a question raises that a scheduler does not answer: refused, cancelled, on a connection closed since
SILENT = (OSError, CancelledError, RuntimeError)


class Cluster:
    """Tasks for the workers of a scheduler; as a context it ends the connection."""

    def __init__(self, address: str, is_open: bool = False) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise missing_component("reduce --cluster", "distributed", "studies") from None
        host = address.partition("://")[2].rpartition(":")[0]
        if address.startswith(OPEN) and not is_open and host not in HERE:
            what = f"{address} is not encrypted: whoever reaches it can run code on its workers"
            remedy = "take tls://, or --open-cluster where the network is yours"
            raise UsageError(Diagnostic("pieces.open_cluster", "--cluster", what, remedy))
        try:
            self.client = Client(address, timeout=PATIENCE, set_as_default=False)
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            what = f"no scheduler with workers answers at {address}: {error}"
            remedy = "start one: dask scheduler, dask worker"
            raise InputError(Diagnostic("pieces.cluster", "--cluster", what, remedy)) from None
        self.address = address
        for worker, version in self.everywhere(on_worker.version).items():
            if version != __version__:
                what = f"worker {worker} runs flexmbs {version}, here is {__version__}"
                raise InputError(
                    Diagnostic("pieces.cluster", "--cluster", what, "install the same on all of them")
                )
        self.client.register_plugin(announcement())
        alive = self.client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.clients))
        self.everywhere(on_worker.forget_all_but, alive)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *unused: object) -> None:
        self.client.close()

    @property
    def name(self) -> str:
        """Of this connection."""
        return str(self.client.id)

    def workers(self) -> list[str]:
        """Addresses of the workers that are there; without any nothing can go on."""
        try:
            found = list(self.client.nthreads())
        except SILENT:  # asked before a task could tell
            raise self._gone() from None
        if not found:
            what = f"no worker of {self.address} is left"
            remedy = "start some, and give the same command again: modes go on with what is there"
            raise SolverError(Diagnostic("pieces.scheduler", "--cluster", what, remedy))
        return found

    def memory(self) -> list[int]:
        """Of every worker [bytes]."""
        return [int(size) for size in self.everywhere(on_worker.memory_of).values()]

    def submit(self, task: Callable[..., Any], *args: Any, on: str | Sequence[str], memory: int = 0) -> Any:
        """A task for one of these workers, which needs so much of its memory."""
        from dask import config
        from distributed.client import ClosedClientError

        need = {on_worker.MEMORY: float(memory)} if memory else None
        with config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            workers = [on] if isinstance(on, str) else list(on)
            how = {"workers": workers, "resources": need, "allow_other_workers": False, "pure": False}
            try:
                return self.client.submit(task, *args, **how)
            except ClosedClientError:
                raise self._gone() from None

    def first_of(self, futures: list[Any]) -> list[Any]:
        """Those that are done when the first one is, or after a second."""
        from distributed import wait

        try:
            with self.client.as_current():
                return list(wait(futures, timeout=LOOK, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []
        except CancelledError:
            raise self._gone() from None

    def result(self, future: Any) -> Any:
        from distributed.scheduler import KilledWorker

        try:
            return future.result()
        except CancelledError:
            raise self._gone() from None
        except KilledWorker as error:
            what, remedy = f"workers end while they eliminate a piece: {error}", "is their memory too small?"
            raise SolverError(Diagnostic("pieces.workers", "--cluster", what, remedy)) from None

    def _gone(self) -> SolverError:
        what = f"the scheduler at {self.address} is gone"
        remedy = "start one, and give the same command again: modes go on with what is there"
        return SolverError(Diagnostic("pieces.scheduler", "--cluster", what, remedy))

    def gather(self, futures: list[Any]) -> list[Any]:
        return list(self.client.gather(futures))

    def cancel(self, futures: Iterable[Any]) -> None:
        with suppress(*SILENT):
            self.client.cancel(list(futures), force=True)

    def everywhere(self, call: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """What all workers that are there answer."""
        try:
            return dict(self.client.run(call, *args, on_error="ignore"))
        except SILENT:  # nobody is
            return {}


def announcement() -> Any:
    """Tells the scheduler the memory of every worker, also of those that join later."""
    from distributed import WorkerPlugin

    class Announcement(WorkerPlugin):  # type: ignore[misc]
        name = "flexmbs"

        async def setup(self, worker: Any) -> None:
            await worker.set_resources(**{on_worker.MEMORY: on_worker.memory_of(worker)})

    return Announcement()
