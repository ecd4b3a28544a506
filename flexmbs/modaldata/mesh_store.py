"""`/mesh` of the file `*.modal.h5`: nodes, cells, sections of beams and shells, drawing surface and sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import hdf5
from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.beams import BeamData
from flexmbs.fe.elements import SHELLS
from flexmbs.fe.materials import anisotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sections import Section
from flexmbs.fe.shells.sections import Layer, ShellData, ShellSection
from flexmbs.modaldata.validate import Reader

#: numbers that the shapes of sections are given by
SIZES = {"": 0, "rectangle": 2, "circle": 1, "tube": 2}


def write_mesh(group: hdf5.Group, mesh: Mesh) -> None:
    """`/mesh`: nodes, cells, drawing surface and sets."""
    hdf5.dataset(group, "points", mesh.points, units="m")
    hdf5.dataset(group, "node_number", mesh.node_number)
    cells = group.create_group("cells")
    hdf5.attributes(cells, order=list(mesh.cells), source=mesh.source)
    numbers = group.create_group("cell_number")
    for kind, rows in mesh.cells.items():
        hdf5.dataset(cells, kind, rows)
        hdf5.dataset(numbers, kind, mesh.cell_number[kind])
    hdf5.dataset(group, "surface", mesh.surface())
    if mesh.beam is not None:
        _write_beam(group.create_group("beam"), mesh.beam)
    if mesh.shell is not None:
        _write_shell(group.create_group("shell"), mesh.shell)
    sets = group.create_group("sets")
    nodes = sets.create_group("nodes")
    for name, rows in mesh.node_sets.items():
        hdf5.dataset(nodes, safe(name), rows)
    for label, table in (("faces", mesh.face_sets), ("cells", mesh.cell_sets)):
        part = sets.create_group(label)
        for name, by_kind in table.items():
            hdf5.write_tree(part.create_group(safe(name)), by_kind)


def _write_beam(group: hdf5.Group, beam: BeamData) -> None:
    """What pictures and stresses of beams need: axes of the cells, section."""
    section = beam.section
    hdf5.attributes(group, shape=section.shape, theory=beam.theory, rotary_inertia=int(beam.rotary_inertia))
    hdf5.dataset(group, "axes", beam.axes)
    hdf5.dataset(group, "section", np.array([section.A, section.Iy, section.Iz, section.J]), units="m^2, m^4")
    hdf5.dataset(group, "size", np.array(section.size, dtype=float), units="m")
    hdf5.dataset(group, "shear_factor", np.array(section.shear_factor or (), dtype=float))


def _read_beam(reader: Reader, n_cells: int) -> BeamData | None:
    """None where the file has no beams, or is of an earlier program."""
    if not reader.has("mesh/beam"):
        return None
    A, Iy, Iz, J = reader.floats("mesh/beam/section", (4,)).tolist()
    size = tuple(reader.floats("mesh/beam/size", (None,)).tolist())
    factor = reader.floats("mesh/beam/shear_factor", (None,)).tolist()
    shape = reader.text_attribute("mesh/beam", "shape")
    if min(A, Iy, Iz) <= 0.0 or SIZES.get(shape) != len(size) or len(factor) not in (0, 2):
        reader.refuse("/mesh/beam is no section")
    section = Section(A, Iy, Iz, J, (factor[0], factor[1]) if factor else None, shape, size)
    rotary = bool(reader.int_attribute("mesh/beam", "rotary_inertia"))
    axes = reader.floats("mesh/beam/axes", (n_cells, 3, 3))
    return BeamData(section, axes, reader.text_attribute("mesh/beam", "theory"), rotary)


def _write_shell(group: hdf5.Group, shell: ShellData) -> None:
    """Sections of shells: thickness, offset, axis, layers; and which section each cell has."""
    sections = shell.sections
    table = [[item.thickness, item.offset, *item.axis] for item in sections]
    hdf5.dataset(group, "sections", np.array(table), units="m")
    layers = [(k, layer) for k, item in enumerate(sections) for layer in item.layers]
    rows = [[k, layer.thickness, layer.angle, layer.material.rho] for k, layer in layers]
    hdf5.dataset(group, "layers", np.array(rows, dtype=float).reshape(-1, 4))
    C = np.array([layer.material.C_mat for _, layer in layers]).reshape(-1, 6, 6)
    hdf5.dataset(group, "layer_stiffness", C, units="Pa")
    index = group.create_group("index")
    for kind, which in shell.index.items():
        hdf5.dataset(index, kind, which)


def _read_shell(reader: Reader, cells: Mapping[str, NDArray[np.int64]]) -> ShellData | None:
    """None where the file has no shells."""
    if not reader.has("mesh/shell"):
        return None
    table = reader.floats("mesh/shell/sections", (None, 5))
    rows = reader.floats("mesh/shell/layers", (None, 4))
    C = reader.floats("mesh/shell/layer_stiffness", (len(rows), 6, 6))
    if not len(table) or table[:, 0].min() <= 0.0 or not set(rows[:, 0]) <= set(range(len(table))):
        reader.refuse("/mesh/shell has no sections")
    sections = tuple(
        ShellSection(
            thickness,
            offset,
            tuple(
                Layer(rows[k, 1], anisotropic(f"layer {k + 1}", C[k], rows[k, 3]), rows[k, 2])
                for k in np.flatnonzero(rows[:, 0] == number)
            ),
            (x, y, z),
        )
        for number, (thickness, offset, x, y, z) in enumerate(table.tolist())
    )
    kinds = [kind for kind in cells if kind in SHELLS]
    index = {
        kind: reader.indices(f"mesh/shell/index/{kind}", (len(cells[kind]),), len(sections)) for kind in kinds
    }
    return ShellData(sections, index)


def safe(name: str) -> str:
    """A set name as a path component."""
    return name.replace("/", "|") if name not in (".", "..", "") else f"_{name}"


def read_mesh(reader: Reader) -> Mesh:
    points = reader.floats("mesh/points", (None, 3))
    n = len(points)
    cells, numbers = {}, {}
    for kind in reader.cell_types():
        cells[kind] = reader.cell_rows(kind, n)
        numbers[kind] = reader.indices(f"mesh/cell_number/{kind}", (len(cells[kind]),), None)
    sets = reader.tree("mesh/sets")
    try:
        return Mesh(
            points,
            cells,
            node_number=reader.indices("mesh/node_number", (n,), None),
            cell_number=numbers,
            node_sets={k: reader.in_range(v, n, f"set {k}") for k, v in sets.get("nodes", {}).items()},
            face_sets=_by_kind(reader, sets.get("faces", {}), cells),
            cell_sets=_by_kind(reader, sets.get("cells", {}), cells),
            source=reader.text_attribute("mesh/cells", "source"),
            beam=_read_beam(reader, len(cells.get("beam2", ()))),
            shell=_read_shell(reader, cells),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(Diagnostic("modal.mesh", reader.name, f"/mesh is damaged: {error}")) from None


def _by_kind(
    reader: Reader, table: Mapping[str, Any], cells: Mapping[str, NDArray[np.int64]]
) -> dict[str, dict[str, NDArray[np.int64]]]:
    result: dict[str, dict[str, NDArray[np.int64]]] = {}
    for name, by_kind in table.items():
        result[name] = {}
        for kind, rows in by_kind.items():
            if kind not in cells:
                reader.refuse(f"set {name} names cells of type {kind}, of which there are none")
            array = np.asarray(rows)
            reader.in_range(array[:, 0] if array.ndim == 2 else array, len(cells[kind]), f"set {name}")
            result[name][kind] = array.astype(np.int64)
    return result
