"""Layouts of matrix files: those of an independent writer, and every sentence about damage."""

from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.reduce.matrix_files import read_matrix_file

#: of pyyeti 1.4.7, `op4.write(name, ["KAAX", "MAAX"], [K, M], binary, sparse=..., endian=..., forms=[6, 6])`
OP4 = sorted((Path(__file__).parents[1] / "data" / "op4").iterdir())
K = np.diag(np.arange(7) * 11.0 + 1.0) * 0.1
for i, j in ((0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (0, 6)):
    K[i, j] = K[j, i] = -0.01 * (10 * i + j + 1)


@pytest.mark.parametrize("path", OP4, ids=lambda path: path.stem)
@pytest.mark.parametrize("initial, expected", [("K", K), ("M", np.diag(np.arange(1.0, 8.0))), ("X", K)])
def test_op4_of_another_program(path, initial, expected):
    """The matrix whose name begins so, otherwise the first one."""
    found = read_matrix_file(path, initial)
    np.testing.assert_allclose(found.entries.toarray(), expected, rtol=1e-14)
    assert found.dofs is None


def single(order):
    """One dense column of two numbers in single precision, by the layout of Fortran records."""

    def record(body):
        size = np.array([len(body)], f"{order}i4").tobytes()
        return size + body + size

    def column(number, values):
        head = np.array([number, 1, len(values)], f"{order}i4").tobytes()
        return record(head + np.array(values, f"{order}f4").tobytes())

    data = record(np.array([2, 2, 6, 1], f"{order}i4").tobytes() + b"KAA     ")
    return data + column(1, [1.5, 0.25]) + column(2, [0.25, 3.0]) + column(3, [1.0])


@pytest.mark.parametrize("order", "<>")
def test_op4_in_single_precision(tmp_path, order):
    (tmp_path / "k.op4").write_bytes(single(order))
    found = read_matrix_file(tmp_path / "k.op4").entries.toarray()
    np.testing.assert_array_equal(found, [[1.5, 0.25], [0.25, 3.0]])


def test_an_empty_matrix_is_none(tmp_path):
    (tmp_path / "k.op4").write_text(
        "       3       3       6       2NULL    1P,3E22.15\n       4       1       1\n 1.\n"
    )
    found = read_matrix_file(tmp_path / "k.op4")
    assert found.entries.shape == (3, 3) and found.entries.nnz == 0


@pytest.mark.parametrize("cut", [3, 30, 40, 60])
def test_binary_op4_that_ends_early(tmp_path, cut):
    (tmp_path / "k.op4").write_bytes(single("<")[:-cut] if cut > 3 else single("<")[:6])
    with pytest.raises(fm.InputError, match="is no readable matrix file"):
        read_matrix_file(tmp_path / "k.op4")


DMIG = "DMIG,KAAX,0,6,2,0,,,3\nDMIG,MAAX,0,6,2,0,,,3\n"


def test_dmig_over_lines_and_beside_other_cards(tmp_path):
    """Upper triangle by columns; scalar points have direction 0; rows come in order of node and direction."""
    text = (
        f"$ comment\nGRID,1,,0.,0.,0.\n{DMIG}DMIG,KAAX,2,1,,1,3,-4.,,+\n+,2,1,5.\nDMIG,KAAX,1,3,,1,3,7.,,\n"
    )
    text += "DMIG,KAAX,9,0,,9,0,2.5\nDMIG,MAAX,1,3,,1,3,1.\n"
    (tmp_path / "k.pch").write_text(text)
    found = read_matrix_file(tmp_path / "k.pch", "K")
    assert found.dofs.tolist() == [[1, 3], [2, 1], [9, 0]]
    upper = np.triu(found.entries.toarray()) + np.tril(found.entries.toarray(), -1).T
    np.testing.assert_array_equal(upper, [[7.0, -4.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 2.5]])
    assert read_matrix_file(tmp_path / "k.pch", "M").dofs.tolist() == [[1, 3]]


HB = [f"{'title':<72}KEY", "6 1 1 1 {rhs}", "RSA 2 2 3", "(3I4) (3I4) (1P,3E12.4)"]


@pytest.mark.parametrize("rhs", [0, 1])
@pytest.mark.parametrize("direction", [("UX", "ROTZ"), ("1", "6")])
def test_harwell_boeing_with_or_without_a_right_hand_side(tmp_path, rhs, direction):
    """A line more says how it is stored; freedoms by name or number, in any order."""
    lines = [HB[0], HB[1].format(rhs=rhs), *HB[2:], *["F 1 0"] * rhs, "   1   3   4", "   1   2   2"]
    (tmp_path / "k.hb").write_text("\n".join([*lines, "  1.0000E+00 -2.0000E+00  3.0000E+00"]))
    (tmp_path / "k.mapping").write_text(f"Eqn, Node, DOF\n2, 7, {direction[1]}\n1, 5, {direction[0]}\n")
    found = read_matrix_file(tmp_path / "k.hb")
    np.testing.assert_array_equal(found.entries.toarray(), [[1.0, 0.0], [-2.0, 3.0]])
    assert found.dofs.tolist() == [[5, 1], [7, 6]]


def test_user_element_without_the_numbers_of_its_nodes(tmp_path):
    text = "*USER ELEMENT, NODES=2\n1\n2, 3\n*MATRIX, TYPE=MASS\n1.,\n0., 2.\n*UEL PROPERTY\n1.\n"
    (tmp_path / "m.mtx").write_text(text)
    found = read_matrix_file(tmp_path / "m.mtx")
    assert found.dofs.tolist() == [[1, 1], [2, 3]]
    np.testing.assert_array_equal(found.entries.toarray(), np.diag([1.0, 2.0]))


@pytest.mark.parametrize(
    "name, text, says",
    [
        ("a.sti", "1 1\n", "rows of 2 numbers, not i, j, value"),
        ("a.sti", "1 3 2.0\n", "index 3, expected a whole number from 1 to 2"),
        ("a.mtx", "1 1.5 2.0\n", "index 1.5, expected a whole number from 1"),
        ("a.pch", "DMIG,K,0,2,1,0\nDMIG,K,1,1,,1,1,1.\n", "K is no real square matrix"),
        ("a.pch", "DMIG,K,0,6,3,0\nDMIG,K,1,1,,1,1,1.\n", "K is no real square matrix"),
        ("a.pch", "DMIG,K,0,6,1,0\n", "no DMIG with entries"),
        (
            "a.op4",
            "       1       1       6       2K       1P,3E23.16\n       1       0       3\n a\n",
            '"a"',
        ),
        ("a.hb", "t\n1 1 1 1 0\nCSA 1 1 1\n(8I10) (8I10) (3E25.16)\n", "CSA is no real assembled matrix"),
        (
            "a.hb",
            "t\n3 1 1 1\nRSA 1 1 1\n(2I4) (2I4) (3E12.4)\n   1   2\n   9\n",
            "an entry is in row 9 of 1",
        ),
        ("a.hb", "t\n", "it claims more than it holds"),
        ("a.mtx", "*USER ELEMENT\n1\n*MATRIX\n1., 2.\n", "2 entries for 1 freedoms; 1 are expected"),
    ],
)
def test_damage_is_told(tmp_path, name, text, says):
    (tmp_path / "a.dof").write_text("1.1\n\n1.2\n")
    (tmp_path / name).write_text(text)
    with pytest.raises(fm.InputError) as caught:
        read_matrix_file(tmp_path / name)
    assert says in str(caught.value)


@pytest.mark.parametrize("beside, says", [
    (("a.dof", "1.1\n1.7\n"), 'a.dof:2: expected node.direction, found "1.7"'),
    (("a.dof", "x.1\n"), 'a.dof:1: expected node.direction, found "x.1"'),
    (("a.mapping", "1 5 UX\n3 5 UY\n"), "a.mapping does not number the equations from 1 on"),
])  # fmt: skip
def test_damage_beside_the_matrix_is_told(tmp_path, beside, says):
    (tmp_path / beside[0]).write_text(beside[1])
    name = "a.sti" if beside[0] == "a.dof" else "a.mtx"
    head = "" if beside[0] == "a.dof" else "%%MatrixMarket matrix coordinate real general\n2 2 2\n"
    (tmp_path / name).write_text(f"{head}1 1 2.0\n2 2 1.0\n")
    with pytest.raises(fm.InputError) as caught:
        read_matrix_file(tmp_path / name)
    assert says in str(caught.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setitem(read_matrix_file.__globals__, "MAX_BYTES", 4)
    (tmp_path / "a.mtx").write_text("1 1 2.0\n")
    with pytest.raises(fm.InputError, match="larger than 0 GiB"):
        read_matrix_file(tmp_path / "a.mtx")
