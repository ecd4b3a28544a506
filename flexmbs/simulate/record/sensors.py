"""Sensors as fields of a result: places from the kernel, the others from what is sampled anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.measure import UNITS, stress_rows
from flexmbs.simulate.record.fields import Fields, balls_of, joint_columns, units_of
from flexmbs.simulate.record.sampling import BODY, Sampler

if TYPE_CHECKING:
    from flexmbs.model.system import System

STRESS = ("xx", "yy", "zz", "xy", "yz", "zx")
WRENCH = ("x", "y", "z", "mx", "my", "mz")


def frame_markers(system: System) -> list[int]:
    """Markers whose axes resolve the reactions of sensors; -1 is ground."""
    markers = []
    for sensor in system.model.sensors.values():
        if sensor.type == "reaction" and sensor.relative_to != "ground":
            markers.append(system.markers.get(sensor.relative_to).number)
    return markers


def sensor_fields(fields: Fields, system: System, sampler: Sampler) -> None:
    """All sensors, in the order of the case."""
    part = system.sensors
    frames = 0
    for name, sensor in system.model.sensors.items():
        path = f"sensors/{name}"
        if name in part.places:
            first = sampler.places["sensor"] + 3 * part.places.index(name)
            fields.add(path, slice(first, first + 3), ("xyz",), UNITS[sensor.type])
        elif sensor.type == "reaction":
            turned = sensor.relative_to != "ground"
            _reaction(fields, system, sampler, path, sensor, frames if turned else -1)
            frames += turned
        else:
            OTHERS[sensor.type](fields, system, sampler, path, sensor)


def _joint(system: System, path: str, sensor: Any) -> Any:
    if sensor.joint not in system.model.joints:
        remedy = nearest(str(sensor.joint), list(system.model.joints))
        raise InputError(
            Diagnostic("sensor.joint", path.replace("/", "."), f'no joint "{sensor.joint}"', remedy)
        )
    return system.joints[sensor.joint]


def _reaction(fields: Fields, system: System, sampler: Sampler, path: str, sensor: Any, frame: int) -> None:
    """Force and moment of `from` on `to`, in ground axes or those of a frame."""
    _joint(system, path, sensor)
    first = sampler.places["reaction"] + 6 * list(system.joints).index(sensor.joint)
    axis = _axis(fields, "wrench", WRENCH)
    if frame < 0:
        fields.add(path, slice(first, first + 6), (axis,), "N, N m", equation="F21")
        return
    place = sampler.places["frame"] + 9 * frame

    def take(rows: np.ndarray) -> np.ndarray:
        R = rows[:, place : place + 9].reshape(-1, 3, 3)
        wrench = rows[:, first : first + 6].reshape(-1, 2, 3)
        return np.einsum("tkc,tsk->tsc", R, wrench).reshape(-1, 6)

    fields.add(path, take, (axis,), "N, N m", equation="F21")


def _joint_position(fields: Fields, system: System, sampler: Sampler, path: str, sensor: Any) -> None:
    """Coordinates of a joint; their axis is one of the root, as programs look for axes in groups above."""
    place = _joint(system, path, sensor)
    balls = [name for name, _ in balls_of(system)]
    ball = balls.index(sensor.joint) if sensor.joint in balls else 0
    x, v, _ = joint_columns(system, sampler, place, ball)
    if not len(x):
        what = f"{place.joint.type_name} joint {sensor.joint} has no coordinates"
        raise InputError(
            Diagnostic(
                "sensor.joint", path.replace("/", "."), what, 'a sensor of type "reaction" shows its force'
            )
        )
    if len(x) != len(v):
        fields.quaternions.append(path)
    own = next(axis for axis in fields.axes if axis.path == f"joints/{sensor.joint}/coordinate")
    axis = _axis(fields, f"{sensor.joint}_coordinate", own.labels)
    fields.add(path, x, (axis,), units_of(place, ""))


def _energy(fields: Fields, system: System, sampler: Sampler, path: str, sensor: Any) -> None:
    """Kinetic, gravity and strain energy of one body or of all."""
    names = [str(sensor.on).partition(".")[0]] if sensor.on else system.bodies[1:]
    first = [sampler.places["body"] + BODY * (system.bodies.index(name) - 1) for name in names]
    columns = np.array(first)[:, None] + 19 + np.arange(3)
    axis = _axis(fields, "energy_term", ("kinetic", "gravity", "strain"))
    fields.add(path, lambda rows: rows[:, columns].sum(axis=1), (axis,), "J")


def _expression(fields: Fields, system: System, sampler: Sampler, path: str, sensor: Any) -> None:
    column = sampler.places["free"] + system.laws.free[f"sensor:{sensor.name}"]
    fields.add(path, slice(column, column + 1))


def _stress(fields: Fields, system: System, sampler: Sampler, path: str, sensor: Any) -> None:
    """Stress at a node (F53)."""
    rows_of = stress_rows(system.model, sensor.name)
    body = str(sensor.on).partition(".")[0]
    q = sampler.places["pos"] + int(system.tables.body.o_q[system.bodies.index(body)])
    axis = _axis(fields, "stress", STRESS)
    fields.add(path, lambda rows: rows[:, q : q + len(rows_of)] @ rows_of, (axis,), "Pa", equation="F53")


def _axis(fields: Fields, name: str, labels: tuple[str, ...]) -> str:
    if all(axis.path != name for axis in fields.axes):
        fields.axis(name, len(labels), labels)
    return name


OTHERS = {"joint": _joint_position, "energy": _energy, "expression": _expression, "stress": _stress}
