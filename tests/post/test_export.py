"""Exports, by the values that other programs read back."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from flexmbs.cli.main import main
from flexmbs.errors import InputError
from flexmbs.post.export import export
from flexmbs.post.export.matlab import write_mat
from flexmbs.post.record import Record
from flexmbs.spatial import quat_to_matrix
from tests.post.synthetic import LENGTH, coordinates, mode_fields, rod_modal, write_result

#: VTK in a process of its own: where it cannot load, the tests say so instead of ending
READ = """
import json, sys
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader
from vtkmodules.util.numpy_support import vtk_to_numpy
path, step = sys.argv[1], int(sys.argv[2])
reader = vtkHDFReader() if path.endswith("vtkhdf") else vtkXMLUnstructuredGridReader()
reader.SetFileName(path)
times = []
if path.endswith("vtkhdf"):
    reader.UpdateInformation()
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as p
    times = list(reader.GetOutputInformation(0).Get(p.TIME_STEPS()))
    reader.UpdateTimeStep(times[step])
else:
    reader.Update()
grid = reader.GetOutputDataObject(0)
arrays = {grid.GetPointData().GetArrayName(k): vtk_to_numpy(grid.GetPointData().GetArray(k)).tolist()
          for k in range(grid.GetPointData().GetNumberOfArrays())}
body = vtk_to_numpy(grid.GetCellData().GetArray("body")).tolist()
points = vtk_to_numpy(grid.GetPoints().GetData()).tolist()
types = [grid.GetCellType(k) for k in range(grid.GetNumberOfCells())]
print(json.dumps({"times": times, "points": points, "arrays": arrays, "body": body, "types": types}))
"""


def read_vtk(path, step=0):
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), str(step)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ERR" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def check_grid(found, record, k):
    modal = rod_modal()
    n_nodes = modal.mesh.n_nodes
    assert found["types"].count(12) == 24 * 3 * 2
    rod = [j for j, n in enumerate(found["arrays"]["node_number"]) if n > 0]
    assert len(rod) == n_nodes
    q = coordinates(record.time)[k]
    Phi, stress = mode_fields(modal.mesh.points)
    R = quat_to_matrix(record.require("bodies/rod/quaternion")[k])
    points = (modal.mesh.points + np.tensordot(q, Phi, 1)) @ R.T + record.require("bodies/rod/position")[k]
    np.testing.assert_allclose(np.array(found["points"])[rod], points, atol=1e-6)  # float32
    displacement = np.tensordot(q, Phi, 1) @ R.T
    np.testing.assert_allclose(np.array(found["arrays"]["displacement"])[rod], displacement, atol=1e-8)
    sigma = np.tensordot(q, stress, 1)
    np.testing.assert_allclose(np.array(found["arrays"]["stress"])[rod], sigma, rtol=1e-5, atol=1e3)
    np.testing.assert_allclose(
        np.array(found["arrays"]["von_mises"])[rod], abs(sigma[:, 0]), rtol=1e-5, atol=1e3
    )
    slider = record.require("bodies/slider/position")[k]
    last = np.array(found["points"])[max(rod) + 1 :]
    np.testing.assert_allclose(0.5 * (last.min(axis=0) + last.max(axis=0)), slider, atol=1e-5)
    assert sorted(set(found["body"])) == [0, 1, 2]


@pytest.mark.needs("vtk")
def test_vtkhdf_is_read_back_by_vtk_at_every_time(tmp_path):
    path = write_result(tmp_path / "a.h5", n=6)
    done = export(path, tmp_path / "a.vtkhdf")
    record = Record.load(path)
    for k in (0, 3, 5):
        found = read_vtk(tmp_path / "a.vtkhdf", k)
        np.testing.assert_allclose(found["times"], record.time)
        check_grid(found, record, k)
    assert done["bodies"] == ["crank", "rod", "slider"] and done["points"] == len(found["points"])


def test_topology_is_stored_once(tmp_path):
    sizes = [export(write_result(tmp_path / f"{n}.h5", n=n), tmp_path / f"{n}.vtkhdf") for n in (2, 3)]
    grown = sizes[1]["bytes"] - sizes[0]["bytes"]
    assert grown == pytest.approx(sizes[0]["points"] * 4 * (3 + 3 + 6 + 1), rel=0.1)  # float32 fields only


@pytest.mark.needs("vtk")
def test_pvd_lists_times_and_vtu_files_are_read_back(tmp_path):
    path = write_result(tmp_path / "a.h5", n=4)
    done = export(path, tmp_path / "b.pvd")
    text = (tmp_path / "b.pvd").read_text()
    assert done["files"] == 5 and 'timestep="0.1" file="b/b_0003.vtu"' in text
    check_grid(read_vtk(tmp_path / "b" / "b_0002.vtu"), Record.load(path), 2)


def test_one_body_alone(tmp_path):
    path = write_result(tmp_path / "a.h5", n=3)
    done = export(path, tmp_path / "a.vtkhdf", bodies=["rod"])
    assert done["points"] == rod_modal().mesh.n_nodes
    assert main(["export", str(path), "-o", str(tmp_path / "a.vtkhdf"), "--body", "rodd", "--quiet"]) == 3


def test_csv_holds_the_numbers_bit_for_bit(result_path, tmp_path):
    export(result_path, tmp_path / "a.csv", channels=["rod.q", "slider.position.x"])
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == "time [s]" and rows[0][-1] == "bodies.slider.position.x [m]"
    record = Record.load(result_path)
    values = np.array(rows[1:], dtype=float)
    np.testing.assert_array_equal(values[:, 0], record.time)
    np.testing.assert_array_equal(values[:, 1:5], record.require("bodies/rod/q"))
    np.testing.assert_allclose(values[:, 5].max(), LENGTH + 0.1)


@pytest.mark.needs("pyarrow", "xarray", "netCDF4")
def test_parquet_and_netcdf_hold_the_same(result_path, tmp_path):
    import pyarrow.parquet as parquet
    import xarray

    record = Record.load(result_path)
    export(result_path, tmp_path / "a.parquet")
    found = parquet.read_table(tmp_path / "a.parquet")
    assert found.schema.field("bodies.slider.position.x").metadata[b"units"] == b"m"
    np.testing.assert_array_equal(found["bodies.rod.q[2]"].to_numpy(), record.require("bodies/rod/q")[:, 2])
    export(result_path, tmp_path / "a.nc")
    tree = xarray.open_datatree(tmp_path / "a.nc")
    np.testing.assert_array_equal(tree["bodies/rod/q"].values, record.require("bodies/rod/q"))
    assert tree["energy/kinetic"].attrs["units"] == "J"


def test_mat_holds_the_same_by_the_names_of_the_groups(result_path, tmp_path):
    from scipy.io import loadmat

    record = Record.load(result_path)
    export(result_path, tmp_path / "a.mat")
    assert (tmp_path / "a.mat").read_bytes()[:19] == b"MATLAB 5.0 MAT-file"
    found = loadmat(tmp_path / "a.mat", simplify_cells=True)
    np.testing.assert_array_equal(found["result"]["time"], record.time)
    np.testing.assert_array_equal(found["result"]["bodies"]["rod"]["q"], record.require("bodies/rod/q"))
    np.testing.assert_array_equal(found["result"]["energy"]["kinetic"], record.require("energy/kinetic"))
    assert found["units"]["bodies"]["slider"]["position"] == "m" and found["units"]["time"] == "s"
    export(result_path, tmp_path / "a.mat", channels=["rod.q"], overwrite=True)
    assert list(loadmat(tmp_path / "a.mat", simplify_cells=True)["result"]["bodies"]["rod"]) == ["q"]


def test_mat_beyond_its_limit_is_refused(result_path, tmp_path):
    with pytest.raises(InputError, match="h5read"):
        write_mat(tmp_path / "a.mat", Record.load(result_path), most=1000)
    assert not (tmp_path / "a.mat").exists()


@pytest.mark.needs("DyMat")
def test_modelica_results_are_read_by_others(result_path, tmp_path):
    """DyMat reads what OpenModelica and Dymola write."""
    import DyMat

    record = Record.load(result_path)
    export(result_path, tmp_path / "a_res.mat")
    found = DyMat.DyMatFile(str(tmp_path / "a_res.mat"))
    for column in range(3):
        values = record.require("bodies/rod/q")[:, column]
        np.testing.assert_array_equal(
            found.data(f"bodies.rod.q[{column}]"), values[[0, -1]] if np.ptp(values) == 0 else values
        )
    np.testing.assert_array_equal(found.abscissa("bodies.slider.position.x", valuesOnly=True), record.time)
    assert "[m]" in found.description("bodies.slider.position.x")


@pytest.mark.needs("asammdf")
def test_mdf_holds_the_same(result_path, tmp_path):
    from asammdf import MDF

    record = Record.load(result_path)
    export(result_path, tmp_path / "a.mf4", channels=["rod.q", "slider.position.x"])
    with MDF(tmp_path / "a.mf4") as found:
        signal = found.get("bodies.slider.position.x")
        np.testing.assert_array_equal(signal.samples, record.require("bodies/slider/position")[:, 0])
        np.testing.assert_array_equal(signal.timestamps, record.time)
        assert signal.unit == "m" and found.version.startswith("4")
        np.testing.assert_array_equal(
            found.get("bodies.rod.q[2]").samples, record.require("bodies/rod/q")[:, 2]
        )


def test_what_is_not_offered_is_named(result_path, tmp_path, capsys):
    assert main(["export", str(result_path), "-o", str(tmp_path / "a.xlsx")]) == 2
    assert ".vtkhdf" in capsys.readouterr().err
    assert main(["export", str(result_path.parent / "rod.modal.h5"), "-o", str(tmp_path / "a.csv")]) == 2


@pytest.mark.parametrize("ending", ["csv", "vtkhdf"])
def test_damaged_results_are_refused(result_path, tmp_path, ending):
    raw = bytearray(result_path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    (tmp_path / "bad.h5").write_bytes(raw)
    assert main(["export", str(tmp_path / "bad.h5"), "-o", str(tmp_path / f"a.{ending}"), "--quiet"]) == 3
    assert not (tmp_path / f"a.{ending}").exists()


@pytest.mark.parametrize("line", [["info"], ["plot", "rod.q"], ["stress", "rod"], ["report"], ["animate"]])
def test_results_that_were_cut_off_say_how_much_is_there(line, result_path, tmp_path, capsys):
    whole = result_path.read_bytes()
    cut = tmp_path / "cut.h5"
    cut.write_bytes(whole[:20000])
    command, *rest = line
    out = {"plot": ["-o", str(tmp_path / "a.svg")], "report": ["-o", str(tmp_path / "a.html")]}
    out["animate"] = out["report"]
    assert main([command, str(cut), *rest, *out.get(command, []), "--quiet"]) == 3
    assert f"is cut off: 20000 of {len(whole)} bytes are there" in capsys.readouterr().err
