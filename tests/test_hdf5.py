"""The HDF5 door: whole or nothing, and nothing dangerous comes in."""

import errno
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

from flexmbs import disk, hdf5
from flexmbs.disk import operations
from flexmbs.errors import InputError
from flexmbs.hdf5 import writing


def fill(root):
    time = hdf5.scale(root, "time", np.linspace(0.0, 1.0, 11), units="s")
    body = root.create_group("body")
    hdf5.dataset(body, "q", np.ones((11, 3)), units="m", equation="(F1)", scales=[time, None])
    hdf5.dataset(body, "names", ["a", "gödel"])
    hdf5.attributes(root, title="x", loads=["one", "three"])


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "a.h5"
    hdf5.build_file(path, fill, format="test", version=1)
    return path


def test_what_is_written_is_read_back(good):
    with hdf5.open_checked(good, format="test", max_version=1) as file:
        tree = hdf5.read_tree(file)
        assert hdf5.texts(file.attrs["loads"]) == ["one", "three"]
        assert file["body/q"].dims[0][0].name == "/time"
        assert hdf5.text(file["body/q"].attrs["units"]) == "m"
    assert tree["body"]["names"] == ["a", "gödel"]
    np.testing.assert_array_equal(tree["body"]["q"], np.ones((11, 3)))


def test_same_content_gives_same_bytes(good, tmp_path):
    hdf5.build_file(tmp_path / "b.h5", fill, format="test", version=1)
    assert good.read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_existing_file_is_kept_without_overwrite(good):
    before = good.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        hdf5.build_file(good, fill, format="test", version=1)
    assert good.read_bytes() == before


def test_failure_inside_leaves_nothing(tmp_path):
    def broken(root):
        fill(root)
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        hdf5.build_file(tmp_path / "c.h5", broken, format="test", version=1)
    assert list(tmp_path.iterdir()) == []


class FullDisk(operations.Operations):
    """A disk on which nothing has room."""

    def write(self, handle, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("in_memory", [hdf5.files.IN_MEMORY, 100])
def test_full_disk_is_an_error_and_leaves_nothing(tmp_path, monkeypatch, in_memory):
    """A disk that fills up while HDF5 writes: no crash of the interpreter, no file."""
    monkeypatch.setattr(operations, "system", FullDisk())
    monkeypatch.setattr(hdf5.files, "IN_MEMORY", in_memory)
    with pytest.raises(InputError, match="disk is full"):
        hdf5.build_file(tmp_path / "c.h5", fill, format="test", version=1)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_at_once_and_a_large_one_piece_by_piece_to_the_same_bytes(
    good, tmp_path, monkeypatch
):
    writes = []

    class Counted(operations.Operations):
        def write(self, handle, data):
            writes.append(len(data))
            return super().write(handle, data)

    monkeypatch.setattr(operations, "system", Counted())
    hdf5.build_file(tmp_path / "b.h5", fill, format="test", version=1)
    assert writes == [good.stat().st_size]
    monkeypatch.setattr(hdf5.files, "IN_MEMORY", 100)
    hdf5.build_file(tmp_path / "c.h5", fill, format="test", version=1)
    assert len(writes) > 2
    assert good.read_bytes() == (tmp_path / "b.h5").read_bytes() == (tmp_path / "c.h5").read_bytes()


def test_every_flipped_byte_is_noticed_or_harmless(good, tmp_path):
    original = good.read_bytes()
    rng = np.random.default_rng(3)
    with hdf5.open_checked(good, format="test", max_version=1) as file:
        expected = hdf5.read_tree(file)["body"]["q"]
    for place in rng.integers(0, len(original), 150):
        damaged = bytearray(original)
        damaged[place] ^= 0xFF
        path = tmp_path / "d.h5"
        path.write_bytes(damaged)
        try:
            with hdf5.open_checked(path, format="test", max_version=1) as file:
                q = hdf5.read_tree(file)["body"]["q"]
        except InputError:
            continue
        np.testing.assert_array_equal(q, expected)


@pytest.mark.parametrize("length", [0, 7, 100, 2000])
def test_truncated_file_is_an_input_error(good, length):
    good.write_bytes(good.read_bytes()[:length])
    with pytest.raises(InputError):
        with hdf5.open_checked(good, format="test", max_version=1):
            pass


def test_other_format_and_newer_version_are_named(good):
    with pytest.raises(InputError, match='is "test"; expected flexmbs-modal'):
        with hdf5.open_checked(good, format="flexmbs-modal", max_version=1):
            pass
    with pytest.raises(InputError, match="format_version 1, this flexmbs reads 1 to 0"):
        with hdf5.open_checked(good, format="test", max_version=0):
            pass


def add_soft_link(file):
    file["soft"] = h5py.SoftLink("/body/q")


def add_external_link(file):
    file["body/ext"] = h5py.ExternalLink("other.h5", "/x")


def add_external_storage(file):
    file.create_dataset("ext", (4,), dtype="f8", external=[("raw.bin", 0, 32)])


def add_virtual(file):
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(3,))
    file.create_virtual_dataset("virtual", layout)


def add_variable_length(file):
    file.create_dataset("vlen", data=["a", "b"], dtype=h5py.string_dtype())


def add_huge(file):
    file.create_dataset("huge", (2**40,), dtype="f8", chunks=(1024,))


def add_claim(file):
    """Four GiB of zeros in a file of 100 kB: some pieces are there, the others count as zeros."""
    node = file.create_dataset("claim", (2**29,), dtype="f8", chunks=(2**17,), compression="gzip")
    node[: 2**17] = 1.0


def add_large_piece(file):
    file.create_dataset("piece", data=np.zeros(2**25), chunks=(2**25,), compression="gzip")


@pytest.mark.parametrize(
    "add",
    [
        add_soft_link,
        add_external_link,
        add_external_storage,
        add_virtual,
        add_variable_length,
        add_huge,
        add_claim,
        add_large_piece,
    ],
)
def test_unsafe_content_is_refused_by_name(good, add, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File(good, "r+") as file:
        add(file)
    with pytest.raises(InputError) as caught:
        with hdf5.open_checked(good, format="test", max_version=1):
            pass
    assert caught.value.diagnostics[0].code == "file.unsafe"


@pytest.mark.parametrize(
    "check",
    [
        "hdf5.open_checked(path, format='test', max_version=1).__enter__()",
        "hdf5.foreign.refuse_links(path)",
        "hdf5.foreign.read_arrays(path)",
    ],
)
def test_a_refusal_that_is_kept_to_the_end_of_the_program_does_not_crash_it(good, check):
    """HDF5 falls over properties of virtual datasets that are still held when it ends."""
    with h5py.File(good, "r+") as file:
        add_virtual(file)
    code = (
        "import ctypes, sys, flexmbs.hdf5.foreign\nfrom pathlib import Path\nfrom flexmbs import hdf5\n"
        f"path = Path(sys.argv[1])\ntry: {check}\n"
        "except Exception as error: ctypes.pythonapi.Py_IncRef(ctypes.py_object(error)); print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(good)], capture_output=True, text=True)
    assert done.returncode == 0 and "stores its data elsewhere" in done.stdout, done.stderr


def test_claims_beyond_the_file_are_refused_before_anything_is_read(good, monkeypatch):
    with h5py.File(good, "r+") as file:
        add_claim(file)
    assert good.stat().st_size < 200_000
    monkeypatch.setattr(hdf5.reading, "content_hash", lambda root: pytest.fail("read"))
    with pytest.raises(InputError, match="/claim claims 4096 MiB for a file of 0"):
        with hdf5.open_checked(good, format="test", max_version=1):
            pass


def test_second_holder_of_a_lock_is_told_who_has_it(tmp_path):
    code = (
        "import sys; from flexmbs import disk\n"
        "try:\n  disk.lock(sys.argv[1]).__enter__()\nexcept Exception as e: print(e)"
    )
    with disk.lock(tmp_path / "r.h5"):
        told = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "r.h5")], capture_output=True, text=True, check=True
        )
    assert f"is being written by process {os.getpid()}" in told.stdout
    with disk.lock(tmp_path / "r.h5"):
        pass


def with_users(path, n):
    """A file in which n datasets share their scales."""

    def fill(root):
        scales = [hdf5.scale(root, "time", np.arange(5.0), "s"), hdf5.scale(root, "xyz", np.arange(3))]
        for k in range(n):
            hdf5.dataset(root.require_group(f"b{k:04d}"), "x", np.zeros((5, 3)), scales=scales)

    hdf5.build_file(path, fill, format="flexmbs-test", version=1)
    return path.stat().st_size


def test_many_datasets_on_one_scale_cost_the_same_each(tmp_path):
    """The list of its users was written anew for each: 240 bodies with 3.6 MB of data filled 71 MB."""
    few, many = with_users(tmp_path / "few.h5", 200), with_users(tmp_path / "many.h5", 1600)
    assert many < 8.2 * few
    with h5py.File(tmp_path / "few.h5") as file:
        node = file["b0007/x"]
        assert [dim[0].name for dim in node.dims] == ["/time", "/xyz"]
        users = file["xyz"].attrs["REFERENCE_LIST"]
        assert sorted(file[ref].name for ref, _ in users) == [f"/b{k:04d}/x" for k in range(200)]
        assert {int(axis) for _, axis in users} == {1}


def test_attributes_are_those_of_h5py(tmp_path):
    """Types, shapes and values, whatever is written; again over what is there."""
    values = {
        "a": 3, "b": 2.5, "c": True, "d": np.arange(6.0).reshape(2, 3)[:, ::2], "e": np.array([True, False]),
        "f": 1j, "g": np.zeros(0), "h": np.bytes_(b"text"), "i": np.array([b"x", b"yz"]), "j": np.uint8(7),
    }  # fmt: skip

    def fill(root):
        ours = root.create_group("ours")
        hdf5.attributes(ours, **dict.fromkeys(values, "before"))
        hdf5.attributes(ours, **values)
        with pytest.raises(TypeError, match="does not go into a file"):
            hdf5.attributes(ours, k=np.array([None]))

    hdf5.build_file(tmp_path / "a.h5", fill, format="test", version=1)
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        ours, theirs = file["ours"], file.create_group("theirs")
        for name, value in values.items():
            theirs.attrs.create(name, value)
            one, other = ours.attrs.get_id(name), theirs.attrs.get_id(name)
            assert one.get_type() == other.get_type() and one.shape == other.shape
            np.testing.assert_array_equal(ours.attrs[name], theirs.attrs[name])


def numbered(number, text="", size=3, unit=1):
    """A file whose content follows from these."""

    def fill(root):
        time = hdf5.scale(root, "time", number + np.arange(4.0), "s")
        node = hdf5.dataset(root.require_group("a/b"), "x", np.full((4, size), number), scales=[time])
        hdf5.attributes(node, unit=unit)
        hdf5.dataset(root, "one", number)
        hdf5.dataset(root, "text", text)
        hdf5.attributes(root, said=float(number), status="complete")

    return fill


@pytest.fixture
def moulds(monkeypatch):
    """Images of files that are kept: none at first."""
    monkeypatch.setattr(writing, "_MOULDS", type(writing._MOULDS)())
    return writing._MOULDS


def test_a_file_like_the_last_one_has_the_bytes_of_one_made_afresh(tmp_path, moulds):
    """Numbers, texts and attributes of the root change; all else is the structure, which is made once."""
    made = []
    for number, text in ((1, "one"), (2, "two"), (3, "a" * 300), (4, "b" * 400), (1, "one")):
        path = tmp_path / "a.h5"
        hdf5.build_file(path, numbered(number, text), format="test", version=1, overwrite=True)
        with hdf5.open_checked(path, format="test", max_version=1) as file:
            assert file["one"][()] == number and file.attrs["said"] == number
            assert hdf5.text(file["text"][()]) == text and file["a/b/x"][3, 2] == number
            assert [dim[0].name for dim in file["a/b/x"].dims if len(dim)] == ["/time"]
        made.append(path.read_bytes())
    assert len(moulds) == 2 and made[0] == made[-1]  # up to 256 letters, and up to 512
    for bytes_before, (number, text) in zip(made[1:], ((2, "two"), (3, "a" * 300)), strict=False):
        moulds.clear()
        hdf5.build_file(path, numbered(number, text), format="test", version=1, overwrite=True)
        assert path.read_bytes() == bytes_before


def test_files_of_other_structure_are_not_mixed_up(tmp_path, moulds):
    """Shapes, and values of attributes below the root: 1, 1.0 and True are kept as what they are."""
    for k, more in enumerate(({}, {"size": 5}, {"unit": 1.0}, {"unit": True}, {"unit": "m"})):
        path = tmp_path / f"{k}.h5"
        hdf5.build_file(path, numbered(k, **more), format="test", version=1)
        with hdf5.open_checked(path, format="test", max_version=1) as file:
            assert file["a/b/x"].shape == (4, more.get("size", 3))
            assert type(file["a/b/x"].attrs["unit"]) is type(np.asarray(more.get("unit", 1))[()]) or k == 4
    assert len(moulds) == 5


def test_few_and_small_images_are_kept(tmp_path, moulds, monkeypatch):
    for size in range(1, writing.MOST + 3):
        hdf5.build_file(tmp_path / f"{size}.h5", numbered(1, size=size), format="test", version=1)
    assert len(moulds) == writing.MOST
    moulds.clear()
    monkeypatch.setattr(writing, "LARGEST", 1000)
    hdf5.build_file(tmp_path / "a.h5", numbered(1), format="test", version=1)
    assert not moulds


def test_one_name_is_given_once(tmp_path):
    def twice(root):
        hdf5.dataset(root, "x", 1)
        hdf5.dataset(root, "x", 2)

    with pytest.raises(ValueError, match="/x is in this file already"):
        hdf5.build_file(tmp_path / "a.h5", twice, format="test", version=1)
