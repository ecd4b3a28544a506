"""Histories of parts stand side by side in one dataset, and are found by name (layout 2)."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import InputError
from flexmbs.results import Axis, Field, Layout, Result, ResultWriter
from flexmbs.results.layout import COMMON_AXES
from flexmbs.results.stacks import stacked
from tests.benchmarks.result_cost import links, numbers

OLD = Path(__file__).parent / "data" / "result_version_1.h5"
#: parts that are alike, that have entries of their own, with and without components, with other units
FIELDS = (
    Field("bodies/a/position", ("xyz",), "m"),
    Field("bodies/b/position", ("xyz",), "m"),
    Field("bodies/b/q", ("bodies/b/mode",), "m kg^0.5", "F1"),
    Field("bodies/c/position", ("xyz",), "m"),
    Field("bodies/c/q", ("bodies/c/mode",), "m", "F1"),
    Field("bodies/d/position", ("xyz",), "m"),
    Field("bodies/d/q", ("bodies/d/mode",), "m", "F1"),
    Field("joints/pin/position", ("joints/pin/coordinate",), "rad"),
    Field("joints/pin/velocity", ("joints/pin/coordinate",), "rad/s"),
    Field("joints/ball/position", ("joints/ball/coordinate",), "1"),
    Field("joints/ball/velocity", ("joints/ball/speed",), "rad/s"),
    Field("joints/pin/reaction_force", ("xyz",), "N"),
    Field("joints/ball/reaction_force", ("xyz",), "N", attributes={"determinate": False}),
    Field("drives/turn/effort", (), "N, N m"),
    Field("drives/gimbal/effort", ("xyz",), "N m"),
    Field("forces/spring/length", (), "m"),
    Field("forces/push/force", ("xyz",), "N"),
    Field("forces/spring/force", ("xyz",), "N"),
    Field("sensors/name", (), "m"),
    Field("energy/kinetic", (), "J"),
)
AXES = (
    *COMMON_AXES,
    Axis("bodies/b/mode", 2, (), (1, 2)),
    Axis("bodies/c/mode", 3, (), (4, 5, 9)),
    Axis("bodies/d/mode", 0),
    Axis("joints/pin/coordinate", 1, ("angle",)),
    Axis("joints/ball/coordinate", 4, ("w", "x", "y", "z")),
    Axis("joints/ball/speed", 3, ("wx", "wy", "wz")),
)
LAYOUT = Layout(AXES, FIELDS)
TIME = np.linspace(0.0, 1.0, 7)


def given(time=TIME):
    """Numbers that tell every component of every field apart."""
    found = {"time": time}
    for k, item in enumerate(FIELDS):
        shape = LAYOUT.shape(item)
        found[item.path] = (
            100.0 * k + 10.0 * np.arange(np.prod(shape)).reshape(shape) + time.reshape(-1, *[1] * len(shape))
        )
    return found


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The same numbers in a file, and in the folder of a run that goes on."""
    folder = tmp_path_factory.mktemp("stacks")
    for name in ("whole.h5", "parts.h5"):
        with ResultWriter(folder / name, LAYOUT, {}, {"case_sha256": "x"}) as w:
            w.commit(given(TIME[:3]), {"t": 0.0}, float(TIME[2]))
            w.commit(given(TIME[3:]), {"t": 1.0}, 1.0)
            if name == "whole.h5":
                w.finish("complete")
    return [Result.load(folder / name) for name in ("whole.h5", "parts.h5")]


def test_every_history_is_read_back_by_the_name_of_its_part(stores):
    for store in stores:
        for path, values in given().items():
            np.testing.assert_array_equal(store[path], values, err_msg=path)
            assert store.shape_of(path) == values.shape
        assert (
            store.joints["ball"].velocity.shape == (7, 3) and store.channel("ball.velocity.wy")[0] == 1010.0
        )
        assert list(store.bodies["c"].mode) == [4, 5, 9]


def test_units_components_and_dimensions_are_those_of_the_part(stores):
    for store in stores:
        for item in FIELDS:
            found = store.attributes_of(item.path)
            labels = LAYOUT.axis(item.axes[-1]).labels if item.axes else ()
            assert found["units"] == item.units, item.path
            assert tuple(found.get("components", ())) == labels, item.path
            assert found.get("determinate", True) == item.attributes.get("determinate", True), item.path
            assert found.get("equation", "") == item.equation
            assert store.dimensions(item.path) == ("time", *item.axes)


def test_one_dataset_holds_a_quantity_of_all_parts(stores):
    with h5py.File(stores[0].path) as file:
        assert file["bodies/name"][()].tolist() == [b"a", b"b", b"c", b"d"]
        assert file["bodies/position"].shape == (7, 4, 3)
        assert file["bodies/q"].shape == (7, 5)
        assert file["bodies/q"][0, file["bodies/mode_part"][()] == b"c"].tolist() == [400.0, 410.0, 420.0]
        assert file["joints/position_units"][()].tolist() == [b"rad", *[b"1"] * 4]
        assert file["joints/reaction_force_determinate"][()].tolist() == [1, 0]
        assert file["forces/length_name"][()].tolist() == [b"spring"]


@pytest.mark.needs("xarray", "netCDF4")
def test_parts_are_found_by_name_in_xarray(stores):
    import xarray

    tree = xarray.open_datatree(stores[0].path)
    np.testing.assert_array_equal(
        tree["joints"]["reaction_force"].sel(name="ball"), given()["joints/ball/reaction_force"]
    )
    np.testing.assert_array_equal(tree["forces"]["force"].sel(name="spring"), given()["forces/spring/force"])


def test_dimensions_are_called_by_what_their_entries_are():
    assert {stack.path: stack.axis for stack in stacked(LAYOUT).stacks} == {
        "bodies/position": "bodies/name",
        "bodies/q": "bodies/mode",
        "joints/position": "joints/coordinate",
        "joints/velocity": "joints/velocity_entry",
        "joints/reaction_force": "joints/name",
        "drives/effort": "drives/effort_entry",
        "forces/length": "forces/length_name",
        "forces/force": "forces/name",
    }


def same_on_every_machine(path, values):
    """Equal frequencies (a square bar) have any two directions as modes: what is left of them is a size."""
    rigid = {"q": 0, "q_dot": 0, "q_ddot": 0, "applied": 6}.get(path.rpartition("/")[2])
    if rigid is None:
        return values
    return np.column_stack([values[:, :rigid], np.linalg.norm(values[:, rigid:], axis=1)])


def test_results_of_version_1_are_read(tmp_path):
    """The file of an earlier flexmbs, against the same case run today."""
    old = Result.load(OLD)
    assert old.attributes["format_version"] == 1
    data = json.loads(old["provenance/case_resolved"])
    data["analysis"]["band"] = "all"  # what an earlier one did
    bar = {
        "modes": 2, "material": "steel", "frame": "tangent:root",
        "mesh": {"shape": "beam", "length": 1.0, "divisions": 2, "section": {"rectangle": [0.02, 0.02]}},
        "interfaces": {"root": {"set": "start"}, "tip": {"set": "end"}},
    }  # fmt: skip
    fm.reduce(bar).save(tmp_path / "bar.modal.h5")
    new = execute(Case.from_dict(data, folder=tmp_path), tmp_path / "a.h5").result
    assert new.attributes["format_version"] == 2
    histories = [
        path for path in old.paths if old.dimensions(path)[:1] == ("time",) and not path.startswith("solver/")
    ]
    assert len(histories) > 50
    for path in histories:
        a, b = (same_on_every_machine(path, np.asarray(result[path])) for result in (old, new))
        # other directions of the same modes take other steps: reactions are 2e-3 N apart
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=2e-3 * max(1.0, np.abs(a).max()), err_msg=path)
        assert new.units(path) == old.units(path) and new.attributes_of(path).get(
            "components"
        ) == old.attributes_of(path).get("components")


def test_a_file_costs_little_beside_its_numbers(tmp_path):
    path = tmp_path / "chain.h5"
    found = execute(links(40, 51), path).result
    assert path.stat().st_size < 1.2 * numbers(found) + 5000 * 40


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file whose positions go into several chunks along both dimensions."""
    path = tmp_path_factory.mktemp("large") / "a.h5"
    names, time = [f"b{k}" for k in range(8)], np.linspace(0.0, 1.0, 60_000)
    layout = Layout(COMMON_AXES, tuple(Field(f"bodies/{name}/position", ("xyz",), "m") for name in names))
    values = {f"bodies/{name}/position": np.outer(time, [k, 1.0, 2.0]) for k, name in enumerate(names)}
    with ResultWriter(path, layout, {}, {"case_sha256": "x"}) as w:
        w.commit(values | {"time": time}, {"t": 0.0}, 1.0)
        w.finish("complete")
    return path, values


def test_one_part_of_a_large_dataset_is_read_alone(large, monkeypatch):
    path, values = large
    result = Result.load(path)
    for name in ("b5", "b0", "b5", "b7"):
        np.testing.assert_array_equal(result.bodies[name].position, values[f"bodies/{name}/position"])
    with h5py.File(path) as file:
        assert file["bodies/position"].chunks[1] < 8


def test_damage_in_a_large_dataset_is_told_when_it_is_read(large, tmp_path):
    """HDF5's own sum of the chunk fits again: only the digest tells."""
    path, _ = large
    (tmp_path / "b.h5").write_bytes(path.read_bytes())
    with h5py.File(tmp_path / "b.h5", "r+") as file:
        file["bodies/position"][17, 3, 1] += 1e-9
    found = Result.load(tmp_path / "b.h5")
    found.bodies["b7"].position  # noqa: B018
    with pytest.raises(InputError, match="/bodies/position does not match its checksum"):
        found.bodies["b3"].position  # noqa: B018


def test_only_bodies_are_found_among_the_bodies(tmp_path):
    """The axis of a dataset over all bodies is none of them."""
    recipe = {
        "mesh": {"shape": "beam", "length": 1.0, "divisions": 4, "section": {"rectangle": [0.01, 0.01]}},
        "interfaces": {"root": {"set": "x_min"}},
    }
    fm.reduce(recipe, material="steel", modes=2, frame="tangent:root").save(tmp_path / "arm.modal.h5")
    case = {
        "bodies": {"arm": {"type": "flexible", "modal": "arm.modal.h5"}},
        "joints": {"hub": {"type": "revolute", "from": "ground", "to": "arm.root", "axis": [0, 1, 0]}},
        "analysis": {"t_end": 0.01},
        "output": {"every": 0.01},
    }
    result = execute(Case.from_dict(case, folder=tmp_path), tmp_path / "a.h5").result
    assert list(result.bodies) == ["arm"]
    assert result.bodies.arm.ledger.shape[0] == 2
