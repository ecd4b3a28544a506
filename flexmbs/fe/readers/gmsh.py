"""gmsh .msh 4.1 and 2.2, text and binary -> RawMesh.

Text and binary differ only in the cursor that hands out numbers. Physical groups become cell, face and node
sets by their dimension; groups without a name take their number as name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from flexmbs.errors import Diagnostic
from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.readers.gmsh_sections import BinaryCursor, Cursor, Groups, Sections, TextCursor
from flexmbs.fe.readers.raw import Block, RawMesh, grouped, listed
from flexmbs.fe.readers.source import Damaged, Floats, Ints, to_ints

# type number -> (name, number of nodes); the names of supported types are ours
TYPES = {
    1: ("line2", 2), 2: ("tri3", 3), 3: ("quad4", 4), 4: ("tet4", 4), 5: ("hex8", 8), 6: ("wedge6", 6),
    7: ("pyramid5", 5), 8: ("line3", 3), 9: ("tri6", 6), 10: ("quad9", 9), 11: ("tet10", 10),
    12: ("hex27", 27), 13: ("wedge18", 18), 14: ("pyramid14", 14), 15: ("point1", 1), 16: ("quad8", 8),
    17: ("hex20", 20), 18: ("wedge15", 15), 19: ("pyramid13", 13), 20: ("tri9", 9), 21: ("tri10", 10),
    22: ("tri12", 12), 23: ("tri15", 15), 24: ("tri15i", 15), 25: ("tri21", 21), 26: ("line4", 4),
    27: ("line5", 5), 28: ("line6", 6), 29: ("tet20", 20), 30: ("tet35", 35), 31: ("tet56", 56),
    36: ("quad16", 16), 37: ("quad25", 25), 38: ("quad36", 36), 90: ("wedge40", 40), 91: ("wedge75", 75),
    92: ("hex64", 64), 93: ("hex125", 125), 118: ("pyramid30", 30),
}  # fmt: skip
SUPPORTED = {
    "line2", "line3", "point1", "tri3", "tri6", "quad4", "quad8", "quad9",
    "tet4", "tet10", "hex8", "hex20", "hex27", "wedge6", "wedge15", "pyramid5", "pyramid13",
}  # fmt: skip
FIRST_ROWS = 64  # rows looked at first when a run of equal rows is searched; doubles while it goes on


def read_gmsh(data: bytes) -> RawMesh:
    """Content of a .msh file."""
    sections = Sections(data)
    if sections.version not in ("4.1", "2.2", "2", "2.0", "2.1"):
        raise Damaged(
            f"format version {sections.version[:20]} of gmsh is not supported",
            remedy="save it as version 4.1 or 2.2 (gmsh -save -format msh41 X.msh)",
        )
    try:
        groups = Groups(names=read_names(sections))
        return (read_41 if sections.version == "4.1" else read_22)(sections, groups)
    except Damaged as damage:
        raise damage.within(sections.here, sections.line) from None


def read_names(sections: Sections) -> dict[tuple[int, int], str]:
    names: dict[tuple[int, int], str] = {}
    if not sections.has("PhysicalNames"):
        return names
    text = sections.text("PhysicalNames").decode("utf-8", "replace")
    for found in re.finditer(r'^\s*(\d)\s+(-?\d{1,18})\s+"([^"\n]*)"', text, re.MULTILINE):
        names[int(found[1]), int(found[2])] = found[3]
    claimed = re.match(r"\s*(\d+)", text)
    if claimed is None or int(claimed[1][:18]) != len(names):
        raise Damaged("section $PhysicalNames does not hold the names that it claims")
    return names


# ---- version 4.1


def read_41(sections: Sections, groups: Groups) -> RawMesh:
    if sections.has("PartitionedEntities"):
        raise Damaged("the mesh is partitioned", remedy="save it without partitions (gmsh: Mesh/Unpartition)")
    if sections.has("Entities"):
        cursor = sections.cursor("Entities")
        read_entities(cursor, groups)
        sections.finish("Entities", cursor)
    cursor = sections.cursor("Nodes")
    node_number, points = read_nodes_41(cursor)
    sections.finish("Nodes", cursor)
    raw = RawMesh(node_number, points)
    cursor = sections.cursor("Elements")
    read_elements_41(cursor, groups, raw)
    sections.finish("Elements", cursor)
    return with_missing_groups(raw, groups)


def read_entities(cursor: Cursor, groups: Groups) -> None:
    """Physical tags of points, curves, surfaces, volumes."""
    for dim, count in enumerate(cursor.sizes(4)):
        for _ in range(count):
            (tag,) = cursor.ints(1, "an entity")
            cursor.reals(1, 3 if dim == 0 else 6, "the box of an entity")
            (n_tags,) = cursor.sizes(1)
            groups.tags[dim, tag] = [abs(number) for number in cursor.ints(n_tags, "physical tags")]
            if dim:
                (n_parts,) = cursor.sizes(1)
                cursor.ints(n_parts, "the boundary of an entity")


def read_nodes_41(cursor: Cursor) -> tuple[Ints, Floats]:
    n_blocks, n_nodes, _, _ = cursor.sizes(4)
    number, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    for _ in range(n_blocks):
        dim, _, parametric = cursor.ints(3, "a block of nodes")
        (count,) = cursor.sizes(1)
        columns = 3 + (dim if parametric else 0)
        number.append(cursor.size_rows(count, 1, "node numbers")[:, 0])
        points.append(cursor.reals(count, columns, "coordinates")[:, :3])
    number_all = np.concatenate(number)
    if len(number_all) != n_nodes:
        raise Damaged(f"section $Nodes claims {n_nodes} nodes and has {len(number_all)}")
    return number_all, np.concatenate(points)


def read_elements_41(cursor: Cursor, groups: Groups, raw: RawMesh) -> None:
    n_blocks, n_cells, _, _ = cursor.sizes(4)
    total = 0
    for _ in range(n_blocks):
        dim, entity, type_number = cursor.ints(3, "a block of elements")
        (count,) = cursor.sizes(1)
        _, n_nodes = element_type(type_number)
        rows = cursor.size_rows(count, 1 + n_nodes, "elements")
        total += count
        add_elements(raw, type_number, rows[:, 0], rows[:, 1:])
        for tag in groups.tags.get((dim, entity), []):
            raw.cell_sets.setdefault(groups.name(dim, tag), []).append(rows[:, 0])
    if total != n_cells:
        raise Damaged(f"section $Elements claims {n_cells} elements and has {total}")


def element_type(number: int) -> tuple[str, int]:
    if number not in TYPES:
        raise Damaged(f"element type {number} is not known")
    return TYPES[number]


def add_elements(raw: RawMesh, type_number: int, number: Ints, nodes: Ints) -> None:
    name, _ = element_type(type_number)
    if name not in SUPPORTED:
        raw.unsupported[name] = raw.unsupported.get(name, 0) + len(number)
    else:
        raw.blocks.append(Block(name, number, in_our_order(nodes, name, "gmsh")))


def with_missing_groups(raw: RawMesh, groups: Groups) -> RawMesh:
    """Named groups without elements stay, empty, so that the checks can say so."""
    for (dim, _), name in groups.names.items():
        if name not in raw.cell_sets:
            if dim == 3:
                raw.cell_sets[name] = []
            elif dim == 2:
                raw.faces[name] = []
            else:
                raw.node_sets[name] = []
    return raw


# ---- version 2.2


def read_22(sections: Sections, groups: Groups) -> RawMesh:
    if sections.has("ParametricNodes"):
        raise Damaged(
            "the nodes are parametric", remedy="save it with Mesh.SaveParametric = 0, or as version 4.1"
        )
    cursor = sections.cursor("Nodes")
    if isinstance(cursor, TextCursor):
        (count,) = cursor.ints(1, "the number of nodes")
        table = cursor.reals(count, 4, "nodes")
        node_number, points = to_ints(table[:, 0], "node number"), table[:, 1:]
    else:
        node_number, points = read_nodes_22_binary(cursor)
    sections.finish("Nodes", cursor)
    raw = RawMesh(node_number, points)
    cursor = sections.cursor("Elements")
    if isinstance(cursor, TextCursor):
        found = read_elements_22(cursor)
    else:
        found = read_elements_22_binary(cursor)
    for type_number, n_tags, rows in found:
        add_elements_22(raw, groups, type_number, n_tags, rows)
    sections.finish("Elements", cursor)
    return with_missing_groups(merge_repeated(raw), groups)


def read_count_line(cursor: BinaryCursor) -> int:
    """A count in text before binary content."""
    end = cursor.data.find(b"\n", cursor.at, cursor.at + 32)
    text = cursor.data[cursor.at : max(end, cursor.at)].strip()
    if end < 0 or not text.isdigit():
        raise Damaged("a count is missing in the binary file")
    cursor.at = end + 1
    return int(text)


def read_nodes_22_binary(cursor: BinaryCursor) -> tuple[Ints, Floats]:
    count = read_count_line(cursor)
    row = np.dtype([("number", cursor.int_type), ("xyz", cursor.real_type, 3)])
    rows = cursor.take(count, row, "nodes")
    return to_ints(rows["number"]), rows["xyz"].astype(float)


def read_elements_22(cursor: TextCursor) -> Iterator[tuple[int, int, Ints]]:
    """Runs of equal element type and number of tags; one array per run."""
    (left,) = cursor.ints(1, "the number of elements")
    while left > 0:
        if cursor.at + 3 > len(cursor.values):
            raise Damaged(f"section $Elements ends {left} elements early")
        type_number, n_tags = (int(x) for x in to_ints(cursor.values[cursor.at + 1 : cursor.at + 3]))
        width = 3 + n_tags + element_type(type_number)[1]
        if n_tags < 0:
            raise Damaged(f"an element claims {n_tags} tags")
        rows = equal_rows(cursor, width, left)
        left -= len(rows)
        yield type_number, n_tags, to_ints(np.delete(rows, (1, 2), axis=1))


def equal_rows(cursor: TextCursor, width: int, most: int) -> Floats:
    """Rows from the cursor on that repeat the columns 1 and 2 of the first."""
    most = min(most, (len(cursor.values) - cursor.at) // width)
    if most < 1:
        raise Damaged("section $Elements ends inside an element")
    look = FIRST_ROWS
    while True:
        count = min(look, most)
        rows = cursor.values[cursor.at : cursor.at + count * width].reshape(count, width)
        same = (rows[:, 1:3] == rows[0, 1:3]).all(axis=1)
        if not same.all() or count == most:
            break
        look *= 2
    count = count if same.all() else int(np.argmin(same))
    return cursor.reals(count, width, "elements")


def read_elements_22_binary(cursor: BinaryCursor) -> Iterator[tuple[int, int, Ints]]:
    left = read_count_line(cursor)
    while left > 0:
        type_number, count, n_tags = cursor.ints(3, "a block of elements")
        width = 1 + n_tags + element_type(type_number)[1]
        if n_tags < 0 or count < 1 or count > left:
            raise Damaged("the counts of section $Elements do not fit its content")
        rows = cursor.take(count * width, cursor.int_type, "elements").reshape(count, width)
        left -= count
        yield type_number, n_tags, to_ints(rows)


DIMENSION = {"p": 0, "l": 1, "t": 2, "q": 2}  # by the first letter of the type name; "tet": 3


def dimension(name: str) -> int:
    return 3 if name[:3] in ("tet", "hex", "wed", "pyr") else DIMENSION[name[0]]


def add_elements_22(raw: RawMesh, groups: Groups, type_number: int, n_tags: int, rows: Ints) -> None:
    """Rows: number, tags (the first is the physical group, 0 for none), nodes."""
    name, _ = element_type(type_number)
    add_elements(raw, type_number, rows[:, 0], rows[:, 1 + n_tags :])
    if name not in SUPPORTED or not n_tags:
        return
    for tag, members in grouped(np.abs(rows[:, 1]), rows[:, 0]):
        if tag:
            raw.cell_sets.setdefault(groups.name(dimension(name), tag), []).append(members)


def merge_repeated(raw: RawMesh) -> RawMesh:
    """This version repeats an element for each of its groups: join those with the same nodes."""
    renumber: dict[str, tuple[Ints, Ints]] = {}
    for kind in {block.kind for block in raw.blocks}:
        blocks = [block for block in raw.blocks if block.kind == kind]
        number = np.concatenate([block.number for block in blocks])
        nodes = np.concatenate([block.nodes for block in blocks])
        _, first, inverse = np.unique(nodes, axis=0, return_index=True, return_inverse=True)
        if len(first) < len(number):
            renumber[kind] = (number, number[first[inverse.ravel()]])
            keep = np.sort(first)
            raw.blocks = [block for block in raw.blocks if block.kind != kind]
            raw.blocks.append(Block(kind, number[keep], nodes[keep]))
    for old, new in renumber.values():
        order = np.argsort(old, kind="stable")
        for name, parts in raw.cell_sets.items():
            raw.cell_sets[name] = [replaced(part, old[order], new[order]) for part in parts]
    for kind, (_, new) in renumber.items():
        note_duplicates(raw, kind, new)
    return raw


def note_duplicates(raw: RawMesh, kind: str, numbers: Ints) -> None:
    """Tell of elements that stand in the file more often than they have groups; `numbers`: of the first."""
    kept, times = np.unique(numbers, return_counts=True)
    groups = np.zeros(len(kept), dtype=np.int64)
    for parts in raw.cell_sets.values():
        groups += np.isin(kept, np.concatenate(parts)) if parts else 0
    more = times - np.maximum(groups, 1)
    if (more > 0).any():
        what = f"{int(more[more > 0].sum())} {kind} elements repeat others (element {listed(kept[more > 0])})"
        raw.notes.append(Diagnostic("mesh.repeated", "$Elements", what, "each counts once", "warn"))


def replaced(part: Ints, old: Ints, new: Ints) -> Ints:
    place = np.minimum(np.searchsorted(old, part), len(old) - 1)
    return np.where(old[place] == part, new[place], part)
