"""The tour: a mesh becomes modal data, a mechanism becomes motion, motion becomes stresses and a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.resources import resource

Progress = Callable[[float, str], None]

#: Shipped files of the tour; the case finds the recipe as it does in the project's own tree.
FILES = (".flexmbs-root", "meshes/rod.msh", "meshes/rod.reduce.toml", "cases/slider_crank.toml")


@dataclass(frozen=True)
class Stop:
    """One stop of the tour: what happens, what came out, which file to look at, how long it took."""

    sentence: str
    text: str
    file: Path
    seconds: float


def demo(folder: str | Path, progress: Progress | None = None) -> Iterator[Stop]:
    """Walk through the program in `folder`; yields after each stop.

    The folder must not exist, be empty, or be one of an earlier tour, whose files are replaced.
    """
    root = prepare(Path(folder))
    for sentence, act in (
        ("A mesh of a connecting rod becomes modal data, with a certificate of its quality.", reduce_rod),
        ("The rod turns in a slider-crank mechanism at 1500 rpm, pushed by gas forces.", run_mechanism),
        ("The stresses of the rod follow from its modes at every instant.", recover_stresses),
        ("One page holds the motion, the stresses and the proofs; open it in a browser.", write_report),
    ):
        started = time.perf_counter()
        text, file = act(root, progress)
        yield Stop(sentence, text, file, time.perf_counter() - started)


def prepare(root: Path) -> Path:
    """Copy the shipped files into the folder."""
    if root.exists() and (not root.is_dir() or (any(root.iterdir()) and not (root / FILES[-1]).is_file())):
        what = "exists and holds other files" if root.is_dir() else "is a file"
        raise InputError(Diagnostic("demo.folder", str(root), what, "name another folder: flexmbs demo DIR"))
    for name in FILES:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with disk.atomic_file(target, overwrite=True) as raw:
            raw.write(resource(*name.split("/")).read_bytes())
    (root / "results").mkdir(exist_ok=True)
    return root


def reduce_rod(root: Path, progress: Progress | None) -> tuple[str, Path]:
    from flexmbs.certificate.summary import modal_text
    from flexmbs.reduce.command import output_path, reduce_files

    recipe = str(root / "meshes" / "rod.reduce.toml")
    target = output_path(recipe, None, None, overwrite=True)
    return modal_text(reduce_files(recipe, {}, target, None, progress, overwrite=True)), target


def run_mechanism(root: Path, progress: Progress | None) -> tuple[str, Path]:
    from flexmbs.case import Case
    from flexmbs.case.runner import execute

    case = Case.load(root / "cases" / "slider_crank.toml")
    target = root / "results" / "slider_crank.h5"
    done = execute(case, target, overwrite=True, progress=progress)
    return "\n".join([done.summary.text, *map(str, done.comparisons)]), target


def recover_stresses(root: Path, progress: Progress | None) -> tuple[str, Path]:
    from flexmbs.post import recovery, recovery_files
    from flexmbs.post.record import Record

    record = Record.load(root / "results" / "slider_crank.h5")
    found = recovery.recover(record, "rod", count=3, progress=progress)
    target = root / "results" / "rod_stress.csv"
    recovery_files.write_files(str(target), found, [], None, overwrite=True)
    return recovery.as_text(recovery.summary(found, [], None, False)), target


def write_report(root: Path, progress: Progress | None) -> tuple[str, Path]:
    from flexmbs.post.report import report

    target = root / "results" / "report.html"
    source = root / "results" / "slider_crank.h5"
    done: dict[str, Any] = report(source, target, overwrite=True, progress=progress)
    return f"{done['bytes'] / 1e6:.2f} MB, nothing is loaded from outside", target
