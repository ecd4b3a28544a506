"""Tables of joints -> joints of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs import units
from flexmbs.case.build.report import Report
from flexmbs.case.schema.frames import Rotation
from flexmbs.case.schema.joints import JointTable, own_parameters
from flexmbs.case.schema.values import Measured
from flexmbs.case.source import Path_
from flexmbs.errors import nearest
from flexmbs.expressions import Expression, ExpressionError
from flexmbs.model.joints import JOINTS, Joint
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
        item = (*path, k) if isinstance(_raw(report, path), list) else path
        if k < len(turns):
            check_coordinate(report, item, value, turns[k], rate)
    if rate == 0 and n - len(joint.coordinates) == 4 and not np.linalg.norm(values[-4:]) > 1e-6:
        report.fail(path, "the quaternion is zero")
    return [float(value) for value in values]


def _raw(report: Report, path: Path_) -> Any:
    data: Any = report.source.data
    for step in path:
        data = data[step]
    return data


def turning(joint: Joint) -> list[bool]:
    """For each scalar coordinate, whether it is an angle."""
    return [item.turn != 0.0 for item in joint.motion or () if item.axis >= 0]


def check_coordinate(report: Report, path: Path_, value: Any, turns: bool, rate: int) -> None:
    """The unit of a joint coordinate, or of its first or second derivative, fits its kind."""
    expected = [
        (units.LENGTH, units.ANGLE),
        (units.VELOCITY, units.ANGULAR_VELOCITY),
        (units.ACCELERATION, units.ANGULAR_ACCELERATION),
    ][rate][int(turns)]
    dimension = getattr(value, "dimension", None)
    if dimension is not None:
        try:
            units.check_dimension(units.Quantity(float(value), dimension), expected)
        except units.UnitError as error:
            report.fail(path, f"the unit {error}")


def coordinate_of(report: Report, path: Path_, joint: Joint, name: str | None, needed: str) -> str | None:
    """Check the name of a coordinate; joints with one need none."""
    if name is not None and name not in joint.coordinates:
        what = f'{joint.type_name} joint {joint.name} has no coordinate "{name}"'
        report.fail((*path, "coordinate"), what, nearest(name, joint.coordinates))
        return None
    if name is None and len(joint.coordinates) != 1:
        names = ", ".join(joint.coordinates)
        what = f"joint {joint.name} has {'several coordinates' if names else 'no scalar coordinate'}"
        report.fail(path, f"{what}; {needed}", f'add coordinate = "..." ({names})' if names else "")
        return None
    return name


def _laws(report: Report, path: Path_, joint: Joint, table: JointTable) -> None:
    """Springs, dampers, friction and stops of the coordinates, as plain mappings."""
    for kind in ("spring", "damper", "friction", "stop"):
        items = getattr(table, kind)
        if items is None:
            continue
        rows = []
        for item in items:
            coordinate_of(report, (*path, kind), joint, item.coordinate, f"which one has the {kind}?")
            row = {key: getattr(item, key) for key in type(item).model_fields}
            rows.append({key: _plain(value) for key, value in row.items() if value is not None})
        setattr(joint, kind, rows)


def _plain(value: Any) -> Any:
    if isinstance(value, Expression) and value.is_constant:
        return value.number()
    return float(value) if isinstance(value, Measured) else value
