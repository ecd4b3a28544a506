"""Parametric shells: a rectangle of the unit square mapped to space, read as any shell cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.sections import ShellData, ShellSection

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def surface(
    place: Callable[[Floats, Floats], Floats],
    divisions: tuple[int, int],
    element: str,
    section: ShellSection,
    sets: Mapping[str, Callable[[Floats, Floats], NDArray[np.bool_]]],
    closed: bool = False,
) -> Mesh:
    """Shell `place(s, t)` (n, 3) of s, t in 0 ... 1; normal along the derivative by s times that by t.

    Quadrilaterals are split along one diagonal into triangles. `closed`: s = 1 is s = 0. `sets` of
    nodes by s and t; the cell set `surface` is the whole.
    """
    n, m = divisions
    cell = ELEMENTS[element]
    step = cell.order
    along, across = step * n + 1, step * m + 1
    ref = cell.ref_coords[:, :2]
    if cell.family == "tri":
        first = np.round(step * ref).astype(np.int64)
        local = [first, step - first]
    else:
        local = [np.round(0.5 * step * (ref + 1.0)).astype(np.int64)]
    corner = step * np.stack(np.meshgrid(np.arange(n), np.arange(m), indexing="ij"), axis=-1).reshape(
        -1, 1, 2
    )
    places = np.concatenate([corner + part for part in local], axis=1).reshape(-1, len(ref), 2)
    i = places[..., 0] % (along - 1) if closed else places[..., 0]
    used, cells = np.unique(i * across + places[..., 1], return_inverse=True)
    s, t = used // across / (along - 1), used % across / (across - 1)
    rows = {element: cells.reshape(len(places), -1)}
    node_sets = {name: np.flatnonzero(inside(s, t)) for name, inside in sets.items()}
    shell, every = ShellData.uniform(rows, section), {"surface": {element: np.arange(len(places))}}
    return Mesh(place(s, t), rows, node_sets=node_sets, cell_sets=every, source="shell", shell=shell)


#: sides of the unit square
SIDES: dict[str, Callable[[Floats, Floats], NDArray[np.bool_]]] = {
    "s_min": lambda s, t: s == 0.0,
    "s_max": lambda s, t: s == 1.0,
    "t_min": lambda s, t: t == 0.0,
    "t_max": lambda s, t: t == 1.0,
}


def flat_shell(
    size: Floats, corner: Floats, divisions: tuple[int, int], element: str, section: ShellSection
) -> Mesh:
    """Rectangle in the x-y plane, normal along z; sets x_min ... y_max."""

    def place(s: Floats, t: Floats) -> Floats:
        return np.column_stack([corner[0] + size[0] * s, corner[1] + size[1] * t, corner[2] + 0.0 * s])

    names = dict(zip(("x_min", "x_max", "y_min", "y_max"), SIDES.values(), strict=True))
    return surface(place, divisions, element, section, names)


def round_shell(
    radius: float,
    length: float,
    origin: Floats,
    divisions: tuple[int, int],
    element: str,
    section: ShellSection,
) -> Mesh:
    """Cylinder along z from its base centre, normal outward; sets z_min, z_max."""

    def place(s: Floats, t: Floats) -> Floats:
        angle = 2.0 * np.pi * s
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), length * t]) + origin

    names = {"z_min": SIDES["t_min"], "z_max": SIDES["t_max"]}
    return surface(place, divisions, element, section, names, closed=True)
