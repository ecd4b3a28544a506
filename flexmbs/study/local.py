"""A `LocalCluster` of Dask for one study: scheduler and workers, in a group of processes of their own.

`Local()` starts `python -m flexmbs.study.local`. It listens on this machine only, and to those alone who have
the keys that it has made for this study. It begins to load at once; workers begin when their number is told.
All of it ends with the study, and when its input ends, as whoever has started it is gone then.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.util import find_spec
from typing import Any

from flexmbs.study.ends import no_worker
from flexmbs.study.store import Store

#: by this name instead of an address processes of our own take the designs, as where the extra is missing
PROCESSES = "processes"
NEEDS = ("distributed", "cryptography")
#: seconds without any worker after which nobody waits for one
PATIENCE = 60.0
#: loggers that have nothing to say here: what is wrong is told by rows
SILENT = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "asyncio")
#: for these processes and those that they start: workers are forked from one that has loaded everything, and
#: compute with one thread; a kernel may say nothing for long; nobody reads profiles, pages or clocks
SETTINGS = {
    "DASK_LOGGING": str(dict.fromkeys(SILENT, "critical")),
    "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver",
    "DASK_DISTRIBUTED__WORKER__USE_FILE_LOCKING": "False",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__PRELOAD": str([__spec__.name]),
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__SCHEDULER__PRELOAD": str([__spec__.name]),
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "None",
    "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1000 days",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
LOADED = ["distributed", "distributed.nanny", "flexmbs.study.on_worker", "flexmbs.study.work"]


def for_study(cluster: str, workers: int) -> AbstractContextManager[Local | None]:
    """The cluster of a study that names none, where several designs are to be run at once."""
    wanted = not cluster and workers > 1 and all(map(find_spec, NEEDS))
    return Local() if wanted else nullcontext()


class Local:
    """The cluster, which begins at once and ends with its context."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="flexmbs-")
        here, there = os.pipe()
        where = os.pathsep.join(item or os.getcwd() for item in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, self._folder, str(there)],
            stdin=subprocess.PIPE, pass_fds=[there], start_new_session=True,
            env=os.environ | SETTINGS | {"PYTHONPATH": where, "TMPDIR": self._folder},
        )  # fmt: skip
        os.close(there)
        self._answer = os.fdopen(here)

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *unused: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._answer.close()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def found(self, workers: int, store: Store) -> tuple[str, Any]:
        """Address and keys of the scheduler, when so many workers are there."""
        from distributed import Security

        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"%d\n" % workers)
            self._process.stdin.flush()
        told = json.loads(self._answer.read() or '{"why": "nothing was said"}')
        if "why" in told:
            raise no_worker(store, f"workers of this machine ended before their first design: {told['why']}")
        return told["address"], Security(require_encryption=True, **told["keys"])


def main(folder: str, answer: int) -> None:
    """Be the cluster, until the input ends."""
    os.set_inheritable(answer, False)
    with os.fdopen(answer, "w") as told:
        try:
            cluster, keys = _begin(folder)
            names = ("tls_ca_file", "tls_client_key", "tls_client_cert")
            own = {name: getattr(keys, name) for name in names}
            json.dump({"address": cluster.scheduler_address, "keys": own}, told)
        except Exception as error:
            json.dump({"why": f"{type(error).__name__}: {error}"}, told)
            return
    _stay(cluster)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)  # so that nobody writes any more
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _begin(folder: str) -> tuple[Any, Any]:
    """Load all, then start as many workers as the input says; the cluster and its keys."""
    import multiprocessing
    from multiprocessing import forkserver

    multiprocessing.get_context("forkserver").set_forkserver_preload(LOADED)
    forkserver.ensure_running()  # it loads while this process does
    from distributed import LocalCluster, Security, utils

    utils._forkserver_preload_set = True  # it is; Dask would load more, and in this process too
    keys = Security.temporary()
    cluster = LocalCluster(
        n_workers=int(sys.stdin.buffer.readline() or 0), threads_per_worker=1, memory_limit=0,
        security=keys, local_directory=folder, silence_logs=False,
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    )  # fmt: skip
    return cluster, keys


def dask_setup(server: Any) -> None:
    """Called by every scheduler and worker that begins: it is to have no pages, so nobody need reach them."""
    server.http_server.stop()


def _stay(cluster: Any) -> None:
    """Until the input ends, or no worker can be had any more."""
    last = time.monotonic()
    while time.monotonic() - last < PATIENCE and not select.select([sys.stdin], [], [], 1.0)[0]:
        if cluster.scheduler.workers:
            last = time.monotonic()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
