"""Reductions in pieces: the results of the direct route, limits that hold, and runs that go on."""

import errno
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs import disk
from flexmbs.disk import operations
from flexmbs.fe.pieces import factor, mapped, route
from flexmbs.fe.pieces.estimate import certainly_fits, resident_bytes
from flexmbs.fe.pieces.mapped import is_mapped
from flexmbs.fe.pieces.route import FOLDER, bytes_of
from flexmbs.resources import resource
from tests.modal.test_pieces import BEAM, BLOCK

ROD, ARM = (str(resource("meshes", f"{name}.reduce.toml")) for name in ("rod", "arm"))
PIN = {"interfaces": {"left": "x_min", "right": {"set": "x_max", "tie": "rbe3"}}}
FREE = {**BLOCK, "method": "free-interface", **PIN}
LOADED = {
    **BLOCK, **PIN, "point_masses": [{"interface": "right", "mass": 2.0}],
    "loads": {"push": {"set": "x_max", "force": [0, 0, 1e3]}},
}  # fmt: skip
PRELOADED = {
    **BLOCK, "fix": {"x_min": "x y z"}, "preload": {"pull": {"set": "x_max", "force": [1e5, 0, 0]}},
}  # fmt: skip
GIVEN = {
    "mesh": BLOCK["mesh"], "material": "steel", "method": "given",
    "given": {"shapes": [["0", "0", "(x+0.2)**2"]]},
}  # fmt: skip
RECIPES = {
    "solid": (ROD, {"modes": 8}), "beam": (BEAM, {}), "free": (FREE, {}), "loaded": (LOADED, {}),
    "preloaded": (PRELOADED, {}), "given": (GIVEN, {}), "shell": (ARM, {}),
}  # fmt: skip


@pytest.fixture
def small(monkeypatch):
    """Pieces so small that bodies of tests have many."""
    monkeypatch.setattr("flexmbs.fe.pieces.plan.FREEDOMS", 100)


@pytest.fixture
def crowded(monkeypatch):
    """Memory that has room for no more than the fronts."""
    real = route.estimate
    monkeypatch.setattr(route, "estimate", lambda *a: replace(real(*a), roomy=10**15))


def in_pieces(folder, **others):
    return fm.Limits("always", scratch=folder, **others)


LONG = ("solid", "shell")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in RECIPES]
)
def test_modal_data_are_those_of_the_direct_route(tmp_path, small, monkeypatch, request, name):
    made = []
    if name not in ("loaded", "preloaded"):  # fields in files, and with these two in memory
        request.getfixturevalue("crowded")
    monkeypatch.setattr(
        route, "PiecesFactor", lambda *a, **k: made.append(factor.PiecesFactor(*a, **k)) or made[-1]
    )
    recipe, options = RECIPES[name]
    ours = fm.reduce(recipe, limits=in_pieces(tmp_path), **options)
    theirs = fm.reduce(recipe, **options)
    assert made and (name == "beam" or len(made[0].plan.pieces) > 5)
    assert not list(tmp_path.iterdir()), "nothing is left on disk"
    np.testing.assert_allclose(ours.frequency_hz, theirs.frequency_hz, rtol=1e-8)
    one, other = ours.integrals, theirs.integrals
    for field in ("S_f", "I_kl", "K_ff", "K_geo"):
        a, b = (np.abs(getattr(item, field)) for item in (one, other))
        size = max(b.max(initial=0.0), 1e-6 * np.sqrt(other.mass))  # means of mean-axis modes are rounding
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * size, err_msg=field)
    for key in ("sylvester_count", "rigid_modes"):
        assert ours.quality.get(key) == theirs.quality.get(key)
    assert ours.stress is None or ours.stress.shape == theirs.stress.shape


def stop_after(monkeypatch, pieces, error):
    """Eliminations that raise `error` after so many pieces; the list of those that were made."""
    made, real = [], factor.eliminate

    def eliminate(*arguments):
        if len(made) == pieces:
            raise error
        made.append(1)
        return real(*arguments)

    monkeypatch.setattr(factor, "eliminate", eliminate)
    return made


@pytest.mark.parametrize("memory", [None, 10**12])
def test_a_reduction_that_was_stopped_goes_on(tmp_path, small, monkeypatch, memory):
    """Also one that had its panels in memory."""
    with monkeypatch.context() as patch:
        stop_after(patch, 5, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            fm.reduce(BLOCK, limits=in_pieces(tmp_path, memory=memory))
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    panels = sorted(folder.glob("*.panels"))
    assert len(panels) == 5
    raw = bytearray(panels[2].read_bytes())
    raw[1000] ^= 1  # a file that is not as it was written counts for nothing
    panels[2].write_bytes(raw)
    said = []
    made = stop_after(monkeypatch, 10**9, None)
    ours = fm.reduce(BLOCK, limits=in_pieces(tmp_path, memory=memory, say=said.append))
    there, total = map(int, re.match(r"(\d+) of (\d+) pieces were there", said[-1]).groups())
    assert 0 < there < 5 and len(made) == 2 * total - there  # all others, and all once more for the count
    assert not list(tmp_path.iterdir())
    np.testing.assert_allclose(ours.frequency_hz, fm.reduce(BLOCK).frequency_hz, rtol=1e-8)


@pytest.mark.parametrize("torn", ["vectors", "step", "end"])
def test_modes_that_were_stopped_go_on_behind_their_last_pass(tmp_path, small, monkeypatch, request, torn):
    if torn == "step":  # vectors in files, and with the others in memory as well
        request.getfixturevalue("crowded")
    passes, real = [], factor.PiecesFactor.solve

    def counted(self, B):
        passes.append(B.shape[1])
        if len(passes) == stop:
            raise KeyboardInterrupt
        return real(self, B)

    monkeypatch.setattr(factor, "COLUMNS", 8)
    monkeypatch.setattr(factor.PiecesFactor, "wide", 8)
    monkeypatch.setattr(factor.PiecesFactor, "solve", counted)
    monkeypatch.setattr(route, "LANES", 8)
    stop = 10**9
    whole = fm.reduce(BLOCK, limits=in_pieces(tmp_path))
    needed = len(passes)
    passes, stop = [], 6
    with pytest.raises(KeyboardInterrupt):
        fm.reduce(BLOCK, limits=in_pieces(tmp_path))
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    (vectors,) = folder.glob("modes-*.vectors")
    blocks = sorted(set(folder.glob("modes-*")) - {vectors})
    assert len(blocks) >= 3
    path = blocks[-1] if torn == "step" else vectors
    raw, size = bytearray(path.read_bytes()), 8 * 8 * 1464  # of a block
    if torn == "end":
        del raw[len(blocks) * size - 1 :]
    else:
        raw[100 if torn == "step" else len(blocks) * size - 1] ^= 1
    path.write_bytes(raw)  # the last one is torn: the one before it counts
    passes, stop, said = [], 10**9, []
    monkeypatch.setattr(route, "LANES", 16)  # memory has room for other blocks now: those that are there stay
    ours = fm.reduce(BLOCK, limits=in_pieces(tmp_path, say=said.append))
    assert f"{len(blocks) - 1} passes of the modes were there from an earlier run" in said
    assert len(passes) == needed - (len(blocks) - 1)
    assert not list(tmp_path.iterdir())
    np.testing.assert_allclose(ours.frequency_hz, whole.frequency_hz, rtol=1e-10)
    np.testing.assert_allclose(ours.frequency_hz, fm.reduce(BLOCK).frequency_hz, rtol=1e-8)


@pytest.mark.parametrize("free", [10**12, 10**6])
def test_vectors_go_eight_at_a_time_where_the_machine_has_room_for_the_files(
    tmp_path, small, monkeypatch, free
):
    widths, real = [], factor.PiecesFactor.solve

    def counted(self, B):
        widths.append(B.shape[1])
        return real(self, B)

    monkeypatch.setattr(factor.PiecesFactor, "solve", counted)
    monkeypatch.setattr(route, "available_bytes", lambda: free)
    fm.reduce(BLOCK, limits=in_pieces(tmp_path, memory=10**10))
    assert widths.count(24) == 0 if free > 10**9 else widths.count(24) > 2


def test_pieces_of_another_matrix_count_for_nothing(tmp_path, small, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 5, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            fm.reduce(BLOCK, limits=in_pieces(tmp_path))
    said = []
    fm.reduce(BLOCK, material="steel", limits=in_pieces(tmp_path, say=said.append))
    assert len(said) == 1 and len(list(tmp_path.glob(f"{FOLDER}*/*.panels"))) == 5


@pytest.mark.parametrize("writes", [25, 90])  # in the elimination, and in the modes
def test_a_full_disk_ends_clearly_and_goes_on(tmp_path, small, monkeypatch, writes):
    class Full(operations.Operations):
        left = writes

        def write(self, handle, data):
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.ENOSPC, "no space")
            return super().write(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(operations, "system", Full())
        with pytest.raises(fm.InputError) as caught:
            fm.reduce(BLOCK, limits=in_pieces(tmp_path))
    found = caught.value.diagnostics[0]
    assert found.code == "pieces.full" and "the disk is full" in found.what and "goes on" in found.remedy
    said = []
    fm.reduce(BLOCK, limits=in_pieces(tmp_path, say=said.append))
    assert "were there" in said[-1] and not list(tmp_path.iterdir())


def code_of(limits, **options):
    with pytest.raises(fm.InputError) as caught:
        fm.reduce(BLOCK, limits=limits, **options)
    return caught.value.diagnostics[0]


def test_a_limit_that_cannot_be_met_is_refused_with_one_that_can(tmp_path):
    found = code_of(fm.Limits(memory=10**7, scratch=tmp_path))
    assert found.code == "pieces.memory" and "in pieces" in found.what
    said = []
    enough = bytes_of(re.search(r"--memory (\S+) ", found.remedy)[1])
    fm.reduce(BLOCK, limits=fm.Limits(memory=enough, scratch=tmp_path, say=said.append))
    assert len(said) == 1 and "the limit is" in said[0]
    assert code_of(fm.Limits("direct", memory=10**7)).code == "pieces.memory"
    assert code_of(fm.Limits(memory=10**7), solver="superlu").code == "pieces.memory"


def test_pieces_are_taken_where_memory_is_short_of_the_direct_route(tmp_path, monkeypatch, small):
    """With a limit between both estimates; a factor so large that it decides is made up."""
    real = route.estimate

    def large(*arguments):
        return replace(real(*arguments), direct=9 * 10**9)

    monkeypatch.setattr(route, "estimate", large)
    said = []
    fm.reduce(BLOCK, limits=fm.Limits(memory=8 * 10**9, scratch=tmp_path, say=said.append))
    assert said[0].endswith("the limit is 8.0 GB: in pieces")
    assert code_of(fm.Limits("direct", memory=8 * 10**9)).remedy.endswith("or --pieces auto")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10, 9, 1))
    assert code_of(fm.Limits(memory=8 * 10**9, scratch=tmp_path)).code == "pieces.disk"


def test_small_bodies_are_not_asked_about(monkeypatch):
    monkeypatch.setattr(route, "estimate", None)  # would fail
    assert fm.reduce(BLOCK).nf == 5
    assert certainly_fits(10_000, 10**9) and not certainly_fits(10**6, 10**10)
    assert 10**7 < resident_bytes() < 10**11


def test_matrices_go_to_files(tmp_path, monkeypatch, crowded):
    """With the same numbers, and without names that could stay behind."""
    real, kept, theirs = route.map_matrix, [], fm.reduce(BEAM)

    def watched(A):
        before = A.copy()
        real(A)
        assert is_mapped(A.data) and is_mapped(A.indices) and abs(A - before).max() == 0.0
        kept.append(A)

    monkeypatch.setattr(route, "map_matrix", watched)
    monkeypatch.setattr(mapped, "SMALL", 0)
    ours = fm.reduce(BEAM, limits=in_pieces(tmp_path))
    assert len(kept) >= 5 and not list(tmp_path.iterdir())
    np.testing.assert_allclose(ours.frequency_hz, theirs.frequency_hz, rtol=1e-8)


@pytest.mark.parametrize(("limit", "free", "fits"), [(2, 9, True), (1, 9, False), (2, 2, False)])
def test_all_but_the_factor_stays_in_memory_that_has_room(tmp_path, monkeypatch, limit, free, fits):
    """Within the limit, and where the system can keep the files of the factor beside that [GB]."""
    real, told, stored, rooms = route.estimate, [], mapped.is_stored, []

    def made_up(*arguments):
        return replace(real(*arguments), pieces=10**9, roomy=2 * 10**9, factor=10**9, roomy_disk=10**8)

    monkeypatch.setattr(route, "estimate", made_up)
    monkeypatch.setattr(route, "available_bytes", lambda: free * 10**9)
    monkeypatch.setattr(route, "map_matrix", lambda A: rooms.append(stored()))
    fm.reduce(BEAM, limits=in_pieces(tmp_path, memory=limit * 10**9, say=told.append))
    assert rooms and set(rooms) == {not fits}
    assert ("in pieces 2.0 GB, and 100 MB on disk" in told[0]) == fits


def test_what_is_wrong_with_limits(tmp_path):
    assert code_of(fm.Limits("sometimes")).code == "pieces.choice"
    assert code_of(fm.Limits("always"), solver="superlu").code == "pieces.solver"
    assert code_of(in_pieces(tmp_path / "nowhere")).code == "pieces.scratch"
    for text in ("8", "GB", "0GB", "8 goats"):
        with pytest.raises(fm.InputError):
            bytes_of(text)
    assert bytes_of("8GB") == 8 * 10**9 and bytes_of("1.5 gib") == 3 * 2**29


def test_one_run_has_the_folder(tmp_path, small, monkeypatch):
    stop_after(monkeypatch, 2, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fm.reduce(BLOCK, limits=in_pieces(tmp_path))
    (folder,) = (path for path in Path(tmp_path).iterdir() if path.is_dir())
    with disk.lock(folder):
        assert code_of(in_pieces(tmp_path)).code == "pieces.busy"
