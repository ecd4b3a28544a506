"""What chosen nodes look like, the place of a recipe that holds them alone, and where a frame belongs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.check.mesh import size_of
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sets import AXES, pick_nodes
from flexmbs.modal.bores import fitted_cylinder

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FREE = "free form"
FLAT, ROUND = 1e-6, 1e-5  # of the size of the mesh; of the radius
LARGEST = 10.0  # radius, of the size of the mesh
LEAST_ROUND = 5  # nodes of a circle: four lie on one in any rectangle
DIGITS, NOTHING = 10, 1e-14  # of numbers in a recipe


@dataclass(frozen=True)
class Kind:
    """In words; `place`: of a recipe, empty where there is none.

    centre : to which a frame is snapped, None for the middle of the faces;  where : what that point is
    """

    name: str
    place: dict[str, Any] = field(default_factory=dict)
    centre: Floats | None = None
    where: str = "at their middle"


def kind_of(points: Floats, size: float) -> Kind:
    """What the nodes of faces are."""
    centre = points.mean(axis=0)
    off = points - centre
    normal = _normal(off)
    if normal is not None and np.abs(off @ normal).max() <= FLAT * size:
        return Kind("plane", _box(points) | {"plane": _plane(centre, normal)}, where="at their centroid")
    found = fitted_cylinder(off) if len(points) >= 6 else None
    if found is not None:
        c, axis, r = found
        arm = off - c
        along = arm @ axis
        across = np.linalg.norm(arm - along[:, None] * axis, axis=1)
        if np.abs(across - r).max() <= ROUND * r and r < LARGEST * size:
            start = centre + c + along.min() * axis
            place = {"point": _round(start), "axis": _axis(axis), "radius": _round(r)}
            cylinder = {"cylinder": place | {"length": _round(np.ptp(along))}}
            middle = start + 0.5 * np.ptp(along) * axis
            return Kind(f"cylinder r {1e3 * r:.4g} mm", cylinder, middle, "on the axis")
    found_sphere = _fitted_ball(off)
    if found_sphere is not None and found_sphere[1] < LARGEST * size:
        c, r = found_sphere
        place = {"center": _round(centre + c), "radius": _round(r)}
        return Kind(f"sphere r {1e3 * r:.4g} mm", {"sphere": place}, centre + c, "at the centre")
    return Kind(FREE)


def kind_of_edge(points: Floats, size: float) -> Kind:
    """What the nodes of an edge are: a line, a circle or part of one, a curve."""
    centre = points.mean(axis=0)
    off = points - centre
    along = np.linalg.svd(off, full_matrices=False)[2][0]
    reach = off @ along
    if np.linalg.norm(off - np.outer(reach, along), axis=1).max() <= FLAT * size:
        start, length = centre + reach.min() * along, float(np.ptp(reach))
        place = {"point": _round(start), "axis": _axis(along), "radius": _round(FLAT * size), "inside": True}
        middle = start + 0.5 * length * along
        line = {"cylinder": place | {"length": _round(length)}}
        return Kind(f"line of {1e3 * length:.4g} mm", line, middle, "at its middle")
    normal = _normal(off)
    flat = normal is not None and np.abs(off @ normal).max() <= FLAT * size
    found = _fitted_ball(off) if normal is not None and flat and len(points) >= LEAST_ROUND else None
    if found is None or normal is None or found[1] >= LARGEST * size:
        return Kind("curve")
    c, r = found
    place = {"point": _round(centre + c), "axis": _axis(normal), "radius": _round(r)}
    circle = {"plane": _plane(centre, normal), "cylinder": place}
    return Kind(f"circle r {1e3 * r:.4g} mm", circle, centre + c, "at the centre")


def place_of(mesh: Mesh, nodes: Ints, edge: bool = False) -> tuple[Kind, dict[str, Any]]:
    """Kind of a choice of nodes, and the place of a recipe that holds them and no others; node by node where
    no shape does."""
    points, size = mesh.points[nodes], size_of(mesh)
    kinds = [kind_of(points, size), kind_of_edge(points, size)]
    kinds = kinds[::-1] if edge else kinds
    for kind in kinds:
        for place in (kind.place, kind.place | _box(points)) if kind.place else ():
            if np.array_equal(pick_nodes(mesh, place), nodes):
                return kinds[0], place
    return kinds[0], {"nearest": _round(points)}


def _fitted_ball(off: Floats) -> tuple[Floats, float] | None:
    """Centre and radius of the sphere, or in a plane of the circle, through all points; None where there is
    none."""
    A = np.column_stack([2.0 * off, np.ones(len(off))])
    found = np.linalg.lstsq(A, (off**2).sum(axis=1), rcond=1e-9)[0]
    r = float(np.sqrt(max(found[3] + found[:3] @ found[:3], 0.0)))
    if r > 0.0 and np.abs(np.linalg.norm(off - found[:3], axis=1) - r).max() <= ROUND * r:
        return found[:3], r
    return None


def _normal(off: Floats) -> Floats | None:
    """Direction in which points about their mean reach least; None of fewer than three."""
    return np.asarray(np.linalg.svd(off, full_matrices=False)[2][2]) if len(off) > 2 else None


def _plane(centre: Floats, normal: Floats) -> dict[str, Any]:
    k = int(np.argmax(np.abs(normal)))
    if abs(normal[k]) > 1.0 - 1e-12:
        return {"xyz"[k]: _round(centre[k])}
    return {"point": _round(centre), "normal": _round(normal)}


def _box(points: Floats) -> dict[str, Any]:
    return {"box": [_round(points.min(axis=0)), _round(points.max(axis=0))]}


def _axis(axis: Floats) -> Any:
    for name, unit in AXES.items():
        if np.allclose(axis, unit, atol=1e-9, rtol=0):
            return name
    return _round(axis)


def _round(values: Any) -> Any:
    """Numbers as a person would write them."""
    given = np.asarray(values, dtype=float)
    return np.vectorize(lambda x: float(f"{x:.{DIGITS}g}") if abs(x) > NOTHING else 0.0)(given).tolist()
