"""One interface over the sparse solvers; what fails says why."""

from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh

from flexmbs.errors import InputError, MissingComponentError, SolverError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import material
from flexmbs.fe.shapes.parametric import box
from flexmbs.fe.solve.solvers import SOLVERS, equal_columns, factorise, largest_entry, require_solver

STEEL = material("steel")
INSTALLED = [name for name, (module, _) in SOLVERS.items() if not module or find_spec(module)]


@pytest.fixture(scope="module")
def block():
    return assemble(box([0.3, 0.2, 0.1], [4, 3, 2], element="hex20"), STEEL)


@pytest.fixture(scope="module")
def clamped(block):
    free = np.setdiff1d(np.arange(block.n_dof), block.dofs(block.mesh.node_sets["x_min"]))
    return tuple(A.tocsr()[free][:, free].tocsc() for A in (block.K_fe, block.M_fe))


@pytest.mark.parametrize("solver", INSTALLED)
def test_solution_of_one_and_of_many_right_hand_sides(solver, clamped):
    K, _ = clamped
    factor = factorise(K, "spd", solver=solver)
    B = np.random.default_rng(1).normal(size=(K.shape[0], 5))
    expected = np.linalg.solve(K.toarray(), B)
    np.testing.assert_allclose(factor.solve(B), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(factor.solve(B[:, 0]), expected[:, 0], atol=1e-9 * np.abs(expected).max())
    assert factor.negative_pivots == 0


@pytest.mark.parametrize("solver", INSTALLED)
def test_negative_pivots_count_eigenvalues_below_a_shift(solver, clamped):
    K, M = clamped
    values = eigh(K.toarray(), M.toarray(), eigvals_only=True)
    for k in (0, 1, 7, 40):
        edge = 0.5 * values[0] if k == 0 else 0.5 * (values[k - 1] + values[k])
        assert factorise(K - edge * M, solver=solver).negative_pivots == k


def test_the_pattern_tells_the_nodes(block):
    groups = equal_columns(sp.csc_matrix(block.K_fe))
    # three dofs of a node stay together; nodes of one and the same cell may join them
    assert (groups.reshape(-1, 3) == groups[::3, None]).all() and len(set(groups)) > 0.6 * block.mesh.n_nodes
    K = block.K_fe
    pattern = sp.csc_array(
        (np.ones(K.nnz), K.indices, K.indptr), shape=K.shape
    ).toarray()  # zeros may be stored
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    np.testing.assert_array_equal(pattern, pattern[:, first[groups]])
    np.testing.assert_array_equal(equal_columns(sp.csc_matrix(sp.eye(3))), [0, 1, 2])
    assert len(equal_columns(sp.csc_matrix((0, 0)))) == 0


def test_a_loose_part_is_singular(block):
    with pytest.raises(SolverError, match="loose, or a support"):
        factorise(sp.csc_matrix((3, 3)) + sp.diags([1.0, 0.0, 2.0]), "spd")
    with pytest.raises(SolverError, match="1 eigenvalues are negative"):
        factorise(sp.diags([1.0, -1.0, 2.0]), "spd")
    with pytest.raises(SolverError, match="singular"):
        factorise(sp.csc_matrix(np.diag([1.0, 0.0, 2.0])), "spd", solver="superlu")


def test_solvers_that_are_unknown_or_not_installed_are_named(monkeypatch, clamped):
    with pytest.raises(InputError, match='did you mean "superlu"'):
        require_solver("super")
    monkeypatch.setattr("flexmbs.fe.solve.solvers.find_spec", lambda name: None)
    for solver in ("cholmod", "pardiso"):
        with pytest.raises(MissingComponentError, match=SOLVERS[solver][0]):
            factorise(clamped[0], solver=solver)


@pytest.mark.parametrize("solver", INSTALLED)
def test_unknowns_without_a_node_are_left_out(solver, block):
    nodes = np.repeat(np.arange(block.mesh.n_nodes), 3)
    held = block.dofs(block.mesh.node_sets["x_min"])
    nodes[held] = -1
    kept = np.flatnonzero(nodes >= 0)
    B = np.random.default_rng(2).normal(size=(block.n_dof, 2))
    X = factorise(block.K_fe, "spd", solver=solver, node_of=nodes).solve(B)
    expected = np.linalg.solve(block.K_fe.toarray()[np.ix_(kept, kept)], B[kept])
    assert not X[held].any()
    np.testing.assert_allclose(X[kept], expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_the_largest_entry_and_what_is_not_a_number():
    A = sp.csc_array(np.array([[1.0, -3.0], [0.0, 2.0]]))
    assert largest_entry(A) == 3.0 and largest_entry(sp.csc_array((2, 2))) == 0.0
    A.data[0] = np.nan
    assert np.isnan(largest_entry(A))
