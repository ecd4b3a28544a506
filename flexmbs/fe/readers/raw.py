"""What a reader finds in a file, by the numbers of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic
from flexmbs.fe.deck import Deck
from flexmbs.fe.elements import ELEMENTS, plain_name
from flexmbs.fe.mesh import CELL_TYPES, Ints, unique
from flexmbs.fe.readers.source import Floats

SOLIDS = tuple(kind for kind in CELL_TYPES if ELEMENTS[kind].faces and kind == plain_name(kind))
FLAT = {"tri3": 3, "tri6": 3, "tri7": 3, "quad4": 4, "quad8": 4, "quad9": 4}  # number of corners
LINES = ("point1", "line2", "line3")
INCOMPLETE = "the file is incomplete: write it again"
FREE_FACES = -2  # in place of a local face: all faces of the cell that are on the skin
LISTED = 5  # numbers shown in a message


@dataclass
class Block:
    """Cells of one type: element numbers (n,), node numbers (n, k) in VTK order."""

    kind: str
    number: Ints
    nodes: Ints


@dataclass
class RawMesh:
    """Content of a mesh file in its own numbers.

    node_sets : name -> parts: arrays of node numbers, or ranges (first, last, step)
    cell_sets : name -> parts: element numbers of any dimension, or ranges
    faces : name -> parts: (n, 3 or 4) corner node numbers
    local_faces : name -> parts: (element numbers (n,), local face (n,)); -1 for the one face of a flat
        cell, FREE_FACES for those on the skin
    structural : flat cells that carry stiffness in the file: element numbers
    left_out : numbers of elements that are in the file and not among the blocks; sets may name them
    length : unit of length [m] where the file states it
    deck : what a deck says beside its mesh; None for formats that hold a mesh only
    frames : gives the axes (columns) in which displacements are counted, of nodes that have their own
    """

    node_number: Ints
    points: Floats
    blocks: list[Block] = field(default_factory=list)
    unsupported: dict[str, int] = field(default_factory=dict)
    node_sets: dict[str, list[Any]] = field(default_factory=dict)
    cell_sets: dict[str, list[Any]] = field(default_factory=dict)
    faces: dict[str, list[Ints]] = field(default_factory=dict)
    local_faces: dict[str, list[tuple[Ints, Ints]]] = field(default_factory=dict)
    structural: list[Ints] = field(default_factory=list)
    left_out: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    deck: Deck | None = None
    length: float | None = None
    notes: list[Diagnostic] = field(default_factory=list)
    frames: Callable[[], dict[int, Floats]] = dict


class Numbering:
    """Numbers of a file -> indices, without a table as long as the largest number."""

    def __init__(self, number: Ints) -> None:
        self.number = number
        self.order = np.argsort(number, kind="stable")
        self.sorted = number[self.order]

    def index(self, wanted: Ints) -> tuple[Ints, Ints]:
        """Indices of the numbers (-1 where unknown), and the unknown numbers."""
        if not len(self.sorted):
            return np.full(wanted.shape, -1, dtype=np.int64), unique(wanted.ravel())
        place = np.minimum(np.searchsorted(self.sorted, wanted), len(self.sorted) - 1)
        known = self.sorted[place] == wanted
        return np.where(known, self.order[place], -1), unique(wanted[~known])

    def of_parts(self, parts: Iterable[Any]) -> tuple[Ints, Ints]:
        """Unique indices of arrays of numbers and of ranges, and the unknown numbers of the arrays."""
        found, unknown = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for part in parts:
            if isinstance(part, tuple):
                low, high = np.searchsorted(self.sorted, [part[0], part[1] + 1])
                found.append(self.order[low:high][in_range(self.sorted[low:high], part)])
            else:
                index, missing = self.index(part)
                found.append(index[index >= 0])
                unknown.append(missing)
        return unique(np.concatenate(found)), unique(np.concatenate(unknown))


def grouped(owner: Ints, number: Ints) -> list[tuple[int, Ints]]:
    """Numbers by owner, sorted once."""
    order = np.argsort(owner, kind="stable")
    names, first = np.unique(owner[order], return_index=True)
    return list(zip(names.tolist(), np.split(number[order], first[1:]), strict=True))


def in_range(number: Ints, part: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Mask of the numbers in a range (first, last, step)."""
    first, last, step = part
    return (number >= first) & (number <= last) & ((number - first) % step == 0)


def members(number: Ints, parts: Iterable[Any]) -> NDArray[np.bool_]:
    """Mask of the numbers that are in arrays or ranges."""
    chosen = np.zeros(len(number), dtype=bool)
    for part in parts:
        chosen |= in_range(number, part) if isinstance(part, tuple) else np.isin(number, part)
    return chosen


def listed(values: Ints) -> str:
    return ", ".join(str(value) for value in values[:LISTED]) + (", ..." if len(values) > LISTED else "")
