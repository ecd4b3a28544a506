"""SIGINT and SIGTERM: remembered where work must not be cut, and always followed by an end in time."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM)
#: seconds that a command has to end by itself
PATIENCE = 4.0
ENDED = 130


@dataclass
class Stop:
    """Whether the user has asked the run to stop."""

    asked: bool = False


_own = threading.local()


@contextlib.contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """What asks for a stop in this thread, to which no signals come, while the block runs."""
    _own.stop = stop
    try:
        yield
    finally:
        del _own.stop


@contextlib.contextmanager
def deferred() -> Iterator[Stop]:
    """Signals set `Stop.asked` while the block runs; a second one acts at once. Signals: main thread only."""
    stop = getattr(_own, "stop", None) or Stop()

    def handler(number: int, frame: Any) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    with _handled(handler):
        yield stop


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Signals wait until the block ends: an exception inside of HDF5's driver ends the interpreter."""
    waiting: list[int] = []
    try:
        with _handled(lambda number, frame: waiting.append(number)):
            yield
    finally:
        if waiting:
            signal.raise_signal(waiting[0])


@contextlib.contextmanager
def _handled(handler: Any) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    known = {number: old for number, old in before.items() if old is not None}  # set by Python
    try:
        for number in known:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in known.items():
            signal.signal(number, old)


def end_in_time(patience: float = PATIENCE) -> None:
    """From now on a signal ends this process within seconds, whatever it is at.

    The first signal raises KeyboardInterrupt, or is deferred by the work; further ones change nothing. When
    the process is still there after its time, as in a long call of a compiled library, a thread ends it:
    what was announced is on the disk, and temporary files are known as such by the next run.
    """

    def interrupt(number: int, frame: Any) -> NoReturn:
        for other in STOPPING:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in STOPPING:
        signal.signal(number, interrupt)
    inlet, outlet = os.pipe()
    os.set_blocking(outlet, False)
    signal.set_wakeup_fd(outlet, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(inlet, patience), daemon=True, name="interrupts").start()


def _watch(inlet: int, patience: float) -> None:
    """Wait for the number of a signal, which the interpreter writes at once, then for the end."""
    while (told := os.read(inlet, 1)) and told[0] not in STOPPING:
        pass
    time.sleep(patience)
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes is not None else ():
        child.kill()
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(ENDED)
