"""Matrices of other programs: every form gives the body that its own mesh gives."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite
from scipy.linalg import eigh

import flexmbs as fm
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import material
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.reduce.matrix_files import read_matrix_file
from tests.decks.samples import NUMBER, abaqus
from tests.decks.test_meshio_formats import part


@pytest.fixture(scope="module")
def model():
    mesh = part("hex8")
    return assemble(mesh, material("steel"))


@pytest.fixture(scope="module")
def same(model):
    return fm.reduce(model.mesh, modes=6, material="steel", stress="none", geometric_stiffness=False)


def table(mesh):
    return "\n".join(
        f"{n} {x:.17g} {y:.17g} {z:.17g}" for n, (x, y, z) in zip(mesh.node_number, mesh.points, strict=True)
    )


def upper(A):
    U = sp.coo_array(sp.triu(A))
    return zip(U.coords[0].tolist(), U.coords[1].tolist(), U.data.tolist(), strict=True)


def label(mesh, k):
    return int(mesh.node_number[k // 3]), k % 3 + 1


def write_calculix(folder, mesh, K, M):
    for name, A in (("a.sti", K), ("a.mas", M)):
        (folder / name).write_text("".join(f"{i + 1} {j + 1} {v:20.13e}\n" for i, j, v in upper(A)))
    dofs = [label(mesh, k) for k in range(K.shape[0])]
    (folder / "a.dof").write_text("".join(f"{n}.{d}\n" for n, d in dofs))
    return folder / "a.sti", folder / "a.mas"


def write_abaqus(folder, mesh, K, M):
    for name, A in (("a_STIF1.mtx", K), ("a_MASS1.mtx", M)):
        rows = [(*label(mesh, i), *label(mesh, j), v) for i, j, v in upper(A)]
        rows.reverse()  # the order of the file is not that of the nodes
        (folder / name).write_text("".join(f"{a},{b}, {c},{d}, {v:.15e}\n" for a, b, c, d, v in rows))
    return folder / "a_STIF1.mtx", folder / "a_MASS1.mtx"


def write_coordinate(folder, mesh, K, M):
    for name, A in (("k.mtx", K), ("m.mtx", M)):
        C = sp.coo_array(A)
        rows = zip(C.coords[0].tolist(), C.coords[1].tolist(), C.data.tolist(), strict=True)
        (folder / name).write_text("".join(f"{i + 1} {j + 1} {v:.16e}\n" for i, j, v in rows))
    return folder / "k.mtx", folder / "m.mtx"


def write_dmig(folder, mesh, K, M):
    paths = []
    for name, A in (("KAAX", K), ("MAAX", M)):
        lines = [f"DMIG    {name:<8}{0:>8}{6:>8}{2:>8}{0:>8}{'':8}{A.shape[0]:>8}"]
        columns: dict[int, list] = {}
        for i, j, v in upper(A):
            columns.setdefault(i, []).append((j, v))
        for i, entries in columns.items():
            g, c = label(mesh, i)
            lines.append(f"DMIG*   {name:<16}{g:>16}{c:>16}{'':16}")
            for j, v in entries:
                g, c = label(mesh, j)
                lines.append(f"*       {g:>16}{c:>16}" + f"{v:.9E}".replace("E", "D").rjust(16))
        paths.append(folder / f"{name}.pch")
        paths[-1].write_text("\n".join(lines) + "\n")
    return tuple(paths)


def write_op4(folder, mesh, K, M):
    paths = []
    for name, A in (("KAA", K), ("MAA", M)):
        n, dense = A.shape[0], A.toarray()
        lines = [f"{n:8d}{n:8d}{6:8d}{2:8d}{name:<8}1P,3E23.16"]
        for column in range(n):
            lines.append(f"{column + 1:8d}{1:8d}{n:8d}")
            words = [f"{v:23.16E}" for v in dense[:, column]]
            lines += ["".join(words[k : k + 3]) for k in range(0, n, 3)]
        lines += [f"{n + 1:8d}{1:8d}{1:8d}", f"{1.0:23.16E}"]
        paths.append(folder / f"{name}.op4")
        paths[-1].write_text("\n".join(lines) + "\n")
    return tuple(paths)


def write_op4_sparse(folder, mesh, K, M):
    """Strings of nonzeros: row and length in one number, two words for each value."""
    paths = []
    for name, A in (("KAA", K), ("MAA", M)):
        n, C = A.shape[0], sp.csc_array(A)
        lines = [f"{n:8d}{n:8d}{6:8d}{2:8d}{name:<8}1P,3E23.16"]
        for column in range(n):
            rows, values = (
                C.indices[C.indptr[column] : C.indptr[column + 1]],
                C.data[C.indptr[column] : C.indptr[column + 1]],
            )
            cuts = np.flatnonzero(np.diff(rows) > 1) + 1
            strings = list(zip(np.split(rows, cuts), np.split(values, cuts), strict=True))
            lines.append(f"{column + 1:8d}{0:8d}{sum(2 * len(v) + 1 for _, v in strings):8d}")
            for r, v in strings:
                lines.append(f"{r[0] + 1 + 65536 * (2 * len(v) + 1):12d}")
                words = [f"{x:23.16E}" for x in v]
                lines += ["".join(words[k : k + 3]) for k in range(0, len(words), 3)]
        lines += [f"{n + 1:8d}{1:8d}{1:8d}", f"{1.0:23.16E}"]
        paths.append(folder / f"{name}.op4")
        paths[-1].write_text("\n".join(lines) + "\n")
    return tuple(paths)


def write_op4_binary(folder, mesh, K, M):
    paths = []
    for name, A in (("KAA", K), ("MAA", M)):
        n, dense = A.shape[0], A.toarray()

        def record(body):
            size = np.array([len(body)], "<i4").tobytes()
            return size + body + size

        data = record(np.array([n, n, 6, 2], "<i4").tobytes() + f"{name:<8}".encode())
        for column in range(n):
            head = np.array([column + 1, 1, 2 * n], "<i4").tobytes()
            data += record(head + dense[:, column].astype("<f8").tobytes())
        data += record(np.array([n + 1, 1, 2], "<i4").tobytes() + np.array([1.0], "<f8").tobytes())
        paths.append(folder / f"{name}.op4")
        paths[-1].write_bytes(data)
    return tuple(paths)


def write_hbmat(folder, mesh, K, M):
    paths = []
    for name, A in (("stiff", K), ("mass", M)):
        L = sp.csc_array(sp.tril(A))
        n, nnz = L.shape[0], L.nnz

        def block(values, per_line, text):
            words = [text(v) for v in values]
            return ["".join(words[k : k + per_line]) for k in range(0, len(words), per_line)]

        parts = [block(L.indptr + 1, 8, lambda v: f"{v:10d}"), block(L.indices + 1, 8, lambda v: f"{v:10d}")]
        parts.append(block(L.data, 3, lambda v: f"{v:25.16E}"))
        counts = [len(part) for part in parts]
        lines = [f"{name:<72}KEY", "".join(f"{c:14d}" for c in [sum(counts), *counts, 0])]
        lines += [f"RSA{'':11}{n:14d}{n:14d}{nnz:14d}{0:14d}", "(8I10)          (8I10)          (3E25.16)"]
        paths.append(folder / f"{name}.hb")
        paths[-1].write_text("\n".join([*lines, *(line for part in parts for line in part)]) + "\n")
        rows = [f"{k + 1} {label(mesh, k)[0]} {'UX UY UZ'.split()[k % 3]}" for k in range(n)]
        paths[-1].with_suffix(".mapping").write_text("Matrix Eqn  Node  DOF\n" + "\n".join(rows))
    return tuple(paths)


WRITERS = [
    write_calculix, write_abaqus, write_coordinate, write_dmig, write_op4, write_op4_sparse, write_op4_binary,
    write_hbmat,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS)
def test_every_form_gives_the_same_body(tmp_path, model, same, write):
    K, M = write(tmp_path, model.mesh, model.K_fe, model.M_fe)
    (tmp_path / "nodes.txt").write_text(table(model.mesh))
    modal = fm.reduce({"matrices": [str(K), str(M), str(tmp_path / "nodes.txt")], "modes": 6})
    np.testing.assert_allclose(modal.frequency_hz, same.frequency_hz, rtol=1e-6)
    np.testing.assert_allclose(modal.integrals.mass, same.integrals.mass, rtol=1e-8)  # DMIG: ten digits
    np.testing.assert_allclose(modal.integrals.S_kl, same.integrals.S_kl, rtol=1e-4, atol=1e-5)
    assert modal.quality["rigid_modes"] == 6


@pytest.mark.parametrize("write", [write_op4, write_op4_sparse, write_op4_binary])
def test_both_matrices_in_one_file(tmp_path, model, same, write):
    """The one whose name begins with K, or M; the first one stood for both."""
    K, M = write(tmp_path, model.mesh, model.K_fe, model.M_fe)
    both = tmp_path / "both.op4"
    both.write_bytes(K.read_bytes() + M.read_bytes())
    (tmp_path / "nodes.txt").write_text(table(model.mesh))
    modal = fm.reduce({"matrices": [str(both), str(both), str(tmp_path / "nodes.txt")], "modes": 6})
    np.testing.assert_allclose(modal.frequency_hz, same.frequency_hz, rtol=1e-6)


def test_freedoms_in_frames_of_their_nodes(tmp_path, model, same):
    """GRIDs with CD: every third node in a turned frame, and the matrices in these axes."""
    Q = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    grids, blocks = ["CORD2R,7,,0.,0.,0.,.48,.64,.6,+", "+,.36,.48,-.8"], []
    for k, (number, x) in enumerate(zip(model.mesh.node_number, model.mesh.points, strict=True)):
        grids.append(f"GRID*,{number},,{float(x[0])!r},{float(x[1])!r},*")
        grids.append(f"*,{float(x[2])!r},{7 if k % 3 == 0 else ''}")
        blocks.append(Q if k % 3 == 0 else np.eye(3))
    T = sp.block_diag(blocks, format="csc")  # rows of Q are the axes: values in them out of common ones
    K, M = write_dmig(tmp_path, model.mesh, T @ model.K_fe @ T.T, T @ model.M_fe @ T.T)
    (tmp_path / "nodes.bdf").write_text("\n".join(["BEGIN BULK", *grids, "ENDDATA", ""]))
    modal = fm.reduce({"matrices": [str(K), str(M), str(tmp_path / "nodes.bdf")], "modes": 6})
    np.testing.assert_allclose(modal.frequency_hz, same.frequency_hz, rtol=1e-6)
    np.testing.assert_allclose(modal.integrals.inertia, same.integrals.inertia, rtol=1e-6, atol=1e-9)


def test_nodes_out_of_the_deck(tmp_path):
    (tmp_path / "a.inp").write_text(abaqus(edge=0.01))
    from flexmbs.fe.readers import read_mesh

    mesh = read_mesh(tmp_path / "a.inp")
    fe = assemble(mesh, material("steel"))
    K, M = write_calculix(tmp_path, mesh, fe.K_fe, fe.M_fe)
    modal = fm.reduce({"matrices": [str(K), str(M), str(tmp_path / "a.inp")], "modes": 3})
    np.testing.assert_allclose(modal.integrals.com, [0.01, 0.005, 0.005], rtol=1e-9)
    assert len(NUMBER) == modal.mesh.n_nodes


def refused(tmp_path, files):
    with pytest.raises(fm.InputError) as caught:
        fm.reduce({"matrices": [str(item) for item in files], "modes": 3})
    return caught.value.diagnostics[0]


def test_wrong_order_and_supports_are_told(tmp_path, model):
    mesh, n = model.mesh, model.mesh.n_nodes
    (tmp_path / "nodes.txt").write_text(table(mesh))
    by_direction = np.arange(3 * n).reshape(n, 3).T.ravel()
    K, M = (A[by_direction][:, by_direction] for A in (sp.csr_array(model.K_fe), sp.csr_array(model.M_fe)))
    files = [*write_coordinate(tmp_path, mesh, K, M), tmp_path / "nodes.txt"]
    assert refused(tmp_path, files).code == "matrices.order"
    held = model.K_fe + sp.diags_array(np.r_[np.full(3, abs(model.K_fe).max()), np.zeros(3 * n - 3)])
    files = [*write_coordinate(tmp_path, mesh, held, model.M_fe), tmp_path / "nodes.txt"]
    found = refused(tmp_path, files)
    assert found.code == "matrices.grounded" and "x " in found.what
    K, M = write_calculix(tmp_path, mesh, model.K_fe, model.M_fe)
    dof = (tmp_path / "a.dof").read_text().splitlines()
    for path, A in ((K, model.K_fe), (M, model.M_fe)):  # the first node is held: its rows are not there
        path.write_text(
            "".join(f"{i + 1} {j + 1} {v:.13e}\n" for i, j, v in upper(sp.csr_array(A)[3:][:, 3:]))
        )
    (tmp_path / "a.dof").write_text("\n".join(dof[3:]))
    rows = table(mesh)
    (tmp_path / "nodes.txt").write_text(rows)
    # without the node nothing is missing, and what is left is held by it
    assert refused(tmp_path, [K, M, tmp_path / "nodes.txt"]).code == "matrices.grounded"
    (tmp_path / "a.dof").write_text("\n".join([dof[2], *dof[3:]]))
    for path, A in ((K, model.K_fe), (M, model.M_fe)):
        path.write_text(
            "".join(f"{i + 1} {j + 1} {v:.13e}\n" for i, j, v in upper(sp.csr_array(A)[2:][:, 2:]))
        )
    assert refused(tmp_path, [K, M, tmp_path / "nodes.txt"]).code == "matrices.dofs"


@pytest.mark.parametrize(
    "name, text, says",
    [
        ("a.sti", "1 1 2.0\n", "a.dof is not beside it"),
        ("a.mtx", "1,1,2,1\n", "rows of 4 numbers"),
        ("a.op4", "       2       2       6       4K       1P,3E23.16\n", "complex"),
        ("a.hb", "title\n1 1 1 1 0\nRUA 2 2\n(8I10)\n", "no readable matrix file"),
        ("a.xyz", "1", "unknown kind"),
        ("a.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n", "complex"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n9999 9999 1\n1 1 1\n", "claims 9999 rows"),
        ("a.mtx", "1 1 2.0\n2 2\n", "a.mtx:2  error  expected 3 numbers as in the first row, found 2"),
        ("a.mtx", "1 1 2.0\n\n2 2 nan\n", 'a.mtx:3  error  expected numbers, found "nan"'),
        ("a.mtx", "** only a comment\n", "no rows of numbers"),
        ("a.pch", "DMIG    K              0       6       1       0\nDMIG*   K\n", "a.pch:2  error  field 3"),
        (
            "a.pch",
            "DMIG,K,0,6,1,0\nDMIG,K,1,1,,1,1,-\n",
            'a.pch:2  error  DMIG: expected a number, found "-"',
        ),
        (
            "a.op4",
            "       1       1       6       2K       1P,3E23.16\n",
            "op4:1  error  the file ends early",
        ),
        (
            "a.op4",
            "       1       1       6       2K       1P,3E23.16\n       1       1       1\nx\n",
            'a.op4:3  error  expected numbers, found "x"',
        ),
        (
            "a.hb",
            "\n1 1 1 1 0\nRSA 1 1 1\n(8I10)(8I10)(3E25.16)\n         1         9\n1\n",
            "1 entries",
        ),
    ],
)
def test_damage_is_named(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(fm.InputError, match=says):
        read_matrix_file(tmp_path / name)


def test_user_element_of_a_substructure(tmp_path):
    """Directions of the first node alone, then node, directions; the lower triangle by rows."""
    text = "*USER ELEMENT,NODES=2,LINEAR\n** ELEMENT NODES\n**7,9\n1,2\n2,1,2\n*MATRIX,TYPE=STIFFNESS\n"
    text += "1.,\n2.,3.,\n4.,5.,6.,\n7.,8.,9.,10.,\n"
    (tmp_path / "x.mtx").write_text(text)
    found = read_matrix_file(tmp_path / "x.mtx")
    assert found.dofs.tolist() == [[7, 1], [7, 2], [9, 1], [9, 2]]
    np.testing.assert_array_equal(np.diag(found.entries.toarray()), [1, 3, 6, 10])


FRAME = {
    "shape": "beam", "nodes": [[0, 0, 0], [0.6, 0.1, 0], [0.9, 0.5, 0.2]], "divisions": 10,
    "section": {"rectangle": [0.02, 0.03]}, "theory": "timoshenko",
}  # fmt: skip
STRAIGHT = FRAME | {"nodes": [[0, 0.1, 0], [0.8, 0.1, 0]], "divisions": 20}


def full_beam(shape):
    mesh, _ = build_shape(dict(shape))
    return mesh, assemble(mesh, material("steel"))


def signs_between(one, other):
    return np.sign(np.einsum("anc,anc->a", one, other))


def test_a_mass_matrix_that_is_not_that_of_a_solid(tmp_path):
    """Beams, consistent: what the matrix tells is exact, the rest close on ten cells a piece."""
    mesh, fe = full_beam(FRAME)
    own = fm.reduce({"mesh": FRAME, "material": "steel", "modes": 8, "geometric_stiffness": False})
    for name, A in (("K.mtx", fe.K_fe), ("M.mtx", fe.M_fe)):
        mmwrite(tmp_path / name, sp.coo_matrix(A), precision=17)
    (tmp_path / "n.txt").write_text(table(mesh))
    files = [str(tmp_path / name) for name in ("K.mtx", "M.mtx", "n.txt")]
    found = fm.reduce({"matrices": files, "modes": 8})
    s, a, b = signs_between(own.Phi, found.Phi), own.integrals, found.integrals
    np.testing.assert_allclose(found.frequency_hz, own.frequency_hz, rtol=1e-9)
    for name in ("mass", "S_O", "Theta_kl", "m_ff", "K_ff"):
        size = np.abs(getattr(a, name)).max()
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(b.S_f, a.S_f * s, atol=1e-12)
    np.testing.assert_allclose(b.I_kl, a.I_kl * s, atol=0.01 * np.abs(a.I_kl).max())
    np.testing.assert_allclose(b.S_kl[:, :, :4, :4], (a.S_kl * np.outer(s, s))[:, :, :4, :4], atol=0.02)
    assert any("mean over x, y and z" in note for note in found.quality["notes"])
    held = sp.csr_matrix(fe.M_fe) + sp.diags_array(np.eye(1, fe.n_dof).ravel())
    mmwrite(tmp_path / "M.mtx", sp.coo_matrix(held))
    assert "do not find one mass" in refused(tmp_path, files).what


def craig_bampton(fe, nodes, n_modes):
    """K and M of the freedoms of these nodes, and of modes with them held; by dense matrices."""
    K, M = fe.K_fe.toarray(), fe.M_fe.toarray()
    b = fe.dofs(np.array(nodes))
    i = np.setdiff1d(np.arange(fe.n_dof), b)
    _, V = eigh(K[np.ix_(i, i)], M[np.ix_(i, i)])
    T = np.zeros((fe.n_dof, len(b) + n_modes))
    T[b, np.arange(len(b))] = 1.0
    T[i, : len(b)] = -np.linalg.solve(K[np.ix_(i, i)], K[np.ix_(i, b)])
    T[i, len(b) :] = V[:, :n_modes]
    return T.T @ K @ T, T.T @ M @ T


def punch(path, matrices, labels):
    """DMIG of several matrices in one file, as EXTSEOUT(DMIGPCH) writes them."""
    lines = []
    for name, A in matrices.items():
        lines.append(f"DMIG    {name:<8}{0:>8}{6:>8}{2:>8}{0:>8}{'':8}{len(A):>8}")
        for i, (g, c) in enumerate(labels):
            lines.append(f"DMIG*   {name:<16}{g:>16}{c:>16}{'':16}")
            for j in range(i + 1):
                gj, cj = labels[j]
                lines.append(f"*       {gj:>16}{cj:>16}" + f"{A[i, j]:.9E}".replace("E", "D").rjust(16))
    path.write_text("\n".join(lines) + "\n")


def test_a_model_that_was_reduced_before_stays_as_it_is(tmp_path):
    mesh, fe = full_beam(STRAIGHT)
    ends = [0, mesh.n_nodes - 1]
    k, m = craig_bampton(fe, ends, 40)
    labels = [(n, c) for n in (11, 12) for c in range(1, 7)] + [(1001 + q, 0) for q in range(40)]
    punch(tmp_path / "se.pch", {"KAAX": k, "MAAX": m}, labels)
    grids = [f"GRID,{11 + j},,{x},{y},{z}" for j, (x, y, z) in enumerate(mesh.points[ends])]
    (tmp_path / "se.bdf").write_text("\n".join([*grids, "SPOINT,1001,THRU,1040", "ENDDATA", ""]))
    files = [str(tmp_path / name) for name in ("se.pch", "se.pch", "se.bdf")]
    omega2 = eigh(k, m, eigvals_only=True)[6:]
    own = fm.reduce({"mesh": STRAIGHT, "material": "steel", "modes": 60, "geometric_stiffness": False})
    for interfaces in ([], ["left:node=11", "right:node=12"]):
        body = fm.reduce({"matrices": files}, interfaces=interfaces)
        assert body.nf == len(k) - 6 and body.quality["rigid_modes"] == 6
        np.testing.assert_allclose(body.frequency_hz, np.sqrt(omega2) / (2 * np.pi), rtol=1e-5)  # ten digits
    a, b = own.integrals, body.integrals
    np.testing.assert_allclose([b.mass, *b.com], [a.mass, *a.com], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(b.inertia, a.inertia, rtol=1e-6, atol=1e-7 * a.inertia.max())
    # a straight beam follows its ends in affine motions: two nodes tell how far it stretches when it turns
    stretch = [(c.I_kl[0, 0] ** 2 / np.diag(c.K_ff)).sum() for c in (a, b)]
    np.testing.assert_allclose(stretch[1], stretch[0], rtol=5e-3)  # of 40 modes that are held at the ends
    rows = body.interface("right")
    np.testing.assert_allclose(rows.Phi, body.Phi[:, 1].T, atol=1e-9)
    np.testing.assert_allclose(rows.Psi, body.Psi[:, 1].T, atol=1e-7)
    assert any("guessed from 2 nodes" in text for text in body.quality["warnings"])
    few = fm.reduce({"matrices": files, "modes": 3})
    np.testing.assert_allclose(few.frequency_hz, body.frequency_hz[:3], rtol=1e-9)


def test_a_full_model_needs_a_number_of_modes(tmp_path, model):
    K, M = write_coordinate(tmp_path, model.mesh, model.K_fe, model.M_fe)
    (tmp_path / "nodes.txt").write_text(table(model.mesh))
    with pytest.raises(fm.InputError, match="how many modes"):
        fm.reduce({"matrices": [str(K), str(M), str(tmp_path / "nodes.txt")]})
