"""Node sets by place: plane, box, cylinder, sphere, nearest node, on any mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, Diagnostics, InputError, nearest
from flexmbs.fe.check.mesh import size_of
from flexmbs.fe.mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-6  # of the size of the mesh
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class _Wrong(Exception):
    """A place that is not well formed; becomes a Diagnostic with its key."""


@dataclass(frozen=True)
class _Field:
    """Reads the values of one place, given as a table or as a list in the order of `names`."""

    given: dict[str, Any]

    @classmethod
    def of(cls, value: Any, names: tuple[str, ...]) -> _Field:
        if isinstance(value, Mapping):
            for key in value:
                if key not in names:
                    raise _Wrong(f'unknown key "{key}"; {nearest(key, names)}')
            return cls(dict(value))
        if isinstance(value, list | tuple | np.ndarray) and len(value) <= len(names):
            return cls(dict(zip(names, value, strict=False)))
        raise _Wrong(f"takes a table or a list of {', '.join(names)}")

    def vector(self, name: str, default: Any = None) -> Floats:
        value = self.given.get(name, default)
        if isinstance(value, str) and value in AXES:
            value = AXES[value]
        try:
            result = np.array(value, dtype=float)
        except (TypeError, ValueError):
            result = np.zeros(0)
        if result.shape != (3,) or not np.isfinite(result).all():
            choices = ", or x, y, z" if name in ("axis", "normal") else ""
            raise _Wrong(f"{name} must be three numbers{choices}")
        return result

    def direction(self, name: str, default: Any = None) -> Floats:
        value = self.vector(name, default)
        length = float(np.linalg.norm(value))
        if length == 0:
            raise _Wrong(f"{name} must not be zero")
        return value / length

    def number(self, name: str) -> float:
        value = self.given.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise _Wrong(f"{name} must be a number")
        return float(value)


def _plane(points: Floats, value: Any, tolerance: float) -> NDArray[np.bool_]:
    """{ point, normal }, or { x = 0.1 } and alike."""
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in AXES:
        (axis,) = value
        return np.abs(points[:, "xyz".index(axis)] - _Field(dict(value)).number(axis)) <= tolerance
    place = _Field.of(value, ("point", "normal"))
    return np.abs((points - place.vector("point")) @ place.direction("normal")) <= tolerance


def _box(points: Floats, value: Any, tolerance: float) -> NDArray[np.bool_]:
    """Two opposite corners; everything inside."""
    place = _Field.of(value, ("from", "to"))
    corners = np.array([place.vector("from"), place.vector("to")])
    low, high = corners.min(axis=0) - tolerance, corners.max(axis=0) + tolerance
    return ((points >= low) & (points <= high)).all(axis=1)


def _within(distance: Floats, place: _Field, tolerance: float) -> NDArray[np.bool_]:
    """On the surface at the radius, or with `inside = true` up to it."""
    radius = place.number("radius")
    if radius <= 0:
        raise _Wrong("radius must be positive")
    inside = place.given.get("inside", False)
    if not isinstance(inside, bool):
        raise _Wrong("inside must be true or false")
    return distance <= radius + tolerance if inside else np.abs(distance - radius) <= tolerance


def _cylinder(points: Floats, value: Any, tolerance: float) -> NDArray[np.bool_]:
    """{ point, axis, radius } with `length` from the point along the axis (default: endless)."""
    place = _Field.of(value, ("point", "axis", "radius", "length", "inside"))
    axis, arm = place.direction("axis"), points - place.vector("point")
    along = arm @ axis
    chosen = _within(np.linalg.norm(arm - along[:, None] * axis, axis=1), place, tolerance)
    if "length" in place.given:
        chosen &= (along >= -tolerance) & (along <= place.number("length") + tolerance)
    return chosen


def _sphere(points: Floats, value: Any, tolerance: float) -> NDArray[np.bool_]:
    place = _Field.of(value, ("center", "radius", "inside"))
    return _within(np.linalg.norm(points - place.vector("center"), axis=1), place, tolerance)


def _nearest(points: Floats, value: Any, tolerance: float) -> NDArray[np.bool_]:
    """The node nearest to a point, or to each of several."""
    try:
        wanted = np.array(value, dtype=float)
    except (TypeError, ValueError):
        wanted = np.zeros(0)
    if wanted.size == 0 or wanted.shape[-1] != 3 or not np.isfinite(wanted).all():
        raise _Wrong("takes a point [x, y, z], or a list of points")
    chosen = np.zeros(len(points), dtype=bool)
    for point in wanted.reshape(-1, 3):
        chosen[np.argmin(np.linalg.norm(points - point, axis=1))] = True
    return chosen


PLACES: dict[str, Callable[[Floats, Any, float], NDArray[np.bool_]]] = {
    "plane": _plane,
    "box": _box,
    "cylinder": _cylinder,
    "sphere": _sphere,
    "nearest": _nearest,
}


def pick_nodes(mesh: Mesh, places: Mapping[str, Any], where: str = "sets") -> Ints:
    """Sorted indices of the nodes at a place, in metres; several places: the nodes common to all.

    places : `plane`, `box`, `cylinder`, `sphere`, `nearest`, and `tolerance` [m], by default 1e-6 of the mesh
    """
    found = Diagnostics()
    tolerance = places.get("tolerance", TOLERANCE * size_of(mesh))
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < np.inf:
        found.error("sets.tolerance", f"{where}.tolerance", "must be a length, not negative")
        tolerance = 0.0
    names = [name for name in places if name != "tolerance"]
    if not names:
        found.error("sets.place", where, "names no place", f"choices: {', '.join(PLACES)}")
    chosen = mesh.used_nodes() if mesh.n_cells else np.ones(mesh.n_nodes, dtype=bool)
    for name in names:
        if name not in PLACES:
            found.error("sets.place", where, f'unknown place "{name}"', nearest(name, [*PLACES, "tolerance"]))
            continue
        try:
            chosen = chosen & PLACES[name](mesh.points, places[name], float(tolerance))
        except _Wrong as wrong:
            found.error("sets.place", f"{where}.{name}", str(wrong))
    found.raise_errors()
    if not chosen.any():
        low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
        span = " x ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(low, high, strict=True))
        remedy = f"tolerance is {tolerance:.3g} m, the mesh fills {span} m"
        raise InputError(Diagnostic("mesh.empty_set", where, "no node lies there", remedy))
    return np.flatnonzero(chosen)


def with_picked_sets(mesh: Mesh, sets: Mapping[str, Mapping[str, Any]], where: str = "sets") -> Mesh:
    """The mesh with node sets by place, name -> places (`[sets]` of a recipe, in metres)."""
    found, picked = Diagnostics(), {}
    for name, places in sets.items():
        if mesh.set_kinds(name):
            found.error(
                "sets.name", f"{where}.{name}", "the mesh has a set of this name", "choose another name"
            )
            continue
        try:
            picked[name] = pick_nodes(mesh, places, f"{where}.{name}")
        except InputError as error:
            found.extend(error.diagnostics)
    found.raise_errors()
    return mesh.with_sets(picked)
