"""Code_Aster .mail -> RawMesh: nodes and elements by name, groups of both."""

from __future__ import annotations

import re

import numpy as np

from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.readers.raw import Block, RawMesh
from flexmbs.fe.readers.source import Damaged, reals

#: keyword -> our kind, number of nodes
KINDS = {
    "TETRA4": ("tet4", 4), "TETRA10": ("tet10", 10), "HEXA8": ("hex8", 8), "HEXA20": ("hex20", 20),
    "HEXA27": ("hex27", 27), "PENTA6": ("wedge6", 6), "PENTA15": ("wedge15", 15), "PYRAM5": ("pyramid5", 5),
    "PYRAM13": ("pyramid13", 13), "TRIA3": ("tri3", 3), "TRIA6": ("tri6", 6), "QUAD4": ("quad4", 4),
    "QUAD8": ("quad8", 8), "QUAD9": ("quad9", 9), "SEG2": ("line2", 2), "SEG3": ("line3", 3),
    "POI1": ("point1", 1),
}  # fmt: skip
FINSF = re.compile(r"\bFINSF\b")


def read_aster(data: bytes) -> RawMesh:
    """Content of a .mail file; materials are not part of the format."""
    text = "\n".join(line.partition("%")[0] for line in data.decode("utf-8", "replace").splitlines())
    nodes: dict[str, int] = {}
    points: list[list[float]] = []
    cells: dict[str, int] = {}
    blocks: dict[str, tuple[list[int], list[list[int]]]] = {}
    groups: list[tuple[str, str, list[str], int]] = []
    unsupported: dict[str, int] = {}
    numbers = Numbers()
    line = 1
    for part in FINSF.split(text):
        words = part.split()
        start, begun, line = line + leading_lines(part), line, line + part.count("\n")
        if not words or words[0] in ("FIN", "TITRE"):
            continue
        kind = words[0].upper()
        announced, words = header_removed(words[1:])
        before = len(nodes), len(cells)
        if kind in ("COOR_3D", "COOR_2D"):
            width = 4 if kind == "COOR_3D" else 3
            for k in range(0, len(words), width):
                try:
                    points.append(coordinates(words[k : k + width], width - 1))
                except Damaged as damage:
                    raise damage.within("", line_of(part, len(words) - k, begun)) from None
                nodes[words[k]] = numbers.of(words[k], "N")
            complete(kind, announced or str(len(words) // width), len(nodes) - before[0], start)
        elif kind in KINDS:
            name, n = KINDS[kind]
            words = words[1:] if words and words[0].startswith("NOM=") else words
            rows = blocks.setdefault(name, ([], []))
            if len(words) % (n + 1):
                what = f"{kind}: {len(words)} names are no whole number of elements with {n} nodes"
                raise Damaged(what, start)
            for k in range(0, len(words), n + 1):
                number = cells[words[k]] = len(cells) + 1
                rows[0].append(number)
                for word in words[k + 1 : k + n + 1]:
                    if word not in nodes:
                        what = f"element {words[k][:40]} refers to node {word[:40]}, which does not exist"
                        raise Damaged(what, line_of(part, len(words) - k, begun))
                rows[1].append([nodes[word] for word in words[k + 1 : k + n + 1]])
            complete(kind, announced or str(len(words) // (n + 1)), len(cells) - before[1], start)
        elif kind in ("GROUP_NO", "GROUP_MA"):
            groups.append((kind, *named_group(words, start), start))
        elif kind not in ("DEBUG", "DUMP"):
            unsupported[kind] = unsupported.get(kind, 0) + 1
    raw = RawMesh(np.array(list(nodes.values()), dtype=np.int64), np.array(points).reshape(-1, 3))
    raw.unsupported = unsupported
    for name, (cell_numbers, rows_of) in blocks.items():
        table = in_our_order(np.array(rows_of, dtype=np.int64), name, "aster")
        raw.blocks.append(Block(name, np.array(cell_numbers), table))
    for kind, name, members, start in groups:
        table_of = nodes if kind == "GROUP_NO" else cells
        missing = [word for word in members if word not in table_of]
        if missing:
            raise Damaged(f'group "{name}" names {missing[0][:40]}, which does not exist', start)
        sets = raw.node_sets if kind == "GROUP_NO" else raw.cell_sets
        sets.setdefault(name, []).append(np.array([table_of[word] for word in members], dtype=np.int64))
    return raw


class Numbers:
    """N12 is node 12 while that is free; other names count on."""

    def __init__(self) -> None:
        self.taken: set[int] = set()

    def of(self, word: str, letter: str) -> int:
        number = int(word[1:]) if word[:1].upper() == letter and word[1:].isdigit() and len(word) < 19 else 0
        if not number or number in self.taken:
            number = max(self.taken, default=0) + 1
        self.taken.add(number)
        return number


def leading_lines(part: str) -> int:
    """Lines before the first word."""
    return part[: len(part) - len(part.lstrip())].count("\n")


def line_of(part: str, left: int, begun: int) -> int:
    """Line of the word behind which so many are left, itself among them, in a part that began on a line."""
    places = [found.start() for found in re.finditer(r"\S+", part)]
    return begun + part.count("\n", 0, places[len(places) - left])


def complete(kind: str, announced: str, found: int, line: int) -> None:
    if announced != str(found):
        raise Damaged(f"{kind} announces {announced[:40]}, {found} of different names are there", line)


def header_removed(words: list[str]) -> tuple[str, list[str]]:
    """NBOBJ, and the words without NOM = x, NBOBJ = 3, NBLIGE = 2 and the like of the first line; NOM stays
    as first word."""
    text = " ".join(words).replace("=", " = ").split()
    at = 0
    said: dict[str, str] = {}
    while at + 2 < len(text) and text[at + 1] == "=":
        said[text[at].upper()] = text[at + 2]
        at += 3
    name = [f"NOM={said['NOM']}"] if "NOM" in said else []
    return said.get("NBOBJ", ""), [*name, *text[at:]]


def named_group(words: list[str], line: int) -> tuple[str, list[str]]:
    if not words:
        raise Damaged("a group without a name", line)
    return words[0].removeprefix("NOM="), words[1:]


def coordinates(words: list[str], n: int) -> list[float]:
    """Of the node that the first word names."""
    try:
        values = reals(words[1:])
    except Damaged as damage:
        raise damage.within(f"node {words[0][:40]}") from None
    if len(values) != n:
        raise Damaged(f"node {words[0][:40]} has not all of its coordinates")
    return values + [0.0] * (3 - n)
