"""Studies whose processes are killed at any moment: in a cluster of their own, as by default, and in another.

`pytest -m soak -s tests/study/test_kills.py` takes FLEXMBS_SECONDS (600) and FLEXMBS_SEED (1) and prints
what was killed. What single kills do is in `test_sweep.py`.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.study.store import Store
from tests.study.test_sweep import dask_commands, numbers, silent

DESIGNS = 60


def below(pid):
    """A process and all that it has started."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += below(int(child))
    return found


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Round:
    """One study, begun again after every end until all is done."""

    def __init__(self, path, folder, rng, counts):
        self.path, self.folder, self.rng, self.counts = path, folder, rng, counts
        self.kills, self.when = 0, {}

    def wait(self, client):
        """Some seconds, or less where the client ends before."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(float(self.rng.exponential(3.0)))

    def look(self):
        """No row that was there is written again, but those of designs that were given up."""
        names = (self.folder / "rows").glob("*.json")
        now = {item.name: item.stat().st_mtime_ns for item in names}
        given_up = {f"{row['id']}.json" for row in self.crashed()}
        assert all(now.get(name) == when for name, when in self.when.items() if name not in given_up)
        self.when = now

    def is_whole(self):
        """Whether all designs have rows: it ends as well where the scheduler is killed."""
        store = Store.open(self.folder)
        return all(store.row(k) is not None for k in range(len(store.ids)))

    def crashed(self):
        there = (self.folder / "study.json").is_file()
        rows = Store.open(self.folder).rows() if there else ()
        return [row for row in rows if row["status"] != "complete"]

    def attempt(self, cluster, more=()):
        """Start all, kill some of it, and say whether the study has come to its end."""
        command = [sys.executable, "-m", "flexmbs.cli.main", "sweep", str(self.path), "-o", str(self.folder)]
        command += ["--resume", "--workers", "2", "--quiet", *more]
        parts = {}
        if cluster:
            address, scheduler_of, worker_of = dask_commands()
            parts = {"scheduler": silent(scheduler_of), "worker": silent(worker_of)}
            command += ["--cluster", address]
        client = parts["client"] = silent(command)
        try:
            while client.poll() is None and self.kills < 6:
                self.wait(client)
                if client.poll() is not None:
                    break
                self.kills += 1
                what = str(self.rng.choice([*parts, "worker", "all"]))
                self.counts[f"{what} of a cluster" if cluster else what] += 1
                self.strike(what, parts)
                if what == "worker" and cluster:
                    parts["worker"] = silent(worker_of)
            return client.wait(300) in (0, 4) and self.is_whole()
        finally:
            kill([pid for item in parts.values() for pid in below(item.pid)])
            for item in parts.values():
                item.wait()

    def strike(self, what, parts):
        if what == "all":
            kill([pid for item in parts.values() for pid in below(item.pid)])
        elif what == "worker" and "worker" not in parts:  # one of our own
            kill([int(self.rng.choice(below(parts["client"].pid)[1:] or [0])) or parts["client"].pid])
        else:
            kill([parts[what].pid] if what == "client" else below(parts[what].pid))

    def run(self, cluster):
        while not self.attempt(cluster):
            self.look()
        self.look()
        while self.crashed():
            self.counts["given up"] += len(self.crashed())
            self.kills = 6
            assert self.attempt(cluster, ["--only", "failed"])


@pytest.mark.soak
@pytest.mark.local
@pytest.mark.needs("distributed", "cryptography")
def test_studies_whose_processes_are_killed_at_any_moment(study, tmp_path):
    """Every design is done, once, with the numbers of a study that nobody disturbs."""
    seed, seconds = int(os.environ.get("FLEXMBS_SEED", "1")), float(os.environ.get("FLEXMBS_SECONDS", "600"))
    rng, counts, end, rounds = np.random.default_rng(seed), Counter(), time.monotonic() + seconds, 0
    path = study(f"grid = {{ speed = {list(range(1, DESIGNS + 1))} }}")
    fm.sweep(path, tmp_path / "whole", workers=2, cluster="processes")
    while time.monotonic() < end:
        folder, rounds = tmp_path / str(rounds), rounds + 1
        Round(path, folder, rng, counts).run(cluster=rounds % 2 == 0)
        assert numbers(folder) == numbers(tmp_path / "whole")
        ids = Store.open(folder).ids
        assert sorted(item.name for item in (folder / "rows").iterdir()) == sorted(f"{x}.json" for x in ids)
        assert sorted(item.name for item in (folder / "runs").iterdir()) == sorted(f"{x}.h5" for x in ids)
        for k in range(DESIGNS):
            assert fm.Study.load(folder).result(k).status == "complete"
        print(f"{rounds} studies of {DESIGNS} designs, killed: {dict(counts)}", flush=True)
