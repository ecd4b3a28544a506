"""Every format and cell type: geometry, numbers and sets survive."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.check.mesh import check_mesh
from flexmbs.fe.check.summary import volume
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers import read_mesh
from tests.fe import mesh_writers as write
from tests.fe.mesh_samples import SOLIDS, face_geometry, geometry, sample

FORMATS = {
    "gmsh41": ("msh", lambda m, p: write.write_gmsh41(m, p)),
    "gmsh41-binary": ("msh", lambda m, p: write.write_gmsh41(m, p, binary=True)),
    "gmsh41-big-endian": ("msh", lambda m, p: write.write_gmsh41(m, p, binary=True, order=">")),
    "gmsh22": ("msh", lambda m, p: write.write_gmsh22(m, p)),
    "gmsh22-binary": ("msh", lambda m, p: write.write_gmsh22(m, p, binary=True)),
    "inp": ("inp", write.write_inp),
    "vtk4": ("vtk", lambda m, p: write.write_vtk(m, p)),
    "vtk4-binary": ("vtk", lambda m, p: write.write_vtk(m, p, binary=True)),
    "vtk5": ("vtk", lambda m, p: write.write_vtk(m, p, version=5)),
    "vtk5-binary": ("vtk", lambda m, p: write.write_vtk(m, p, binary=True, version=5)),
    "vtu": ("vtu", lambda m, p: write.write_vtu(m, p)),
    "vtu-binary": ("vtu", lambda m, p: write.write_vtu(m, p, "binary")),
    "vtu-binary-zlib": ("vtu", lambda m, p: write.write_vtu(m, p, "binary", packed=True)),
    "vtu-appended": ("vtu", lambda m, p: write.write_vtu(m, p, "appended")),
    "vtu-appended-zlib": ("vtu", lambda m, p: write.write_vtu(m, p, "appended", packed=True)),
    "bdf-free": ("bdf", lambda m, p: write.write_bdf(m, p)),
    "bdf-large": ("bdf", lambda m, p: write.write_bdf(m, p, "large")),
    "bdf-small": ("bdf", lambda m, p: write.write_bdf(m, p, "small", begin=False)),
}
AFFINE = np.array([[1.0, 0.2, 0], [0, 1.1, 0.3], [0.1, 0, 0.9]])
ROUNDED = {"bdf-small": 1e-3, "bdf-large": 1e-9}  # digits of the field
FACES = ("left", "top", "front", "right")
# names of the sets where a format has no names
RENAMED = {
    "vtk": {name: f"region_{5 + k}" for k, name in enumerate(FACES)},
    "vtu": {name: f"region_{5 + k}" for k, name in enumerate(FACES)},
    "bdf": {name: f"pid_{50 + k}" for k, name in enumerate(FACES)}
    | {"low": "set_7", "corner": None, "all": None},
    "msh": {"low": None},
}


@pytest.fixture(scope="module")
def samples():
    return {kind: sample(kind) for kind in SOLIDS}


def cases():
    return [
        (form, kind) for form in FORMATS for kind in SOLIDS if not (form[:3] == "bdf" and kind == "hex27")
    ]


@pytest.mark.parametrize(("form", "kind"), cases())
def test_geometry_numbers_and_sets_survive(samples, tmp_path, form, kind):
    mesh = samples[kind]
    ending, writer = FORMATS[form]
    writer(mesh, tmp_path / f"m.{ending}")
    back = read_mesh(tmp_path / f"m.{ending}")
    atol = ROUNDED.get(form, 1e-15)
    np.testing.assert_allclose(geometry(back)[kind], geometry(mesh)[kind], rtol=0, atol=atol)
    assert sorted(back.cell_number[kind]) == sorted(mesh.cell_number[kind])
    np.testing.assert_array_equal(np.sort(back.node_number), mesh.node_number)
    named = RENAMED.get(ending, {}) | ({"low": None} if form == "bdf-small" else {})
    for name in FACES:
        there = face_geometry(back, named.get(name, name))
        np.testing.assert_allclose(there, face_geometry(mesh, name), rtol=0, atol=atol)
    for name in ("half", "all", "corner", "low"):
        if name in named and named[name] is None or name == "all" and ending in ("vtk", "vtu"):
            continue
        expected = mesh.node_number[mesh.node_set_of(name)]
        found = back.node_number[back.node_set_of(named.get(name, name))]
        np.testing.assert_array_equal(np.sort(found), expected)
    check = check_mesh(back)
    assert not check.errors and not check.warnings


@pytest.mark.parametrize("kind", SOLIDS)
def test_volume_and_skin_agree(samples, tmp_path, kind):
    """Divergence theorem on straight cells: a wrong node order or an inward face cannot pass."""
    mesh = sample(kind, shape=lambda x: x @ AFFINE)
    write.write_gmsh41(mesh, tmp_path / "m.msh", binary=True)
    back = read_mesh(tmp_path / "m.msh")
    a, b, c = (back.points[back.surface()[:, k]] for k in range(3))
    skin_volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    np.testing.assert_allclose(skin_volume, volume(back), rtol=1e-13)
    np.testing.assert_allclose(
        volume(back), np.linalg.det([[1.0, 0.2, 0], [0, 1.1, 0.3], [0.1, 0, 0.9]]), rtol=1e-13
    )


def test_shipped_meshes_have_the_volume_of_their_geometry():
    """Files written by gmsh itself; numbers from its geometry kernel, faceted only by quadratic cells."""
    from flexmbs.resources import resource

    plate, bracket = (check_mesh(read_mesh(resource("meshes", f"{n}.msh"))) for n in ("plate", "bracket"))
    assert not plate.diagnostics and not bracket.diagnostics
    np.testing.assert_allclose(volume(plate.mesh), 0.4 * 0.3 * 0.006, rtol=1e-12)
    outline = np.array([(-25, -22), (140, -18), (140, 16), (50, 108), (12, 108), (-25, 20)]) * 1e-3
    x, y = outline.T
    area = 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1)) - np.pi * (0.012**2 + 2 * 0.008**2)
    np.testing.assert_allclose(volume(bracket.mesh), 0.012 * area, rtol=2e-5)  # parabolas for arcs
    rod = read_mesh(resource("meshes", "rod.msh"))
    radius = np.linalg.norm(rod.points[rod.node_set_of("bore_small")][:, :2] - [0.2, 0.0], axis=1)
    np.testing.assert_allclose(radius, 0.010, atol=2e-8)  # written with 10 nm
    assert set(rod.cell_sets) == {"rod"}


def test_unit_scales_the_coordinates(tmp_path):
    mesh = sample("tet4")
    write.write_inp(mesh, tmp_path / "m.inp")
    np.testing.assert_allclose(
        read_mesh(tmp_path / "m.inp", unit=1e-3).points, 1e-3 * mesh.points, rtol=1e-15
    )


def test_duplicates_of_gmsh_22_are_counted(tmp_path):
    """An element stands in the file once per group; beyond that it is a duplicate, and counts once."""
    path = tmp_path / "a.msh"
    write.write_gmsh22(sample("tet4"), path)
    good = read_mesh(path)
    head, _, rest = path.read_text().partition("$Elements\n")
    count, *lines = rest.split("\n")
    end = lines.index("$EndElements")
    rows = [line.split() for line in lines[:end]]
    solids = [row for row in rows if row[1] == "4"]
    last = max(int(row[0]) for row in rows)
    more = [[str(last + 1 + k), *row[1:]] for k, row in enumerate(solids[:3])]
    in_two = [[str(last + 9), row[1], row[2], "77", *row[4:]] for row in solids[4:5]]
    text = "\n".join(" ".join(row) for row in rows + more + in_two)
    path.write_text(f"{head}$Elements\n{int(count) + 4}\n{text}\n" + "\n".join(lines[end:]))
    mesh = read_mesh(path)
    assert mesh.n_cells == good.n_cells
    (note,) = mesh.notes
    assert note.code == "mesh.repeated" and note.what.startswith("3 tet4 elements repeat others (element ")


def in_two_pieces(folder, change=lambda piece: piece):
    """A file whose mesh is there twice, the second one 10 m away."""
    mesh = sample("tet4")
    texts = []
    for name, shift in (("one", 0.0), ("two", 10.0)):
        later = int(100 * shift)
        cell_number = {kind: numbers + later for kind, numbers in mesh.cell_number.items()}
        moved = Mesh(
            mesh.points + [shift, 0.0, 0.0], mesh.cells, mesh.node_number + later, cell_number,
            cell_sets=mesh.cell_sets,
        )  # fmt: skip
        write.write_vtu(moved, folder / f"{name}.vtu")
        texts.append((folder / f"{name}.vtu").read_text())
    head, start, rest = texts[0].partition("<Piece")
    first, end, tail = rest.partition("</Piece>")
    second = texts[1].partition("<Piece")[2].partition("</Piece>")[0]
    (folder / "a.vtu").write_text(head + start + first + end + start + change(second) + end + tail)
    return mesh, folder / "a.vtu"


def test_pieces_of_vtu_are_read_one_after_the_other(tmp_path):
    mesh, path = in_two_pieces(tmp_path)
    found = read_mesh(path)
    n, cells = mesh.n_nodes, len(mesh.cells["tet4"])
    np.testing.assert_allclose(found.points[:n], mesh.points, atol=1e-12)
    np.testing.assert_allclose(found.points[n:], mesh.points + [10.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(found.cells["tet4"][cells:], found.cells["tet4"][:cells] + n)
    halves = [rows["tet4"] for rows in found.cell_sets.values() if "tet4" in rows]
    assert halves
    for half in halves:
        np.testing.assert_array_equal(half[len(half) // 2 :], half[: len(half) // 2] + cells)


def test_pieces_of_vtu_with_other_sets_are_refused(tmp_path):
    """A set that one piece does not know would be lost without a word."""
    _, path = in_two_pieces(tmp_path, lambda piece: piece.replace('Name="node_number"', 'Name="number"'))
    with pytest.raises(InputError, match='pieces do not hold the same arrays: "node_number", "number"'):
        read_mesh(path)


def test_vtu_points_in_a_plane_are_refused(tmp_path):
    path = tmp_path / "a.vtu"
    write.write_vtu(sample("tet4"), path)
    head, points, rest = path.read_text().partition("<Points>")
    assert 'NumberOfComponents="3"' in rest
    path.write_text(head + points + rest.replace('NumberOfComponents="3"', 'NumberOfComponents="2"'))
    with pytest.raises(InputError, match="the points have 2 components, not 3"):
        read_mesh(path)
