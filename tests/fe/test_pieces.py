"""The factor on disk against dense algebra and against the factor in memory."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from flexmbs.fe.pieces.elimination import entries_of
from flexmbs.fe.pieces.estimate import seconds_of
from flexmbs.fe.pieces.factor import PiecesFactor
from flexmbs.fe.pieces.plan import make_plan, parents, split
from flexmbs.fe.pieces.store import LANES, mix
from flexmbs.fe.solve.cholesky import SingularMatrix, SparseFactor
from flexmbs.fe.solve.shifted import OtherPattern, Shifted
from flexmbs.fe.solve.symbolic import analyse
from tests.fe.test_cholesky import grid_matrix


@pytest.fixture
def narrow(monkeypatch):
    """Panels and pieces so small that a grid has many of both."""
    monkeypatch.setattr("flexmbs.fe.pieces.plan.WIDTH", 5)
    monkeypatch.setattr("flexmbs.fe.pieces.elimination.WIDTH", 5)
    monkeypatch.setattr("flexmbs.fe.pieces.plan.TOGETHER", 300)
    monkeypatch.setattr("flexmbs.fe.pieces.factor.READ", 100)
    monkeypatch.setattr("flexmbs.fe.solve.substitution.CACHED", 60)


@pytest.mark.parametrize("freedoms", [1, 10, 40, 10**6])
@pytest.mark.parametrize("shift", [0.0, 20.0])
def test_solutions_and_counts_are_those_of_the_factor_in_memory(tmp_path, narrow, freedoms, shift):
    A, node_of = grid_matrix((9, 6, 3), 3, seed=1, shift=shift)
    left_out = [0, 17, 18, 200]
    node_of[left_out] = -1
    B = np.random.default_rng(2).normal(size=(A.shape[0], 29))
    direct = SparseFactor(A, node_of)
    pieces = PiecesFactor(A, node_of, folder=tmp_path, freedoms=freedoms)
    assert (len(pieces.plan.pieces) == 1) == (freedoms == 10**6)
    assert pieces.negative_pivots == direct.negative_pivots and bool(shift) == bool(direct.negative_pivots)
    expected = direct.solve(B)
    assert np.abs(pieces.solve(B) - expected).max() < 1e-10 * np.abs(expected).max()
    assert np.abs(pieces.solve(B[:, 0]) - expected[:, 0]).max() < 1e-10 * np.abs(expected).max()
    assert not list(tmp_path.glob("*.rest")), "what pieces leave to their parents is used up"


def test_the_time_that_is_foretold_is_of_the_processor_whoever_else_has_it(monkeypatch):
    A, node_of = grid_matrix((9, 6, 3), 3, seed=1)
    wall = itertools.count(step=10**6)
    monkeypatch.setattr("time.perf_counter", lambda: float(next(wall)))
    assert 0.0 < seconds_of(make_plan(analyse(A, node_of))) < 1.0


def test_loose_parts_and_single_unknowns(tmp_path, narrow):
    A, _ = grid_matrix((4, 4), 2, seed=8)
    both = sparse.block_diag([A, 2 * A, sparse.identity(1)]).tocsc()
    b = np.arange(65.0)
    found = PiecesFactor(both, folder=tmp_path, freedoms=6).solve(b)
    np.testing.assert_allclose(found, np.linalg.solve(both.toarray(), b), rtol=1e-9)


def test_a_singular_piece_names_the_unknown(tmp_path):
    A = sparse.csc_matrix(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    with pytest.raises(SingularMatrix) as caught:
        PiecesFactor(A, folder=tmp_path, freedoms=1)
    assert caught.value.unknown == 2


@pytest.mark.parametrize("freedoms", [1, 30, 100])
def test_pieces_are_a_tree_over_all_columns(narrow, freedoms):
    A, node_of = grid_matrix((8, 6, 4), 3, seed=3)
    plan = make_plan(analyse(A, node_of), freedoms)
    columns = np.concatenate([piece.columns for piece in plan.pieces])
    assert np.array_equal(np.sort(columns), np.arange(A.shape[0]))
    seen = np.sort(np.concatenate([piece.supernodes for piece in plan.pieces]))
    assert np.array_equal(seen, np.arange(len(plan.shape.first) - 1))
    for k, piece in enumerate(plan.pieces):
        assert all(child < k for child in piece.children)
        known = np.concatenate([piece.columns, piece.boundary])
        assert (np.diff(known) > 0).all()
        for child in piece.children:
            assert np.isin(plan.pieces[child].boundary, known).all()
        for s in piece.supernodes:
            assert np.isin(
                plan.shape.rows[plan.shape.row_start[s] : plan.shape.row_start[s + 1]], known
            ).all()


def test_inertia_of_another_matrix(tmp_path, narrow):
    """Without a factor of it; entries that the first matrix has not are told."""
    A, node_of = grid_matrix((6, 5, 4), 3, seed=3)
    shifted = (A - 20.0 * sparse.identity(A.shape[0])).tocsc()
    B = np.random.default_rng(5).normal(size=(A.shape[0], 11))
    pieces = PiecesFactor(A, node_of, folder=tmp_path, freedoms=40)
    before = sorted(path.name for path in tmp_path.iterdir())
    one = sparse.identity(A.shape[0], format="csr")
    negative, product = pieces.inertia(Shifted(A.tocsr(), one, 20.0), B)
    assert negative == np.sum(np.linalg.eigvalsh(A.toarray()) < 20.0)
    expected = B.T @ np.linalg.solve(shifted.toarray(), B)
    assert np.abs(product - expected).max() < 1e-9 * np.abs(expected).max()
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    far = sparse.coo_matrix(([1.0, 1.0], ([0, A.shape[0] - 1], [A.shape[0] - 1, 0])), shape=A.shape)
    with pytest.raises(OtherPattern):
        pieces.inertia(Shifted((A + far).tocsr(), one, 0.0), B)


def without_pivot(A, plan):
    """Twice the matrix, but for the last unknown, which has no stiffness."""
    scale = np.full(A.shape[0], np.sqrt(2.0))
    scale[plan.shape.order[-1]] = 0.0
    return sparse.csr_matrix(sparse.diags(scale) @ A @ sparse.diags(scale))


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_panels_stay_in_memory_as_far_as_that_goes(tmp_path, narrow, share):
    """With the same solutions, and in files all the same, from which another run goes on."""
    A, node_of = grid_matrix((9, 6, 3), 3, seed=1)
    B = np.random.default_rng(2).normal(size=(A.shape[0], 11))
    plan = make_plan(analyse(A, node_of), 40)
    spare = int(share * 8 * sum(entries_of(plan, piece) for piece in plan.pieces))
    pieces = PiecesFactor(A, node_of, folder=tmp_path, plan=plan, spare=spare)
    stay, count = len(pieces._panels), len(plan.pieces)
    assert stay == 0 if not share else stay == count if share == 1.0 else 0 < stay < count
    expected = SparseFactor(A, node_of).solve(B)
    assert np.abs(pieces.solve(B) - expected).max() < 1e-10 * np.abs(expected).max()
    again = PiecesFactor(A, node_of, folder=tmp_path, plan=plan, spare=spare)
    assert again.found == len(plan.pieces) and np.array_equal(again.solve(B), pieces.solve(B))
    one = sparse.identity(A.shape[0], format="csr")
    with pytest.raises(SingularMatrix):  # in the last piece; what the others have left is of that matrix
        pieces.inertia(Shifted(without_pivot(A, plan), one, 0.0), B)
    negative, product = pieces.inertia(Shifted(A.tocsr(), one, 0.0), B)
    assert not negative and np.abs(product - B.T @ expected).max() < 1e-9 * np.abs(product).max()
    assert np.array_equal(again.solve(B), pieces.solve(B)), "panels are read from their files again"


def test_narrow_panels_hold_the_same_factor():
    """Split supernodes keep every entry of the lower half and its parent."""
    A, node_of = grid_matrix((6, 5, 4), 3, seed=4)
    whole = analyse(A, node_of)
    parts, begin = split(whole, 4)
    for s in range(len(whole.first) - 1):
        rows = whole.rows[whole.row_start[s] : whole.row_start[s + 1]]
        for p in range(begin[s], begin[s + 1]):
            own = parts.rows[parts.row_start[p] : parts.row_start[p + 1]]
            assert np.array_equal(own, rows[rows >= parts.first[p]])
    above = parents(parts)[begin[1:] - 1]  # of the last panels: those in which the supernodes above begin
    assert np.array_equal(np.searchsorted(begin, above, side="right") - 1, parents(whole))


def test_what_a_plan_foretells(tmp_path, narrow, monkeypatch):
    """The bytes on disk are exact; a front is at least what its arrays take."""
    from flexmbs.fe.pieces import factor

    most = [0, 0]

    class Watched(factor.Store):
        def save(self, *arrays, **options):
            super().save(*arrays, **options)
            sizes = [path.stat().st_size - 32 for path in self.folder.iterdir()]
            most[0] = max(most[0], sum(sizes))

    monkeypatch.setattr(factor, "Store", Watched)
    A, node_of = grid_matrix((9, 6, 3), 3, seed=1)
    plan = PiecesFactor(A, node_of, folder=tmp_path, freedoms=40).plan
    assert most[0] == plan.disk_bytes
    assert plan.front_bytes >= 8 * max(plan.entries(piece) for piece in plan.pieces)


def test_checksums_see_every_word_and_its_place():
    rng = np.random.default_rng(3)
    words = rng.normal(size=23).view(np.uint64)

    def sum_of(*parts):
        lanes, begin = np.zeros(LANES, np.uint64), 0
        for part in parts:
            mix(part, begin, lanes)
            begin += len(part)
        return lanes.tobytes()

    whole = sum_of(words)
    assert {sum_of(words[:a], words[a:b], words[b:]) for a in range(9) for b in (a, 9, 22)} == {whole}
    others = [np.roll(words, 4), np.append(words, np.uint64(0))]
    for k, bit in itertools.product(range(len(words)), (0, 31, 63)):
        others.append(words.copy())
        others[-1][k] ^= np.uint64(1 << bit)
    assert len({whole, *map(sum_of, others)}) == 1 + len(others)
