"""What stands in a result is looked at before it is used, whatever its checksum says."""

import json

import h5py
import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.hdf5.content import content_hash
from flexmbs.results import Result, ResultWriter, segments
from flexmbs.results.validate import _numbers
from tests.damage import generators as g
from tests.test_results import LAYOUT, samples, write

Q = "bodies/q"
PLACE = "bodies/position"
WRONG = {
    "an extra axis": (Q, np.ones((5, 2, 1)), "has 3 dimensions; expected 2"),
    "an axis less": (Q, np.ones(5), "has 1 dimensions; expected 2"),
    "a sample less": (Q, np.ones((4, 2)), r"has shape \(4, 2\); expected 5 along axis 0 as in /time"),
    "four coordinates": (PLACE, np.ones((5, 1, 4)), r"has shape \(5, 1, 4\); expected 3 along axis 2"),
    "three modes": (Q, np.ones((5, 3)), r"has shape \(5, 3\); expected the 2 parts of /bodies/mode_part"),
    "two bodies": (PLACE, np.ones((5, 2, 3)), "expected the 1 parts of /bodies/name"),
    "a name more": ("bodies/mode_label", np.full(3, b"x"), "has 3 entries; expected 2"),
    "mixed entries": ("bodies/mode_axis", np.array([b"mode", b"x"]), "the entries of rod do not"),
    "texts": (Q, np.full((5, 2), b"x"), "holds texts; expected numbers"),
    "numbers": ("topology/tree", np.zeros(2), "holds numbers; expected texts"),
    "NaN": (Q, np.full((5, 2), np.nan), r"holds nan at \[0, 0\]; expected numbers below"),
    "far away": (PLACE, np.full((5, 1, 3), -1e200), r"holds -1e\+200"),
    "time": ("time", np.array([0, 1, 2, 1, 3.0]), "falls at sample 3; expected ascending times"),
    "more times": ("energy/kinetic", np.zeros(6), r"has shape \(6,\); expected 5 along axis 0"),
}


@pytest.fixture
def result(tmp_path):
    return write(tmp_path / "a.h5", [[0.0, 0.5], [1.0, 1.5, 2.0]])


def put(path, name, data):
    with h5py.File(path, "r+") as file:
        g._replace(file, name, data)
        file.attrs.modify("content_sha256", np.bytes_(content_hash(file)))


def fields(values):
    """What is said of the numbers of datasets."""
    return [what for path, item in values.items() for _, what, _ in _numbers(path, item)]


@pytest.mark.parametrize("name", WRONG)
def test_datasets_of_another_kind_are_refused_by_name(result, name):
    path, data, said = WRONG[name]
    put(result, path, data)
    asked = {Q: "bodies/rod/q", PLACE: "bodies/rod/position"}.get(path, path)
    place = asked if "expected numbers below" in said or "holds -" in said else path.replace("_axis", "_part")
    with pytest.raises(InputError, match=f"a.h5  error  /{place}.*{said}"):
        Result.load(result)[asked]


def test_quaternions_have_length_one(tmp_path):
    assert fields({"bodies/rod/quaternion": np.full((5, 4), 0.5)}) == []
    assert fields({"bodies/rod/quaternion": np.ones((5, 4))}) == ["has a length that is off by 1"]


def test_a_result_without_times_is_refused(result):
    with h5py.File(result, "r+") as file:
        del file["time"]
        file.attrs.modify("content_sha256", np.bytes_(content_hash(file)))
    with pytest.raises(InputError, match="/time is missing"):
        Result.load(result)


@pytest.mark.parametrize(
    "name, value", [("status", np.zeros(3)), ("status", b"done"), ("t_reached", b"soon"), ("message", 3.0)]
)
def test_attributes_of_another_kind_are_refused(result, name, value):
    with h5py.File(result, "r+") as file:
        file.attrs[name] = value
    with pytest.raises(InputError, match=f"/ has (a )?{name}"):
        Result.load(result)


def read_all(path):
    result = Result.load(path)
    try:
        for name in result.paths:
            values, dimensions = result[name], result.dimensions(name)
            result.attributes_of(name)
            if dimensions[:1] == ("time",):
                assert len(values) == len(result["time"])
        return result
    finally:
        result.close()


def test_any_damage_behind_a_valid_checksum_is_told(result, tmp_path):
    data = result.read_bytes()
    refused = 0
    for damage in g.damages(data, g.HDF5 + g.BLIND, 200, 5):
        (tmp_path / "b.h5").write_bytes(damage.data)
        try:
            read_all(tmp_path / "b.h5")
        except InputError as error:
            refused += 1
            assert "b.h5" in str(error), damage.what
    assert refused > 60


def rewrite(folder, change):
    """Change the segments and make hashes and manifest fit again."""
    change(folder)
    entries = []
    chain = segments.link(segments.START, segments.file_hash(folder / segments.HEADER))
    for line in (folder / segments.MANIFEST).read_text().splitlines():
        entry = json.loads(line)
        if (folder / entry["name"]).is_file():
            entry["sha256"] = segments.file_hash(folder / entry["name"])
        chain = entry["chain"] = segments.link(chain, entry["sha256"])
        entries.append(json.dumps(entry))
    (folder / segments.MANIFEST).write_text("\n".join(entries) + "\n")


def in_segment(path, data):
    return lambda folder: put(folder / "000001.h5", path, data)


def in_layout(old, new):
    def change(folder):
        with h5py.File(folder / "header.h5") as file:
            text = file["layout"][()].decode().replace(old, new)
        put(folder / "header.h5", "layout", np.bytes_(text))

    return change


@pytest.mark.parametrize(
    "change",
    [
        in_segment("fields/bodies/q", np.ones((3, 1))),
        in_segment("fields/bodies/q", np.ones((3, 2), dtype="S1")),
        in_segment("time", np.ones(7)),
        in_segment("checkpoint/y", np.bytes_(b"x")),
        in_layout('"size": 3', '"size": 1000000000000'),
        in_layout('"size": 3', '"size": "many"'),
        in_layout("float64", "object"),
        in_layout('"path"', '"paths"'),
    ],
)
def test_segments_and_layouts_of_another_shape_are_damage(tmp_path, change):
    path = write(tmp_path / "a.h5", [[0.0, 0.5], [1.0, 1.5, 2.0]], finish=False)
    rewrite(segments.parts_folder(path), change)
    try:
        read_all(path)
    except InputError as error:
        assert error.diagnostics[0].code in ("result.damaged", "result.invalid")
    else:
        assert change.__closure__[1].cell_contents == "checkpoint/y"  # no run has asked for it


@pytest.mark.parametrize(
    "new", ['"name": "../../x.h5"', '"name": 3', '"samples": -1', '"samples": 1e9', '"t": NaN', '"t": "now"']
)
def test_a_manifest_that_no_run_writes_is_damage(tmp_path, new):
    path = write(tmp_path / "a.h5", [[0.0]], finish=False)
    manifest = segments.parts_folder(path) / segments.MANIFEST
    entry = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(entry | json.loads("{" + new + "}")) + "\n")
    with pytest.raises(InputError, match="line 1 of manifest.jsonl is not readable"):
        Result.load(path)


def test_what_is_written_passes(result, tmp_path):
    assert read_all(result).status == "complete"
    with ResultWriter(tmp_path / "b.h5", LAYOUT, {}, {"case_sha256": "x"}) as w:
        w.commit(samples([0.0]), {"t": 0.0}, 0.0)
        assert read_all(tmp_path / "b.h5").status == "running"
