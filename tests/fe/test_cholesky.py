"""The supernodal factorisation against dense algebra and against SuperLU."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

from flexmbs.fe.solve.cholesky import SingularMatrix, SparseFactor
from flexmbs.fe.solve.symbolic import analyse


def grid_matrix(shape, per_node, seed, shift=0.0):
    """A random symmetric positive definite matrix on a grid, `per_node` unknowns a node, minus shift."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    number = np.arange(n).reshape(shape)
    pairs = []
    for axis in range(len(shape)):
        a = np.take(number, range(shape[axis] - 1), axis=axis).ravel()
        b = np.take(number, range(1, shape[axis]), axis=axis).ravel()
        pairs.append(np.stack([a, b], axis=1))
    pairs = np.concatenate(pairs)
    rows, cols, values = [], [], []
    for a, b in pairs:
        block = rng.normal(size=(2 * per_node, 2 * per_node))
        block = block @ block.T + 0.1 * np.eye(2 * per_node)
        dofs = np.concatenate([per_node * a + np.arange(per_node), per_node * b + np.arange(per_node)])
        rows.append(np.repeat(dofs, 2 * per_node))
        cols.append(np.tile(dofs, 2 * per_node))
        values.append(block.ravel())
    size = n * per_node
    A = sparse.csc_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), (size, size)
    )
    return (A - shift * sparse.identity(size)).tocsc(), np.repeat(np.arange(n), per_node)


@pytest.mark.parametrize(
    ("shape", "per_node"), [((1, 1), 3), ((2, 1), 1), ((9, 7), 1), ((5, 4, 3), 3), ((6, 5, 2), 6)]
)
def test_solution_of_definite_systems(shape, per_node):
    A, node_of = grid_matrix(shape, per_node, seed=1) if np.prod(shape) > 1 else (
        sparse.csc_matrix(np.diag([1.0, 2.0, 3.0])), np.zeros(3, int)
    )  # fmt: skip
    B = np.random.default_rng(2).normal(size=(A.shape[0], 5))
    solver = SparseFactor(A, node_of)
    expected = np.linalg.solve(A.toarray(), B)
    np.testing.assert_allclose(solver.solve(B), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(solver.solve(B[:, 0]), expected[:, 0], rtol=1e-9, atol=1e-11)
    assert solver.negative_pivots == 0


@pytest.mark.parametrize("shift", [0.5, 3.0, 20.0, 1e3])
def test_negative_pivots_count_eigenvalues_below_the_shift(shift):
    A, node_of = grid_matrix((6, 5, 4), 3, seed=3)
    solver = SparseFactor((A - shift * sparse.identity(A.shape[0])).tocsc(), node_of)
    eigenvalues = np.linalg.eigvalsh(A.toarray())
    assert solver.negative_pivots == np.sum(eigenvalues < shift)
    b = np.random.default_rng(4).normal(size=A.shape[0])
    x = solver.solve(b)
    assert np.linalg.norm(A @ x - shift * x - b) < 1e-8 * np.linalg.norm(b)


def test_unknowns_of_a_node_may_be_missing():
    """Supports take single unknowns out of a node."""
    A, node_of = grid_matrix((6, 5), 3, seed=5)
    keep = np.random.default_rng(6).random(A.shape[0]) > 0.3
    A, node_of = A[keep][:, keep].tocsc(), node_of[keep]
    b = np.ones(A.shape[0])
    np.testing.assert_allclose(SparseFactor(A, node_of).solve(b), np.linalg.solve(A.toarray(), b), rtol=1e-9)


def test_pattern_is_reused_for_other_values():
    A, node_of = grid_matrix((7, 6), 2, seed=7)
    symbolic = analyse(A, node_of)
    for scale in (1.0, 4.0):
        x = SparseFactor((scale * A).tocsc(), symbolic=symbolic).solve(np.ones(A.shape[0]))
        np.testing.assert_allclose(scale * (A @ x), 1.0, rtol=1e-9)


def test_singular_matrix_names_the_unknown():
    A = sparse.csc_matrix(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    with pytest.raises(SingularMatrix) as caught:
        SparseFactor(A)
    assert caught.value.unknown == 2


def test_disconnected_parts_are_factored_together():
    A, _ = grid_matrix((4, 4), 1, seed=8)
    both = sparse.block_diag([A, 2 * A]).tocsc()
    b = np.arange(32.0)
    np.testing.assert_allclose(SparseFactor(both).solve(b), np.linalg.solve(both.toarray(), b), rtol=1e-9)


@pytest.mark.slow
def test_large_grid_agrees_with_superlu():
    A, node_of = grid_matrix((24, 18, 10), 3, seed=9)
    b = np.random.default_rng(10).normal(size=A.shape[0])
    np.testing.assert_allclose(SparseFactor(A, node_of).solve(b), splu(A).solve(b), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 21])
def test_any_number_of_right_hand_sides(columns):
    """They are taken eight at a time; supernodes of all widths modulo the unrolled columns occur."""
    A, node_of = grid_matrix((7, 6, 3), 3, seed=8)
    shifted = (A - 3.0 * sparse.identity(A.shape[0])).tocsc()  # indefinite: signs matter
    B = np.random.default_rng(9).normal(size=(A.shape[0], columns))
    for matrix in (A, shifted):
        expected = np.linalg.solve(matrix.toarray(), B)
        error = np.abs(SparseFactor(matrix, node_of).solve(B) - expected).max()
        assert error < 1e-10 * np.abs(expected).max()


def test_unknowns_that_are_left_out():
    """A negative node takes the row and column out; the solution is zero there, whatever the load."""
    A, node_of = grid_matrix((6, 5), 3, seed=10)
    out = np.array([0, 17, 18, 40, A.shape[0] - 1])
    kept = np.setdiff1d(np.arange(A.shape[0]), out)
    B = np.random.default_rng(11).normal(size=(A.shape[0], 3))
    node_of[out] = -1
    X = SparseFactor(A, node_of).solve(B)
    assert not X[out].any()
    np.testing.assert_allclose(X[kept], np.linalg.solve(A[kept][:, kept].toarray(), B[kept]), rtol=1e-8)


def test_a_factor_in_the_memory_of_another():
    A, node_of = grid_matrix((6, 5, 2), 3, seed=12)
    old = SparseFactor(A, node_of)
    shifted = (A - 0.5 * sparse.identity(A.shape[0])).tocsc()
    new = SparseFactor(shifted, symbolic=old.symbolic, memory=old.L)
    assert new.L is old.L
    x = new.solve(np.ones(A.shape[0]))
    np.testing.assert_allclose(shifted @ x, 1.0, rtol=1e-8)


def test_unlike_freedoms_are_judged_by_themselves():
    """Freedoms in other units change no digit, and a loose one is found whatever its unit is."""
    A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, 2.0]])
    unit = np.array([1.0, 2.0**-24, 1.0])
    plain, scaled = (SparseFactor(sparse.csc_matrix(M)) for M in (A, A * unit * unit[:, None]))
    assert plain.scale is None and scaled.scale is not None
    b = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(scaled.solve(unit * b) * unit, plain.solve(b))
    loose = np.array([[4.0, 1.0, 0.0], [1.0, 0.25, 0.0], [0.0, 0.0, 2.0]])  # the second follows the first
    with pytest.raises(SingularMatrix):
        SparseFactor(sparse.csc_matrix(loose * unit * unit[:, None]))
