"""Measured motion for inverse dynamics: columns of a table or a result become drives (F36)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.inverse import measured_drive
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.attitudes import ball_place
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.joints.base import ROTATION
from flexmbs.results import Result

MAX_BYTES = 50_000_000


def measured_drives(system: Any, path: str | Path, t_end: float) -> list[Drive]:
    """Drives along the motion in a file from 0 to `t_end`, for the model of `system`.

    CSV: the first column is time, the others are named like joints (`main`), or joint and coordinate
    (`guide.travel`). A result: the coordinates that determine the mechanism, as they were there; those of
    bodies that no joint holds stand under the name of the body in brackets.
    """
    path = Path(path)
    columns = _from_result(system, path) if path.suffix == ".h5" else _from_csv(system, path)
    time = columns.pop("")
    if (
        len(time) < 4
        or np.any(np.diff(time) <= 0.0)
        or not all(np.all(np.isfinite(v)) for v in columns.values())
    ):
        what = "needs four or more rows of finite numbers with rising times"
        raise InputError(Diagnostic("motion.rows", path.name, what))
    if time[0] > 0.0 or time[-1] < t_end:
        what = f"goes from t = {time[0]:.9g} s to {time[-1]:.9g} s, the run from 0 s to {t_end:.9g} s"
        raise InputError(
            Diagnostic("motion.times", path.name, what, "shift its times, or end the run earlier")
        )
    drives = []
    for name, values in columns.items():
        joint, coordinate = split_name(system, name)
        measured = measured_rotation if values.ndim == 2 else measured_drive
        bare = name.replace(".", "_").replace("(", "").replace(")", "")
        drives.append(measured(f"motion_{bare}", joint, coordinate, time, values))
    _check_taken(system, drives, path)
    return drives


def split_name(system: Any, name: str) -> tuple[str, str]:
    """Joint and coordinate of a column; a joint alone means its first coordinate."""
    joint, _, coordinate = name.partition(".")
    return joint, coordinate or system.joints[joint].joint.drivable[0]


def _check_taken(system: Any, drives: list[Drive], path: Path) -> None:
    """A coordinate follows one drive or one column, and every drive has a name of its own."""
    taken = {
        split_name(system, f"{drive.joint}.{drive.coordinate or ''}"): f"drives.{name}"
        for name, drive in system.model.drives.items()
    }
    names = {name: f"drives.{name}" for name in system.model.drives}
    for drive in drives:
        key, column = (drive.joint, drive.coordinate or ""), f"{drive.joint}.{drive.coordinate}"
        if key in taken:
            what = f"joint {key[0]} is already driven by {taken[key]} ({key[1]})"
            raise InputError(
                Diagnostic("motion.columns", path.name, what, "one drive or column per coordinate")
            )
        if drive.name in names:
            what = f"the drive of {column} is called {drive.name}, like that of {names[drive.name]}"
            raise InputError(Diagnostic("motion.columns", path.name, what, "rename one of them"))
        taken[key] = names[drive.name] = f"the column of {column}"


def measured_rotation(name: str, joint: str, coordinate: str | None, times: Any, quaternions: Any) -> Drive:
    """A drive of a ball along measured quaternions (n, 4): a cubic spline of each component (F19a, F36)."""
    parts = (measured_drive(f"{name}_{k}", joint, coordinate, times, quaternions[:, k]) for k in range(4))
    law = RotationLaw("quaternion", tuple(part.position for part in parts))
    return Drive(name=name, joint=joint, coordinate=coordinate, position=law)


def end_of_motion(path: str | Path) -> float:
    """Last time of a motion file, where an analysis without `t_end` ends."""
    path = Path(path)
    if path.suffix == ".h5":
        return float(Result.load(path)["time"][-1])
    _, table = read_rows(path)
    return float(table[-1, 0])


def read_rows(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    """Names of the columns and all rows of a CSV file; what is no number is told with its line."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise OSError(f"larger than {MAX_BYTES} bytes")
        header, *lines = path.read_text(encoding="utf-8-sig").splitlines() or [""]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(Diagnostic("motion.file", str(path), f"cannot be read: {reason}")) from None
    names = [name.strip().strip('"') for name in header.split(",")]
    if len(names) < 2:
        what = f'has one column, "{names[0][:80]}"'
        raise InputError(
            Diagnostic("motion.columns", path.name, what, "first column time, then what was measured")
        )
    rows = [_row(path, n, line, names) for n, line in enumerate(lines, start=2) if line.strip()]
    if not rows:
        raise InputError(Diagnostic("motion.rows", path.name, "has no row of numbers below the names"))
    return names, np.array(rows)


def _row(path: Path, number: int, line: str, names: list[str]) -> list[float]:
    cells, where = line.split(","), f"{path.name}:{number}"
    if len(cells) != len(names):
        what = f"has {len(cells)} values for {len(names)} names"
        raise InputError(
            Diagnostic("motion.columns", where, what, "first column time, then what was measured")
        )
    row = []
    for cell, name in zip(cells, names, strict=True):
        try:
            row.append(float(cell))
        except ValueError:
            row.append(np.nan)
        if not np.isfinite(row[-1]):
            what = f'"{cell.strip()[:80]}" in the column {name[:80]} is no finite number'
            raise InputError(Diagnostic("motion.rows", where, what, "give all rows as numbers"))
    return row


def _from_csv(system: Any, path: Path) -> dict[str, Any]:
    names, table = read_rows(path)
    known = [c.joint for c in system.coordinates] + [f"{c.joint}.{c.name}" for c in system.coordinates]
    columns, taken = {"": table[:, 0]}, dict[tuple[str, str], str]()
    for name, values in zip(names[1:], table[:, 1:].T, strict=True):
        short = name.removeprefix("joints.").removesuffix(".position")
        if short not in known:
            raise InputError(
                Diagnostic("motion.columns", path.name, f'no joint "{name}"', nearest(short, known))
            )
        key = split_name(system, short)
        if key in taken:
            what = f'columns "{taken[key]}" and "{name}" are both {key[1]} of joint {key[0]}'
            raise InputError(Diagnostic("motion.columns", path.name, what, "keep one column per coordinate"))
        columns[short], taken[key] = values, name
    return columns


def _from_result(system: Any, path: Path) -> dict[str, Any]:
    result = Result.load(path)
    state = system.initial_state()
    independent = set(Minimal(system.evaluator(), state).split.ind.tolist())
    columns = {"": np.asarray(result["time"])}
    for name, place in system.joints.items():
        scalar = [c for c in place.coordinates if c.vel in independent]
        first = ball_place(place)[1] if ROTATION in place.joint.drivable else -1
        turns = first >= 0 and independent.issuperset(range(first, first + 3))
        if not (scalar or turns):
            continue
        values = _position(system, result, path, name, place)
        for c in scalar:
            columns[f"{name}.{c.name}"] = values[:, place.joint.coordinates.index(c.name)]
        if turns:
            columns[f"{name}.{ROTATION}"] = values[:, -4:]
    return columns


def _position(system: Any, result: Any, path: Path, name: str, place: Any) -> Any:
    """Coordinates of a joint over time; those of a base are the pose of its body."""
    paths = [f"joints/{name}/position"]
    if system.model.joints.get(name) is not place.joint:
        parts = ("position", "quaternion") if ROTATION in place.joint.drivable else ("position",)
        paths = [f"bodies/{place.joint.to_frame}/{part}" for part in parts]
    for item in paths:
        if item not in result.paths:
            what = f"has no motion of {item.rpartition('/')[0]}"
            raise InputError(Diagnostic("motion.columns", path.name, what))
    return np.hstack([np.asarray(result[item]) for item in paths])
