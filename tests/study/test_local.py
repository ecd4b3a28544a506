"""The `LocalCluster` of Dask in which studies run by default: only they reach it, nothing is left of it."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import flexmbs as fm
from flexmbs.study import cluster, local
from flexmbs.study.ends import TRIES
from flexmbs.study.local import Local
from flexmbs.study.run import plan
from flexmbs.study.store import Store
from tests.study.test_sweep import lethal, numbers

pytestmark = [pytest.mark.slow, pytest.mark.local, pytest.mark.needs("distributed", "cryptography")]


#: what TLS says to somebody who does not speak it: wrong version
ALERT = bytes.fromhex("15030100020246")


def group(pid):
    """Processes of a group that have not ended."""
    found = []
    for item in Path("/proc").glob("[0-9]*"):
        try:
            words = (item / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[2]) == pid and words[0] != "Z":
            found.append(int(item.name))
    return found


def gone(pid, seconds=5.0):
    """All of a group end; those that were killed take a moment for it."""
    end = time.monotonic() + seconds
    while group(pid):
        assert time.monotonic() < end, group(pid)
        time.sleep(0.01)


@pytest.fixture
def place():
    """A folder for temporary files; its name is short, as names of sockets must be."""
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def own(monkeypatch):
    """Clusters that studies have started."""
    made = []

    class Watched(Local):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setattr(local, "Local", Watched)
    return made


def test_a_study_runs_in_a_cluster_of_its_own_of_which_nothing_is_left(study, tmp_path, own, capfd):
    """The same numbers as of processes; it listens here only, and to those alone who have its keys."""

    path = study(f'grid = {{ speed = {list(range(1, 31))} }}\nkeep = "none"')
    fm.sweep(path, tmp_path / "here", workers=2, cluster="processes")
    assert not own
    told, listening = [], []

    def progress(share, text):
        told.append(text)
        if len(told) == 1:
            pids = group(own[0]._process.pid)
            listening.extend(line for pid in pids for line in sockets(pid))
            for line in listening:
                refuse(line.rpartition(":")[2])

    found = fm.sweep(path, tmp_path / "there", workers=2, progress=progress)
    assert found.counts == {"complete": 30} and told[-1] == "30 of 30, 0 failed" and len(told) == 30
    assert numbers(tmp_path / "there") == numbers(tmp_path / "here")
    # scheduler, two workers, and a nanny for each
    assert len(listening) == 5 and all(line.startswith("127.0.0.1:") for line in listening), listening
    assert len(own) == 1
    gone(own[0]._process.pid)
    assert not Path(own[0]._folder).exists()
    out = capfd.readouterr()
    assert not out.out and "distributed" not in out.err


def refuse(port):
    """Nobody is answered without the keys, whether it speaks plainly or encrypted."""
    with socket.create_connection(("127.0.0.1", int(port)), timeout=0.3) as plain:
        plain.sendall(100 * b" ")
        with suppress(ConnectionResetError, TimeoutError):
            assert plain.recv(100) in (b"", ALERT)
    words = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    words.check_hostname, words.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", int(port)), timeout=10.0) as plain:
        with pytest.raises(ssl.SSLError, match="(?i)certificate.required|handshake"):
            with words.wrap_socket(plain) as line:
                line.recv(100)


def sockets(pid):
    """Addresses where a process listens."""
    inodes = set()
    for item in Path(f"/proc/{pid}/fd").iterdir():
        inodes.add(os.readlink(item).removeprefix("socket:[").removesuffix("]"))
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[9] in inodes and words[3] == "0A":
                host, port = words[1].split(":")
                text = (
                    ".".join(str(byte) for byte in reversed(bytes.fromhex(host))) if name == "tcp" else host
                )
                yield f"{text}:{int(port, 16)}"


#: without a guard: in a loop of its own, as a notebook has one, or in a process that may have no children
SCRIPT = """
import asyncio, multiprocessing, sys
import flexmbs as fm

def run():
    print(fm.sweep({path!r}, {folder!r}, workers=2).counts, flush=True)

async def main():
    run()

if sys.argv[1:] == ["forked"]:
    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    process.join()
    sys.exit(process.exitcode)
asyncio.run(main())
"""


@pytest.mark.parametrize("words", [["-"], ["script.py", "forked"]], ids=["input", "forked"])
def test_scripts_need_no_guard_wherever_they_run(study, tmp_path, words):
    """No worker runs the script again, wherever it comes from."""
    path, folder = study('grid = { speed = [1, 2, 3, 4] }\nkeep = "none"'), tmp_path / "s"
    text = SCRIPT.format(path=str(path), folder=str(folder))
    (tmp_path / "script.py").write_text(text)
    done = subprocess.run(
        [sys.executable, *words], input=text, capture_output=True, text=True, timeout=100, cwd=tmp_path
    )
    assert done.returncode == 0 and done.stdout == "{'complete': 4}\n" and not done.stderr, done.stderr


def hung(folder, k, version):
    """Design 1 never ends, and holds the interpreter as a kernel does; the others are as they are."""
    import ctypes

    from flexmbs.study import on_worker, work

    def call(self, k, real=work.Worker.__call__):
        if k == 1:
            with open(os.path.join(folder, "begun"), "a") as file:
                file.write("x")
            ctypes.PyDLL(None).sleep(20)
        return real(self, k)

    if work.Worker.__call__.__name__ != "call":
        work.Worker.__call__ = call
    return on_worker.design(folder, k, version)


def outcome(store, work, own):
    """Rows of a study on a cluster of its own, by design."""
    address, keys = own.found(2, store)
    rows = cluster.run_on_cluster(store, range(len(store.ids)), address, own=keys, work=work)
    return {row["design"]: row for row in rows}


@pytest.mark.parametrize("work", [hung, lethal])
def test_designs_that_hold_up_or_kill_their_worker_do_not_end_the_study(study, tmp_path, work):
    """One that hangs in a kernel is begun once and ended in time, one that kills is begun three times."""
    more = 'time_out = "5 s"' if work is hung else ""
    made = plan(study(f'grid = {{ speed = [1, 2, 3, 4, 5, 6] }}\nkeep = "none"\n{more}'), tmp_path / "s")
    store = Store.create(made.folder, made.data)
    with Local() as own:
        rows = outcome(store, work, own)
    status = "timed out" if work is hung else "crashed"
    assert {k: row["status"] for k, row in rows.items()} == {k: "complete" for k in range(6)} | {1: status}
    assert {k: store.row(k) for k in rows} == rows and not list((made.folder / "rows").glob("*.tries"))
    if work is hung:
        assert rows[1]["message"] == "took longer than time_out = 5 s"
        assert (made.folder / "begun").read_text() == "x"
    else:
        assert rows[1]["message"] == f"ended its worker {TRIES} times"
        assert len((made.folder / "ends").read_text()) == TRIES


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_command_that_is_ended(study, tmp_path, place, number):
    """No process, no file, whatever ends it; what was done stays, and --resume does the others."""
    path = study(f'grid = {{ speed = {list(range(1, 2001))} }}\nkeep = "none"')
    command = [sys.executable, "-m", "flexmbs.cli.main", "sweep", str(path), "-o", str(tmp_path / "s")]
    rows = tmp_path / "s" / "rows"
    env = os.environ | {"TMPDIR": str(place)}
    client = subprocess.Popen(
        [*command, "--workers", "2", "--quiet"], stderr=subprocess.PIPE, text=True, env=env
    )
    try:
        pids = []
        while client.poll() is None and len(list(rows.glob("*.json"))) < 20:
            pids = [pid for task in Path(f"/proc/{client.pid}/task").iterdir()
                    for pid in (task / "children").read_text().split()]  # fmt: skip
            time.sleep(0.02)
        assert client.poll() is None and len(pids) == 1
        begun = time.monotonic()
        client.send_signal(number)
        said = client.communicate(timeout=20)[1]
        assert time.monotonic() - begun < 4.0
    finally:
        client.kill()
    gone(int(pids[0]))
    assert client.returncode == (-9 if number == signal.SIGKILL else 130)
    assert said == ("" if number == signal.SIGKILL else "interrupted\n")
    assert not list(place.iterdir())
    assert 20 <= len(list(rows.glob("*.json"))) < 2000


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("import os; os._exit(7)", "ended before their first design.*--resume.*too little memory"),
        ("import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (20_000, 20_000))", "the disk is full.*--resume"),
    ],
    ids=["stillborn", "cramped"],
)
def test_what_no_worker_can_do_ends_the_study_and_blames_no_design(
    study, tmp_path, monkeypatch, does, why, capfd
):
    """Workers that end at once, and those that cannot write a result."""
    path = study("grid = { speed = [1, 2, 3] }")
    name = "DASK_DISTRIBUTED__WORKER__PRELOAD"
    with monkeypatch.context() as patch:
        patch.setitem(local.SETTINGS, name, str([does]))
        with pytest.raises(fm.SolverError, match=why):
            fm.sweep(path, tmp_path / "s", workers=2)
    left = [*(tmp_path / "s" / "rows").glob("*.json"), *(tmp_path / "s" / "runs").glob("*.h5")]
    assert not left
    assert capfd.readouterr().err == ""
    assert fm.sweep(path, tmp_path / "s", workers=2, resume=True).counts == {"complete": 3}
