"""Measured motion for inverse dynamics: columns of a table or a result become drives (F36)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.dynamics.inverse import measured_drive
from flexmbs.dynamics.minimal import Minimal
from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.attitudes import ball_place
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.joints.base import ROTATION
from flexmbs.results import Result


def measured_drives(system: Any, path: str | Path) -> list[Drive]:
    """Drives along the motion in a file, for the model of `system`.

    CSV: the first column is time, the others are named like joints (`main`), or joint and coordinate
    (`guide.travel`). A result: the coordinates that determine the mechanism, as they were there.
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
    drives = []
    for name, values in columns.items():
        joint, _, coordinate = name.partition(".")
        measured = measured_rotation if values.ndim == 2 else measured_drive
        drives.append(measured(f"motion_{name.replace('.', '_')}", joint, coordinate or None, time, values))
    return drives


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
    try:
        table = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2, encoding="utf-8-sig")
    except (OSError, ValueError, UnicodeDecodeError) as error:
        what = f"cannot be read: {str(error).splitlines()[0]}"
        raise InputError(Diagnostic("motion.file", str(path), what)) from None
    if not table.size or not np.isfinite(table[-1, 0]):
        raise InputError(Diagnostic("motion.rows", path.name, "its last row has no time"))
    return float(table[-1, 0])


def _from_csv(system: Any, path: Path) -> dict[str, Any]:
    try:
        header, *_ = path.read_text(encoding="utf-8-sig").split("\n", 1)
        table = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2, encoding="utf-8-sig")
    except (OSError, ValueError, UnicodeDecodeError) as error:
        what = f"cannot be read: {str(error).splitlines()[0]}"
        raise InputError(Diagnostic("motion.file", str(path), what)) from None
    names = [name.strip().strip('"') for name in header.split(",")]
    if table.shape[1] != len(names) or len(names) < 2:
        what = f"has {len(names)} names for {table.shape[1]} columns"
        raise InputError(Diagnostic("motion.columns", path.name, what, "first column time, then joints"))
    known = [c.joint for c in system.coordinates] + [f"{c.joint}.{c.name}" for c in system.coordinates]
    columns = {"": table[:, 0]}
    for name, values in zip(names[1:], table[:, 1:].T, strict=True):
        short = name.removeprefix("joints.").removesuffix(".position")
        if short not in known:
            raise InputError(
                Diagnostic("motion.columns", path.name, f'no joint "{name}"', nearest(short, known))
            )
        columns[short] = values
    return columns


def _from_result(system: Any, path: Path) -> dict[str, Any]:
    result = Result.load(path)
    state = system.initial_state()
    independent = set(Minimal(system.evaluator(), state).split.ind.tolist())
    columns = {"": np.asarray(result["time"])}

    def position(joint: str) -> Any:
        if f"joints/{joint}/position" not in result.paths:
            what = f'has no motion of joint "{joint}"'
            raise InputError(Diagnostic("motion.columns", path.name, what))
        return np.asarray(result[f"joints/{joint}/position"])

    for c in system.coordinates:
        if c.vel in independent and c.joint in system.model.joints:
            place = [item.name for item in system.joints[c.joint].coordinates].index(c.name)
            columns[f"{c.joint}.{c.name}"] = position(c.joint)[:, place]
    for name, joint in system.model.joints.items():
        first = ball_place(system.joints[name])[1] if ROTATION in joint.drivable else -1
        if first >= 0 and independent.issuperset(range(first, first + 3)):
            columns[f"{name}.{ROTATION}"] = position(name)[:, -4:]
    return columns
