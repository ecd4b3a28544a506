"""Node orders that go round: corner, mid-node, corner, ... (universal files, openFEDEM)."""

from __future__ import annotations

#: positions of the nodes in the file, in VTK order
RINGS = {
    "tet10": [0, 2, 4, 9, 1, 3, 5, 6, 7, 8],
    "hex20": [0, 2, 4, 6, 12, 14, 16, 18, 1, 3, 5, 7, 13, 15, 17, 19, 8, 9, 10, 11],
    "wedge15": [0, 2, 4, 9, 11, 13, 1, 3, 5, 10, 12, 14, 6, 7, 8],
    "tri6": [0, 2, 4, 1, 3, 5],
    "quad8": [0, 2, 4, 6, 1, 3, 5, 7],
    "line3": [0, 2, 1],
}
#: vertical mid-nodes before those of the top (Nastran, Code_Aster)
VERTICALS_FIRST = {
    "hex20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
    "wedge15": [*range(9), 12, 13, 14, 9, 10, 11],
}
