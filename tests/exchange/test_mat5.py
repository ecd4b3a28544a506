"""Matlab's matrices against SciPy's reader and writer, and damage that ends SciPy's."""

import io

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from scipy.sparse import csc_matrix

from flexmbs.errors import InputError
from flexmbs.exchange.mat5 import read_matrices

RNG = np.random.default_rng(3)
MATRICES = {
    "P": RNG.normal(size=(4, 3)),
    "K": csc_matrix(RNG.normal(size=(30, 30)) * (RNG.random((30, 30)) < 0.1)),
    "M": RNG.integers(0, 9, size=(5, 7)),
    "few": np.array([[1, 2]], dtype=np.uint8),
    "low": RNG.normal(size=(2, 2)).astype(np.float32),
    "none": np.zeros((0, 3)),
    "zero": csc_matrix((6, 5)),
    "a_text": "not one of ours",
    "a_long_name_of_thirty_letters_x": np.eye(2),
}
NAMES = [name for name in MATRICES if name != "a_text"]


def written(packed):
    buffer = io.BytesIO()
    savemat(buffer, MATRICES, do_compression=packed)
    return buffer.getvalue()


@pytest.mark.parametrize("packed", [False, True])
def test_matrices_are_those_that_scipy_writes_and_reads(packed, tmp_path):
    path = tmp_path / "m.mat"
    path.write_bytes(written(packed))
    found, theirs = read_matrices(path, NAMES), loadmat(path)
    assert set(found) == set(NAMES)
    for name, ours in found.items():
        other = theirs[name].toarray() if hasattr(theirs[name], "toarray") else theirs[name]
        np.testing.assert_array_equal(ours, np.asarray(other, dtype=float), err_msg=name)
    assert set(read_matrices(path, ["P"])) == {"P"}


@pytest.mark.parametrize("packed", [False, True])
def test_damage_is_refused_or_changes_numbers_alone(packed, tmp_path):
    """Cut anywhere, bytes changed, doubled or left out: a refusal with the name of the file, or matrices."""
    data, path, refused = written(packed), tmp_path / "m.mat", 0
    for k in range(600):
        at, damaged = int(RNG.integers(len(data))), bytearray(data)
        if k % 3 == 0:
            damaged = damaged[:at]
        elif k % 3 == 1:
            damaged[at] = int(RNG.integers(256))
        else:
            damaged[at:at] = damaged[at : at + int(RNG.integers(1, 40))]
        path.write_bytes(damaged)
        try:
            found = read_matrices(path, NAMES)
        except InputError as error:
            refused += 1
            assert error.diagnostics[0].code == "file.format" and "m.mat" in str(error)
        else:
            assert all(matrix.ndim == 2 and matrix.nbytes < 2**27 for matrix in found.values())
    assert refused > 250


def test_sparse_matrices_that_claim_too_much_are_refused(tmp_path):
    path = tmp_path / "m.mat"
    savemat(path, {"K": csc_matrix(([1.0], ([3], [4])), shape=(100_000, 100_000))}, do_compression=True)
    with pytest.raises(InputError, match="claims 100000 rows and 100000 columns for 1 entries"):
        read_matrices(path, "K")
