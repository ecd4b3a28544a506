"""Geometry to mesh through the child process, and what is refused before it starts."""

import json
import subprocess
import sys

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.cli.main import main
from flexmbs.errors import InputError, MissingComponentError, UsageError
from flexmbs.fe.cad.convert import mesh_cad
from flexmbs.fe.cad.geo_guard import check_geo
from flexmbs.fe.check.summary import volume
from flexmbs.fe.elements import ELEMENTS

needs_gmsh = pytest.mark.needs("gmsh")

PART = """SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 60, 20, 10};
Cylinder(2) = {20, 10, -1, 0, 0, 12, 5};
BooleanDifference{ Volume{1}; Delete; }{ Volume{2}; Delete; }
Physical Surface("bore") = {7};
Physical Point("corner") = {1};
"""
EXACT = (60 * 20 - np.pi * 25) * 10e-9

TO_STEP = """
import gmsh, sys
gmsh.initialize(["gmsh"], readConfigFiles=False)
gmsh.option.setNumber("General.Terminal", 0)
gmsh.model.occ.addBox(0, 0, 0, 60, 20, 10)
gmsh.model.occ.synchronize()
gmsh.write(sys.argv[1])
gmsh.finalize()
"""


@pytest.fixture
def part(tmp_path):
    path = tmp_path / "part.geo"
    path.write_text(PART)
    return path


@needs_gmsh
@pytest.mark.slow
@pytest.mark.parametrize("element", ["tet4", "tet10", "hex20"])
def test_geo_in_millimetres(part, tmp_path, element):
    made = mesh_cad(part, tmp_path / "p.msh", size=6e-3, element=element, unit=1e-3)
    assert not made.check.errors and set(made.check.mesh.cells) == {element}
    assert volume(made.check.mesh) == pytest.approx(EXACT, rel=1e-2 if element == "tet4" else 3e-4)  # facets
    bore = made.check.mesh.points[made.check.mesh.face_set_nodes("bore")]
    np.testing.assert_allclose(np.hypot(bore[:, 0] - 0.02, bore[:, 1] - 0.01), 5e-3, rtol=1e-6)
    assert made.check.mesh.set_kinds("body") == ["cell"]


@needs_gmsh
@pytest.mark.slow
def test_step_states_its_unit(tmp_path):
    step = tmp_path / "box.step"
    subprocess.run([sys.executable, "-c", TO_STEP, str(step)], check=True, stdout=subprocess.DEVNULL)
    assert "MILLI" in step.read_text()
    made = mesh_cad(step, tmp_path / "p.msh", order=1)
    assert volume(made.check.mesh) == pytest.approx(60 * 20 * 10e-9, rel=1e-9)
    assert {f"face_{k}" for k in range(1, 7)} <= set(made.check.mesh.face_sets)
    step.write_text(step.read_text()[:3000])
    with pytest.raises(InputError, match="Could not read"):
        mesh_cad(step, tmp_path / "q.msh")
    assert not (tmp_path / "q.msh").exists()


SURFACES = """
import gmsh, sys
gmsh.initialize(["gmsh"], readConfigFiles=False)
gmsh.option.setNumber("General.Terminal", 0)
occ = gmsh.model.occ
for corners in (
    [(0, 0, 0), (200, 0, 0), (200, 50, 0), (0, 50, 0)],
    [(0, 0, 0), (200, 0, 0), (200, 0, 30), (0, 0, 30)],
    [(0, 50, 0), (200, 50, 0), (200, 50, 30), (0, 50, 30)],
    [(0, 20, 0), (0, 20, 30), (100, 20, 30), (100, 20, 0)],
):
    points = [occ.addPoint(*place) for place in corners]
    lines = [occ.addLine(a, b) for a, b in zip(points, points[1:] + points[:1])]
    occ.addPlaneSurface([occ.addCurveLoop(lines)])
occ.synchronize()
gmsh.write(sys.argv[1])
gmsh.finalize()
"""


@needs_gmsh
@pytest.mark.slow
@pytest.mark.parametrize("element", ["tri6", "quad4", "quad9"])
def test_the_middle_surface_of_a_step_file_is_a_body_of_shells(tmp_path, element):
    """A channel of three separate faces, normals this way and that, with a fin on its web: one line."""
    step = tmp_path / "channel.step"
    subprocess.run([sys.executable, "-c", SURFACES, str(step)], check=True, stdout=subprocess.DEVNULL)
    mesh = {"shape": "shell", "file": "channel.step", "thickness": "2 mm", "element_size": "12 mm"}
    recipe = tmp_path / "r.toml"
    rest = ", ".join(f'{key} = "{value}"' for key, value in (mesh | {"element": element}).items())
    recipe.write_text(f'material = "steel"\nmodes = 2\nmesh = {{ {rest} }}\n')
    modal = fm.reduce(recipe)
    area = 0.2 * (0.05 + 2 * 0.03) + 0.1 * 0.03
    assert modal.integrals.mass == pytest.approx(7850 * 0.002 * area, rel=1e-9)
    assert set(modal.mesh.cells) == {element} and modal.frequency_hz[0] > 100.0
    rows = modal.mesh.cells[element]
    along = np.concatenate([rows[:, list(edge[:2])] for edge in ELEMENTS[element].edges])
    _, place, count = np.unique(np.sort(along, axis=1), axis=0, return_inverse=True, return_counts=True)
    pairs = along[count[place.ravel()] == 2]
    assert len(np.unique(pairs, axis=0)) == len(pairs)  # both ways: normals on one side
    assert count.max() == 3
    assert {name.split("_")[0] for name in modal.mesh.set_names} == {"face", "edge"}


@needs_gmsh
def test_solids_are_no_surfaces(tmp_path):
    (tmp_path / "box.geo").write_text('SetFactory("OpenCASCADE");\nBox(1) = {0, 0, 0, 1, 1, 1};\n')
    with pytest.raises(InputError, match="shells need surfaces alone; the geometry has 6, and 1 solids"):
        fm.reduce({"mesh": {"file": str(tmp_path / "box.geo"), "thickness": 0.01}, "modes": 2})


@needs_gmsh
@pytest.mark.slow
def test_time_is_limited(part, tmp_path):
    with pytest.raises(InputError, match="longer than 1 s"):
        mesh_cad(part, tmp_path / "p.msh", size=2e-4, unit=1e-3, seconds=1)


@needs_gmsh
def test_surfaces_are_no_solid(tmp_path):
    (tmp_path / "flat.geo").write_text('SetFactory("OpenCASCADE");\nRectangle(1) = {0, 0, 0, 1, 1};\n')
    with pytest.raises(InputError, match="no solid, only 1 surfaces"):
        mesh_cad(tmp_path / "flat.geo", tmp_path / "p.msh")


@needs_gmsh
@pytest.mark.slow
def test_command_line(part, tmp_path, capsys):
    target = tmp_path / "p.msh"
    assert (
        main(["mesh", str(part), "-o", str(target), "--size", "8 mm", "--unit-system", "mm", "--json"]) == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["cells"]["tet10"] > 100 and {"bore", "corner"} <= {row["name"] for row in answer["sets"]}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('SystemCall "touch x";', 'part.geo:7  error  "SystemCall" is not allowed'),
        ('Printf("x") > "file";', '"Printf" is not allowed'),
        ('Merge "/etc/passwd";', "outside the folder"),
        ('Merge "../x.step";', "outside the folder"),
        ('Merge StrCat("a", "b");', "outside the folder"),
        ('Include "none.geo";', "there is no such file"),
        ('S = "/*"; SystemCall "x"; T = "*/";', '"SystemCall" is not allowed'),
        ('S = "\\"; System "x"; //";', "a quote behind a backslash"),
        ("Field[1] = ExternalProcess;", '"ExternalProcess" is not allowed'),
        ('Save "x.msh";', '"Save" is not allowed'),
    ],
)
def test_geo_may_not_run_or_read(part, tmp_path, line, says):
    part.write_text(PART + line + "\n")
    with pytest.raises(InputError) as error:
        mesh_cad(part, tmp_path / "p.msh")
    assert says in str(error.value)


def test_geo_includes_are_looked_at_too(part, tmp_path):
    (tmp_path / "inner.geo").write_text('// fine\nSystemCall "x";\n')
    part.write_text('Include "inner.geo";\n// SystemCall in a comment\n')
    assert [item.where for item in check_geo(part)] == ["inner.geo:2"]
    (tmp_path / "inner.opt").write_text('SystemCall "x";\n')
    part.write_text('Physical Surface("Save, Print and Open") = {1};\nMerge "inner.opt";\n')
    assert [item.where for item in check_geo(part)] == ["inner.opt:1"]


def test_requests_are_checked_first(part, tmp_path):
    target = tmp_path / "p.msh"
    with pytest.raises(UsageError, match="choices: tet, hex"):
        mesh_cad(part, target, element="tet20")
    with pytest.raises(UsageError, match="does not fit"):
        mesh_cad(part, target, element="tet4", order=2)
    with pytest.raises(UsageError, match="must be positive"):
        mesh_cad(part, target, size=-1.0)
    with pytest.raises(UsageError, match="1 kg is a mass"):
        mesh_cad(part, target, size="1 kg")
    with pytest.raises(UsageError, match="name it X.msh"):
        mesh_cad(part, tmp_path / "p.vtk")
    with pytest.raises(InputError, match="there is no folder"):
        mesh_cad(part, tmp_path / "none" / "p.msh")
    with pytest.raises(InputError, match="unknown kind of geometry"):
        mesh_cad(tmp_path / "part.stl", target)
    with pytest.raises(InputError, match="no such file"):
        mesh_cad(tmp_path / "none.step", target)


def test_absent_gmsh_names_the_command(part, tmp_path, monkeypatch):
    monkeypatch.setattr("flexmbs.fe.cad.convert.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingComponentError) as error:
        mesh_cad(part, tmp_path / "p.msh")
    assert 'pip install "flexmbs[cad]"' in str(error.value) and int(error.value.exit_code) == 5


@pytest.fixture
def fake_gmsh(tmp_path, monkeypatch):
    """A module gmsh of one's own, for what the real one does only on other machines."""
    folder = tmp_path / "fake"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return lambda text: (folder / "gmsh.py").write_text(text)


def test_libraries_of_gmsh_that_are_absent(part, tmp_path, fake_gmsh):
    fake_gmsh('raise OSError("libGLU.so.1: cannot open shared object file")\n')
    with pytest.raises(MissingComponentError) as error:
        mesh_cad(part, tmp_path / "p.msh")
    assert "libGLU.so.1" in str(error.value) and "apt-get install" in str(error.value)


def test_a_crash_of_gmsh_is_not_ours(part, tmp_path, fake_gmsh):
    fake_gmsh("import os, signal\ndef initialize(*a, **k): os.kill(os.getpid(), signal.SIGSEGV)\n")
    with pytest.raises(InputError, match="gmsh stopped .signal 11"):
        mesh_cad(part, tmp_path / "p.msh")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_memory_is_limited(part, tmp_path, fake_gmsh):
    fake_gmsh("def initialize(*a, **k): bytearray(8 << 30)\n")
    with pytest.raises(InputError, match="MemoryError"):
        mesh_cad(part, tmp_path / "p.msh", memory=1 << 30)
    assert not (tmp_path / "p.msh").exists()
