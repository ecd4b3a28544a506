"""Arrays and matrices in mapped files have the numbers of those in memory."""

import errno

import numpy as np
import pytest
from scipy import sparse

import flexmbs as fm
from flexmbs.disk import operations
from flexmbs.fe.pieces import mapped


@pytest.fixture
def all_sizes(monkeypatch):
    monkeypatch.setattr(mapped, "SMALL", 0)
    monkeypatch.setattr(mapped, "ROWS", 7)


def matrices(n, count):
    rng = np.random.default_rng(3)
    for _ in range(count):
        A = sparse.random(n, n, 0.1, random_state=rng, format="csc")
        yield sparse.csc_array(A + A.T)


@pytest.mark.parametrize("stored", [True, False])
def test_sums_and_products_by_slabs_are_those_of_whole_matrices(tmp_path, all_sizes, stored):
    A, B, C = matrices(60, 3)
    rows = lambda begin, end: sparse.csr_matrix(A)[begin:end] @ B  # noqa: E731
    if stored:
        with mapped.storing_in(tmp_path):
            total, product = mapped.symmetric_sum(A, B, C), mapped.by_rows(60, 60, rows)
            assert mapped.is_mapped(total.data) and mapped.is_mapped(product.indices)
    else:
        total, product = mapped.symmetric_sum(A, B, C), mapped.by_rows(60, 60, rows)
        assert not mapped.is_mapped(total.data)
    assert np.abs((total - (A + B + C)).toarray()).max() < 1e-14
    assert np.abs(product.toarray() - (A @ B).toarray()).max() < 1e-14
    assert (
        total.has_sorted_indices
        and (np.diff(product.indices[product.indptr[5] : product.indptr[6]]) > 0).all()
    )
    assert not list(tmp_path.iterdir()), "files have no names"


def test_what_is_kept_outlives_the_block_and_can_be_changed(tmp_path, all_sizes):
    values = np.arange(12.0).reshape(3, 4)
    with mapped.storing_in(tmp_path):
        assert mapped.is_stored()
        by_rows, by_columns = mapped.kept(values), mapped.kept(np.asfortranarray(values))
        assert mapped.kept(by_rows) is by_rows and by_columns.flags.f_contiguous
        zeros = mapped.room((2, 3), np.int32)
    assert not mapped.is_stored() and mapped.kept(values) is values
    assert mapped.is_mapped(by_rows) and mapped.is_mapped(by_columns) and mapped.is_mapped(zeros[1:])
    np.testing.assert_array_equal(by_rows, values)
    np.testing.assert_array_equal(by_columns, values)
    by_rows *= 2.0
    np.testing.assert_array_equal(by_rows, 2.0 * values)
    assert zeros.dtype == np.int32 and not zeros.any() and not mapped.is_mapped(mapped.room(5))


def test_a_disk_without_room_is_told(tmp_path, all_sizes, monkeypatch):
    class Full(operations.Operations):
        def reserve(self, handle, size):
            raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(operations, "system", Full())
    with mapped.storing_in(tmp_path), pytest.raises(fm.InputError, match="the disk is full") as caught:
        mapped.room(10)
    assert caught.value.diagnostics[0].code == "pieces.full"
