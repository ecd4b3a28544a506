"""SIGINT and SIGTERM during a run: remembered, and acted on between steps."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Stop:
    """Whether the user has asked the run to stop."""

    asked: bool = False


@contextlib.contextmanager
def deferred() -> Iterator[Stop]:
    """Signals set `Stop.asked` while the block runs; a second one acts at once. Main thread only."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handler(number: int, frame: Any) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, old in before.items():
            signal.signal(number, old)
