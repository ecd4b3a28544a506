"""`start = "other.h5"`: values are taken for what they mean, and refused where they mean something else."""

import copy

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import InputError

SPRING = {"stiffness": 10.0}


def controlled(t_end=0.5, **analysis):
    """A slider on a spring; one state integrates its position, one follows by itself."""
    return {
        "bodies": {"m": {"type": "rigid", "mass": 1.0}},
        "joints": {
            "x": {"type": "prismatic", "from": "ground", "to": "m", "axis": [1, 0, 0], "spring": SPRING,
                  "initial": {"position": 0.2}}
        },
        "states": {
            "s": {"rate": "=x.position", "initial": 0},
            "u": {"rate": "=1-states.u", "initial": 5},
        },
        "forces": {"f": {"type": "joint_force", "joint": "x", "value": "=-3*states.s-0.1*states.u"}},
        "analysis": {"type": "dynamics", "t_end": t_end, "rtol": 1e-10, "atol": 1e-12} | analysis,
        "output": {"every": 0.1},
    }  # fmt: skip


def run(data, path):
    done = execute(Case.from_dict(data, folder=path.parent), path, overwrite=True)
    return done.result, done.summary.warnings


def test_own_states_are_matched_by_name_whatever_their_order(tmp_path):
    run(controlled(), tmp_path / "half.h5")
    whole, _ = run(controlled(1.0), tmp_path / "whole.h5")
    data = controlled(start="half.h5")
    data["states"] = {"u": data["states"]["u"], "s": data["states"]["s"]}
    rest, warnings = run(data, tmp_path / "rest.h5")
    for name in ("states/s", "states/u", "joints/x/position"):
        np.testing.assert_allclose(rest[name][[0, -1]], whole[name][[5, -1]], atol=1e-8)
    assert not warnings


def test_states_that_the_result_lacks_begin_as_given_and_are_named(tmp_path):
    """A plant settles first; then its controller is switched on."""
    run(controlled(), tmp_path / "half.h5")
    data = controlled(start="half.h5")
    data["states"] = {"v": {"rate": "=0", "initial": 2.0}, "s": data["states"]["s"]}
    data["forces"]["f"]["value"] = "=-3*states.s"
    result, warnings = run(data, tmp_path / "rest.h5")
    assert result["states/v"][0] == 2.0
    assert result["states/s"][0] == pytest.approx(fm.Result.load(tmp_path / "half.h5")["states/s"][-1])
    text = "not in half.h5, so their initial values hold: states.v; not here are its states.u"
    assert warnings == [text]


def test_drives_given_by_their_rates_go_on_by_name(tmp_path):
    def driven(*order, **analysis):
        data = controlled(**analysis)
        data["bodies"]["n"] = {"type": "rigid", "mass": 1.0}
        data["joints"]["y"] = {"type": "prismatic", "from": "ground", "to": "n", "axis": [0, 1, 0]}
        laws = {"dx": {"joint": "x", "acceleration": "=cos(3*t)"}, "dy": {"joint": "y", "velocity": "=0.7"}}
        return data | {"drives": {name: laws[name] for name in order}}

    first, _ = run(driven("dx", "dy"), tmp_path / "half.h5")
    rest, warnings = run(driven("dy", "dx", start="half.h5"), tmp_path / "rest.h5")
    for joint in ("x", "y"):
        np.testing.assert_allclose(
            rest.joints[joint].position[0], first.joints[joint].position[-1], rtol=1e-12
        )
    assert not warnings


def flexible(folder, modes, **analysis):
    """A beam of square section on a hinge, with some of its modes."""
    path = folder / "beam.modal.h5"
    if not path.exists():
        recipe = {
            "mesh": {"shape": "beam", "length": 1.0, "divisions": 6, "section": {"rectangle": [0.01, 0.01]}},
            "interfaces": {"root": {"set": "x_min"}, "tip": {"set": "x_max"}},
        }
        fm.reduce(recipe, material="steel", modes=6, frame="tangent:root").save(path)
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {"arm": {"type": "flexible", "modal": str(path), "modes": modes}},
        "joints": {"hub": {"type": "revolute", "from": "ground", "to": "arm.root"}},
        "analysis": {"type": "dynamics", "t_end": 0.01} | analysis,
        "output": {"every": 0.01},
    }


def test_modes_are_told_apart_even_where_their_frequencies_are_equal(tmp_path):
    result, _ = run(flexible(tmp_path, [1, 2]), tmp_path / "a.h5")
    texts = [text for text in result["topology/coordinates"] if "arm.q" in text]
    first, second = (text.partition(": ")[2].partition(",")[0] for text in texts)
    assert first == second  # bending in y and in z
    for other in ([2, 1], [1, 3], [1]):
        with pytest.raises(InputError, match=r"other coordinates: arm\.q\[.\]: .* Hz, x .*, here "):
            run(flexible(tmp_path, other, start="a.h5"), tmp_path / "b.h5")
    rest, _ = run(flexible(tmp_path, [1, 2], start="a.h5"), tmp_path / "b.h5")
    np.testing.assert_allclose(rest.bodies.arm.q[0], result.bodies.arm.q[-1], rtol=1e-12)


def test_other_joints_of_the_same_name_are_refused(tmp_path):
    run(controlled(), tmp_path / "half.h5")
    data = copy.deepcopy(controlled(start="half.h5"))
    data["joints"]["x"] |= {"type": "revolute"}
    with pytest.raises(InputError, match=r"other coordinates: x\.travel, here x\.angle"):
        run(data, tmp_path / "rest.h5")
    data["joints"]["z"] = data["joints"].pop("x")
    del data["forces"], data["states"]
    with pytest.raises(InputError, match="another tree: m on ground by x, here m on ground by z"):
        run(data, tmp_path / "rest.h5")
