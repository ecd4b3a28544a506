"""Rare branches of what writes and reads files: refusals of the system, races, damage behind valid sums."""

import errno
import os
import sys
from dataclasses import replace

import h5py
import numpy as np
import pytest

from flexmbs import disk, hdf5
from flexmbs.disk import operations, whole
from flexmbs.errors import InputError
from flexmbs.hdf5 import content, draft, foreign
from flexmbs.results import Result, ResultWriter, pack, segments
from tests.test_results import LAYOUT, checkpoint, samples, write


def test_a_system_that_takes_nothing_more_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(operations.system, "write", lambda handle, data: 0)
    with pytest.raises(OSError, match="nothing is written any more") as caught:
        operations.write_all(0, b"x")
    assert caught.value.errno == errno.EIO


def test_what_stands_behind_is_cut_off_before_anything_is_appended(tmp_path):
    (tmp_path / "a").write_bytes(b"whole torn")
    disk.append(tmp_path / "a", 5, b"x")
    assert (tmp_path / "a").read_bytes() == b"wholex"


def test_a_lock_that_somebody_removed_is_not_removed_again(tmp_path):
    with disk.lock(tmp_path / "a.h5"):
        (own,) = tmp_path.iterdir()
        own.unlink()
        own.write_bytes(b"of another")
    assert own.read_bytes() == b"of another"


def test_a_lock_whose_file_was_just_removed_by_its_holder_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["flexmbs.disk.lock"], "_is_named", lambda *_: False)
    with pytest.raises(InputError, match="is being written by another process"), disk.lock(tmp_path / "a.h5"):
        pass


def test_a_temporary_name_that_is_always_taken_is_told(tmp_path, monkeypatch):
    def taken(path):
        raise FileExistsError

    monkeypatch.setattr(operations.system, "create", taken)
    with (
        pytest.raises(InputError, match="by another process"),
        disk.atomic_file(tmp_path / "a"),
    ):
        pass


def test_a_temporary_file_that_was_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    made, first = operations.system.create, []

    def create(path):
        handle = made(path)
        if not first:
            first.append(path)
            os.unlink(path)
        return handle

    monkeypatch.setattr(operations.system, "create", create)
    with disk.atomic_file(tmp_path / "a") as file:
        file.write(b"x")
    assert (tmp_path / "a").read_bytes() == b"x" and first


def test_a_name_that_cannot_be_given_is_an_error(tmp_path, monkeypatch):
    def link(source, target):
        raise OSError(errno.EIO, "worn out")

    monkeypatch.setattr(operations.system, "link", link)
    with (
        pytest.raises(InputError, match="could not be written: worn out"),
        disk.atomic_file(tmp_path / "a") as file,
    ):
        file.write(b"x")
    assert list(tmp_path.iterdir()) == [] and whole.temporary_name(tmp_path / "a").name.endswith("tmp")


# ------------------------------------------------------------------ HDF5


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A dataset with a digest of every chunk."""
    monkeypatch.setattr(draft, "DIGESTED", 100)
    data = np.arange(40.0).reshape(4, 10)

    def fill(root):
        hdf5.dataset(root, "x", data, chunks=(2, 5), digests=True, compress=True)

    hdf5.build_file(tmp_path / "a.h5", fill, format="test", version=1)
    return tmp_path / "a.h5", data


def test_parts_and_the_whole_are_compared_with_their_digests(large):
    path, data = large
    with h5py.File(path) as file:
        np.testing.assert_array_equal(content.read_whole(file["x"]), data)
        part, first = content.read_part(file["x"], 6, 7)
        assert first == 5
        np.testing.assert_array_equal(part, data[:, 5:])
    with h5py.File(path, "r+") as file:
        file["x"][3, 9] = -1.0
        with pytest.raises(ValueError, match="/x does not match its checksum"):
            content.read_whole(file["x"])
        with pytest.raises(ValueError, match="/x does not match its checksum"):
            content.read_part(file["x"], 6, 7)
        np.testing.assert_array_equal(content.read_part(file["x"], 0, 1)[0], data[:, :5])


def test_rows_that_are_very_long_are_cut_in_both_directions():
    wide = np.lib.stride_tricks.as_strided(np.zeros(1), (3, 10**7), (0, 0))
    assert content.chunk_shape(wide) == (3, 256)


def test_what_does_not_go_into_a_file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file, pytest.raises(TypeError, match="x: dtype object"):
        hdf5.dataset(file, "x", np.array([None]))


def deep(file):
    node = file
    for _ in range(25):
        node = node.create_group("g")


UNSAFE = {
    "is nested too deeply": deep,
    "needs the unknown filter 32000": lambda f: f.create_dataset("y", data=np.zeros(9), compression="lzf"),
    "holds more than 50 objects": lambda f: [f.create_group(f"g{k}") for k in range(60)],
}


@pytest.mark.parametrize("says", UNSAFE)
def test_unsafe_structures_are_refused(large, says, monkeypatch):
    monkeypatch.setattr(content, "MAX_OBJECTS", 50)
    with h5py.File(large[0], "r+") as file:
        UNSAFE[says](file)
    with pytest.raises(InputError, match=says), hdf5.open_checked(large[0], format="test", max_version=1):
        pass


def test_arrays_of_other_programs(tmp_path):
    """Numbers at the root are read; links, claims and data that stand elsewhere are refused."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"], file["s"] = np.arange(3), np.array([b"text"])
        file.create_group("g")
    found = foreign.read_arrays(path)
    assert list(found) == ["x"] and found["x"].tolist() == [0, 1, 2]
    with h5py.File(path, "r+") as file:
        file.create_dataset("huge", (2**24,), "f8", chunks=(2**10,))
    with pytest.raises(InputError, match='"huge" claims 0.125 GiB'):
        foreign.read_arrays(path)
    with h5py.File(path, "w") as file:
        file["link"] = h5py.SoftLink("/x")
    with pytest.raises(InputError, match='"link" is a link'):
        foreign.read_arrays(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("raw", (4,), "f8", external=[("raw.bin", 0, 32)])
    with pytest.raises(InputError, match="stores its data elsewhere"):
        foreign.refuse_links(path)


# ------------------------------------------------------------------ results


def unfinished(tmp_path):
    path = write(tmp_path / "a.h5", [[0.0, 0.5], [1.0]], finish=False)
    return path, segments.parts_folder(path)


def test_damage_of_the_announced_segments_is_named(tmp_path, monkeypatch):
    path, folder = unfinished(tmp_path)
    manifest = folder / segments.MANIFEST
    lines = manifest.read_bytes().split(b"\n")
    manifest.write_bytes(b"\n".join(lines[1:]))
    with pytest.raises(InputError, match="the chain of hashes breaks at segment 000001.h5"):
        Result.load(path)
    manifest.write_bytes(b"\n".join(lines))
    kept = (folder / "000001.h5").read_bytes()
    (folder / "000001.h5").unlink()
    with pytest.raises(InputError, match="segment 000001.h5 is missing"):
        Result.load(path)
    (folder / "000001.h5").write_bytes(kept)
    assert len(Result.load(path).time) == 3
    monkeypatch.setattr(segments, "MAX_MANIFEST_BYTES", 10)
    with pytest.raises(InputError, match="manifest.jsonl is larger than 10 bytes"):
        Result.load(path)


def rewritten(folder, change):
    """The last segment with a change, and a manifest that knows it."""
    file = folder / "000000.h5"
    with h5py.File(file, "r+") as opened:
        change(opened)
        opened.attrs.modify("content_sha256", np.bytes_(content.content_hash(opened)))
    entry = segments.read_manifest(folder)[0]
    sha = segments.file_hash(file)
    chain = segments.link(segments.link(segments.START, segments.file_hash(folder / segments.HEADER)), sha)
    (folder / segments.MANIFEST).unlink()
    segments.append(folder, replace(entry, sha256=sha, chain=chain))


def test_a_segment_without_its_state_or_with_torn_events_is_damage(tmp_path):
    path = write(tmp_path / "a.h5", [[0.0, 0.5]], finish=False)
    folder = segments.parts_folder(path)
    rewritten(folder, lambda file: file.__delitem__("checkpoint"))
    resumed = ResultWriter(path, LAYOUT, {}, {"case_sha256": "x"}, resume=True)
    with pytest.raises(InputError, match="segment 000000.h5 holds no checkpoint"), resumed as writer:
        pack.read_checkpoint(folder, segments.read_manifest(folder)[0])
        writer.finish("complete")
    rewritten(folder, lambda file: file.create_dataset("events/text", data=np.array([b"a", b"b"])))
    with pytest.raises(InputError, match="do not belong together"):
        pack.read_events(folder, segments.read_manifest(folder))


def test_histories_that_do_not_fit_into_memory_are_packed_in_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(pack, "BATCH_BYTES", 1)
    path = write(tmp_path / "a.h5", [[0.0, 0.5], [1.0, 1.5, 2.0]])
    found = Result.load(path)
    np.testing.assert_array_equal(found["bodies/rod/q"], samples([0.0, 0.5, 1.0, 1.5, 2.0])["bodies/rod/q"])


def test_a_result_needs_its_folder_and_the_outputs_that_it_was_begun_with(tmp_path):
    nowhere = ResultWriter(tmp_path / "none" / "a.h5", LAYOUT)
    with (
        pytest.raises(InputError, match="there is no folder"),
        nowhere,
    ):
        pass
    path, _ = unfinished(tmp_path)
    other = type(LAYOUT)(LAYOUT.axes, LAYOUT.fields[:-1])
    with (
        pytest.raises(InputError, match="was begun with other outputs"),
        ResultWriter(path, other, {}, {"case_sha256": "x"}, resume=True),
    ):
        pass
    assert checkpoint(1.0)["t"] == 1.0
