"""`/mesh` of the file `*.modal.h5`: nodes, cells, sections of beams and shells, drawing surface and sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import hdf5
from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.beams import Beam, BeamData
from flexmbs.fe.elements import SHELLS
from flexmbs.fe.materials import anisotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sections import Section
from flexmbs.fe.shells.sections import SHEAR_FACTOR, Layer, ShellData, ShellSection
from flexmbs.modaldata.validate import Reader

#: numbers that the shapes of sections are given by
SIZES = {"": 0, "rectangle": 2, "circle": 1, "tube": 2}


def write_mesh(group: hdf5.Node, mesh: Mesh) -> None:
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


def _write_beam(group: hdf5.Node, data: BeamData) -> None:
    """Axes of the cells, sections, and which one each cell has."""
    hdf5.dataset(group, "axes", data.axes)
    hdf5.dataset(group, "index", data.index)
    hdf5.dataset(group, "offset", data.offset, units="m")
    hdf5.dataset(group, "released", data.released.astype(np.int8))
    for number, beam in enumerate(data.beams):
        part, section = group.create_group(f"section_{number + 1}"), beam.section
        hdf5.attributes(
            part, shape=section.shape, theory=beam.theory, rotary_inertia=int(beam.rotary_inertia)
        )
        values = np.array([section.A, section.Iy, section.Iz, section.J])
        hdf5.dataset(part, "section", values, units="m^2, m^4")
        hdf5.dataset(part, "size", np.array(section.size, dtype=float), units="m")
        hdf5.dataset(part, "shear_factor", np.array(section.shear_factor or (), dtype=float))
        hdf5.dataset(part, "extra", np.array([section.extra]), units="kg/m")
        hdf5.dataset(part, "shear_centre", np.array(section.shear_centre), units="m")


def _read_beam(reader: Reader, n_cells: int) -> BeamData | None:
    """None where the file has no beams, or is of an earlier program that stored no section."""
    if not reader.has("mesh/beam"):
        return None
    axes = reader.floats("mesh/beam/axes", (n_cells, 3, 3))
    if reader.has("mesh/beam/section"):  # before there were several
        return BeamData.of(axes, (_read_section(reader, "mesh/beam"),), np.zeros(n_cells, dtype=np.int64))
    beams: list[Beam] = []
    while reader.has(f"mesh/beam/section_{len(beams) + 1}"):
        beams.append(_read_section(reader, f"mesh/beam/section_{len(beams) + 1}"))
    index = reader.indices("mesh/beam/index", (n_cells,), len(beams))
    offset = reader.floats("mesh/beam/offset", (n_cells, 2, 3))
    released = reader.indices("mesh/beam/released", (n_cells, 12), 2).astype(bool)
    return BeamData(tuple(beams), index, axes, offset, released)


def _read_section(reader: Reader, at: str) -> Beam:
    A, Iy, Iz, J = reader.floats(f"{at}/section", (4,)).tolist()
    size = tuple(reader.floats(f"{at}/size", (None,)).tolist())
    factor = reader.floats(f"{at}/shear_factor", (None,)).tolist()
    extra = reader.floats(f"{at}/extra", (1,)).tolist()[0] if reader.has(f"{at}/extra") else 0.0
    centre = (
        reader.floats(f"{at}/shear_centre", (2,)).tolist() if reader.has(f"{at}/shear_centre") else [0, 0]
    )
    shape = reader.text_attribute(at, "shape")
    if min(A, Iy, Iz) <= 0.0 or SIZES.get(shape) != len(size) or len(factor) not in (0, 2):
        reader.refuse(f"/{at} is no section")
    shear = (factor[0], factor[1]) if factor else None
    section = Section(A, Iy, Iz, J, shear, shape, size, extra, (float(centre[0]), float(centre[1])))
    rotary = bool(reader.int_attribute(at, "rotary_inertia"))
    return Beam(section, reader.text_attribute(at, "theory"), rotary)


def _write_shell(group: hdf5.Node, shell: ShellData) -> None:
    """Sections of shells: thickness, offset, axis, layers; and which section each cell has."""
    sections = shell.sections
    table = [[item.thickness, item.offset, *item.axis] for item in sections]
    hdf5.dataset(group, "sections", np.array(table), units="m")
    factors = np.array([[item.bending, item.shear, item.extra] for item in sections])
    hdf5.dataset(group, "factors", factors, units="1, 1, kg/m^2")
    given = [item.stiffness or np.zeros(64) for item in sections]
    hdf5.dataset(group, "stiffness", np.array(given).reshape(-1, 8, 8), units="N/m, N, N m")
    layers = [(k, layer) for k, item in enumerate(sections) for layer in item.layers]
    plies = [[k, layer.thickness, layer.angle, layer.material.rho] for k, layer in layers]
    hdf5.dataset(group, "layers", np.array(plies, dtype=float).reshape(-1, 4))
    C = np.array([layer.material.C_mat for _, layer in layers]).reshape(-1, 6, 6)
    hdf5.dataset(group, "layer_stiffness", C, units="Pa")
    index = group.create_group("index")
    for kind, which in shell.index.items():
        hdf5.dataset(index, kind, which)
    axes = group.create_group("axis")
    for kind, rows in shell.axis.items():
        hdf5.dataset(axes, kind, rows)


def _read_shell(reader: Reader, cells: Mapping[str, NDArray[np.int64]]) -> ShellData | None:
    """None where the file has no shells."""
    if not reader.has("mesh/shell"):
        return None
    table = reader.floats("mesh/shell/sections", (None, 5))
    rows = reader.floats("mesh/shell/layers", (None, 4))
    C = reader.floats("mesh/shell/layer_stiffness", (len(rows), 6, 6))
    plain = np.tile([1.0, SHEAR_FACTOR, 0.0], (len(table), 1))
    stored = reader.has("mesh/shell/factors")
    factors = reader.floats("mesh/shell/factors", (len(table), 3)) if stored else plain
    given = np.zeros((len(table), 8, 8))
    if reader.has("mesh/shell/stiffness"):
        given = reader.floats("mesh/shell/stiffness", given.shape)
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
            bending,
            shear,
            extra,
            stiffness=tuple(given[number].ravel().tolist()) if given[number].any() else (),
        )
        for number, (thickness, offset, x, y, z, bending, shear, extra) in enumerate(
            np.hstack([table, factors]).tolist()
        )
    )
    kinds = [kind for kind in cells if kind in SHELLS]
    index = {
        kind: reader.indices(f"mesh/shell/index/{kind}", (len(cells[kind]),), len(sections)) for kind in kinds
    }
    axis = {
        kind: reader.floats(f"mesh/shell/axis/{kind}", (len(cells[kind]), 3))
        for kind in kinds
        if reader.has(f"mesh/shell/axis/{kind}")
    }
    return ShellData(sections, index, axis)


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
