"""What was announced survives failing disks, kills and power cuts; resuming ends in the same bits."""

import errno
import itertools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from flexmbs import disk
from flexmbs.disk import operations
from flexmbs.errors import FlexmbsError, InputError
from flexmbs.results import Item, Result, ResultWriter
from flexmbs.results.compare import compare
from flexmbs.results.writer import complete_result
from tests.disk.faulty import ERRORS, Counted, Dying, Failing, Power
from tests.test_results import LAYOUT, checkpoint, samples

PIECES = [[0.0, 0.5], [1.0, 1.5, 2.0], [2.5], [3.0, 3.5]]
EVERY = [t for piece in PIECES for t in piece]


def go_on(path, announced=None):
    """Write a result from where it stands, as a run with --resume does; nothing where it is complete."""
    announced = [] if announced is None else announced
    if complete_result(path, "x") is not None:
        return announced
    with ResultWriter(
        path,
        LAYOUT,
        {"topology": {"tree": ["a", "b"]}},
        {"case_sha256": "x"},
        resume=True,
        announce=announced.append,
    ) as w:
        done = w.resumed.samples if w.resumed else 0
        for piece in PIECES:
            if done >= len(piece):
                done -= len(piece)
                continue
            w.commit(samples(piece), checkpoint(piece[-1]), piece[-1])
        w.finish("complete", items={"metrics": {"peak": Item(3.0, "m")}})
    return announced


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "a.h5"
    counted = Counted()
    before, operations.system = operations.system, counted
    try:
        go_on(path)
    finally:
        operations.system = before
    return path, counted.names


def holds(path, announced):
    """All announced samples are readable, and are what was written."""
    if not announced:
        return
    found = Result.load(path)
    kept = [t for t in EVERY if t <= announced[-1]]
    np.testing.assert_array_equal(found.time[: len(kept)], kept)
    for name, values in samples(found.time).items():
        if name != "time":
            np.testing.assert_array_equal(found[name], values)


def ends_the_same(path, reference):
    go_on(path)
    assert os.listdir(path.parent) == [path.name]
    assert compare(Result.load(path), Result.load(reference), rtol=0.0, atol=0.0).equal


def fail(tmp_path, monkeypatch, reference, at, error, for_good):
    path, announced = tmp_path / "a.h5", []
    with monkeypatch.context() as patch:
        patch.setattr(operations, "system", Failing(at, error, for_good))
        try:
            go_on(path, announced)
        except FlexmbsError as told:
            assert told.diagnostics[0].code == "file.write" and "could not be written" in str(told)
    holds(path, announced)
    ends_the_same(path, reference)


def combinations(reference, everything):
    """Operations that fail, and how: every one in every way, or every other one in each way in turn."""
    _, names = reference
    ways = [(error, for_good) for error in ERRORS for for_good in (False, True)]
    for at in range(len(names)):
        for k in range(len(ways)) if everything else [at // 2 % len(ways)][: 1 - at % 2]:
            yield (at, *ways[k])


def test_an_operation_that_fails_loses_nothing_announced(tmp_path, monkeypatch, reference):
    for at, error, for_good in combinations(reference, False):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        fail(folder, monkeypatch, reference[0], at, error, for_good)


@pytest.mark.soak
def test_every_operation_fails_in_every_way(tmp_path, monkeypatch, reference):
    for at, error, for_good in combinations(reference, True):
        folder = tmp_path / f"{at}-{error}-{for_good}"
        folder.mkdir()
        fail(folder, monkeypatch, reference[0], at, error, for_good)


def in_a_child(path, system):
    """Run `go_on` in a child with these operations; returns what it announced, and whether it died."""
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            operations.system = system
            os.close(inlet)

            class Said(list):
                def append(self, t):
                    os.write(outlet, np.float64(t).tobytes())

            go_on(path, Said())
        finally:
            os._exit(0)
    os.close(outlet)
    _, status = os.waitpid(child, 0)
    said = b""
    while part := os.read(inlet, 1024):
        said += part
    os.close(inlet)
    return np.frombuffer(said).tolist(), os.WEXITSTATUS(status) == 9


def kill_at(tmp_path, reference, places, within):
    path, died = reference[0], 0
    for at in places:
        folder = tmp_path / f"{at}"
        folder.mkdir()
        announced, dead = in_a_child(folder / "a.h5", Dying(at, within))
        died += dead
        holds(folder / "a.h5", announced)
        ends_the_same(folder / "a.h5", path)
    assert died == len(places)


@pytest.mark.parametrize("within", [False, True])
def test_kills_before_and_within_operations_lose_nothing(tmp_path, reference, within):
    names = reference[1]
    places = [at for at in range(len(names)) if names[at] == "write" or not within]
    kill_at(tmp_path, reference, places[:: 2 if within else 4], within)


@pytest.mark.soak
def test_kills_before_every_operation_lose_nothing(tmp_path, reference):
    kill_at(tmp_path, reference, range(len(reference[1])), False)


@pytest.mark.parametrize("seed", range(4))
def test_several_kills_in_a_row_lose_nothing(tmp_path, reference, seed):
    rng, path, announced = np.random.default_rng(seed), tmp_path / "a.h5", []
    for _ in range(12):
        more, _ = in_a_child(path, Dying(int(rng.integers(2, 40)), bool(rng.integers(2))))
        announced += more
        holds(path, announced)
    assert sorted(set(announced)) == sorted(announced)  # nothing announced was computed again
    ends_the_same(path, reference[0])


def cuts(tmp_path, monkeypatch, reference, tries, seed):
    """Power cuts after an operation of a run: what the disk may hold then."""
    rng, (path, names) = np.random.default_rng(seed), reference
    for k in range(tries):
        live, found = tmp_path / f"{k}-live", tmp_path / f"{k}-found"
        live.mkdir()
        found.mkdir()
        power, announced, at = Power(live), [], k % len(names)

        class Cut(Exception):
            pass

        def met(name, args, at=at, power=power):
            if len(power.names) > at:
                raise Cut
            return Power.met(power, name, args)

        power.met = met
        with monkeypatch.context() as patch:
            patch.setattr(operations, "system", power)
            try:
                go_on(live / "a.h5", announced)
            except (Cut, FlexmbsError):
                pass
        power.after_the_cut(found, rng)
        holds(found / "a.h5", announced)
        ends_the_same(found / "a.h5", path)


def test_power_cuts_lose_nothing_announced(tmp_path, monkeypatch, reference):
    cuts(tmp_path, monkeypatch, reference, 40, 1)


@pytest.mark.soak
def test_many_power_cuts_lose_nothing_announced(tmp_path, monkeypatch, reference):
    cuts(tmp_path, monkeypatch, reference, 1000, 2)


def kill_at_random(tmp_path, reference, tries, seed):
    rng = np.random.default_rng(seed)
    for k in range(tries):
        path = tmp_path / f"{k}" / "a.h5"
        path.parent.mkdir()
        child = os.fork()
        if child == 0:
            try:
                go_on(path)
            finally:
                os._exit(0)
        time.sleep(float(rng.uniform(0.0, 0.08)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ends_the_same(path, reference[0])


def test_kills_at_random_instants(tmp_path, reference):
    kill_at_random(tmp_path, reference, 10, 3)


@pytest.mark.soak
def test_kills_at_many_random_instants(tmp_path, reference):
    kill_at_random(tmp_path, reference, 300, 4)


def test_clocks_that_jump_change_nothing(tmp_path, monkeypatch, reference):
    """The time of day runs backwards by years, and files seem to be of the past and of the future."""
    path, clock = tmp_path / "a.h5", itertools.count(4e9, -1e8)
    monkeypatch.setattr(time, "time", lambda: next(clock))
    for died in (20, 30):
        announced, dead = in_a_child(path, Dying(died))
        assert dead
        for k, file in enumerate(sorted(tmp_path.rglob("*"))):
            os.utime(file, ((0, 0), (4e9, 4e9))[k % 2])
        holds(path, announced)
    ends_the_same(path, reference[0])


def test_a_limit_on_the_size_of_files_is_told(tmp_path):
    """SIGXFSZ ends a process that does not ask; Python asks, and gets EFBIG."""
    code = (
        "import resource, sys; from pathlib import Path; from tests.disk.test_faults import go_on\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "from flexmbs.errors import InputError\n"
        "try: go_on(Path(sys.argv[1]))\n"
        "except InputError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.h5"], capture_output=True, text=True)
    assert "could not be written: the disk is full" in done.stdout, done.stderr
    assert not (tmp_path / "a.h5").exists()


def test_a_folder_that_is_read_only_is_told(tmp_path, monkeypatch, reference):
    class ReadOnly(Counted):
        def met(self, name, args):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(operations, "system", ReadOnly())
        with pytest.raises(InputError, match="could not be written: Read-only file system"):
            go_on(tmp_path / "a.h5")
        with pytest.raises(InputError, match="could not be written: Read-only file system"):
            with disk.atomic_file(tmp_path / "a.csv") as raw:
                raw.write(b"x")
    assert os.listdir(tmp_path) == []


def test_a_result_takes_few_operations(reference):
    """Built in memory and written once: 2,607 operations for 116 kB before."""
    _, names = reference
    assert names.count("write") <= 2 + 3 * len(PIECES) and len(names) < 30 + 12 * len(PIECES), len(names)


@pytest.mark.parametrize("target", ["tmpfs"])
def test_a_full_file_system_keeps_what_was_announced(tmp_path, reference, target):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip(
            "no right to mount a file system here; the full disk of tests/test_results.py stands for it"
        )
    try:
        announced = []
        with pytest.raises(InputError, match="could not be written: the disk is full"):
            go_on(place / "a.h5", announced)
        holds(place / "a.h5", announced)
        subprocess.run(["mount", "-o", "remount,size=4m", str(place)], check=True)
        ends_the_same(place / "a.h5", reference[0])
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
