"""Nothing is replaced, emptied or removed that flexmbs did not make."""

import os
import socket

import pytest

from flexmbs import disk
from flexmbs.disk import operations
from flexmbs.errors import InputError
from flexmbs.results import ResultWriter, segments
from tests.test_results import LAYOUT, write


def write_text(path, text="new", **options):
    with disk.atomic_file(path, **options) as raw:
        raw.write(text.encode())


def make_folder(path):
    path.mkdir()


def make_link(path):
    (path.parent / "thesis.tex").write_text("precious")
    path.symlink_to("thesis.tex")


def make_dangling_link(path):
    path.symlink_to("nowhere")


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


KINDS = {
    "a folder": make_folder,
    "a symbolic link": make_link,
    "a named pipe": make_pipe,
    "a socket": make_socket,
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("make", [*KINDS.values(), make_dangling_link])
def test_only_regular_files_are_ever_replaced(tmp_path, make, overwrite):
    target = tmp_path / "out.csv"
    make(target)
    before = os.lstat(target)
    words = next((words for words, maker in KINDS.items() if maker is make), "a symbolic link")
    with pytest.raises(InputError, match=f"out.csv  error  is {words}"):
        write_text(target, overwrite=overwrite)
    assert os.path.samestat(before, os.lstat(target))
    if make is make_link:
        assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(
    "name, there, replaced",
    [
        ("a.csv", b"time [s]\n0\n", True),
        ("a.csv", b"\x89PNG\r\n\0\0", False),
        ("a.png", b"\x89PNG\r\n\0\0", True),
        ("a.png", b"\\documentclass{article}", False),
        ("a.html", b"<!DOCTYPE html><html>", True),
        ("a.html", b"thesis", False),
        ("a.h5", b"thesis", False),
        ("a.png", b"", True),
    ],
)
def test_overwrite_replaces_files_of_the_same_kind_only(tmp_path, name, there, replaced):
    target = tmp_path / name
    target.write_bytes(there)
    with pytest.raises(InputError, match="exists already; use --overwrite"):
        write_text(target)
    if replaced:
        write_text(target, overwrite=True)
        assert target.read_text() == "new"
    else:
        with pytest.raises(InputError, match="no .* file that was written here before"):
            write_text(target, overwrite=True)
        assert target.read_bytes() == there
    assert [item.name for item in tmp_path.iterdir()] == [name]


def test_a_name_that_is_taken_meanwhile_is_kept(tmp_path):
    target = tmp_path / "a.csv"
    with pytest.raises(InputError, match="exists already"), disk.atomic_file(target) as raw:
        raw.write(b"ours")
        target.write_text("theirs")
    assert target.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_system_without_hard_links_is_written_to_as_well(tmp_path, monkeypatch):
    class NoLinks(operations.Operations):
        def link(self, old, new):
            raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(operations, "system", NoLinks())
    write_text(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "new" and len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path):
    target = tmp_path / "a.csv"
    left = disk.temporary_name(target)
    left.write_text("torn")
    write_text(target)
    assert target.read_text() == "new" and not left.exists()
    with disk.atomic_file(target, overwrite=True) as raw:
        raw.write(b"first")
        with pytest.raises(InputError, match="is being written by another process"):
            write_text(target, overwrite=True)
    assert target.read_text() == "first"


def test_a_link_in_the_place_of_the_temporary_file_is_left_alone(tmp_path):
    target = tmp_path / "a.csv"
    make_link(disk.temporary_name(target))
    with pytest.raises(InputError, match="is a symbolic link in the place of a temporary file"):
        write_text(target)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize("make", [*KINDS.values(), make_dangling_link])
def test_a_lock_is_taken_on_a_regular_file_only(tmp_path, make):
    make(tmp_path / "a.h5.lock")
    with pytest.raises(InputError, match="it would be the lock"), disk.lock(tmp_path / "a.h5"):
        pass
    assert not (tmp_path / "nowhere").exists()
    if make is make_link:
        assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_file_of_somebody_else_is_no_lock(tmp_path):
    (tmp_path / "a.h5.lock").write_text("precious")
    with pytest.raises(InputError, match="is a file of another program"), disk.lock(tmp_path / "a.h5"):
        pass
    assert (tmp_path / "a.h5.lock").read_text() == "precious"
    (tmp_path / "b.h5.lock").write_text("process 1")  # of a run that was killed
    with disk.lock(tmp_path / "b.h5"):
        assert (tmp_path / "b.h5.lock").read_text() == f"process {os.getpid()}"
    assert not (tmp_path / "b.h5.lock").exists()


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("there", ["thesis.tex", "000000.h5", "manifest.jsonl", "sub/header.h5"])
def test_a_folder_that_no_run_made_is_left_alone(tmp_path, there, overwrite):
    file = tmp_path / "a.h5.parts" / there
    file.parent.mkdir(parents=True)
    file.write_text("precious")
    before = names(tmp_path)
    with pytest.raises(InputError, match=f"holds {there.split('/')[0]}, which is not of a run"):
        write(tmp_path / "a.h5", [[0.0]], overwrite=overwrite)
    assert names(tmp_path) == before and file.read_text() == "precious"


def test_segments_are_not_kept_behind_a_link(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "000000.h5").write_text("precious")
    (tmp_path / "a.h5.parts").symlink_to("own")
    with pytest.raises(InputError, match="is a symbolic link; a run would keep its segments there"):
        write(tmp_path / "a.h5", [[0.0]], overwrite=True)
    assert (tmp_path / "own" / "000000.h5").read_text() == "precious"


def test_what_is_put_beside_the_segments_stays(tmp_path):
    path = tmp_path / "a.h5"
    with ResultWriter(path, LAYOUT, {}, {"case_sha256": "x"}) as w:
        note = segments.parts_folder(path) / "notes.txt"
        note.write_text("precious")
        from tests.test_results import checkpoint, samples

        w.commit(samples([0.0]), checkpoint(0.0), 0.0)
        w.finish("complete")
    assert names(tmp_path) == ["a.h5", "a.h5.parts", "a.h5.parts/notes.txt"]


def test_a_result_replaces_results_only(tmp_path):
    path = tmp_path / "a.h5"
    path.write_text("precious")
    with pytest.raises(InputError, match="is no h5 file that was written here before"):
        write(path, [[0.0]], overwrite=True)
    assert path.read_text() == "precious" and names(tmp_path) == ["a.h5"]
