"""Designs and studies that do not come to their own end: how long one waits for them, and what is said."""

from __future__ import annotations

from flexmbs.errors import Diagnostic, FlexmbsError, SolverError
from flexmbs.study.store import Row, Store

#: a design that ends its process this often is left alone
TRIES = 3
#: seconds beyond its time-out in which a design may end by itself
GRACE = 2.0


class NoPlace(Exception):
    """What was found cannot be written here: no fault of the design, which somebody else may do."""


def needs_place(error: FlexmbsError) -> None:
    """Raise `NoPlace` where a file could not be written."""
    told = [str(item) for item in error.diagnostics if item.code == "file.write"]
    if told:
        raise NoPlace(told[0]) from error


def ended(status: str, message: str, seconds: float = 0.0) -> Row:
    """What is left of a design without a row of its own."""
    return {"status": status, "message": message, "metrics": {}, "seconds": seconds}


def late(time_out: float, seconds: float) -> Row:
    """What is left of a design that had to be ended."""
    return ended("timed out", f"took longer than time_out = {time_out:g} s", seconds)


def crashed(times: int) -> Row:
    """What is left of a design that nobody tries again."""
    return ended("crashed", f"ended its worker {times} times")


def no_place(store: Store, message: str) -> SolverError:
    """Nothing more can be written: further designs would be computed in vain."""
    remedy = "make room, then go on with --resume: no finished design is lost"
    return SolverError(Diagnostic("study.disk", str(store.folder), message, remedy))


def no_worker(store: Store, message: str) -> SolverError:
    """Processes end before they take a design: every further one would."""
    remedy = "mend that, then go on with --resume; too little memory for so many processes: --workers 1"
    return SolverError(Diagnostic("study.worker", str(store.folder), message, remedy))
