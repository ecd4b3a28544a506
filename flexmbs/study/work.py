"""One design: run, measured, its row written. What every worker does, wherever it is."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from flexmbs import disk
from flexmbs.case import Case
from flexmbs.case.build import cache
from flexmbs.case.runner import execute
from flexmbs.errors import FlexmbsError
from flexmbs.study.ends import needs_place
from flexmbs.study.given import BODIES, load
from flexmbs.study.spots import hot_spots
from flexmbs.study.store import Row, Store

#: rings of objects are looked for between designs, where few are left, and within one after so many objects;
#: among older ones after so many designs
COLLECT, OLDER = 50_000, 64
_done = count(1)


class Worker:
    """Runs designs of one study; case, reduced bodies and kernels stay between them."""

    def __init__(self, folder: Path) -> None:
        self.store = Store.open(folder)
        told = self.store.data
        case = load(told["case"], told["root"], told["allow_python"], told["overrides"])
        self.case = case.keep_bodies()

    def __call__(self, k: int) -> Row:
        """The row of design k: the one that is there, or a new one; `NoPlace` where it cannot be written."""
        found = self.store.row(k)
        if found is not None:
            return found
        keep, values = self.store.data["keep"], self.store.data["designs"][k]["values"]
        started = time.perf_counter()
        disk.unlink(self.store.result(k))  # what a power cut or an earlier failure left
        target, time_out = self.store.result(k) if keep != "none" else None, self.store.data["time_out"]
        with cache.shared(self.store.folder / BODIES):
            row = measured(self.case, values, target, time_out)
        row["metrics"] = {name: row["metrics"][name] for name in self.store.data["collect"] if row["metrics"]}
        if keep == "failed" and row["status"] == "complete":
            disk.unlink(self.store.result(k))
        row["bytes"] = self.store.size(k)
        try:
            return self.store.write_row(k, row | {"seconds": time.perf_counter() - started})
        except FlexmbsError as error:
            needs_place(error)
            raise


@contextmanager
def few_collections() -> Iterator[Callable[[], None]]:
    """Rings of objects are looked for where few are left: by what is to be called behind each design."""
    before = gc.get_threshold()

    def collect() -> None:
        gc.collect(1 if next(_done) % OLDER else 2)

    gc.set_threshold(COLLECT)
    try:
        yield collect
    finally:
        gc.set_threshold(*before)


class OutOfTime(Exception):
    """A run has taken longer than it may."""


def measured(case: Case, values: dict[str, Any], target: Path | None, time_out: float | None = None) -> Row:
    """Status, message and metrics of a case with other values; what goes wrong is said, not raised."""
    end = time.monotonic() + time_out if time_out is not None else float("inf")

    def look(share: float, text: str) -> None:
        if time.monotonic() > end:
            raise OutOfTime(f"took longer than time_out = {time_out:g} s, at {text}")

    try:
        varied = case.with_design(values)
        bodies = case.spec.sweep.hot_spots if case.spec.sweep is not None else []
        done = execute(
            varied, target, keep=target is not None, overwrite=True, at_once=True, progress=look,
            named=bool(bodies),
        )  # fmt: skip
        spots = hot_spots(varied, done.result, bodies)
    except OutOfTime as error:
        return {"status": "timed out", "message": str(error), "metrics": {}}
    except FlexmbsError as error:
        needs_place(error)
        return {"status": "failed", "message": "; ".join(map(str, error.diagnostics)), "metrics": {}}
    told, values = "; ".join(done.summary.warnings), done.metrics | spots
    return {
        "status": done.result.status, "message": told, "metrics": values, "stepping": done.summary.stepping
    }  # fmt: skip
