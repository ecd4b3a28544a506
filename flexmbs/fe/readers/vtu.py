"""VTU files (text, base64, appended raw or base64, compressed or not) -> RawMesh."""

from __future__ import annotations

import base64
import binascii
import lzma
import re
import xml.etree.ElementTree as ElementTree
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.readers.raw import RawMesh
from flexmbs.fe.readers.source import MAX_BYTES, Damaged, numbers, to_ints
from flexmbs.fe.readers.vtk_cells import Grid, to_raw

DTYPES = {
    "Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2", "Int32": "i4", "UInt32": "u4",
    "Int64": "i8", "UInt64": "u8", "Float32": "f4", "Float64": "f8",
}  # fmt: skip
APPENDED = re.compile(rb"<AppendedData([^>]*)>\s*_")
MAX_RATIO = 2000  # zlib cannot do better than 1:1032: claims beyond are damage


@dataclass
class Coding:
    """How the arrays of a file are stored."""

    order: str
    header: np.dtype
    compressor: str
    appended: bytes
    appended_base64: bool


def read_vtu(data: bytes) -> RawMesh:
    """Content of a .vtu file."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise Damaged("the XML declares entities, which no mesh needs")
    text, appended, appended_base64 = cut_appended(data)
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise Damaged(f"the XML is not well formed ({error})", remedy="write the mesh again") from None
    if root.tag != "VTKFile" or root.get("type") != "UnstructuredGrid":
        raise Damaged(f"the file holds {root.get('type') or root.tag}", remedy="save it as UnstructuredGrid")
    order = ">" if root.get("byte_order") == "BigEndian" else "<"
    header = np.dtype(order + ("u8" if root.get("header_type") == "UInt64" else "u4"))
    coding = Coding(order, header, root.get("compressor", ""), appended, appended_base64)
    pieces = root.findall("UnstructuredGrid/Piece")
    if not pieces:
        raise Damaged("the file has no Piece")
    return to_raw(joined([read_piece(piece, coding) for piece in pieces]))


def cut_appended(data: bytes) -> tuple[bytes, bytes, bool]:
    """The XML without its appended data, these data, and whether they are base64."""
    found = APPENDED.search(data)
    if not found:
        return data, b"", False
    end = data.rfind(b"</AppendedData>")
    if end < found.end():
        raise Damaged("the section AppendedData has no end", remedy="write the mesh again")
    text = data[: found.start()] + b"<AppendedData>" + data[end:]
    return text, data[found.end() : end], b"base64" in found[1]


def count_of(piece: ElementTree.Element, name: str) -> int:
    text = piece.get(name, "")
    if not text.isdigit() or len(text) > 15:
        raise Damaged(f'the piece has {name}="{text[:20]}"')
    return int(text)


def read_piece(piece: ElementTree.Element, coding: Coding) -> Grid:
    n_points, n_cells = count_of(piece, "NumberOfPoints"), count_of(piece, "NumberOfCells")
    points = piece.find("Points/DataArray")
    cells = {array.get("Name"): array for array in piece.findall("Cells/DataArray")}
    if points is None or not {"connectivity", "offsets", "types"} <= set(cells):
        raise Damaged("the piece lacks points or cells")
    if (width := points.get("NumberOfComponents", "3")) != "3":
        raise Damaged(f"the points have {width[:20]} components, not 3", remedy="save x, y and z")
    xyz = read_array(points, coding, 3 * n_points).astype(float).reshape(-1, 3)
    offsets = to_ints(read_array(cells["offsets"], coding, n_cells))
    total = int(offsets[-1]) if n_cells else 0
    connectivity = to_ints(read_array(cells["connectivity"], coding, total))
    types = to_ints(read_array(cells["types"], coding, n_cells))
    return Grid(
        xyz,
        types,
        np.concatenate([[0], offsets]).astype(np.int64),
        connectivity,
        read_data(piece.find("PointData"), coding, n_points),
        read_data(piece.find("CellData"), coding, n_cells),
    )


def read_data(group: ElementTree.Element | None, coding: Coding, count: int) -> dict[str, NDArray]:
    """Integer arrays with one component, by name."""
    result = {}
    for array in group.findall("DataArray") if group is not None else []:
        one = array.get("NumberOfComponents", "1") in ("", "0", "1")
        if one and array.get("type", "").startswith(("Int", "UInt")):
            result[array.get("Name", "")] = read_array(array, coding, count)
    return result


def read_array(array: ElementTree.Element, coding: Coding, count: int) -> NDArray:
    """Exactly `count` values."""
    try:
        return read_values(array, coding, count)
    except Damaged as damage:
        raise damage.within(f'array "{array.get("Name") or "Points"}"') from None


def read_values(array: ElementTree.Element, coding: Coding, count: int) -> NDArray:
    name, kind = array.get("Name") or "Points", array.get("type", "")
    if kind not in DTYPES:
        raise Damaged(f'array "{name}" has type "{kind[:20]}"')
    dtype = np.dtype(coding.order + DTYPES[kind])
    form = array.get("format", "ascii")
    if form == "ascii":
        text = numbers(array.text or "")
        values: NDArray = to_ints(text) if dtype.kind in "iu" else text
    else:
        content = binary_content(array, coding, form, count * dtype.itemsize)
        values = np.frombuffer(content, dtype, len(content) // dtype.itemsize)
        values = values.astype(dtype.newbyteorder("="))
    if len(values) != count:
        raise Damaged(f'array "{name}" has {len(values)} values, not {count}', remedy="write the mesh again")
    return values


def binary_content(array: ElementTree.Element, coding: Coding, form: str, size: int) -> bytes:
    """The bytes of an array, unpacked; `size` is what is expected."""
    if form == "binary":
        stored, is_base64 = "".join((array.text or "").split()).encode(), True
    elif form == "appended":
        offset = array.get("offset", "")
        if not offset.isdigit() or len(offset) > 18 or int(offset) > len(coding.appended):
            raise Damaged("an array starts behind the end of the appended data")
        stored, is_base64 = coding.appended[int(offset) :], coding.appended_base64
    else:
        raise Damaged(f'an array has format "{form[:20]}"')
    if size > MAX_BYTES or size > MAX_RATIO * max(len(stored), 1):
        raise Damaged(f"an array claims {size} bytes, more than the file can hold")
    if not coding.compressor:
        return plain(stored, coding.header, is_base64)
    return unpacked(stored, coding, is_base64, size)


def decoded(text: bytes, n_bytes: int, is_base64: bool) -> bytes:
    """The first n_bytes of a stream that may be base64."""
    if not is_base64:
        content = text[:n_bytes]
    else:
        n_text = 4 * ((n_bytes + 2) // 3)
        try:
            content = base64.b64decode(text[:n_text], validate=True)[:n_bytes]
        except binascii.Error:
            raise Damaged("base64 data are damaged", remedy="write the mesh again") from None
    if len(content) < n_bytes:
        raise Damaged("binary data end early", remedy="write the mesh again")
    return content


def plain(stored: bytes, header: np.dtype, is_base64: bool) -> bytes:
    """Length in front, then the bytes."""
    length = int(np.frombuffer(decoded(stored, header.itemsize, is_base64), header)[0])
    if length > len(stored):
        raise Damaged(f"an array claims {length} bytes; {len(stored)} are there")
    return decoded(stored, header.itemsize + length, is_base64)[header.itemsize :]


def unpacked(stored: bytes, coding: Coding, is_base64: bool, size: int) -> bytes:
    """Number of blocks, size of a block, size of the last one, packed sizes; then the packed blocks."""
    width = coding.header.itemsize
    n_blocks, block, last = (
        int(x) for x in np.frombuffer(decoded(stored, 3 * width, is_base64), coding.header)
    )
    total = max(n_blocks - 1, 0) * block + (last or block) * min(n_blocks, 1)
    if n_blocks > len(stored) or total > size + block:
        raise Damaged("the sizes of compressed blocks do not fit the array")
    head = (3 + n_blocks) * width
    sizes = [int(x) for x in np.frombuffer(decoded(stored, head, is_base64), coding.header)[3:]]
    skip = 4 * ((head + 2) // 3) if is_base64 else head  # the header is encoded on its own
    if sum(sizes) > len(stored):
        raise Damaged("compressed blocks are longer than the file")
    packed = decoded(stored[skip:], sum(sizes), is_base64)
    content, at = [], 0
    for number, length in enumerate(sizes):
        most = last if number == n_blocks - 1 and last else block
        content.append(unpack(packed[at : at + length], coding.compressor, most))
        at += length
    return b"".join(content)


def unpack(packed: bytes, compressor: str, most: int) -> bytes:
    """One block, never more than `most` bytes."""
    try:
        if compressor == "vtkZLibDataCompressor":
            content = zlib.decompressobj().decompress(packed, most + 1)
        elif compressor == "vtkLZMADataCompressor":
            content = lzma.LZMADecompressor(memlimit=1 << 28).decompress(packed, most + 1)
        else:
            raise Damaged(
                f"data packed by {compressor[:40]}", remedy="save it with zlib or without compression"
            )
    except (zlib.error, lzma.LZMAError, EOFError):
        raise Damaged("compressed data are damaged", remedy="write the mesh again") from None
    if len(content) != most:
        raise Damaged("a compressed block does not have its size", remedy="write the mesh again")
    return content


def joined(grids: list[Grid]) -> Grid:
    """Pieces one after the other."""
    if len(grids) == 1:
        return grids[0]
    shift = np.cumsum([0, *(len(grid.points) for grid in grids)])
    ends = np.cumsum([0, *(grid.offsets[-1] for grid in grids)])
    names = []
    for kind in ("point_data", "cell_data"):
        known = [set(getattr(grid, kind)) for grid in grids]
        names.append(known[0])
        if others := sorted(set.union(*known) - set.intersection(*known)):
            told = ", ".join(f'"{name}"' for name in others)
            raise Damaged(f"its pieces do not hold the same arrays: {told}", remedy="write the mesh again")
    return Grid(
        np.concatenate([grid.points for grid in grids]),
        np.concatenate([grid.types for grid in grids]),
        np.concatenate(
            [[0], *(grid.offsets[1:] + end for grid, end in zip(grids, ends, strict=False))]
        ).astype(np.int64),
        np.concatenate([grid.connectivity + start for grid, start in zip(grids, shift, strict=False)]),
        {name: np.concatenate([grid.point_data[name] for grid in grids]) for name in sorted(names[0])},
        {name: np.concatenate([grid.cell_data[name] for grid in grids]) for name in sorted(names[1])},
    )
