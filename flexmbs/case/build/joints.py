"""Tables of joints -> joints of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs import units
from flexmbs.case.build.report import Report
from flexmbs.case.schema.joints import JointTable, own_parameters
from flexmbs.errors import nearest
from flexmbs.expressions import Expression, ExpressionError
from flexmbs.input.rotations import Rotation
from flexmbs.input.source import Path_
from flexmbs.input.values import Measured
from flexmbs.model.joints import JOINTS, Joint
from flexmbs.model.joints.base import ROTATION
from flexmbs.spatial import quat_from_matrix


def joint_of(report: Report, name: str, table: Any) -> Joint | None:
    """A joint of the model; None when its coordinates are wrong (the report says why)."""
    path: Path_ = ("joints", name)
    cls: type[Any] = JOINTS[table.type]
    own = {}
    for key in own_parameters(cls):
        value = getattr(table, key)
        if isinstance(value, Expression):
            value = _of_time(report, (*path, key), value)
        if value is not None:
            own[key] = value
    axis, point = table.axis, table.point
    joint: Joint = cls(
        name=name,
        from_frame=table.from_,
        to_frame=table.to,
        axis=np.array(axis, dtype=float) if axis is not None else None,
        point=np.array(point, dtype=float) if point is not None else None,
        cut=table.cut,
        compliance=None if table.compliance is None else np.array(table.compliance, dtype=float),
        **own,
    )
    if table.from_.partition(".")[0] == table.to.partition(".")[0]:
        report.fail(
            (*path, "to"), f'both sides are on "{table.to.partition(".")[0]}"', "a joint connects two bodies"
        )
    if point is not None and ("." in table.from_ or "." in table.to):
        report.fail((*path, "point"), "with a point, from and to are bodies, not frames")
    _start(report, path, joint, table)
    _laws(report, path, joint, table)
    return joint


def _of_time(report: Report, path: Path_, value: Expression) -> Any:
    with report.at(path):
        for node in value.names.values():
            if node.label != "t":
                raise ExpressionError(f'"{node.label}": may depend on t and parameters only', node.column)
        return value.number() if value.is_constant else value
    return 0.0


def _start(report: Report, path: Path_, joint: Joint, table: JointTable) -> None:
    start = table.initial
    if start is None:
        return
    path = (*path, "initial")
    if isinstance(start.position, Rotation):
        if joint.coordinates or joint.n_beta != 4:
            report.fail((*path, "position"), "only a spherical joint takes a rotation as its position")
        else:
            joint.position = list(quat_from_matrix(start.position.to_matrix()))
    elif start.position is not None:
        joint.position = _values(report, (*path, "position"), joint, start.position, joint.n_beta, 0)
    if start.velocity is not None:
        joint.velocity = _values(report, (*path, "velocity"), joint, start.velocity, joint.n_eta, 1)
    joint.hold = start.hold


def _values(report: Report, path: Path_, joint: Joint, values: list[float], n: int, rate: int) -> list[float]:
    """Check number and dimensions of the coordinates; a quaternion must not be zero."""
    if len(values) != n:
        names = ", ".join(joint.coordinates) or ("a quaternion" if n == 4 else "none")
        report.fail(path, f"{len(values)} values, but a {joint.type_name} joint has {n} ({names})")
        return [float(value) for value in values]
    turns = turning(joint)
    for k, value in enumerate(values):
        item = (*path, k) if isinstance(report.raw(path), list) else path
        if k < len(turns):
            check_unit(report, item, value, RATES[rate], turns[k])
    if rate == 0 and n - len(joint.coordinates) == 4 and not np.linalg.norm(values[-4:]) > 1e-6:
        report.fail(path, "the quaternion is zero")
    return [float(value) for value in values]


def turning(joint: Joint) -> list[bool]:
    """For each scalar coordinate, whether it is an angle."""
    return [item.turn != 0.0 for item in joint.motion or () if item.axis >= 0]


#: what a coordinate, its rates, and what acts on it are measured in: travels, angles
COORDINATE = (units.LENGTH, units.ANGLE)
RATES = (
    COORDINATE,
    (units.VELOCITY, units.ANGULAR_VELOCITY),
    (units.ACCELERATION, units.ANGULAR_ACCELERATION),
)
EFFORT = (units.FORCE, units.TORQUE)
STIFFNESS = (units.STIFFNESS, units.TORSION_STIFFNESS)
DAMPING = (units.DAMPING, units.TORSION_DAMPING)
#: numbers in the tables of springs, dampers, friction and stops
_MEASURED = {
    "spring": {"stiffness": STIFFNESS, "free": COORDINATE, "force": EFFORT},
    "damper": {"damping": DAMPING, "force": EFFORT},
    "friction": {"effort": EFFORT, "coefficient": (units.NONE,) * 2, "stiction_velocity": RATES[1]},
    "stop": {"lower": COORDINATE, "upper": COORDINATE, "stiffness": STIFFNESS, "damping": DAMPING},
}


Pair = tuple[units.Dimension, units.Dimension]


def check_unit(report: Report, path: Path_, value: Any, expected: Pair, turns: bool | None) -> None:
    """The unit of a number or constant law is one of the two that a travel and an angle ask for."""
    dimension = getattr(value, "dimension", None)
    if dimension is not None and turns is not None:
        try:
            units.check_dimension(units.Quantity(0.0, dimension), expected[turns])
        except units.UnitError as error:
            report.fail(path, f"the unit {error}")


def check_variables(report: Report, path: Path_, value: Any, local: tuple[str, ...]) -> None:
    """No parameter has taken the place of a variable of a law."""
    for name in sorted(getattr(value, "given", frozenset()).intersection(local)):
        what = f'"{name}" is a parameter of the case and a variable of this law'
        report.fail(path, what, "give the parameter another name")


#: what to do where the turning of a ball is asked for
BALL = (
    "the turns of a ball are coordinates for drives alone: take three revolute joints with bodies of mass 0 "
    "between them"
)


def coordinate_of(report: Report, path: Path_, joint: Joint, name: str | None, needed: str) -> str | None:
    """Check the name of a scalar coordinate; joints with one need none."""
    turns_freely = ROTATION in joint.drivable
    if name is not None and name not in joint.coordinates:
        what = f'{joint.type_name} joint {joint.name} has no coordinate "{name}"'
        known = nearest(name, joint.coordinates) if joint.coordinates else ""
        remedy = "; ".join(text for text in (known, BALL if turns_freely else "") if text)
        report.fail((*path, "coordinate"), what, remedy or nearest(name, []))
        return None
    if name is None and len(joint.coordinates) != 1:
        names = ", ".join(joint.coordinates)
        what = f"joint {joint.name} has {'several coordinates' if names else 'no scalar coordinate'}"
        remedy = f'add coordinate = "..." ({names})' if names else BALL if turns_freely else ""
        report.fail(path, f"{what}; {needed}", remedy)
        return None
    return name


def turns_about(joint: Joint, name: str | None) -> bool | None:
    """Whether a coordinate of a joint is an angle; None where no coordinate is meant."""
    names = [name] if name is not None else joint.coordinates
    if len(names) != 1 or names[0] not in joint.coordinates:
        return None
    return turning(joint)[joint.coordinates.index(names[0])]


def _laws(report: Report, path: Path_, joint: Joint, table: JointTable) -> None:
    """Springs, dampers, friction and stops of the coordinates, as plain mappings."""
    for kind, measured in _MEASURED.items():
        items = getattr(table, kind)
        if items is None:
            continue
        rows = []
        for k, item in enumerate(items):
            here = (*path, kind, k) if isinstance(report.raw((*path, kind)), list) else (*path, kind)
            coordinate_of(report, (*path, kind), joint, item.coordinate, f"which one has the {kind}?")
            row = {key: getattr(item, key) for key in type(item).model_fields}
            turns = turns_about(joint, item.coordinate)
            for key, expected in measured.items():
                check_unit(report, (*here, key), row[key], expected, turns)
                local = ("x", "v") if kind in ("spring", "damper") else ()
                check_variables(report, (*here, key), row[key], local)
            if kind == "friction" and turns is not None:
                _check_radius(report, here, row, turns)
            rows.append({key: _plain(value) for key, value in row.items() if value is not None})
        setattr(joint, kind, rows)


def _check_radius(report: Report, path: Path_, row: dict[str, Any], turns: bool) -> None:
    """A coefficient acts at a radius on coordinates that turn, and there only."""
    needed = turns and row["coefficient"] is not None
    if needed and row["radius"] is None:
        what = "friction by a coefficient in a coordinate that turns needs a radius"
        report.fail((*path, "coefficient"), what, 'add radius = "..." of the bearing')
    if not needed and row["radius"] is not None:
        report.fail((*path, "radius"), "a radius goes with a coefficient in a coordinate that turns")


def _plain(value: Any) -> Any:
    if isinstance(value, Expression) and value.is_constant:
        return value.number()
    return float(value) if isinstance(value, Measured) else value
