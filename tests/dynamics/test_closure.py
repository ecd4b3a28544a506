"""Closure follows the size of mechanism and mesh: imprecise centroids close, wrong dimensions do not."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.errors import SolverError

LENGTH, CRANK = 0.4, 0.1


@pytest.fixture(scope="module")
def coupler(tmp_path_factory):
    """A bar with its second interface a little out of plane."""

    def make(off):
        path = tmp_path_factory.mktemp("bar") / "bar.modal.h5"
        recipe = {
            "mesh": {"shape": "box", "size": [LENGTH, 0.02, 0.02], "divisions": [8, 1, 1]},
            "material": {"young": 2.1e11, "poisson": 0.3, "density": 7850.0},
            "interfaces": {
                "a": {"set": "x_min", "pos": [-LENGTH / 2, 0, 0]},
                "b": {"set": "x_max", "pos": [LENGTH / 2, 0, off]},
            },
        }
        fm.reduce(recipe, modes=2, stress="none").save(path)
        return str(path)

    return make


def parallelogram(file, rocker=CRANK, **more):
    arm = {"type": "rigid", "mass": 1, "inertia": {"ixx": 1e-3, "iyy": 1e-3, "izz": 1e-3}}
    pin = {"type": "revolute", "axis": [0, 0, 1]}
    return Case.from_dict(
        {
            "gravity": [0, -9.81, 0],
            "ground": {"frames": {"right": {"pos": [LENGTH, 0, 0]}}},
            "bodies": {
                "crank": arm | {"frames": {"end": {"pos": [0, CRANK, 0]}}},
                "rocker": arm | {"frames": {"end": {"pos": [0, rocker, 0]}}},
                "bar": {"type": "flexible", "modal": file},
            },
            "joints": {
                "crank": pin | {"from": "ground", "to": "crank", "initial": {"position": 0.3}},
                "rocker": pin | {"from": "ground.right", "to": "rocker"},
                "first": pin | {"from": "crank.end", "to": "bar.a"},
                "second": pin | {"from": "rocker.end", "to": "bar.b"},
            },
            "analysis": {"type": "dynamics", "t_end": 0.02},
            "output": {"every": 0.005},
        }
        | more
    )


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
def test_a_centroid_nanometres_out_of_plane_closes(coupler, tmp_path, formulation):
    analysis = {"type": "dynamics", "t_end": 0.02, "formulation": formulation}
    off = fm.run(parallelogram(coupler(3.6e-9), analysis=analysis), tmp_path / "off.h5")
    flat = fm.run(parallelogram(coupler(0.0), analysis=analysis), tmp_path / "flat.h5")
    angle = off["joints/crank/position"], flat["joints/crank/position"]
    np.testing.assert_allclose(*angle, atol=1e-7)  # a hundred millionth of the length
    assert np.abs(off["solver/constraint_position"]).max() < 1e-10


@pytest.mark.parametrize("off", [1e-5, 1e-4])
def test_micrometres_are_a_wrong_dimension_with_name_distance_and_cure(coupler, off):
    with pytest.raises(SolverError) as error:
        parallelogram(coupler(off)).system().initial_state()
    text = str(error.value)
    assert f"{off:.3g} m" in text and "bar." in text and "`pos`" in text


def test_small_mechanisms_have_small_tolerances(tmp_path):
    """Of a tenth of a millimetre: a gap of a picometre is none of rounding."""
    pin = {"type": "revolute", "axis": [0, 0, 1]}
    arm = {"type": "rigid", "mass": 1e-9, "inertia": {"ixx": 1e-15, "iyy": 1e-15, "izz": 1e-15}}
    case = Case.from_dict(
        {
            "bodies": {"arm": arm | {"frames": {"end": {"pos": [1e-4, 0, 5e-10]}}}},
            "ground": {"frames": {"right": {"pos": [1e-4, 0, 0]}}},
            "joints": {
                "a": pin | {"from": "ground", "to": "arm"},
                "b": pin | {"from": "ground.right", "to": "arm.end"},
            },
        }
    )
    with pytest.raises(SolverError, match="left open: joints.b"):
        case.system().initial_state()
