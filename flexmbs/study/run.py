"""A study from its case to its table: what `flexmbs sweep` and `fm.sweep` do."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexmbs import __version__, disk
from flexmbs.case import Case
from flexmbs.case.runner import case_hash, execute
from flexmbs.errors import Diagnostic, InputError, SolverError
from flexmbs.study.bodies import reduce_here, to_reduce
from flexmbs.study.designs import designs
from flexmbs.study.given import load, without_expected
from flexmbs.study.local import PROCESSES, Local, for_study
from flexmbs.study.pool import run_all
from flexmbs.study.store import Row, Store, identity
from flexmbs.study.study import Study

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Plan:
    """A study before its first run: the case, what is written into study.json, and the folder's name."""

    case: Case
    data: dict[str, Any]
    folder: Path


def plan(
    path: str | Path,
    folder: str | Path | None = None,
    *,
    root: str | Path | None = None,
    allow_python: bool = False,
    overrides: dict[str, Any] | None = None,
) -> Plan:
    """Read and check a case with [sweep]; bodies that no design changes are reduced here, once."""
    case = load(path, root, allow_python, overrides or {})
    if case.spec.sweep is None:
        what, remedy = (
            "has no [sweep]",
            "include the case in a file with [sweep], such as grid = { speed = [1, 2] }",
        )
        raise InputError(Diagnostic("study.sweep", str(path), what, remedy))
    if not case.spec.metrics and not case.spec.sweep.hot_spots:
        what, remedy = "has no [metrics], so nothing would be known of a run", 'give one: peak = "=max(...)"'
        raise InputError(Diagnostic("study.metrics", str(path), what, remedy))
    for k, body in enumerate(case.spec.sweep.hot_spots):
        if getattr(case.spec.bodies[body], "type", "") != "flexible":
            what, remedy = f'"{body}" is not flexible, so it has no stresses', "name flexible bodies"
            where = case.source.where(("sweep", "hot_spots", k))
            raise InputError(Diagnostic("study.hot_spots", where, what, remedy))
    found = [_plain(item) for item in designs(case)]
    case.with_design(found[0])  # what is wrong with the keys is said before any worker starts
    base = f"{__version__} {case_hash(case)} {_files(case, found)}"
    sweep = case.spec.sweep
    data = {
        "title": case.spec.title,
        "case": str(Path(path).resolve()),
        "root": str(root) if root is not None else None,
        "allow_python": allow_python,
        "overrides": overrides or {},
        "flexmbs": __version__,
        "names": list(found[0]),
        "collect": [*(sweep.collect or case.spec.metrics), *sweep.spots],
        "sample": sweep.sample.method if sweep.sample is not None else "",
        "limits": {name: [float(end) for end in ends] for name, ends in sweep.limits.items()},
        "time_out": float(sweep.time_out) if sweep.time_out is not None else None,
        "keep": "all" if sweep.keep.startswith("worst") else sweep.keep,
        "worst": int(sweep.keep.split()[1]) if sweep.keep.startswith("worst") else 0,
        "designs": [{"id": identity(base, values), "values": values} for values in found],
    }
    return Plan(case, data, Path(folder) if folder is not None else Path(f"{case.name}.study"))


def _files(case: Case, found: list[dict[str, Any]]) -> str:
    """Hash of the files that designs name (recipes, modal data, tables): other contents are other designs."""
    named = {value for item in found for value in item.values() if isinstance(value, str)}
    digest = hashlib.sha256()
    for path in sorted(case.folder / name for name in named):
        with suppress(OSError, ValueError):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    found: dict[str, Any] = json.loads(json.dumps(values, default=str))
    return found


def sweep(
    path: str | Path,
    folder: str | Path | None = None,
    *,
    workers: int | None = None,
    cluster: str = "",
    is_open: bool = False,
    resume: bool = False,
    only: str = "",
    progress: Progress | None = None,
    **options: Any,
) -> Study:
    """Run all designs of a study that are not done yet, and return it.

    `workers`: by default one for every core, on a cluster of Dask that is made here for this study; as
    processes of our own where Dask is missing, or `cluster` is `"processes"`. Otherwise `cluster` is the
    address of a Dask scheduler.
    `only = "failed"`: do designs that failed again. Further options are those of `plan`.
    """
    count = workers or os.cpu_count() or 1
    with for_study(cluster, count) as own:
        made = plan(path, folder, **options)
        store = Store.create(made.folder, made.data, resume=resume or bool(only))
        store.begin()
        if only:
            _again(store, only)
        firsts = {name: k for k, name in reversed(list(enumerate(store.ids)))}  # equal designs are run once
        todo = [k for k in sorted(firsts.values()) if store.row(k) is None]
        table = made.case.spec.sweep
        assert table is not None
        with disk.lock(store.folder / "study.json"):
            failed, done, size = 0, len(firsts) - len(todo), min(count, len(todo))
            with closing(_rows(store, made.case, todo, size, cluster, is_open, own, progress)) as rows:
                for row in rows:
                    done += 1
                    failed += row["status"] != "complete"
                    if progress is not None:
                        progress(done / len(firsts), f"{done} of {len(firsts)}, {failed} failed")
                    if row["status"] != "complete" and table.on_failure == "stop":
                        store.write_table()
                        raise _stopped(store, row)
            if store.data["worst"]:
                _keep_worst(store, store.data["worst"], table.rank or "")
            store.finish()
    return Study(store)


def _stopped(store: Store, row: Row) -> SolverError:
    where, remedy = f"{store.folder}: design {row['design']}", 'on_failure = "go on" leaves it and goes on'
    return SolverError(Diagnostic("study.stopped", where, row["message"], remedy))


def _rows(
    store: Store, case: Case, todo: list[int], workers: int, cluster: str, is_open: bool, own: Local | None,
    progress: Progress | None,
) -> Generator[Row]:  # fmt: skip
    """Rows of the designs, from wherever they are computed; before, each distinct recipe is reduced once."""
    is_elsewhere = cluster not in ("", PROCESSES)
    tasks = to_reduce(store, case, todo, elsewhere=is_elsewhere)

    def tell(count: int) -> None:
        if progress is not None:
            progress(0.0, f"{count} of {len(tasks)} bodies reduced")

    if not is_elsewhere and (own is None or workers < 2):
        if tasks:
            reduce_here(store, tasks, workers, tell)
        return run_all(store, todo, workers)
    from flexmbs.study.cluster import run_on_cluster

    address, keys = own.found(workers, store) if own is not None else (cluster, None)
    return run_on_cluster(store, todo, address, tasks, is_open=is_open, own=keys, tell=tell)


def _again(store: Store, only: str) -> None:
    """Forget the rows of a kind."""
    for row in list(store.rows()):
        if row["status"] != "complete":
            store.forget(row["design"])


def _keep_worst(store: Store, number: int, rank: str) -> None:
    """Remove the results of all but the worst designs; failed ones are worst of all."""
    name, sign = rank.removeprefix("-"), -1.0 if rank.startswith("-") else 1.0

    def badness(row: Row) -> float:
        return sign * row["metrics"][name] if name in row["metrics"] else float("inf")

    rows = {row["id"]: row for row in store.rows()}
    for row in sorted(rows.values(), key=badness, reverse=True)[number:]:
        disk.unlink(store.result(row["design"]))


def run_one(case: Case | str | Path, *, collect: Sequence[str] = (), **parameters: Any) -> dict[str, float]:
    """Metrics of a case with other parameters; nothing is left on the disk. For optimisers and loops.

    Raises what `fm.run` raises. A `Case` that is given stays loaded between calls.
    """
    made = without_expected(case if isinstance(case, Case) else Case.load(case)).with_values(**parameters)
    found = execute(made, keep=False).metrics
    return {name: found[name] for name in collect} if collect else found
