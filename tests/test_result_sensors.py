"""Sensors of every kind in the result of a run: axes where other programs find them, units, refusals."""

import subprocess

import h5py
import numpy as np
import pytest

from flexmbs import hdf5
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import InputError
from tests.dynamics.awkward import joint

BODY = {"type": "rigid", "mass": 1, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}}
SENSORS = {
    "place": {"type": "position", "on": "b"},
    "speed": {"type": "velocity", "on": "b", "relative_to": "a"},
    "jerk": {"type": "acceleration", "on": "b"},
    "turn": {"type": "rotation", "on": "b"},
    "pull": {"type": "reaction", "joint": "slide", "relative_to": "a"},
    "slide": {"type": "joint", "joint": "slide"},
    "ball": {"type": "joint", "joint": "ball"},
    "free": {"type": "joint", "joint": "free"},
    "all": {"type": "energy"},
    "one": {"type": "energy", "on": "b"},
    "sum": {"type": "expression", "value": "=place.x + slide.velocity.travel"},
}


def case(sensors, cut=False):
    """A body on a slide on a ball, and a free one."""
    return Case.from_dict(
        {
            "gravity": [0, 0, -9.81],
            "bodies": {"a": BODY, "b": BODY, "c": BODY},
            "joints": {
                "ball": joint("spherical", "ground", "a", velocity=[4, 5, 6]),
                "slide": joint("cylindrical", "a", "b", cut=cut),
                "free": joint("free", "ground", "c", velocity=[0, 0, 0, 9, 0, 0]),
            },
            "sensors": sensors,
            "analysis": {"t_end": 1.0},
            "output": {"every": 0.05},
        }
    )


@pytest.fixture(scope="module", params=[False, True], ids=["branch", "cut"])
def run(request, tmp_path_factory):
    return execute(case(SENSORS, request.param), tmp_path_factory.mktemp("s") / "a.h5").result


def test_joint_sensors_are_the_coordinates(run):
    for name in ("slide", "ball", "free"):
        np.testing.assert_array_equal(run[f"sensors/{name}"], run.joints[name].position)
    assert run["sensors/ball"].shape == (21, 4) and run["sensors/free"].shape == (21, 7)
    for name in ("ball", "free"):  # quaternions do not jump in sign
        assert np.abs(np.diff(run[f"sensors/{name}"], axis=0)).max() < 0.9


def test_every_axis_stands_in_a_group_above_its_datasets(run):
    """As netCDF asks; ncdump and xarray stop at any other."""
    seen = set()
    with hdf5.open_checked(run.path, format="flexmbs-result", max_version=2) as file:
        for path, node in hdf5.walk(file):
            if isinstance(node, h5py.Dataset):
                assert "units" in node.attrs, path
                for scale in (scale for dim in node.dims for scale in dim.values()):
                    assert path.startswith(scale.name.rpartition("/")[0] + "/"), path
                    seen.add(scale.name)
        assert "/slide_coordinate" in seen
        assert hdf5.text(file["sensors/free"].attrs["units"]) == "m, 1"


@pytest.mark.needs("ncdump")
def test_ncdump_shows_all_sensors(run):
    done = subprocess.run(["ncdump", "-h", str(run.path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr and "free_coordinate" in done.stdout


@pytest.mark.needs("xarray", "netCDF4")
def test_xarray_opens_all_sensors_beside_an_open_result(run):
    import xarray

    tree = xarray.open_datatree(run.path)
    np.testing.assert_array_equal(tree["sensors"]["slide"], run["sensors/slide"])
    assert tree["sensors"]["slide"].attrs["components"] == ["angle", "travel"]
    with h5py.File(run.path) as file:  # as everybody opens it
        assert file["sensors/slide"].shape == (21, 2)


def test_a_joint_without_coordinates_has_none_to_show(tmp_path):
    data = case({}).source.data
    data["joints"]["weld"] = {"type": "fixed", "from": "b", "to": "c"}
    del data["joints"]["free"]
    data["sensors"] = {"s": {"type": "joint", "joint": "weld"}}
    with pytest.raises(InputError, match="fixed joint weld has no coordinates"):
        execute(Case.from_dict(data), tmp_path / "a.h5")


@pytest.mark.needs("ncdump", "xarray", "netCDF4")
def test_every_dimension_has_a_scale_in_linear_models_too(tmp_path):
    """A dataset with scales on some of its dimensions stops ncdump and xarray."""
    import xarray

    path = tmp_path / "linear.h5"
    data = {
        "bodies": {"a": {"type": "particle", "mass": 2.0}},
        "forces": {"k": {"type": "bushing", "from": "ground", "to": "a", "stiffness": [8, 9, 10, 0, 0, 0]}},
        "analysis": {"type": "linearize"},
    }
    execute(Case.from_dict(data), path)
    with h5py.File(path) as file:
        for name, node in hdf5.walk(file):
            if isinstance(node, h5py.Dataset) and not node.is_scale and not name.startswith("/checkpoint"):
                assert all(len(dim) for dim in node.dims), name
    assert xarray.open_datatree(path)["linear"]["motion"]["a"].shape == (3, 6, 2)
    done = subprocess.run(["ncdump", "-h", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr
