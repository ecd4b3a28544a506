"""Tables of drives -> their data in the model: scalar coordinates, and rotations of balls (F19, F19a)."""

from __future__ import annotations

from typing import Any

from flexmbs import units
from flexmbs.case.build.joints import RATES, check_unit, turns_about
from flexmbs.case.build.laws import LawBuilder, only
from flexmbs.case.build.report import Report
from flexmbs.case.build.rotations import rotation_law
from flexmbs.errors import nearest
from flexmbs.expressions import Expression, parse
from flexmbs.input.frames import MovingRotation
from flexmbs.input.source import Path_
from flexmbs.model.attitudes import drives_ball
from flexmbs.model.drives import Drive
from flexmbs.model.joints import Joint
from flexmbs.model.model import Input

_KEYS = ("position", "velocity", "acceleration")
#: names beside t: what is held between steps has no rates, which positions need
KNOWN = {
    "position": ("", "t and parameters; inputs drive velocities (those of FMUs) and accelerations"),
    "velocity": ("inputs.", "t, parameters and outputs of FMUs"),
    "acceleration": ("inputs.", "t, parameters and inputs"),
}
#: what a ball needs for each of them
_OF_BALL = {
    "position": 'a rotation table, as { sequence = "xyz", angles = [...] }',
    "velocity": "a list of three, the angular velocity in the axes of Q",
    "acceleration": "a list of three, the rates of the angular velocity in the axes of Q",
}


def drive_of(builder: LawBuilder, name: str, table: Any) -> Drive | None:
    """A drive of the model; None when its joint is unknown (the report says so elsewhere)."""
    joint = builder.model.joints.get(table.joint)
    if joint is None:
        return None
    path: Path_ = ("drives", name)
    found: dict[str, Any] = {"name": name, "joint": table.joint, "coordinate": table.coordinate}
    key = next(item for item in _KEYS if getattr(table, item) is not None)
    value = getattr(table, key)
    known = _check_coordinate(builder.report, path, joint, table.coordinate)
    ball = known and drives_ball(joint, table.coordinate)
    of_ball = isinstance(value, MovingRotation) if key == "position" else isinstance(value, list)
    if known and ball != of_ball:
        expected = _OF_BALL[key] if ball else "a number or an expression of t"
        coordinate = table.coordinate or joint.drivable[0]
        what = f'the {key} of "{coordinate}" of joint {joint.name} is {expected}'
        builder.report.fail((*path, key), what)
        return None

    place: Path_ = (*path, key)
    if isinstance(value, MovingRotation):
        found[key] = rotation_law(place, value, lambda where, item: _of_time(builder, where, item))
    elif isinstance(value, list):
        unit = units.ANGULAR_VELOCITY if key == "velocity" else units.ANGULAR_ACCELERATION
        pair = (unit, unit)
        found[key] = [_of_time(builder, (*place, k), item, pair, True) for k, item in enumerate(value)]
    else:
        turns = turns_about(joint, table.coordinate)
        law = _of_time(builder, place, value, RATES[_KEYS.index(key)], turns, KNOWN[key])
        if key == "velocity" and isinstance(law, Expression) and _inputs_of(law):
            found |= _followed(builder, place, law, f"drives.{name}")
        else:
            found[key] = law
    return Drive(**found)


def _inputs_of(law: Expression) -> set[str]:
    return {label for label in law.names if label.startswith("inputs.")}


def _followed(builder: LawBuilder, path: Path_, law: Expression, name: str) -> dict[str, Any]:
    """A velocity from outside jumps: it is come up with over the step to the next communication point."""
    model = builder.model
    steps = {f"inputs.{item.name}.{output}" for item in model.fmus.values() for output in item.outputs}
    if _inputs_of(law) - steps:
        what = "a velocity follows FMUs alone, whose step says by when it is reached"
        builder.report.fail(path, what, "give the acceleration")
    model.inputs[name] = Input(name=name)
    return {"acceleration": parse(f"inputs.{name}"), "follows": law}


def _of_time(
    builder: LawBuilder,
    path: Path_,
    item: Any,
    expected: Any = None,
    turns: bool | None = None,
    known: tuple[str, str] = ("", "t and parameters"),
) -> Any:
    """A number, its unit checked, or an expression of t; `known`: start of other names, and all in words."""
    prefix, words = known
    law = builder.value(path, item)
    if isinstance(law, Expression):
        with builder.report.at(path):
            only(law, lambda label: label == "t" or bool(prefix and label.startswith(prefix)), words)
    else:
        check_unit(builder.report, path, law, expected, turns)
    return law


def _check_coordinate(report: Report, path: Path_, joint: Joint, name: str | None) -> bool:
    """Whether a joint has what is to be driven; a joint with one coordinate needs no name."""
    names = joint.drivable
    if name is not None and name not in names:
        what = f'{joint.type_name} joint {joint.name} has no coordinate "{name}"'
        report.fail((*path, "coordinate"), what, nearest(name, names))
        return False
    if name is None and len(names) != 1:
        what = f"joint {joint.name} has {'several coordinates' if names else 'no coordinate'}"
        remedy = f'add coordinate = "..." ({", ".join(names)})' if names else ""
        report.fail(path, f"{what}; which one is driven?", remedy)
        return False
    return True
