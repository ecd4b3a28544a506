"""Sensors of places: poses, velocities, accelerations of markers -> what a sensor shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.bodies import GROUND, FlexibleBody
from flexmbs.model.laws.tables import ELASTIC_U, REL_TURN, REL_V, REL_X
from flexmbs.model.laws.values import elastic_displacement, relative_component, turn_component
from flexmbs.model.markers import Markers
from flexmbs.model.model import Model
from flexmbs.model.vectors import between

Ints = NDArray[np.int64]

ACCELERATION = 20
#: Sensors that the kernel `measure` fills, three numbers each.
PLACES = {
    "position": REL_X,
    "velocity": REL_V,
    "acceleration": ACCELERATION,
    "rotation": REL_TURN,
    "displacement": ELASTIC_U,
}
UNITS = {
    "position": "m", "velocity": "m/s", "acceleration": "m/s^2", "rotation": "rad", "displacement": "m",
}  # fmt: skip


class SensorTables(NamedTuple):
    """Sensors of places, in order; sensor s fills out[3 s : 3 s + 3]."""

    kind: Ints
    mark: Ints
    ref: Ints


@kernel(lean=True)
def measure(sensors, sys, ws, out):
    """All sensors of places. Needs the velocity stage with the accelerations of the solution. Writes: out."""
    for s in range(sensors.kind.shape[0]):
        kind, a, b = sensors.kind[s], sensors.mark[s], sensors.ref[s]
        for c in range(3):
            if kind == REL_TURN:
                out[3 * s + c] = turn_component(ws, kind, a, b, c)
            elif kind == ELASTIC_U:
                out[3 * s + c] = elastic_displacement(sys, ws, a, c)
            elif kind == ACCELERATION:
                out[3 * s + c] = relative_acceleration(ws, a, b, c)
            else:
                out[3 * s + c] = relative_component(ws, kind, a, b, c)


@kernel(lean=True)
def relative_acceleration(ws, a, b, c):
    """Component c of the acceleration of marker a as seen in the axes of marker b, and resolved there."""
    x, y, z = between(ws.marker.x, b, ws.marker.x, a)
    va, vb, aa, ab = ws.marker.v[a], ws.marker.v[b], ws.marker.a[a], ws.marker.a[b]
    p, q, r = vb[3], vb[4], vb[5]
    # a_rel = a_a - a_b - alpha x d - w x (w x d) - 2 w x v_rel, v_rel = v_a - v_b - w x d
    nx, ny, nz = q * z - r * y, r * x - p * z, p * y - q * x
    mx = 2.0 * (va[0] - vb[0]) - nx
    my = 2.0 * (va[1] - vb[1]) - ny
    mz = 2.0 * (va[2] - vb[2]) - nz
    ax = aa[0] - ab[0] - (ab[4] * z - ab[5] * y) - (q * mz - r * my)
    ay = aa[1] - ab[1] - (ab[5] * x - ab[3] * z) - (r * mx - p * mz)
    az = aa[2] - ab[2] - (ab[3] * y - ab[4] * x) - (p * my - q * mx)
    return ws.marker.R[b, 0, c] * ax + ws.marker.R[b, 1, c] * ay + ws.marker.R[b, 2, c] * az


@dataclass(frozen=True)
class SensorPart:
    """Sensors of a system: `tables` and `places` (names in their order) for `measure`; the others by name.

    `others` follow from what a result holds anyway: joint coordinates, reactions, energies, expressions of
    channels, and stresses as `q @ stress_rows(model, name)`.
    """

    tables: SensorTables
    places: tuple[str, ...]
    others: tuple[str, ...]


def collect_sensors(model: Model, markers: Markers) -> Callable[[], SensorPart]:
    """First pass over the sensors; the function that is returned makes their tables (compare `collect`)."""
    rows, places, others = [], [], []
    for name, sensor in model.sensors.items():
        if sensor.type not in PLACES:
            others.append(name)
            continue
        markers.where = f"sensors.{name}"
        rows.append(
            (
                PLACES[sensor.type],
                markers.get(sensor.on or GROUND, sensor.at),
                markers.get(sensor.relative_to),
            )
        )
        places.append(name)

    def finish() -> SensorPart:
        numbers = [(kind, mark.number, ref.number) for kind, mark, ref in rows]
        table = np.array(numbers, dtype=np.int64).reshape(-1, 3)
        return SensorPart(
            SensorTables(*(np.ascontiguousarray(column) for column in table.T)), tuple(places), tuple(others)
        )

    return finish


def stress_rows(model: Model, name: str) -> NDArray[np.float64]:
    """Stress at the place of a "stress" sensor by mode (nf, 6), xx yy zz xy yz zx: times q it is the stress.

    The place is an interface's first node, or the node nearest to the sensor's place; for stresses of cells
    the first cell at that node.
    """
    sensor = model.sensors[name]
    body = model.bodies.get(str(sensor.on).partition(".")[0])
    stress = body.modal.stress if isinstance(body, FlexibleBody) else None
    if not isinstance(body, FlexibleBody) or stress is None:
        what = f'"{sensor.on}" has no stress modes'
        raise InputError(
            Diagnostic(
                "sensor.stress", f"sensors.{name}", what, "reduce the body with --stress nodes or cells"
            )
        )
    modal, modes = body.modal, slice(None) if body.modes is None else np.asarray(body.modes)
    node = _stress_node(body, sensor)
    if modal.stress_at == "nodes":
        return np.asarray(stress[modes][:, node])
    start = 0
    for cells in modal.mesh.cells.values():
        found = np.flatnonzero((cells == node).any(axis=1))
        if len(found):
            return np.asarray(stress[modes][:, start + int(found[0])])
        start += len(cells)
    what = f"node {modal.mesh.node_number[node]} belongs to no cell"
    raise InputError(Diagnostic("sensor.stress", f"sensors.{name}", what, "choose another place"))


def _stress_node(body: FlexibleBody, sensor: Any) -> int:
    """Index of the node that a stress sensor names."""
    mesh, frame = body.modal.mesh, str(sensor.on).partition(".")[2]
    place = sensor.at if sensor.at is not None else body.frames.get(frame)
    if place is None and frame in body.modal.interfaces:
        return int(body.modal.interfaces[frame].nodes[0])
    if place is None:
        what = "a stress needs a place on the body"
        raise InputError(Diagnostic("sensor.stress", f"sensors.{sensor.name}", what, "give at = ..."))
    if place.node is not None:
        return int(mesh.node_indices(place.node, f"sensors.{sensor.name}")[0])
    x = place.nearest if place.nearest is not None else place.at if place.at is not None else place.pos
    distance = np.linalg.norm(mesh.points - np.asarray(x, dtype=float), axis=1)
    return int(np.argmin(np.where(mesh.used_nodes(), distance, np.inf)))
