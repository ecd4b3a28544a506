"""Commands in forked children: everything is imported and compiled once, then each try costs milliseconds.

A child runs in its own folder with limits on time; what it printed, how it ended, what memory it took beyond
that of its parent, and what it did to the folder are seen from outside.
"""

import contextlib
import gc
import io
import json
import logging
import os
import resource
import signal
import stat
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from flexmbs.cli.main import main
from flexmbs.fe.readers import meshio_child, meshio_formats

SECONDS = 30


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int
    signal: int
    seconds: float
    megabytes: float
    out: str
    err: str
    changed: list[str] = field(default_factory=list)

    @property
    def errors(self):
        return [line for line in self.err.splitlines() if "  error  " in line]


def snapshot(folder):
    """Names of all that is in a folder, with what tells that it was written: place, size, times."""
    found = {}
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            told = os.lstat(os.path.join(path, name))
            what = stat.S_IFMT(told.st_mode)
            if not stat.S_ISDIR(told.st_mode):
                what = (what, told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns)
            found[os.path.relpath(os.path.join(path, name), folder)] = what
    return found


def warm(words, folder):
    """Run a command here, so that children find everything imported and compiled; returns its exit code."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return main(words)
    finally:
        os.chdir(before)
        logging.getLogger("flexmbs").handlers.clear()


def command(words, folder, box=None, seconds=SECONDS):
    """Run `flexmbs WORDS` in `folder`; what changes anywhere in `box` is seen. The screen goes beside it."""
    box = box or folder
    screen = Path(f"{box}.screen")
    screen.mkdir(exist_ok=True)
    before = snapshot(box)
    started = time.monotonic()
    gc.freeze()  # else the first collection of a child copies all that its parent holds
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _child(words, folder, screen, seconds)
    _, status, usage = os.wait4(child, 0)
    after = snapshot(box)
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    return Ending(
        os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1,
        os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        usage.ru_utime + usage.ru_stime if os.WIFEXITED(status) else time.monotonic() - started,
        usage.ru_maxrss / 1024.0 - float((screen / "resident").read_text()),
        (screen / "out").read_text(errors="replace"),
        (screen / "err").read_text(errors="replace"),
        changed,
    )


def meshio_by_fork(job):
    """What the process of meshio says, without the half second in which it starts."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(10 * job["seconds"])
            os.write(writing, json.dumps(meshio_child.run(job)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(said) if said else {"error": f"it ended with signal {os.WTERMSIG(status)}"}


def _resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _child(words, folder, screen, seconds):
    """Never returns: no exit handler of the parent may run here."""
    code = 99
    try:
        for number, name in ((1, "out"), (2, "err")):
            handle = os.open(screen / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        os.chdir(folder)
        (screen / "resident").write_text(str(_resident()))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10 * seconds)  # of the wall, where it waits for something
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        logging.getLogger("flexmbs").handlers.clear()
        meshio_formats._answer = meshio_by_fork
        code = main(words)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
