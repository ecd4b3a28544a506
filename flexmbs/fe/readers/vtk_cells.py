"""What VTK legacy and VTU files share: cell types, and sets out of data arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.readers.raw import Block, RawMesh
from flexmbs.fe.readers.source import Damaged, Floats, Ints, to_ints

# type number -> (name, number of nodes; 0: as many as the cell has)
TYPES = {
    1: ("point1", 1), 3: ("line2", 2), 5: ("tri3", 3), 8: ("pixel", 4), 9: ("quad4", 4), 10: ("tet4", 4),
    11: ("voxel", 8), 12: ("hex8", 8), 13: ("wedge6", 6), 14: ("pyramid5", 5), 21: ("line3", 3),
    22: ("tri6", 6), 23: ("quad8", 8), 24: ("tet10", 10), 25: ("hex20", 20), 26: ("wedge15", 15),
    27: ("pyramid13", 13), 28: ("quad9", 9), 29: ("hex27", 27), 34: ("tri7", 7),
}  # fmt: skip
NAMES = {
    2: "poly-vertex", 4: "poly-line", 6: "triangle strip", 7: "polygon", 15: "pentagonal prism",
    16: "hexagonal prism", 30: "quadratic-linear quad", 31: "quadratic-linear wedge", 32: "wedge18",
    33: "hex24", 37: "pyramid19", 41: "convex point set", 42: "polyhedron", 68: "Lagrange curve",
    69: "Lagrange triangle", 70: "Lagrange quadrilateral", 71: "Lagrange tetrahedron",
    72: "Lagrange hexahedron", 73: "Lagrange wedge", 74: "Lagrange pyramid",
}  # fmt: skip
# pixels and voxels count along the axes
ALONG_AXES = {"pixel": "quad4", "voxel": "hex8"}
MOST_VALUES = 1000  # an integer array with more different values is data, not sets
FEW = 8  # in more entries than this, values that are all different are numbers, not sets
NOT_SETS = {"vtkghosttype", "vtkoriginalcellids", "vtkoriginalpointids", "globalnodeid", "globalelementid"}


@dataclass
class Grid:
    """A grid as VTK stores it: cell c has the nodes connectivity[offsets[c] : offsets[c + 1]]."""

    points: Floats
    types: Ints
    offsets: Ints
    connectivity: Ints
    point_data: dict[str, NDArray] = field(default_factory=dict)
    cell_data: dict[str, NDArray] = field(default_factory=dict)


def to_raw(grid: Grid) -> RawMesh:
    """Numbers from 1 on, or from arrays `node_number`, `cell_number`; sets from integer arrays."""
    check_offsets(grid)
    n_cells = len(grid.types)
    node_number = numbering(grid.point_data, "node_number", len(grid.points))
    cell_number = numbering(grid.cell_data, "cell_number", n_cells)
    raw = RawMesh(node_number, grid.points)
    bad = (grid.connectivity < 0) | (grid.connectivity >= len(grid.points))
    if bad.any():
        what = f"cells refer to point {int(grid.connectivity[bad][0])}; there are {len(grid.points)}"
        raise Damaged(what, remedy="write the mesh again")
    for number in np.unique(grid.types):
        cells = np.flatnonzero(grid.types == number)
        name, n_nodes = TYPES.get(int(number), (NAMES.get(int(number), f"VTK type {number}"), 0))
        if n_nodes == 0:
            raw.unsupported[name] = len(cells)
            continue
        length = grid.offsets[cells + 1] - grid.offsets[cells]
        if (length != n_nodes).any():
            wrong = int(length[length != n_nodes][0])
            raise Damaged(f"a cell of type {name} has {wrong} nodes, not {n_nodes}")
        nodes = grid.connectivity[grid.offsets[cells][:, None] + np.arange(n_nodes)]
        if name in ALONG_AXES:
            name = ALONG_AXES[name]
            nodes = in_our_order(nodes, name, "vtk axes")
        raw.blocks.append(Block(name, cell_number[cells], node_number[nodes]))
    raw.node_sets = sets_of(grid.point_data, node_number)
    raw.cell_sets = sets_of(grid.cell_data, cell_number)
    return raw


def check_offsets(grid: Grid) -> None:
    sizes = np.diff(grid.offsets)
    if len(grid.offsets) != len(grid.types) + 1 or (sizes < 0).any() or grid.offsets[0] != 0:
        raise Damaged("offsets of the cells do not fit their types", remedy="write the mesh again")
    if grid.offsets[-1] > len(grid.connectivity):
        raise Damaged(f"cells claim {grid.offsets[-1]} nodes; there are {len(grid.connectivity)}")


def numbering(data: dict[str, NDArray], name: str, count: int) -> Ints:
    if name in data and data[name].shape == (count,) and data[name].dtype.kind in "iu":
        return to_ints(data.pop(name))
    return np.arange(1, count + 1, dtype=np.int64)


def sets_of(data: dict[str, NDArray], number: Ints) -> dict[str, list[Ints]]:
    """Sets of integer arrays: 0 and 1 only, the set of the ones, by the name of the array; several values,
    one set NAME_VALUE each. Values -1 mean no set, names joined by "-" count from 0 (the way of meshio).
    """
    sets: dict[str, list[Ints]] = {}
    for name, values in data.items():
        if values.ndim != 1 or values.dtype.kind not in "iub" or name.lower() in NOT_SETS:
            continue
        if len(values) != len(number):
            raise Damaged(f'data array "{name}" has {len(values)} values for {len(number)} entries')
        found = np.unique(values)
        if len(found) > MOST_VALUES or len(found) == len(values) > FEW:
            continue
        for value, label in labels(name, found):
            sets[label] = [number[values == value]]
    return sets


def labels(name: str, found: NDArray) -> list[tuple[int, str]]:
    """Pairs of value and set name."""
    values = [int(value) for value in found]
    parts = name.split("-")
    if values and values[0] == -1 and 0 <= values[-1] < len(parts):
        return [(value, parts[value]) for value in values if value >= 0]
    if set(values) <= {0, 1}:
        return [(1, name)]
    return [(value, f"{name}_{value}") for value in values]
