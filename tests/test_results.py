"""Results: segments that survive, one packed file, reading by name."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from flexmbs import hdf5
from flexmbs.disk import operations
from flexmbs.errors import FlexmbsError, InputError, UsageError
from flexmbs.hdf5 import reading
from flexmbs.results import Axis, Field, Item, Layout, Result, ResultWriter, segments
from flexmbs.results.compare import compare
from flexmbs.results.layout import COMMON_AXES

LAYOUT = Layout(
    (*COMMON_AXES, Axis("bodies/rod/mode", 2, (), (1, 2)), Axis("joints/pin/coordinate", 1, ("angle",))),
    (
        Field("bodies/rod/position", ("xyz",), "m"),
        Field("bodies/rod/q", ("bodies/rod/mode",), "m kg^0.5", "F1"),
        Field("joints/pin/position", ("joints/pin/coordinate",), "rad"),
        Field("energy/kinetic", (), "J"),
    ),
)


def samples(t):
    t = np.asarray(t, dtype=float)
    return {
        "time": t,
        "bodies/rod/position": np.stack([t, t**2, t**3], axis=1),
        "bodies/rod/q": np.stack([np.sin(t), np.cos(t)], axis=1),
        "joints/pin/position": 0.5 * t[:, None],
        "energy/kinetic": np.exp(-t),
    }


def checkpoint(t):
    return {"t": t, "y": np.array([t, 2.0 * t])}


def write(path, pieces, finish=True, **options):
    with ResultWriter(path, LAYOUT, {"topology": {"tree": ["a", "b"]}}, {"case_sha256": "x"}, **options) as w:
        for piece in pieces:
            w.commit(samples(piece), checkpoint(piece[-1]), piece[-1])
        if finish:
            w.finish("complete", items={"metrics": {"peak": Item(3.0, "m")}})
    return path


@pytest.fixture
def result(tmp_path):
    return write(tmp_path / "a.h5", [[0.0, 0.5], [1.0, 1.5, 2.0]])


def test_finished_result_reads_back_by_name(result):
    found = Result.load(result)
    assert found.status == "complete" and found.attributes["t_reached"] == 2.0
    np.testing.assert_array_equal(found.time, [0.0, 0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(found.bodies["rod"].q, samples(found.time)["bodies/rod/q"])
    assert found.units("bodies/rod/position") == "m"
    assert found.topology.tree == ["a", "b"] and found.metrics.peak == 3.0
    assert not segments.parts_folder(result).exists()
    with pytest.raises(KeyError, match="kinetic"):
        found.energy["kinetik"]


def test_unfinished_result_has_the_same_names_and_numbers(tmp_path, result):
    other = write(tmp_path / "b.h5", [[0.0, 0.5], [1.0, 1.5, 2.0]], finish=False)
    parts, whole = Result.load(other), Result.load(result)
    assert parts.status == "running"
    for path in whole.paths:
        if path.startswith(("checkpoint", "metrics")):
            continue
        np.testing.assert_array_equal(parts[path], whole[path])
        assert parts.dimensions(path)[:1] == whole.dimensions(path)[:1]
    assert parts.checkpoint()["t"] == whole.checkpoint()["t"] == 2.0


def test_every_segment_is_looked_at_once(tmp_path, monkeypatch):
    """However many histories are read of it; what is looked at takes ten times what is read."""
    looked = []
    check = reading._check_file
    monkeypatch.setattr(
        reading, "_check_file", lambda file, path, *rest: looked.append(path.name) or check(file, path, *rest)
    )
    pieces = [[0.011, 0.5], [1.017, 1.5, 2.013]]
    found = Result.load(write(tmp_path / "b.h5", pieces, finish=False))
    np.testing.assert_array_equal(found["energy/kinetic"], np.exp(-np.concatenate(pieces)))
    assert np.shape(found["time"]) == (5,) and np.shape(found["bodies/rod/q"]) == (5, 2)
    assert sorted(looked) == ["000000.h5", "000001.h5", "header.h5"]


def test_numbers_do_not_depend_on_the_segments(tmp_path):
    a = write(tmp_path / "a.h5", [[0.0, 0.5], [1.0, 1.5, 2.0]])
    b = write(tmp_path / "b.h5", [[0.0, 0.5, 1.0, 1.5, 2.0]])
    assert compare(Result.load(a), Result.load(b), rtol=0.0, atol=0.0).equal


def test_channels_pick_components_first_and_the_time_last(result):
    found = Result.load(result)
    assert found.channel("rod.position.y[-1]") == 4.0
    assert found.channel("rod.q[1][0]") == 1.0
    assert found.channel("pin.position[2]") == 0.5
    assert found.channel("joints.pin.position").shape == (5,)
    np.testing.assert_array_equal(found.channel("q[0]"), np.sin(found.time))
    assert found.channel("kinetic[0]") == 1.0
    with pytest.raises(InputError, match="not unique"):
        found.channel("position")
    with pytest.raises(InputError, match="energy.kinetic"):
        found.channel("energy.kinetik")
    with pytest.raises(InputError, match="out of range"):
        found.channel("kinetic[7]")


@pytest.mark.needs("xarray", "netCDF4", "pandas")
def test_result_opens_in_xarray_and_pandas(result):
    import xarray

    tree = xarray.open_datatree(result)
    bodies, found = tree["bodies"], Result.load(result)
    assert bodies["q"].dims == ("time", "mode") and bodies["q"].attrs["units"] == "m kg^0.5"
    np.testing.assert_array_equal(tree["time"], [0.0, 0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(bodies["position"].sel(name="rod"), found["bodies/rod/position"])
    np.testing.assert_array_equal(bodies["q"][:, bodies["mode_part"] == "rod"], found["bodies/rod/q"])
    ours = found.to_xarray()
    assert ours["bodies/rod"]["q"].dims == ("time", "mode")
    np.testing.assert_array_equal(ours["bodies/rod"]["q"], found["bodies/rod/q"])
    table = Result.load(result).to_pandas()
    assert table["bodies.rod.position.y"].iloc[-1] == 4.0 and table.index.name == "time"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ncdump", "-v", "bodies/q,time"], marks=pytest.mark.needs("ncdump")),
        pytest.param(["h5dump", "-d", "/bodies/q"], marks=pytest.mark.needs("h5dump")),
    ],
    ids=["ncdump", "h5dump"],
)
def test_result_opens_in_programs_of_others(result, command):
    """Whole, and one dataset by name; neither complains about an attribute or a dimension."""
    for line in ([command[0], "-h"] if command[0] == "ncdump" else [command[0], "-H"], command):
        done = subprocess.run([*line, str(result)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr
    assert "m kg^0.5" in done.stdout if command[0] == "ncdump" else "DATASET" in done.stdout


def test_every_dataset_has_units_and_scales(result):
    with hdf5.open_checked(result, format="flexmbs-result", max_version=2) as file:
        for path, node in hdf5.walk(file):
            if hasattr(node, "shape") and "checkpoint" not in path:
                assert "units" in node.attrs, path
        assert file["bodies/q"].dims[0][0].name == "/time"
        assert file["bodies/q"].dims[1][0].name == "/bodies/mode"
        assert file["bodies/position"].dims[1][0].name == "/bodies/name"


def test_existing_result_is_replaced_only_when_asked(result):
    with pytest.raises(UsageError, match="overwrite"):
        write(result, [[0.0]])
    before = result.read_bytes()
    write(result, [[0.0]], finish=False, overwrite=True)
    assert result.read_bytes() == before  # only a whole one replaces it
    with pytest.raises(UsageError, match="exists already"):
        write(result, [[0.0]])


def test_resume_goes_on_behind_the_last_segment(tmp_path):
    path = write(tmp_path / "a.h5", [[0.0, 0.5]], finish=False)
    with pytest.raises(UsageError, match="--resume"):
        write(path, [[0.0]])
    with ResultWriter(
        path, LAYOUT, {"topology": {"tree": ["a", "b"]}}, {"case_sha256": "x"}, resume=True
    ) as w:
        assert w.resumed.t == 0.5 and w.resumed.checkpoint["y"].tolist() == [0.5, 1.0]
        w.commit(samples([1.0]), checkpoint(1.0), 1.0)
        w.finish("complete")
    np.testing.assert_array_equal(Result.load(path).time, [0.0, 0.5, 1.0])


def test_unfinished_replacement_of_a_result_says_how_to_go_on(tmp_path):
    path = write(tmp_path / "a.h5", [[0.0]])
    header = ({"topology": {"tree": ["a", "b"]}}, {"case_sha256": "x"})
    with ResultWriter(path, LAYOUT, *header, overwrite=True) as w:
        w.commit(samples([0.0, 0.5]), checkpoint(0.5), 0.5)
    with (
        pytest.raises(UsageError, match="--resume --overwrite goes on"),
        ResultWriter(path, LAYOUT, *header, resume=True),
    ):
        pass
    with ResultWriter(path, LAYOUT, *header, resume=True, overwrite=True) as w:
        assert w.resumed.t == 0.5
        w.finish("complete")
    np.testing.assert_array_equal(Result.load(path).time, [0.0, 0.5])


def test_resume_refuses_another_case(tmp_path):
    path = write(tmp_path / "a.h5", [[0.0, 0.5]], finish=False)
    with (
        pytest.raises(InputError, match="another case"),
        ResultWriter(path, LAYOUT, {}, {"case_sha256": "y"}, resume=True),
    ):
        pass


def test_damaged_segment_is_named_and_computed_again(tmp_path):
    path = write(tmp_path / "a.h5", [[0.0, 0.5], [1.0], [2.0]], finish=False)
    folder = segments.parts_folder(path)
    file = folder / "000001.h5"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(InputError, match="000001.h5 does not match"):
        Result.load(path)
    with ResultWriter(path, LAYOUT, {}, {"case_sha256": "x"}, resume=True) as w:
        assert w.resumed.t == 0.5 and "000001.h5" in w.resumed.warning
    assert sorted(p.name for p in folder.glob("0*.h5")) == ["000000.h5"]


def test_torn_manifest_line_was_never_announced(tmp_path):
    path = write(tmp_path / "a.h5", [[0.0, 0.5], [1.0]], finish=False)
    manifest = segments.parts_folder(path) / segments.MANIFEST
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert Result.load(path).time.tolist() == [0.0, 0.5]
    with ResultWriter(path, LAYOUT, {}, {"case_sha256": "x"}, resume=True) as w:
        w.commit(samples([1.0]), checkpoint(1.0), 1.0)
        w.finish("complete")
    assert Result.load(path).time.tolist() == [0.0, 0.5, 1.0]


def test_second_run_on_a_result_is_told_who_holds_it(tmp_path):
    path = tmp_path / "a.h5"
    with ResultWriter(path, LAYOUT), pytest.raises(InputError, match=f"process {os.getpid()}"):
        write(path, [[0.0]])


def test_run_without_a_segment_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), ResultWriter(tmp_path / "a.h5", LAYOUT):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


CHILD = """
    import sys
    sys.path.insert(0, {root!r})
    from tests.test_results import LAYOUT, ResultWriter, checkpoint, samples
    with ResultWriter({path!r}, LAYOUT, {{}}, {{"case_sha256": "x"}},
                      announce=lambda t: print(t, flush=True)) as w:
        for k in range(10**6):
            w.commit(samples([float(k)]), checkpoint(float(k)), float(k))
"""


def test_announced_segments_survive_kill_9(tmp_path):
    path = tmp_path / "a.h5"
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = textwrap.dedent(CHILD).format(root=root, path=str(path))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    announced = [float(child.stdout.readline()) for _ in range(5)]
    child.send_signal(signal.SIGKILL)
    announced += [float(line) for line in child.stdout.read().split()]
    child.wait()
    time = Result.load(path).time
    assert len(time) >= len(announced) and time[: len(announced)].tolist() == announced
    with ResultWriter(path, LAYOUT, {}, {"case_sha256": "x"}, resume=True) as w:
        assert w.resumed.t == time[-1]


class FullDisk(operations.Operations):
    """A disk that fills up."""

    def __init__(self, room):
        self.room = room

    def write(self, handle, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(28, "No space left on device")
        return super().write(handle, data)


@pytest.mark.parametrize("room", [0, 3000, 20000])
def test_full_disk_keeps_what_was_announced(tmp_path, monkeypatch, room):
    path = tmp_path / "a.h5"
    announced = []
    with ResultWriter(path, LAYOUT, {}, {"case_sha256": "x"}, announce=announced.append) as w:
        w.commit(samples([0.0, 0.5]), checkpoint(0.5), 0.5)
        monkeypatch.setattr(operations, "system", FullDisk(room))
        with pytest.raises(FlexmbsError, match="disk is full; what was committed is kept: --resume .* 0.5 s"):
            w.commit(samples(np.linspace(1.0, 2.0, 2000)), checkpoint(2.0), 2.0)
    assert announced == [0.5]
    assert Result.load(path).time.tolist() == [0.0, 0.5]
    monkeypatch.undo()
    with ResultWriter(path, LAYOUT, {}, {"case_sha256": "x"}, resume=True) as w:
        w.commit(samples([1.0]), checkpoint(1.0), 1.0)
        w.finish("complete")
    assert Result.load(path).time.tolist() == [0.0, 0.5, 1.0]


def test_places_that_cannot_be_written_are_named(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="is a folder"):
            write(tmp_path / "folder", [[0.0]], overwrite=overwrite)

    class ReadOnly(operations.Operations):
        def open(self, path):
            raise OSError(30, "Read-only file system")

    monkeypatch.setattr(operations, "system", ReadOnly())
    with pytest.raises(InputError, match="a.h5  error  could not be written: Read-only file system"):
        write(tmp_path / "a.h5", [[0.0]])


def test_compare_names_the_place_of_a_difference(tmp_path, result):
    other = tmp_path / "b.h5"
    with ResultWriter(other, LAYOUT, {"topology": {"tree": ["a", "b"]}}, {"case_sha256": "x"}) as w:
        changed = samples([0.0, 0.5, 1.0, 1.5, 2.0])
        changed["energy/kinetic"][3] += 1e-3
        w.commit(changed, checkpoint(2.0), 2.0)
        w.finish("complete", items={"metrics": {"peak": Item(3.0, "m")}})
    found = compare(Result.load(result), Result.load(other))
    assert [item.path for item in found.items] == ["energy/kinetic"]
    assert "t = 1.5 s" in found.text
    assert compare(Result.load(result), Result.load(other), rtol=1e-2).equal
