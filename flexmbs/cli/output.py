"""What a command returns, and the terminal it speaks to; nothing here computes."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flexmbs.errors import ExitCode

T = TypeVar("T")


@dataclass
class Output:
    """Result of a command: `text` for people, `data` for `--json`, exit code, and what to go on with."""

    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    exit_code: int = ExitCode.DONE
    next: str = ""


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--overwrite", action="store_true", help="replace an existing output of the same kind"
    )


def add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", metavar="DIR", help="folder of all files that the input names (default: that of the input)"
    )


#: words that are coloured, and how a terminal is told
_COLOURS = {"error": "1;31", "warn": "33", "warning": "33", "next": "1;36", "passed": "32", "FAILED": "1;31"}
_COLOURED = re.compile(r"(?<=  )(error|warn)(?=  )|^(warning|next)(?=:)|\b(passed|FAILED)\b")


def coloured(line: str, when: str, stream: Any) -> str:
    """A line with the words that tell how bad it is, or what comes next, in colour, where that is wanted."""
    if when == "never" or (when == "auto" and (os.environ.get("NO_COLOR") or not stream.isatty())):
        return line
    return _COLOURED.sub(lambda found: f"\x1b[{_COLOURS[found[0]]}m{found[0]}\x1b[0m", line)


#: seconds without a line of progress, where there is no terminal
SILENCE = 15.0


@dataclass
class Progress:
    """Progress of long work on standard error: a bar with ETA on a terminal, plain lines otherwise.

    Library functions take any callable `(fraction, text)`; this is the one that the command line passes.
    """

    title: str
    quiet: bool = False
    interval: float = 0.1
    _started: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)
    _last_tenth: int = -1

    def __call__(self, fraction: float, text: str = "") -> None:
        if self.quiet:
            return
        now = time.monotonic()
        if sys.stderr.isatty():
            if now - self._last < self.interval and fraction < 1.0:
                return
            self._last = now
            sys.stderr.write(f"\r\x1b[K{self._bar(fraction, now)} {text}")
            if fraction >= 1.0:
                sys.stderr.write("\n")
            sys.stderr.flush()
        elif int(10 * fraction) > self._last_tenth or now - self._last > SILENCE:
            self._last_tenth, self._last = int(10 * fraction), now
            print(f"{self.title} {100 * fraction:3.0f} % {text}".rstrip(), file=sys.stderr, flush=True)

    def _bar(self, fraction: float, now: float) -> str:
        width = 24
        done = int(width * min(max(fraction, 0.0), 1.0))
        eta = (now - self._started) * (1.0 / fraction - 1.0) if fraction > 0.01 else 0.0
        return f"{self.title} [{'#' * done}{'.' * (width - done)}] {100 * fraction:3.0f} % ETA {eta:4.0f} s"


def each(items: Iterable[T], total: int, progress: Any) -> Iterator[T]:
    """Iterate and report progress after each item; `progress` may be None."""
    for k, item in enumerate(items):
        yield item
        if progress is not None:
            progress((k + 1) / max(total, 1))
