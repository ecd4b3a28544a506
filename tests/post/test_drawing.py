"""What a result stores of its case for pictures: numbers, not expressions."""

import json

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.drawing import drawing
from flexmbs.errors import InputError
from tests.post.synthetic import rod_modal


@pytest.fixture
def case(tmp_path):
    rod_modal().save(tmp_path / "rod.modal.h5")
    return Case.from_dict(
        {
            "format_version": 1,
            "title": "crank and rod",
            "gravity": [0.0, -9.81, 0.0],
            "parameters": {"r": "100 mm"},
            "ground": {"frames": {"rail": {"pos": ["=3*r", 0, 0]}}},
            "bodies": {
                "crank": {
                    "type": "rigid", "mass": 0.5, "com": ["=r/2", 0, 0],
                    "inertia": {"ixx": 1e-5, "iyy": 4e-4, "izz": 4e-4},
                    "frames": {"pin": {"pos": ["=r", 0, 0], "rot": {"axis": [0, 0, 1], "angle": "90 deg"}}},
                    "visual": {
                        "shape": "link", "to": "pin", "radius": "14 mm",
                        "parts": [{"shape": "box", "size": ["=r", 0.01, 0.02], "pos": ["=r/2", 0, 0]}],
                    },
                },
                "rod": {"type": "flexible", "modal": "rod.modal.h5", "modes": {"count": 3}},
            },
            "joints": {
                "main": {"type": "revolute", "from": "ground", "to": "crank"},
                "big": {"type": "revolute", "from": "crank.pin", "to": "rod.big", "axis": [0, 0, 1]},
            },
        },
        folder=tmp_path,
    )  # fmt: skip


def test_places_are_numbers(case, tmp_path):
    tree = json.loads(drawing(case, tmp_path / "results" / "a.h5"))
    crank = tree["bodies"]["crank"]
    np.testing.assert_allclose(crank["frames"]["pin"]["pos"], [0.1, 0, 0])
    np.testing.assert_allclose(
        crank["frames"]["pin"]["rot"]["matrix"], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15
    )
    np.testing.assert_allclose(crank["com"], [0.05, 0, 0])
    np.testing.assert_allclose(crank["inertia"], np.diag([1e-5, 4e-4, 4e-4]))
    assert crank["visual"]["radius"] == pytest.approx(0.014)
    assert crank["visual"]["parts"] == [{"shape": "box", "size": [0.1, 0.01, 0.02], "pos": [0.05, 0, 0]}]
    np.testing.assert_allclose(tree["ground"]["frames"]["rail"]["pos"], [0.3, 0, 0])
    assert tree["joints"]["big"]["to"] == "rod.big" and tree["joints"]["big"]["axis"] == [0, 0, 1]


def test_files_are_named_from_the_result(case, tmp_path):
    rod = json.loads(drawing(case, tmp_path / "results" / "a.h5"))["bodies"]["rod"]
    assert rod["modal"] == "../rod.modal.h5" and rod["modes"] == {"list": [1, 2, 3]}


@pytest.mark.parametrize(
    "part, said",
    [({"shape": "link", "to": "pinn"}, 'no frame "pinn"'), ({"file": "none.stl"}, 'no file "none.stl"')],
)
def test_wrong_parts_of_a_visual_are_found(part, said):
    crank = {"type": "rigid", "mass": 1.0, "frames": {"pin": {"pos": [1, 0, 0]}}, "visual": {"parts": [part]}}
    with pytest.raises(InputError, match=said):
        Case.from_dict({"format_version": 1, "bodies": {"crank": crank}}).model()
