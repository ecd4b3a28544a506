"""Universal files (I-DEAS) -> RawMesh: datasets of nodes, elements, groups and units."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.readers.raw import Block, RawMesh
from flexmbs.fe.readers.source import Damaged, one_int, reals

#: descriptor of an element -> our kind; nodes go round
KINDS = {
    111: "tet4", 118: "tet10", 112: "wedge6", 113: "wedge15", 115: "hex8", 116: "hex20",
    41: "tri3", 51: "tri3", 61: "tri3", 91: "tri3", 42: "tri6", 52: "tri6", 62: "tri6", 92: "tri6",
    44: "quad4", 54: "quad4", 64: "quad4", 94: "quad4", 45: "quad8", 55: "quad8", 65: "quad8", 95: "quad8",
    11: "line2", 21: "line2", 22: "line2", 23: "line3", 24: "line3",
}  # fmt: skip
BEAMS = (11, 21, 22, 23, 24)  # one more line: orientation and sections
NODES, ELEMENTS, UNITS = ("2411", "781"), ("2412",), "164"
GROUPS = ("2467", "2477", "2452", "2435", "2432", "2430", "2429")


def read_unv(data: bytes) -> RawMesh:
    """Content of a universal file; other datasets (results, histories) are passed over."""
    numbers: list[int] = []
    points: list[list[float]] = []
    cells: dict[str, tuple[list[int], list[list[int]]]] = {}
    raw = RawMesh(np.zeros(0, dtype=np.int64), np.zeros((0, 3)))
    groups: list[tuple[str, list[int], list[int]]] = []
    for kind, lines, start in datasets(data):
        if kind in NODES:
            if len(lines) % 2:
                raise Damaged("nodes need two lines each; a line is missing", start + len(lines))
            for k in range(0, len(lines), 2):
                numbers.append(one_int(lines[k].split()[0], "node number", start + k))
                points.append(reals(lines[k + 1].split()[:3], start + k + 1))
                if len(points[-1]) != 3:
                    raise Damaged(f"node {numbers[-1]} has no three coordinates", start + k + 1)
        elif kind in ELEMENTS:
            read_elements(lines, start, cells, raw)
        elif kind in GROUPS:
            groups += read_groups(lines, start)
        elif kind == UNITS:
            raw.length = read_length(lines, start)
    raw.node_number, raw.points = np.array(numbers, dtype=np.int64), np.array(points).reshape(-1, 3)
    for name, (rows, nodes) in cells.items():
        table = in_our_order(np.array(nodes, dtype=np.int64), name, "unv")
        raw.blocks.append(Block(name, np.array(rows, dtype=np.int64), table))
    for name, nodes_of, cells_of in groups:
        if nodes_of:
            raw.node_sets.setdefault(name, []).append(np.array(nodes_of, dtype=np.int64))
        if cells_of:
            raw.cell_sets.setdefault(name, []).append(np.array(cells_of, dtype=np.int64))
    return raw


def datasets(data: bytes) -> Iterator[tuple[str, list[str], int]]:
    """Number, lines and first line number of each dataset between two lines -1."""
    lines = data.decode("utf-8", "replace").splitlines()
    marks = [k for k, line in enumerate(lines) if line.strip() == "-1"]
    if len(marks) % 2:
        raise Damaged("a dataset has no line -1 at its beginning or end", marks[-1] + 1, "write it again")
    at = 0
    while at + 1 < len(marks):
        first, last = marks[at], marks[at + 1]
        if last > first + 1:
            yield lines[first + 1].split()[0], lines[first + 2 : last], first + 3
            at += 2
        else:  # two in a row: an end and a beginning
            at += 1


def read_elements(lines: list[str], start: int, cells: dict, raw: RawMesh) -> None:  # type: ignore[type-arg]
    """Writes: cells, raw.unsupported."""
    at = 0
    while at < len(lines):
        head = [one_int(word, "element record", start + at) for word in lines[at].split()]
        if len(head) < 6:
            raise Damaged(f'expected six numbers of an element, found "{lines[at][:60]}"', start + at)
        number, descriptor, n_nodes = head[0], head[1], head[5]
        at += 2 if descriptor in BEAMS else 1
        nodes: list[int] = []
        while len(nodes) < n_nodes and at < len(lines):
            nodes += [one_int(word, "node", start + at) for word in lines[at].split()]
            at += 1
        if len(nodes) != n_nodes:
            raise Damaged(f"element {number} has {len(nodes)} of {n_nodes} nodes", start + at)
        name = KINDS.get(descriptor)
        if name == "line2" and n_nodes == 3:  # as Salome writes quadratic lines
            name = "line3"
        if name is None:
            raw.unsupported[f"descriptor {descriptor}"] = (
                raw.unsupported.get(f"descriptor {descriptor}", 0) + 1
            )
            raw.left_out = np.append(raw.left_out, number)
            continue
        if len(nodes) != int("".join(filter(str.isdigit, name))):
            raise Damaged(f"element {number} is a {name} with {len(nodes)} nodes", start + at)
        rows = cells.setdefault(name, ([], []))
        rows[0].append(number)
        rows[1].append(nodes)


def read_groups(lines: list[str], start: int) -> Iterator[tuple[str, list[int], list[int]]]:
    """Name, node numbers and element numbers of each group."""
    at = 0
    while at + 1 < len(lines):
        head = [one_int(word, "group record", start + at) for word in lines[at].split()]
        if len(head) < 8:
            raise Damaged(f'expected eight numbers of a group, found "{lines[at][:60]}"', start + at)
        name, left = lines[at + 1].strip() or f"group_{head[0]}", head[7]
        at += 2
        nodes: list[int] = []
        cells: list[int] = []
        while left > 0:
            if at >= len(lines):
                raise Damaged(f'group "{name}" ends {left} entries early', start + at)
            row = [one_int(word, "group entry", start + at) for word in lines[at].split()]
            step = 4 if len(row) in (4, 8) else 2
            for k in range(0, len(row), step):
                (nodes if row[k] == 7 else cells if row[k] == 8 else []).append(row[k + 1])
                left -= 1
            at += 1
        yield name, nodes, cells


def read_length(lines: list[str], start: int) -> float:
    """Length of the unit [m]: SI values are those of the file divided by the factor."""
    words = " ".join(lines[1:]).replace("D", "E").replace("d", "e").split()
    try:
        factor = float(words[0])
    except (IndexError, ValueError):
        raise Damaged("the units (dataset 164) have no factor of length", start) from None
    if not factor > 0:
        raise Damaged(f"the factor of length is {factor:g}", start)
    return 1.0 / factor
