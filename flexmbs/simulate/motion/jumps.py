"""Prescribed positions must be continuous: a body that jumps has no motion in between (F19)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression
from flexmbs.expressions.switching import switching_functions
from flexmbs.model.drives import RotationLaw

Floats = NDArray[np.float64]
#: intervals that are searched for places where a law changes its branch
INTERVALS = 4096
BISECTIONS = 60
#: difference between the two sides, over the size of the law, that is a jump
JUMP = 1e-9
#: what may be off in R^T R = 1, and what is wrong then
SQUARE = 1e-6
WRONG = {
    "quaternion": "its quaternion, or its axis, is zero",
    "matrix": "its axes are not of length one, at right angles, and right-handed",
}


def check_jumps(system: Any, t_start: float, t_end: float) -> None:
    """Raise an `InputError` with all laws of time that jump, or are no rotation where they should be one."""
    found = list(_no_rotations(system, t_start, t_end))
    for name, law in _laws(system):
        jump = first_jump(law, t_start, t_end) if t_end > t_start else None
        if jump is not None:
            what = f'the position "={law.text}" jumps by {jump[1]:.6g} at t = {jump[0]:.6g} s'
            remedy = "join the parts, as by step(t, t0, x0, t1, x1); an angle may go on past a turn"
            found.append(Diagnostic("law.jump", name, what, remedy))
    if found:
        raise InputError(*found)


def _no_rotations(system: Any, t_start: float, t_end: float) -> Iterator[Diagnostic]:
    """Prescribed rotations whose quaternion vanishes, or whose matrix is none of a rotation (F19a)."""
    grid = np.linspace(t_start, t_end, INTERVALS + 1) if t_end > t_start else np.array([t_start])
    for name, drive in system.model.drives.items():
        if isinstance(drive.position, RotationLaw):
            off = drive.position.defect(grid)
            bad = np.flatnonzero(off > SQUARE)
            if len(bad):
                what = f"is no rotation at t = {grid[bad[0]]:.6g} s: {WRONG[drive.position.form]}"
                remedy = "give angles about axes, which always are one"
                yield Diagnostic("law.rotation", f"drives.{name}", what, remedy)


def _laws(system: Any) -> Iterator[tuple[str, Expression]]:
    """Names and expressions of everything that prescribes positions over the time."""
    for law in system.time_laws:
        if law.name and law.order == 0:
            yield f"drives.{law.name}", law.expression
    for group in system.groups:
        for row in group.rows:
            if row.expression is not None:
                yield f"{group.kind}s.{group.name}", row.expression
    for name, joint in system.model.joints.items():
        if isinstance(getattr(joint, "length", None), Expression):
            yield f"joints.{name}", joint.length
    for travel in system.travels:
        for law in travel:
            yield "frames", law


def coupling_jumps(system: Any) -> list[str]:
    """Warnings of laws of couplings that jump over a coordinate, wherever that is."""
    half = np.geomspace(1e-6, 1e3, INTERVALS // 2)
    grid, found = np.concatenate([-half[::-1], [0.0], half]), []
    for group in system.groups:
        for row in group.rows:
            for name in row.names if row.expression is not None else ():
                jump = _first(row.expression, grid, name)
                if jump is not None:
                    where = f"{row.names[name].joint} = {jump[0]:.6g}"
                    found.append(f"{group.kind}s.{group.name}: its law jumps by {jump[1]:.6g} at {where}")
    return found


def first_jump(law: Expression, t_start: float, t_end: float) -> tuple[float, float] | None:
    """Time and size of the first jump of a law between two times, all names but t at zero; None without."""
    return _first(law, np.linspace(t_start, t_end, INTERVALS + 1), "t")


def _first(law: Expression, grid: Floats, name: str) -> tuple[float, float] | None:
    """Place and size of the first jump of a law over one name, all others at zero; None without."""
    switches = [switch for switch in switching_functions(law) if set(switch.names) == {name}]
    after = np.sort(np.concatenate([np.zeros(0), *(_changes(switch, grid, name) for switch in switches)]))
    ulp = 4.0 * np.spacing(np.abs(grid).max())
    values = _at(law, np.clip([after - 2.0 * ulp, after, after + ulp], grid[0], grid[-1]), name)
    jump, size = np.ptp(values, axis=0), np.abs(_at(law, grid, name))
    found = np.flatnonzero(jump > JUMP * size.max(initial=0.0, where=np.isfinite(size)))
    return (ulp * round(float(after[found[0]]) / ulp), float(jump[found[0]])) if len(found) else None


def _at(law: Expression, x: Floats, name: str) -> Floats:
    value = law.evaluate(lambda node: x if node.label == name else 0.0)
    return np.broadcast_to(np.asarray(value, dtype=float), x.shape)


def _changes(switch: Expression, grid: Floats, name: str) -> Floats:
    """Places just after the changes of sign of a switch, all of them bisected at once."""
    side = np.sign(_at(switch, grid, name))
    k = np.flatnonzero(np.diff(side) != 0.0)
    low, high, side = grid[k], grid[k + 1], side[k]
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        same = np.sign(_at(switch, middle, name)) == side
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high
