"""Values of a case that are seldom wrong: each is refused by its key, and settings reach into lists."""

import copy
import json

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.errors import InputError
from flexmbs.input.source import override, parse_settings, read_source, source_from
from flexmbs.modaldata import ModalData
from flexmbs.modaldata.validate import Reader
from flexmbs.study.store import Store
from tests.test_modaldata import damaged

ARM = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 1.0, "iyy": 1.0, "izz": 1.0}}
BASE = {
    "bodies": {"arm": ARM | {"frames": {"tip": {"pos": [1.0, 0.0, 0.0]}}}},
    "joints": {"pin": {"type": "revolute", "from": "ground", "to": "arm", "axis": [0, 0, 1]}},
    "forces": {"push": {"type": "point", "on": "arm.tip", "force": [0.0, 1.0, 0.0]}},
    "analysis": {"t_end": 1.0},
}
CHAIN = {f"p{k}": f"=p{k + 1}" for k in range(60)} | {"p60": 1.0}


def changed(path, value):
    data = copy.deepcopy(BASE)
    *way, last = path.split("/")
    place = data
    for word in way:
        place = place.setdefault(word, {})
    place[last] = value
    return data


@pytest.mark.parametrize(
    "path, value, says",
    [
        ("bodies/arm/com", "far", "expected a list"),
        ("bodies/arm/com", [1.0, 2.0], "expected 3 values, found 2"),
        ("bodies/arm/frames/tip/pos", 3.0, "expected a list"),
        ("bodies/arm/frames/tip/rot", {"x": [1, 0, 0], "y": [2, 0, 0]}, "the axes x and y are parallel"),
        ("joints/pin", 3, "expected a table, found 3"),
        (
            "parameters",
            {f"p{k}": f"=p{k + 1}" for k in range(60)} | {"p60": 1.0},
            "refer to each other too deeply",
        ),
        ("include", 3, "expected"),
    ],
)
def test_wrong_values_are_refused_by_their_key(path, value, says):
    with pytest.raises(InputError) as caught:
        Case.from_dict(changed(path, value)).system()
    assert says in str(caught.value) and path.split("/")[0] in str(caught.value)


def test_settings_reach_into_lists_and_nowhere_else():
    source = source_from(BASE | {"parameters": {"speed": 1.0}})
    override(
        source, {"joints.pin.axis.2": 5.0, "speed": 2.0, "forces.push.force.1": 3.0}, ["joints", "forces"]
    )
    assert source.data["joints"]["pin"]["axis"] == [0, 0, 5.0] and source.data["parameters"]["speed"] == 2.0
    assert source.data["forces"]["push"]["force"] == [0.0, 3.0, 0.0]
    with pytest.raises(InputError) as caught:
        override(
            source, dict.fromkeys(["joints.pin.axis.9", "joints.pin.axis.x.y", "odd.key"], 1.0), ["joints"]
        )
    assert [item.what for item in caught.value.diagnostics] == [
        '"joints.pin.axis.9" is no key of the case', '"joints.pin.axis.x.y" is no key of the case',
        'there is no parameter "odd.key"',
    ]  # fmt: skip
    for text in ("speed", "=3"):
        with pytest.raises(InputError, match="expected key=value"):
            parse_settings([text])


def test_includes_that_are_none_or_too_many(tmp_path, monkeypatch):
    (tmp_path / "a.toml").write_text('include = "b.toml"\n')
    read_source(tmp_path / "a.toml")  # the schema says what is wrong
    (tmp_path / "a.toml").write_text("include = [3]\n")
    assert len(read_source(tmp_path / "a.toml").files) == 1
    monkeypatch.setitem(read_source.__globals__, "MAX_INCLUDES", 2)
    names = [f"{k}.toml" for k in range(4)]
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / "a.toml").write_text(f"include = {json.dumps(names)}\n")
    with pytest.raises(InputError, match="more than 2 files are included"):
        read_source(tmp_path / "a.toml")


# ------------------------------------------------------------------ modal data and studies


@pytest.fixture(scope="module")
def beam(tmp_path_factory):
    shape = {"shape": "beam", "nodes": [[0, 0, 0], [1, 0, 0]], "divisions": 2}
    mesh = shape | {"section": {"rectangle": [0.02, 0.03]}}
    modal = fm.reduce({"mesh": mesh, "material": "steel", "modes": 1, "interfaces": {"root": {"node": 1}}})
    path = tmp_path_factory.mktemp("beam") / "b.modal.h5"
    modal.save(path)
    return path.read_bytes()


WRONG = {
    "/mesh/beam/section_1 is no section": lambda f: f["mesh/beam/section_1"].attrs.create("shape", b"circle"),
    "has no whole number as its attribute rotary_inertia": lambda f: f["mesh/beam/section_1"].attrs.create(
        "rotary_inertia", 0.5
    ),
    "lacks the attribute theory": lambda f: f["mesh/beam/section_1"].attrs.__delitem__("theory"),
    "names cells of type hex8, of which there are none": lambda f: (
        f["mesh/sets"].require_group("cells/x").create_dataset("hex8", data=np.array([0]))
    ),
}


@pytest.mark.parametrize("says", WRONG)
def test_damaged_beams_are_refused_by_name(beam, says, tmp_path):
    path = tmp_path / "b.modal.h5"
    path.write_bytes(beam)
    assert ModalData.load(path).mesh.beam is not None
    damaged(path, WRONG[says])
    with pytest.raises(InputError, match=says):
        ModalData.load(path)


def test_a_place_in_a_body_is_said_in_one_way(beam, tmp_path):
    (tmp_path / "b.modal.h5").write_bytes(beam)
    modal = ModalData.load(tmp_path / "b.modal.h5")
    for more in ({}, {"at": [0.0, 0, 0], "node": 1}):
        with pytest.raises(ValueError, match="give one of at, node, nearest"):
            modal.marker_rows(**more)


def test_many_modes_and_nodes_are_refused(beam, tmp_path, monkeypatch):
    path = tmp_path / "b.modal.h5"
    path.write_bytes(beam)
    for name, says in (
        ("MAX_MODES", "modes are more than the limit of 0"),
        ("MAX_NODES", "rows, more than the limit"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(Reader._read.__globals__, name, 0)
            with pytest.raises(InputError, match=says):
                ModalData.load(path)


@pytest.mark.parametrize(
    "text, says",
    [
        ("[", "without a study"),
        ('{"format": "other"}', "without a study"),
        ('{"format": "FORMAT", "format_version": 99}', "has format_version 99"),
    ],
)
def test_folders_that_hold_no_study_of_this_version(tmp_path, text, says):
    (tmp_path / "study.json").write_text(text.replace("FORMAT", Store.open.__globals__["FORMAT"]))
    with pytest.raises(InputError, match=says):
        Store.open(tmp_path)
