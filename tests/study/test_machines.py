"""Studies on several machines: workers in network namespaces of their own, with addresses of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

import pytest

import flexmbs as fm
from flexmbs.study import cluster
from flexmbs.study.run import plan
from flexmbs.study.store import Store
from tests.study.test_sweep import answers, numbers

pytestmark = [pytest.mark.slow, pytest.mark.needs("distributed", "ip")]
#: a machine that is gone is noticed in seconds; by default it takes half a minute
QUICK = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s",
}


def ip(*words, check=True):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=check)


class Machines:
    """A switch, and namespaces that are connected with it; this process is at `.1`.

    Names and addresses are those of no other run of these tests at the same time.
    """

    def __init__(self):
        self.tag, taken = f"fx{os.urandom(3).hex()}", ip("-o", "addr").stdout
        self.net = next(
            net for net in (f"10.214.{byte}" for byte in os.urandom(250)) if f"{net}." not in taken
        )
        self.names, self.running = [], []
        ip("link", "add", self.tag, "type", "bridge")
        ip("addr", "add", f"{self.net}.1/24", "dev", self.tag)
        ip("link", "set", self.tag, "up")

    def add(self):
        """A machine; its address."""
        k = len(self.names) + 2
        name, here, there = (f"{self.tag}{end}{k}" for end in ("n", "h", "t"))
        ip("netns", "add", name)
        self.names.append(name)
        ip("link", "add", here, "type", "veth", "peer", "name", there)
        ip("link", "set", there, "netns", name)
        ip("link", "set", here, "master", self.tag)
        ip("link", "set", here, "up")
        for words in (
            ("addr", "add", f"{self.net}.{k}/24", "dev", there),
            ("link", "set", there, "up"),
            ("link", "set", "lo", "up"),
        ):
            ip("netns", "exec", name, "ip", *words)
        return f"{self.net}.{k}"

    def cut_off(self, k):
        """Pull the cable of a machine."""
        ip("link", "set", f"{self.tag}h{k + 2}", "down")

    def start(self, *command, on=None, mount=None):
        """A program on one of the machines, or here; `mount`: a folder where it sees a disk of its own."""
        inside = ["ip", "netns", "exec", self.names[on]] if on is not None else []
        if mount is not None:
            shell = 'mount -t tmpfs -o size=4k none "$0" && exec "$@"'
            inside += ["unshare", "--mount", "sh", "-c", shell, str(mount)]
        log = subprocess.DEVNULL
        found = subprocess.Popen([*inside, sys.executable, "-m", *command], stdout=log, stderr=log,
                                 env=os.environ | QUICK, start_new_session=True)  # fmt: skip
        self.running.append(found)
        return found

    def close(self):
        for item in self.running:
            with suppress(ProcessLookupError):
                os.killpg(item.pid, signal.SIGKILL)
            item.wait()
        for k, name in enumerate(self.names):  # whatever was made of them
            ip("link", "del", f"{self.tag}h{k + 2}", check=False)  # with the namespace it would go later
            ip("netns", "del", name, check=False)
        ip("link", "del", self.tag, check=False)


@pytest.fixture
def machines(monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("network namespaces need the rights of root")
    import distributed  # noqa: F401  (its settings are there then)
    from dask import config

    try:
        made = Machines()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no bridge can be made here: {error.stderr}")
    try:
        with config.set({"distributed.comm.timeouts.connect": "20s", "distributed.comm.timeouts.tcp": "11s"}):
            yield made
    finally:
        made.close()


def scheduler(machines, scheme="tcp", *words):
    """The address of a scheduler on this machine, by which the others reach it, when it answers.

    How long its program takes to begin is nothing that a client waits for; a port may be taken meanwhile.
    """
    for _ in range(3):
        with socket.socket() as free:
            free.bind((f"{machines.net}.1", 0))
            place = free.getsockname()
        address = f"{scheme}://{place[0]}:{place[1]}"
        command = ["distributed.cli.dask_scheduler", "--no-dashboard", "--host", address, *words]
        if answers(machines.start(*command), place):
            return address
    raise RuntimeError("no scheduler begins")


def worker(machines, address, on, *words, mount=None):
    host = f"{machines.net}.{on + 2}"
    command = ["distributed.cli.dask_worker", address, "--no-dashboard", "--nthreads", "1", "--no-nanny"]
    return machines.start(*command, "--host", host, *words, on=on, mount=mount)


def ready(address, count, **options):
    """Wait for workers, and tell their addresses."""
    from distributed import Client

    with Client(address, timeout="60s", **options) as client:
        client.wait_for_workers(count, timeout=120)
        return sorted(client.scheduler_info()["workers"])


def test_a_machine_that_is_cut_off_takes_no_design_with_it(study, tmp_path, machines):
    """Three machines with addresses of their own; the cable of one is pulled in the middle."""
    path = study(f'grid = {{ speed = {list(range(1, 61))} }}\nkeep = "none"')
    fm.sweep(path, tmp_path / "here", workers=2)
    for _ in range(3):
        machines.add()
    address = scheduler(machines)
    for k in range(3):
        worker(machines, address, k)
    hosts = [item.partition("://")[2].partition(":")[0] for item in ready(address, 3)]
    assert hosts == [f"{machines.net}.{k}" for k in (2, 3, 4)]
    with pytest.raises(fm.FlexmbsError, match="is not encrypted"):
        fm.sweep(path, tmp_path / "open", cluster=address)
    cut = []

    def progress(share, text):
        if share > 0.2 and not cut:
            machines.cut_off(1)
            cut.append(time.monotonic())

    found = fm.sweep(path, tmp_path / "there", cluster=address, is_open=True, progress=progress)
    assert cut and found.counts == {"complete": 60}
    assert numbers(tmp_path / "there") == numbers(tmp_path / "here")
    assert [f"{machines.net}.{k}" for k in (2, 4)] == [
        item.partition("://")[2].partition(":")[0] for item in ready(address, 2)
    ]


def test_a_full_disk_of_one_machine_fails_no_design(study, tmp_path, machines, caplog):
    """Its designs go to the others, and it gets no more."""
    path = study(f"grid = {{ speed = {list(range(1, 25))} }}")
    fm.sweep(path, tmp_path / "here", workers=2)
    made = plan(path, tmp_path / "there")
    Store.create(made.folder, made.data)
    for _ in range(2):
        machines.add()
    address = scheduler(machines)
    worker(machines, address, 0)
    worker(machines, address, 1, mount=made.folder / "runs")
    ready(address, 2)
    found = fm.sweep(path, made.folder, cluster=address, is_open=True, resume=True)
    assert found.counts == {"complete": 24} and all(found.file(k) for k in range(24))
    assert numbers(made.folder) == numbers(tmp_path / "here")
    assert f"{machines.net}.3" in caplog.text and "the disk is full" in caplog.text


def test_what_workers_see_and_run_is_compared_before_anything_is_sent(study, tmp_path, machines, monkeypatch):
    made = plan(study("grid = { speed = [1] }"), tmp_path / "there")
    Store.create(made.folder, made.data)
    machines.add()
    address = scheduler(machines)
    worker(machines, address, 0, mount=made.folder)  # a disk of its own under the same name
    ready(address, 1)
    run = partial(fm.sweep, tmp_path / "speeds.toml", made.folder, cluster=address, is_open=True, resume=True)
    with pytest.raises(fm.FlexmbsError, match=rf"worker tcp://{machines.net}.2.* does not see .*/there"):
        run()
    monkeypatch.setattr(cluster, "__version__", "99.0")
    with pytest.raises(fm.FlexmbsError, match=r"runs flexmbs .*, here is 99\.0"):
        run()
    assert not list((made.folder / "rows").iterdir())


def certificate(folder):
    """A key, and what it signs itself: authority, scheduler, worker and client in one."""
    key, pem = folder / "key.pem", folder / "ca.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    named = ["-keyout", str(key), "-out", str(pem), "-days", "2", "-subj", "/CN=flexmbs"]
    subprocess.run(["openssl", *words, *named], check=True, capture_output=True)
    return key, pem


def test_an_encrypted_scheduler_needs_no_flag(study, tmp_path, machines):
    from dask import config

    path = study('grid = { speed = [1, 2, 3] }\nkeep = "none"')
    fm.sweep(path, tmp_path / "here", workers=1)
    key, pem = certificate(tmp_path)
    words = ["--tls-ca-file", str(pem), "--tls-cert", str(pem), "--tls-key", str(key)]
    machines.add()
    address = scheduler(machines, "tls", *words)
    worker(machines, address, 0, *words)
    with pytest.raises(fm.FlexmbsError, match=r"there are no certificates.*distributed\.comm\.tls"):
        fm.sweep(path, tmp_path / "nobody", cluster=address)
    names = {"ca-file": pem, "client.cert": pem, "client.key": key}
    with config.set({f"distributed.comm.tls.{name}": str(path) for name, path in names.items()}):
        found = fm.sweep(path, tmp_path / "there", cluster=address)
    assert found.counts == {"complete": 3} and numbers(tmp_path / "there") == numbers(tmp_path / "here")
