"""Formats that meshio reads come through the same door; converting between them keeps the mesh."""

import h5py
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.cli.main import main
from flexmbs.fe.check.mesh import check_mesh
from flexmbs.fe.convert import convert
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers import read_mesh
from flexmbs.fe.shapes.parametric import box

meshio = pytest.importorskip("meshio")

ALL = ["med", "xdmf", "vtu", "vtk", "inp", "msh", "exo", "cgns", "mesh", "ugrid", "avs", "mdpa", "su2", "bdf"]
LINEAR_ONLY = ["ugrid", "su2"]  # formats without quadratic cells


def part(element="hex8", divisions=(3, 2, 1)):
    mesh = box((0.03, 0.02, 0.01), divisions, element=element)
    points = mesh.points @ np.array([[1.0, 0.1, 0.05], [0.2, 1.0, 0.1], [0.0, 0.3, 1.0]])
    half = {kind: np.arange(len(rows) // 2) for kind, rows in mesh.cells.items()}
    return Mesh(points, mesh.cells, node_sets={"few": np.array([0, 3, 5])}, cell_sets={"half": half})


def write(mesh, path):
    from flexmbs.fe.convert import to_meshio

    meshio.write(path, to_meshio(mesh))


@pytest.mark.parametrize("ending", ALL)
@pytest.mark.parametrize("element", ["tet4", "hex8", "tet10", "hex20"])
def test_conversion_keeps_the_mesh(tmp_path, ending, element):
    if ending in LINEAR_ONLY and element in ("tet10", "hex20"):
        pytest.skip("the format has no quadratic cells")
    write(part(element), tmp_path / "in.vtu")
    before = check_mesh(read_mesh(tmp_path / "in.vtu")).require()
    try:
        done = convert(tmp_path / "in.vtu", tmp_path / f"out.{ending}")
    except fm.InputError as error:  # a refusal is honest, a different mesh is not
        assert error.diagnostics[0].code == "mesh.output"
        assert (ending, element) in REFUSED, error
        return
    after = check_mesh(read_mesh(done.path)).require()
    assert (ending, element) not in REFUSED
    for kind, rows in before.cells.items():
        np.testing.assert_allclose(after.points[after.cells[kind]], before.points[rows], rtol=1e-6, atol=1e-9)
    kept = [name for name in before.set_names if name not in done.lost]
    assert set(kept) <= set(after.set_names)


#: what meshio 5.3 cannot write, or cannot read back
REFUSED = {("cgns", "hex8")} | {(x, y) for x in ("ugrid", "bdf") for y in ("tet4", "hex8")}
REFUSED |= {(x, y) for x in ("cgns", "mesh", "avs", "bdf") for y in ("tet10", "hex20")}


@pytest.mark.parametrize("ending", ["vtu", "xdmf", "inp"])
def test_sets_survive_where_the_format_has_them(tmp_path, ending):
    write(part(), tmp_path / "in.vtu")
    done = convert(tmp_path / "in.vtu", tmp_path / f"out.{ending}")
    mesh = read_mesh(done.path)
    assert not done.lost and {"few", "half"} <= set(mesh.set_names)
    assert len(mesh.node_sets["few"]) == 3 and len(mesh.cell_sets["half"]["hex8"]) == 3


def test_groups_of_med_are_sets(tmp_path):
    mesh = part()
    tags = np.where(np.arange(6) < 3, -1, -2)
    out = meshio.Mesh(mesh.points, [("hexahedron", mesh.cells["hex8"])], cell_data={"cell_tags": [tags]})
    out.cell_tags = {-1: ["left"], -2: ["right"]}
    meshio.write(tmp_path / "a.med", out)
    found = read_mesh(tmp_path / "a.med")
    assert {name: len(rows["hex8"]) for name, rows in found.cell_sets.items()} == {"left": 3, "right": 3}


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "a.med").write_bytes(b"no HDF5")
    with pytest.raises(fm.InputError, match="meshio cannot read it"):
        read_mesh(tmp_path / "a.med")


def test_a_reader_that_never_ends_is_ended(tmp_path, monkeypatch):
    """A Kratos file without the end of a block: meshio reads on at the end of the file."""
    monkeypatch.setattr("flexmbs.fe.readers.meshio_formats.LEAST_SECONDS", 1)
    (tmp_path / "a.mdpa").write_text("Begin Nodes\n1 0.0 0.0 0.0\n")
    with pytest.raises(fm.InputError, match=r"meshio cannot read it .it took longer than 10? s"):  # clock: 10
        read_mesh(tmp_path / "a.mdpa")


def test_a_file_that_claims_gigabytes_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5m", "w") as file:
        made = file.create_dataset("tstt/nodes/coordinates", (2**28, 3), "f8", compression=1)
        made.attrs["start_id"] = 1
        file.create_group("tstt/elements")
    with pytest.raises(fm.InputError, match="claims more memory than a file of its size may take"):
        read_mesh(tmp_path / "a.h5m")


XDMF = '<?xml version="1.0" ?>\n<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>\n'  # as ParaView and FEniCS begin


def test_xdmf_with_a_declaration_is_xdmf(tmp_path):
    write(part(), tmp_path / "a.xdmf")
    plain = (tmp_path / "a.xdmf").read_text()
    (tmp_path / "b.xdmf").write_text(XDMF + plain)
    assert read_mesh(tmp_path / "b.xdmf").cells.keys() == read_mesh(tmp_path / "a.xdmf").cells.keys()
    (tmp_path / "c.xdmf").write_text(XDMF.replace("[]", '[<!ENTITY a "b">]') + plain)
    with pytest.raises(fm.InputError, match="declares entities"):
        read_mesh(tmp_path / "c.xdmf")


@pytest.mark.parametrize("form", ["HDF", "Binary"])
@pytest.mark.parametrize("name", ["../secret.h5:/x", "/etc/passwd:/x"])
def test_parts_outside_the_folder_are_refused(tmp_path, form, name):
    item = f'<DataItem DataType="Float" Dimensions="1 3" Format="{form}" Precision="8">{name}</DataItem>'
    (tmp_path / "secret.h5").write_bytes(b"precious")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xdmf").write_text(
        f'<Xdmf Version="3.0"><Domain><Grid>{item}</Grid></Domain></Xdmf>'
    )
    with pytest.raises(fm.InputError, match="leaves the folder of the mesh file"):
        read_mesh(tmp_path / "in" / "a.xdmf")


def test_links_to_other_files_are_refused(tmp_path):
    write(part(), tmp_path / "a.med")
    with h5py.File(tmp_path / "a.med", "r+") as file:
        file["more"] = h5py.ExternalLink("../secret.h5", "/x")
    with pytest.raises(fm.InputError, match="soft or external link"):
        read_mesh(tmp_path / "a.med")


def test_command_converts_and_names_lost_sets(tmp_path, capsys):
    write(part(), tmp_path / "in.vtu")
    assert main(["mesh", str(tmp_path / "in.vtu"), "-o", str(tmp_path / "out.su2")]) == 0
    assert "has no place for" in capsys.readouterr().out
    assert main(["mesh", str(tmp_path / "in.vtu"), "-o", str(tmp_path / "out.docx")]) == 2
