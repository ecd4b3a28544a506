"""Writers of every format that flexmbs reads, from the formats' own pictures of node order.

Mid-nodes are found by the edge or face that the manual of the format names, not by the readers' permutations.
"""

import base64
import struct
import zlib

import numpy as np

from flexmbs.fe.elements import ELEMENTS

VTK_EDGES = {
    "tet": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
    "hex": [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)],
    "wedge": [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)],
}
VTK_FACES = [(0, 3, 4, 7), (1, 2, 5, 6), (0, 1, 4, 5), (2, 3, 6, 7), (0, 1, 2, 3), (4, 5, 6, 7)]
GMSH_EDGES = {
    "tet": [(0, 1), (1, 2), (0, 2), (0, 3), (2, 3), (1, 3)],
    "hex": [(0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7)],
    "wedge": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)],
}
GMSH_FACES = [(0, 1, 2, 3), (0, 1, 4, 5), (0, 3, 4, 7), (1, 2, 5, 6), (2, 3, 6, 7), (4, 5, 6, 7)]
NASTRAN_EDGES = {
    "tet": VTK_EDGES["tet"],
    "hex": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7), (4, 5), (5, 6), (6, 7), (7, 4)],
    "wedge": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)],
}
# C3D27: centre first, then the faces S1 ... S6
ABAQUS_FACES = [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 4, 5), (1, 2, 5, 6), (2, 3, 6, 7), (0, 3, 4, 7)]
GMSH_TYPES = {"tet4": 4, "hex8": 5, "wedge6": 6, "tet10": 11, "hex27": 12, "hex20": 17, "wedge15": 18}
GMSH_FLAT = {3: 2, 4: 3, 6: 9, 8: 16, 9: 10}
VTK_TYPES = {"tet4": 10, "hex8": 12, "wedge6": 13, "tet10": 24, "hex20": 25, "wedge15": 26, "hex27": 29}
VTK_FLAT = {3: 5, 4: 9, 6: 22, 8: 23, 9: 28}


def in_order(kind, rows, edges, faces=(), centre_first=False):
    """Node rows with mid-nodes sorted by the edges and faces that a format lists."""
    element = ELEMENTS[kind]
    n = element.n_corners
    columns = list(range(n))
    if element.n_nodes > n:
        mine = [frozenset(edge[:2]) for edge in element.edges]
        columns += [element.edges[mine.index(frozenset(edge))][2] for edge in edges[element.family]]
    if kind == "hex27":
        mine = [frozenset(face[:4]) for face in element.faces]
        middle = [element.faces[mine.index(frozenset(face))][8] for face in faces]
        columns += [26, *middle] if centre_first else [*middle, 26]
    return rows[:, columns]


def flat_cells(mesh):
    """Faces of all face sets as cells of their own: (set name, node index rows)."""
    return [(name, nodes) for name, faces in mesh.face_sets.items() for nodes in mesh.face_nodes(faces)]


def gmsh_entities(mesh):
    """One entity per group: (dim, physical number, name, type, element numbers, node numbers).

    Cells of overlapping cell sets are split: `all` holds every cell, `half` some.
    """
    names = [(3, 1, "all"), (3, 2, "half")] + [(2, 3 + k, name) for k, name in enumerate(mesh.face_sets)]
    names.append((0, 9, "corner"))
    entities, number = [], 1_000_000
    for kind, rows in mesh.cells.items():
        half = np.zeros(len(rows), dtype=bool)
        half[mesh.cell_sets["half"][kind]] = True
        nodes = mesh.node_number[in_order(kind, rows, GMSH_EDGES, GMSH_FACES)]
        for mask, groups in ((half, [1, 2]), (~half, [1])):
            entities.append((3, groups, GMSH_TYPES[kind], mesh.cell_number[kind][mask], nodes[mask]))
    for name, rows in flat_cells(mesh):
        group = next(g for d, g, n in names if d == 2 and n == name)
        numbers = np.arange(number, number + len(rows))
        number += len(rows)
        entities.append((2, [group], GMSH_FLAT[rows.shape[1]], numbers, mesh.node_number[rows]))
    corner = mesh.node_number[mesh.node_sets["corner"]][:, None]
    entities.append((0, [9], 15, np.arange(number, number + len(corner)), corner))
    return names, entities


def names_section(names):
    lines = [f'{dim} {number} "{name}"' for dim, number, name in names]
    return "$PhysicalNames\n" + "\n".join([str(len(lines)), *lines]) + "\n$EndPhysicalNames\n"


class GmshNumbers:
    """Numbers of version 4.1, as text or binary in a byte order."""

    def __init__(self, binary, order):
        self.binary, self.order = binary, order

    def ints(self, *values):
        if self.binary:
            return struct.pack(f"{self.order}{len(values)}i", *values)
        return (" ".join(map(str, values)) + " ").encode()

    def sizes(self, *values):
        if self.binary:
            return struct.pack(f"{self.order}{len(values)}Q", *values)
        return (" ".join(map(str, values)) + "\n").encode()

    def reals(self, rows):
        if self.binary:
            return np.asarray(rows, dtype=self.order + "f8").tobytes()
        return "".join(" ".join(map(repr, row)) + "\n" for row in np.atleast_2d(rows).tolist()).encode()

    def rows(self, rows):
        if self.binary:
            return np.asarray(rows, dtype=self.order + "u8").tobytes()
        return "".join(" ".join(map(str, row)) + "\n" for row in np.asarray(rows).tolist()).encode()


def write_gmsh41(mesh, path, binary=False, order="<"):
    names, entities = gmsh_entities(mesh)
    form = GmshNumbers(binary, order)
    ints, sizes, reals, rows_of = form.ints, form.sizes, form.reals, form.rows
    one = struct.pack(order + "i", 1) + b"\n" if binary else b""
    out = b"$MeshFormat\n4.1 %d 8\n" % binary + one + b"$EndMeshFormat\n" + names_section(names).encode()
    by_dim = [[(k, e) for k, e in enumerate(entities) if e[0] == dim] for dim in range(4)]
    out += b"$Entities\n" + sizes(*(len(part) for part in by_dim))
    for dim, part in enumerate(by_dim):
        for k, entity in part:
            out += (
                ints(k + 1) + reals(np.zeros(3 if dim == 0 else 6)) + sizes(len(entity[1])) + ints(*entity[1])
            )
            out += sizes(0) if dim else b""
    out += b"\n$EndEntities\n$Nodes\n" + sizes(1, mesh.n_nodes, mesh.node_number[0], mesh.node_number[-1])
    out += ints(3, 1, 0) + sizes(mesh.n_nodes) + rows_of(mesh.node_number[:, None]) + reals(mesh.points)
    total = sum(len(entity[3]) for entity in entities)
    out += b"\n$EndNodes\n$Elements\n" + sizes(len(entities), total, 1, 2_000_000)
    for k, (dim, _, kind, numbers, nodes) in enumerate(entities):
        out += ints(dim, k + 1, kind) + sizes(len(numbers)) + rows_of(np.column_stack([numbers, nodes]))
    path.write_bytes(out + b"\n$EndElements\n")


def write_gmsh22(mesh, path, binary=False):
    """Version 2.2 repeats an element for each of its groups, under a new number."""
    names, entities = gmsh_entities(mesh)
    blocks, number = [], 5_000_000
    for _, groups, kind, numbers, nodes in entities:
        for k, group in enumerate(groups):
            used = numbers if k == 0 else np.arange(number, number + len(numbers))
            number += len(numbers) * bool(k)
            tags = np.tile([group, 1], (len(numbers), 1))
            blocks.append((kind, np.column_stack([used, tags, nodes])))
    total = sum(len(rows) for _, rows in blocks)
    head = b"$MeshFormat\n2.2 %d 8\n" % binary + (struct.pack("i", 1) + b"\n" if binary else b"")
    head += b"$EndMeshFormat\n" + names_section(names).encode() + b"$Nodes\n%d\n" % mesh.n_nodes
    if binary:
        table = np.zeros(mesh.n_nodes, dtype=[("n", "<i4"), ("x", "<f8", 3)])
        table["n"], table["x"] = mesh.node_number, mesh.points
        body = table.tobytes() + b"\n$EndNodes\n$Elements\n%d\n" % total
        for kind, rows in blocks:
            body += struct.pack("<3i", kind, len(rows), 2) + rows.astype("<i4").tobytes()
    else:
        pairs = zip(mesh.node_number, mesh.points, strict=True)
        text = "".join(f"{n} {x!r} {y!r} {z!r}\n" for n, (x, y, z) in ((n, p.tolist()) for n, p in pairs))
        text += f"$EndNodes\n$Elements\n{total}\n"
        for kind, rows in blocks:
            for row in rows.tolist():
                text += " ".join(map(str, [row[0], kind, 2, *row[1:]])) + "\n"
        body = text.encode()
    path.write_bytes(head + body + b"$EndElements\n")


def lines_of(numbers, width=16):
    numbers = [str(int(n)) for n in numbers]
    return "\n".join(", ".join(numbers[k : k + width]) for k in range(0, len(numbers), width))


ABAQUS_TYPES = {
    "tet4": "C3D4", "tet10": "C3D10", "hex8": "C3D8R", "hex20": "C3D20", "hex27": "C3D27",
    "wedge6": "C3D6", "wedge15": "C3D15",
}  # fmt: skip
ABAQUS_S = {
    "tet": [(0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)],
    "hex": [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 4, 5), (1, 2, 5, 6), (2, 3, 6, 7), (0, 3, 4, 7)],
    "wedge": [(0, 1, 2), (3, 4, 5), (0, 1, 3, 4), (1, 2, 4, 5), (0, 2, 3, 5)],
}


def write_inp(mesh, path):
    half = mesh.n_nodes // 2
    text = "** by hand\n*HEADING\na title, with a comma\n"
    for part in (slice(0, half), slice(half, None)):
        text += "*Node\n"
        for n, p in zip(mesh.node_number[part], mesh.points[part].tolist(), strict=True):
            text += f"{n}, {p[0]!r}, {p[1]!r}, {p[2]!r}\n"
    for kind, rows in mesh.cells.items():
        text += f"*ELEMENT, TYPE={ABAQUS_TYPES[kind]}, ELSET=all\n"
        nodes = mesh.node_number[in_order(kind, rows, VTK_EDGES, ABAQUS_FACES, centre_first=True)]
        for number, row in zip(mesh.cell_number[kind], nodes, strict=True):
            text += lines_of([number, *row], 10).replace("\n", ",\n") + "\n"
    for name, nodes in mesh.node_sets.items():
        text += f"*NSET, NSET={name}\n{lines_of(mesh.node_number[nodes])}\n"
    kind = next(iter(mesh.cells))
    numbers = mesh.cell_number[kind][mesh.cell_sets["half"][kind]]
    text += f"*ELSET, ELSET=part\n{lines_of(numbers[1:])},\n*ELSET, ELSET=half\npart, {numbers[0]}\n"
    for name, faces in mesh.face_sets.items():
        text += f"*SURFACE, NAME={name}, TYPE=ELEMENT\n"
        for kind, rows in faces.items():
            element = ELEMENTS[kind]
            for cell, local in rows:
                corners = sorted(k for k in element.faces[local] if k < element.n_corners)
                label = [tuple(sorted(face)) for face in ABAQUS_S[element.family]].index(tuple(corners)) + 1
                text += f"{mesh.cell_number[kind][cell]}, S{label}\n"
    path.write_text(text + "*STEP\n*STATIC\n*END STEP\n")


def vtk_tables(mesh):
    """Types, node rows, and data arrays with the sets: faces as cells, other sets as arrays."""
    types, rows, half, number, region = [], [], [], [], []
    for kind, cells in mesh.cells.items():
        inside = np.isin(np.arange(len(cells)), mesh.cell_sets["half"][kind])
        types += [VTK_TYPES[kind]] * len(cells)
        rows += in_order(kind, cells, VTK_EDGES, VTK_FACES).tolist()
        half += inside.astype(int).tolist()
        number += mesh.cell_number[kind].tolist()
        region += [0] * len(cells)
    for k, name in enumerate(mesh.face_sets):
        for nodes in mesh.face_nodes(mesh.face_sets[name]):
            types += [VTK_FLAT[nodes.shape[1]]] * len(nodes)
            rows += nodes.tolist()
            half += [0] * len(nodes)
            number += list(range(10**7 * (k + 1), 10**7 * (k + 1) + len(nodes)))
            region += [k + 5] * len(nodes)
    points = {
        name: np.isin(np.arange(mesh.n_nodes), nodes).astype(int) for name, nodes in mesh.node_sets.items()
    }
    return types, rows, {"half": half, "cell_number": number, "region": region}, points


def write_vtk(mesh, path, binary=False, version=4):
    types, rows, cell_data, point_data = vtk_tables(mesh)

    def block(values, dtype):
        values = np.asarray(values, dtype=dtype)
        return (
            values.tobytes() + b"\n"
            if binary
            else (" ".join(repr(x) for x in values.ravel().tolist()) + "\n").encode()
        )

    out = b"# vtk DataFile Version %d.%d\ntitle\n%s\nDATASET UNSTRUCTURED_GRID\n" % (
        version, version % 2, b"BINARY" if binary else b"ASCII")  # fmt: skip
    out += b"POINTS %d double\n" % mesh.n_nodes + block(mesh.points, ">f8")
    flat = [x for row in rows for x in row]
    if version == 5:
        offsets = np.cumsum([0, *(len(row) for row in rows)])
        out += b"CELLS %d %d\nOFFSETS vtktypeint64\n" % (len(offsets), len(flat)) + block(offsets, ">i8")
        out += b"CONNECTIVITY vtktypeint64\n" + block(flat, ">i8")
    else:
        counted = [x for row in rows for x in (len(row), *row)]
        out += b"CELLS %d %d\n" % (len(rows), len(counted)) + block(counted, ">i4")
    out += b"CELL_TYPES %d\n" % len(types) + block(types, ">i4")
    out += b"CELL_DATA %d\nSCALARS region int 1\nLOOKUP_TABLE default\n" % len(types)
    out += block(cell_data["region"], ">i4") + b"FIELD FieldData 2\n"
    for name in ("half", "cell_number"):
        out += f"{name} 1 {len(types)} int\n".encode() + block(cell_data[name], ">i4")
    out += b"POINT_DATA %d\nVECTORS u float\n" % mesh.n_nodes + block(np.zeros((mesh.n_nodes, 3)), ">f4")
    out += b"FIELD FieldData %d\n" % (len(point_data) + 1)
    for name, values in [*point_data.items(), ("node_number", mesh.node_number)]:
        out += f"{name} 1 {mesh.n_nodes} int\n".encode() + block(values, ">i4")
    path.write_bytes(out)


def write_vtu(mesh, path, form="ascii", packed=False):
    types, rows, cell_data, point_data = vtk_tables(mesh)
    appended = b""

    def array(name, values, kind, dtype, columns=1):
        nonlocal appended
        values = np.asarray(values, dtype=dtype)
        raw = values.tobytes()
        head = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{columns}" format="{form}"'
        if form == "ascii":
            return f"{head}>{' '.join(repr(x) for x in values.ravel().tolist())}</DataArray>\n"
        if packed:
            small = [raw[k : k + 512] for k in range(0, len(raw), 512)]
            zipped = [zlib.compress(part) for part in small]
            last = len(small[-1]) if small and len(small[-1]) < 512 else 0
            lead = struct.pack(f"<{3 + len(small)}I", len(small), 512, last, *map(len, zipped))
            parts = [lead, b"".join(zipped)]
        else:
            parts = [struct.pack("<I", len(raw)) + raw]
        if form == "binary":
            return f"{head}>{''.join(base64.b64encode(part).decode() for part in parts)}</DataArray>\n"
        start, appended = len(appended), appended + b"".join(parts)
        return f'{head} offset="{start}"/>\n'

    pack = ' compressor="vtkZLibDataCompressor"' if packed else ""
    text = f'<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" byte_order="LittleEndian"{pack}>\n'
    text += (
        f'<UnstructuredGrid><Piece NumberOfPoints="{mesh.n_nodes}" NumberOfCells="{len(types)}">\n<PointData>'
    )
    for name, values in [*point_data.items(), ("node_number", mesh.node_number)]:
        text += array(name, values, "Int32", "<i4")
    text += array("u", np.zeros(3 * mesh.n_nodes), "Float64", "<f8", 3) + "</PointData><CellData>"
    for name, values in cell_data.items():
        text += array(name, values, "Int64", "<i8")
    text += "</CellData><Points>" + array("Points", mesh.points, "Float64", "<f8", 3) + "</Points><Cells>"
    text += array("connectivity", [x for row in rows for x in row], "Int64", "<i8")
    text += array("offsets", np.cumsum([len(row) for row in rows]), "Int64", "<i8")
    text += array("types", types, "UInt8", "u1") + "</Cells></Piece></UnstructuredGrid>\n"
    out = text.encode()
    if form == "appended":
        out += b'<AppendedData encoding="raw">_' + appended + b"</AppendedData>\n"
    path.write_bytes(out + b"</VTKFile>\n")


def nastran_line(words, form):
    """One entry in small, large or free field, continued as needed."""
    if form == "free":
        rows = [words[1:][k : k + 8] for k in range(0, len(words) - 1, 8)]
        return "\n".join(",".join([words[0] if k == 0 else "+", *row]) for k, row in enumerate(rows)) + "\n"
    width, fields, star = (16, 4, "*") if form == "large" else (8, 8, "")
    rows = [words[1:][k : k + fields] for k in range(0, len(words) - 1, fields)]
    lines = []
    for k, row in enumerate(rows):
        head = (words[0] + star if k == 0 else (star or "+")).ljust(8)
        lines.append(head + "".join(word.ljust(width) for word in row))
    return "\n".join(lines) + "\n"


def nastran_real(value, form):
    """As exact as the field allows; small fields use the short exponent."""
    if form == "free":
        return repr(float(value))
    if form == "large":
        return f"{value:.9e}".replace("e", "D") if value else "0."
    text = f"{value:.3e}"
    mantissa, exponent = text.split("e")
    return f"{mantissa}{int(exponent):+d}"


def write_bdf(mesh, path, form="free", begin=True):
    text = "$ by hand\n"
    if begin:
        nodes = lines_of(mesh.node_number[mesh.node_sets["low"]], 6).replace("\n", ",\n")
        text += f"SOL 103\nCEND\nSET 7 = {nodes}\nBEGIN BULK\n"
    for n, p in zip(mesh.node_number, mesh.points, strict=True):
        text += nastran_line(["GRID", str(n), "", *(nastran_real(x, form) for x in p)], form)
    names = {"tet": "CTETRA", "hex": "CHEXA", "wedge": "CPENTA"}
    for kind, rows in mesh.cells.items():
        half = np.isin(np.arange(len(rows)), mesh.cell_sets["half"][kind])
        nodes = mesh.node_number[in_order(kind, rows, NASTRAN_EDGES)]
        for number, row, inside in zip(mesh.cell_number[kind], nodes, half, strict=True):
            head = [names[ELEMENTS[kind].family], str(number), "4" if inside else "3"]
            text += nastran_line([*head, *map(str, row)], form)
    text += '$HMNAME PROP                   4"half" 4\nPSOLID,3,1\nPSOLID,4,1\n'
    shells = {3: "CTRIA3", 4: "CQUAD4", 6: "CTRIA6", 8: "CQUAD8", 9: "CQUAD"}
    number = 900_000
    for k, name in enumerate(mesh.face_sets):
        for nodes in mesh.face_nodes(mesh.face_sets[name]):
            for row in mesh.node_number[nodes]:
                text += nastran_line([shells[len(row)], str(number), str(50 + k), *map(str, row)], form)
                number += 1
    path.write_text(text + "ENDDATA\n")
