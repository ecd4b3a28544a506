"""Orders in which programs list the nodes of a cell, against ours, that of VTK; other cells are alike in all.

`ORDERS[program][kind]`: places in the file of the nodes in our order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: vertical mid-nodes before those of the top
_VERTICALS_FIRST = {
    "hex20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
    "wedge15": [*range(9), 12, 13, 14, 9, 10, 11],
}
#: round: corner, mid-node, corner, ...
_RINGS = {
    "tet10": [0, 2, 4, 9, 1, 3, 5, 6, 7, 8],
    "hex20": [0, 2, 4, 6, 12, 14, 16, 18, 1, 3, 5, 7, 13, 15, 17, 19, 8, 9, 10, 11],
    "wedge15": [0, 2, 4, 9, 11, 13, 1, 3, 5, 10, 12, 14, 6, 7, 8],
    "tri6": [0, 2, 4, 1, 3, 5],
    "quad8": [0, 2, 4, 6, 1, 3, 5, 7],
    "line3": [0, 2, 1],
}
_GMSH_HEX20 = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15]

ORDERS = {
    "abaqus": {"hex27": [*range(20), 26, 24, 23, 25, 21, 22, 20]},  # centre, then the faces S1 ... S6
    "aster": {  # of hex27 then the faces: bottom, sides, top; centre
        **_VERTICALS_FIRST,
        "hex27": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15, 24, 22, 21, 23, 20, 25, 26],
    },
    "fedem": _RINGS,
    "gmsh": {
        "tet10": [0, 1, 2, 3, 4, 5, 6, 7, 9, 8],
        "hex20": _GMSH_HEX20,
        "hex27": [*_GMSH_HEX20, 22, 23, 21, 24, 20, 25, 26],
        "wedge15": [0, 1, 2, 3, 4, 5, 6, 9, 7, 12, 14, 13, 8, 10, 11],
        "pyramid13": [0, 1, 2, 3, 4, 5, 8, 10, 6, 7, 9, 11, 12],
    },
    "nastran": _VERTICALS_FIRST,
    "unv": _RINGS,
    "vtk axes": {"quad4": [0, 1, 3, 2], "hex8": [0, 1, 3, 2, 4, 5, 7, 6]},  # pixels, voxels
}


def in_our_order(nodes: NDArray, kind: str, program: str) -> NDArray:
    """Nodes (n_cells, n_nodes) as a program lists them, in our order."""
    order = ORDERS[program].get(kind)
    return nodes if order is None else np.asarray(nodes[:, order])
