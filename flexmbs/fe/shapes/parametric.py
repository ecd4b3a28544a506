"""Parametric bodies without a file: box and plate, cylinder and tube, beam, shell, points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.fe.attach import PointMass
from flexmbs.fe.beams import BeamData, Section
from flexmbs.fe.elements import SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sections import section_from as beam_section
from flexmbs.fe.shapes.lattice import (
    BRICKS,
    TETS,
    Place,
    Plane,
    extrude,
    grid,
    lattice_mesh,
    mapped,
    merged,
    straightened,
)
from flexmbs.fe.shapes.shell import flat_shell, round_shell
from flexmbs.fe.shells.sections import section_from

Floats = NDArray[np.float64]

MAX_CELLS = 2_000_000


def box(
    size: ArrayLike, divisions: Sequence[int], corner: ArrayLike | None = None, element: str = "hex20"
) -> Mesh:
    """Box or plate with edges along the axes, centred unless its lowest `corner` is given [m].

    Node and face sets x_min, x_max, ... z_max.
    """
    length = _numbers("size", size, 3, positive=True)
    low = -0.5 * length if corner is None else _numbers("corner", corner, 3)
    n = _divisions(divisions, 3)
    _require_element(element)
    axes = [np.linspace(low[k], low[k] + length[k], 2 * n[k] + 1) for k in range(3)]
    points, lattices = extrude(grid(axes[0], axes[1]), axes[2])
    return lattice_mesh(points, lattices, element, _extremes(low, low + length), "box")


def _extremes(low: Floats, high: Floats, axes: str = "xyz") -> dict[str, Place]:
    """Places x_min ... z_max of a range of coordinates."""

    def at(k: int, value: float) -> Place:
        return lambda points: np.abs(points[:, k] - value) <= 1e-9 * (high - low).max()

    places = {}
    for k, axis in enumerate("xyz"):
        if axis in axes:
            places[f"{axis}_min"], places[f"{axis}_max"] = at(k, low[k]), at(k, high[k])
    return places


def cylinder(
    radius: float,
    length: float,
    divisions: Sequence[int],
    inner_radius: float = 0.0,
    origin: ArrayLike = (0.0, 0.0, 0.0),
    element: str = "hex20",
) -> Mesh:
    """Cylinder or tube along z from its base centre `origin` [m]; quadratic elements follow the curve.

    divisions (radial, around, along). A full cylinder has a square core of (around / 4)^2 cells, so `around`
    is a multiple of 4, and `radial` counts the layers around the core. Sets z_min, z_max, outer, inner.
    """
    R, r, h = (
        float(_numbers(key, [v], 1)[0])
        for key, v in (("radius", radius), ("inner_radius", inner_radius), ("length", length))
    )
    if not (0.0 <= r < R and h > 0.0):
        raise _error(
            "radius, inner_radius, length", f"{R}, {r}, {h}", "0 <= inner_radius < radius and length > 0"
        )
    n = _divisions(divisions, 3)
    if n[1] < 4 or (r == 0.0 and n[1] % 4):
        raise _error("divisions", f"{n[1]} around", "at least 4; a multiple of 4 for a full cylinder")
    _require_element(element)
    plane = straightened(_ring(R, r, n) if r > 0.0 else _disc(R, n), _on_circles(R, r), element)
    points, lattices = extrude(plane, np.linspace(0.0, h, 2 * n[2] + 1))
    places = _extremes(np.zeros(3), np.array([0.0, 0.0, h]), "z")
    places["outer"] = lambda x: np.abs(np.hypot(x[:, 0], x[:, 1]) - R) <= 1e-9 * R
    if r > 0.0:
        places["inner"] = lambda x: np.abs(np.hypot(x[:, 0], x[:, 1]) - r) <= 1e-9 * R
    mesh = lattice_mesh(points, lattices, element, places, "cylinder")
    object.__setattr__(mesh, "points", mesh.points + _numbers("origin", origin, 3))
    return mesh


def _on_circles(R: float, r: float) -> Place:
    def place(x: Floats) -> NDArray[np.bool_]:
        radius = np.hypot(x[:, 0], x[:, 1])
        return (np.abs(radius - R) <= 1e-9 * R) | ((np.abs(radius - r) <= 1e-9 * R) & (r > 0.0))

    return place


def _polar(points: Floats) -> Floats:
    return np.column_stack([points[:, 0] * np.cos(points[:, 1]), points[:, 0] * np.sin(points[:, 1])])


def _ring(R: float, r: float, n: list[int]) -> Plane:
    flat = grid(np.linspace(r, R, 2 * n[0] + 1), np.linspace(0.0, 2.0 * np.pi, 2 * n[1] + 1))
    return merged([mapped(flat, _polar)], R)


def _disc(R: float, n: list[int]) -> Plane:
    """Square core of half the radius, and four sectors that blend its sides into the circle."""
    side = np.linspace(-1.0, 1.0, n[1] // 2 + 1)
    core = mapped(grid(side, side), lambda x: 0.5 * R * x)
    sector = grid(np.linspace(0.0, 1.0, 2 * n[0] + 1), side)

    def turned(quarter: int) -> Callable[[Floats], Floats]:
        def place(x: Floats) -> Floats:
            s, t = x[:, :1], x[:, 1:]
            straight = 0.5 * R * np.hstack([np.ones_like(t), t])
            curved = R * np.hstack([np.cos(0.25 * np.pi * t), np.sin(0.25 * np.pi * t)])
            blend = (1.0 - s) * straight + s * curved
            c, d = ((1, 0), (0, 1), (-1, 0), (0, -1))[quarter]
            return blend @ np.array([[c, d], [-d, c]], dtype=float)

        return place

    return merged([core, *(mapped(sector, turned(quarter)) for quarter in range(4))], R)


def beam(
    section: Section | Mapping[str, Any],
    length: float | None = None,
    nodes: ArrayLike | None = None,
    divisions: int = 1,
    y_axis: ArrayLike | None = None,
    theory: str = "euler-bernoulli",
    rotary_inertia: bool | None = None,
    section_end: Section | Mapping[str, Any] | None = None,
    arcs: bool = False,
    offset: ArrayLike | None = None,
) -> Mesh:
    """Beam along x from the origin, or through `nodes` (n, 3); `divisions` elements per straight piece.

    section_end : the sizes go over to these along the beam, those of every element are at its middle
    offset : of the axis from the nodes, along y and z of the section
    arcs : pieces are arcs of circles from the first node through the second to the third, and so on
    Sets x_min, x_max and those of other axes in which it extends; `start` and `end`.
    """
    if (length is None) == (nodes is None):
        raise _error("length, nodes", "both or neither", "give one of them")
    if nodes is None:
        corners = np.array(
            [[0.0, 0.0, 0.0], [float(_numbers("length", [length], 1, positive=True)[0]), 0.0, 0.0]]
        )
    else:
        corners = _places("nodes", nodes, 2)
    n = _divisions([divisions], 1)[0]
    steps = np.arange(n)[:, None] / n
    if arcs:
        pieces = [arc(corners[k : k + 3], steps) for k in range(0, checked_arcs(corners) - 1, 2)]
    else:
        pieces = [a + steps * (b - a) for a, b in zip(corners[:-1], corners[1:], strict=True)]
    points = np.concatenate([*pieces, corners[-1:]])
    cells = np.column_stack([np.arange(len(points) - 1), np.arange(1, len(points))])
    low, high = points.min(axis=0), points.max(axis=0)
    axes = "".join(axis for k, axis in enumerate("xyz") if high[k] - low[k] > 1e-9 * (high - low).max())
    sets = {name: np.flatnonzero(place(points)) for name, place in _extremes(low, high, axes).items()}
    sets |= {"start": np.array([0]), "end": np.array([len(points) - 1])}
    if y_axis is not None:
        y_axis = _numbers("y_axis", y_axis, 3)
    if rotary_inertia not in (None, True, False):
        raise _error("rotary_inertia", f"{rotary_inertia}", "true or false")
    data = BeamData.uniform(points, cells, section, y_axis, theory, rotary_inertia, offset)
    if section_end is not None:
        size = np.linalg.norm(np.diff(points, axis=0), axis=1)
        middle = (np.cumsum(size) - 0.5 * size) / size.sum()
        beams = tuple(replace(data.beams[0], section=s) for s in between(section, section_end, middle))
        data = replace(data, beams=beams, index=np.arange(len(cells)))
    return Mesh(points, {"beam2": cells}, node_sets=sets, source="beam", beam=data)


def checked_arcs(corners: Floats) -> int:
    if len(corners) % 2 == 0 or len(corners) < 3:
        raise _error(
            "nodes", f"{len(corners)} nodes", "arcs need 3, 5, ...: start, through, end, through, ..."
        )
    return len(corners)


def arc(corners: Floats, steps: Floats) -> Floats:
    """Places (n, 3) at the shares `steps` (n, 1) of the arc of a circle through three corners (3, 3)."""
    a, b, c = corners
    u, v = b - a, c - a
    n = np.cross(u, v)
    if not np.linalg.norm(n) > 1e-9 * np.linalg.norm(u) * np.linalg.norm(v):
        what = f"{b.tolist()} is on the line of its neighbours"
        raise _error("nodes", what, "move it off: three nodes make a circle")
    centre = a + np.cross((u @ u) * v - (v @ v) * u, n) / (2.0 * (n @ n))
    x = a - centre
    y = np.cross(n / np.linalg.norm(n), x)
    end = np.arctan2((c - centre) @ y, (c - centre) @ x) % (2.0 * np.pi)
    return np.asarray(centre + np.cos(steps * end) * x + np.sin(steps * end) * y)


def between(
    start: Section | Mapping[str, Any], end: Section | Mapping[str, Any], shares: Floats
) -> Iterator[Section]:
    """Sections whose sizes are at shares of the way from one to another of the same shape."""
    one, other = beam_section(start), beam_section(end)
    if one.shape != other.shape or not one.shape:
        what = f"{other.shape or 'numbers'} behind {one.shape or 'numbers'}"
        raise _error("section_end", what, "both are a rectangle, a circle or a tube")
    for share in shares:
        sizes = [float(a + share * (b - a)) for a, b in zip(one.size, other.size, strict=True)]
        found = beam_section({one.shape: sizes if len(sizes) > 1 else sizes[0]})
        yield replace(found, shear_factor=one.shear_factor)


def shell(
    divisions: Sequence[int],
    size: ArrayLike | None = None,
    corner: ArrayLike | None = None,
    radius: float | None = None,
    length: float | None = None,
    origin: ArrayLike = (0.0, 0.0, 0.0),
    element: str = "quad4",
    **section: Any,
) -> Mesh:
    """Plate of `size` in the x-y plane, centred unless its lowest `corner` is given, or cylinder along z
    from its base centre `origin`, with `radius` of the nodes and `length` [m].

    divisions (along x, along y) or (around, along). Section: thickness or layers, offset, axis.
    """
    if element not in SHELLS:
        raise _error("element", f'"{element}"', nearest(element, SHELLS))
    if (size is None) == (radius is None):
        raise _error(
            "size, radius", "both or neither", "give size of a plate, or radius and length of a cylinder"
        )
    n = _divisions(divisions, 2)
    found = section_from(section)
    if size is None:
        if length is None:
            raise _error("length", "is missing for a cylinder", "give it in metres")
        if n[0] < 3:
            raise _error("divisions", f"{divisions}", "at least three cells around")
        r, h = (
            float(_numbers(key, [x], 1, positive=True)[0])
            for key, x in (("radius", radius), ("length", length))
        )
        return round_shell(r, h, _numbers("origin", origin, 3), (n[0], n[1]), element, found)
    sides = _numbers("size", size, 2, positive=True)
    low = np.array([*(-0.5 * sides), 0.0]) if corner is None else _numbers("corner", corner, 3)
    return flat_shell(sides, low, (n[0], n[1]), element, found)


def points(places: ArrayLike, masses: ArrayLike, inertias: Any = None) -> tuple[Mesh, list[PointMass]]:
    """Nodes without elements (n, 3), with masses (n,) and, if given, inertias (n, 3, 3) or (n, 3)."""
    where = _places("points", places, 1)
    weight = _numbers("masses", masses, len(where))
    tensors: Any = [None] * len(where) if inertias is None else inertias
    if not isinstance(tensors, list | tuple | np.ndarray) or len(tensors) != len(where):
        raise _error("inertias", f"{inertias}", f"one for each of the {len(where)} points")
    mesh = Mesh(where, {}, source="points")
    return mesh, [
        PointMass(float(m), J, node=i) for i, (m, J) in enumerate(zip(weight, tensors, strict=True))
    ]


SHAPES: dict[str, dict[str, str]] = {
    "box": {"size": "size", "corner": "corner", "divisions": "divisions", "element": "element"},
    "plate": {"size": "size", "corner": "corner", "divisions": "divisions", "element": "element"},
    "cylinder": {
        "radius": "radius", "inner_radius": "inner_radius", "length": "length", "origin": "origin",
        "divisions": "divisions", "element": "element",
    },
    "beam": {
        "length": "length", "nodes": "nodes", "y_axis": "y_axis", "divisions": "divisions",
        "theory": "theory", "section": "section", "rotary_inertia": "rotary_inertia",
        "section_end": "section_end", "arcs": "arcs", "offset": "offset",
    },
    "shell": {
        key: key
        for key in (
            "size", "corner", "radius", "length", "origin", "divisions", "element", "thickness", "offset",
            "layers", "axis",
        )
    },
    "points": {"points": "places", "masses": "masses", "inertias": "inertias"},
}  # fmt: skip
SHAPES["tube"] = SHAPES["cylinder"]
REQUIRED = {
    "box": "size divisions", "plate": "size divisions", "cylinder": "radius length divisions",
    "tube": "radius inner_radius length divisions", "beam": "section", "shell": "divisions", "points":
    "points masses",
}  # fmt: skip


def build_shape(table: Mapping[str, Any]) -> tuple[Mesh, list[PointMass]]:
    """Mesh and point masses from the table of a recipe: `shape` and its keys."""
    shape = str(table.get("shape"))
    if shape not in SHAPES:
        raise _error("shape", f'"{shape}"', nearest(shape, list(SHAPES)))
    keys = SHAPES[shape]
    for key in table:
        if key != "shape" and key not in keys:
            raise _error(key, f"unknown key of a {shape}", nearest(key, list(keys)))
    for key in REQUIRED[shape].split():
        if key not in table:
            raise _error(key, f"is missing for a {shape}", f"keys: {', '.join(keys)}")
    arguments = {keys[key]: value for key, value in table.items() if key != "shape"}
    if shape == "points":
        return points(**arguments)
    build = {"box": box, "plate": box, "cylinder": cylinder, "tube": cylinder, "beam": beam, "shell": shell}[
        shape
    ]
    return build(**arguments), []  # type: ignore[operator]


def _places(key: str, value: Any, least: int) -> Floats:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] != 3 or len(array) < least or not np.isfinite(array).all():
        raise _error(key, f"{value}", f"at least {least} point{'s' if least > 1 else ''} [x, y, z]")
    return array


def _numbers(key: str, value: Any, n: int, positive: bool = False) -> Floats:
    try:
        array = np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
    if array.shape != (n,) or not np.isfinite(array).all() or (positive and array.min() <= 0.0):
        shown = value.tolist() if isinstance(value, np.ndarray) else value
        raise _error(key, f"{shown}", f"expected {n} {'positive ' if positive else ''}numbers")
    return array


def _divisions(value: Any, n: int) -> list[int]:
    numbers = np.asarray(value, dtype=object).ravel()
    good = all(isinstance(x, int | np.integer) and not isinstance(x, bool) and x >= 1 for x in numbers)
    if len(numbers) != n or not good:
        raise _error("divisions", f"{value}", f"expected {n} whole numbers from 1")
    if prod(int(x) for x in numbers) > MAX_CELLS:
        raise _error("divisions", f"{value}", f"a shape has at most {MAX_CELLS} cells")
    return [int(x) for x in numbers]


def _require_element(element: str) -> None:
    if element not in (*BRICKS, *TETS):
        raise _error("element", f'"{element}"', nearest(element, [*BRICKS, *TETS]))


def _error(key: str, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("mesh.shape", f"mesh.{key}", what, remedy))
