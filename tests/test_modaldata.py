"""ModalData: the file round trip, its validation, mode selection and rows of places inside the body."""

import h5py
import numpy as np
import pytest

from flexmbs import hdf5
from flexmbs.errors import InputError
from flexmbs.fe.mesh import Mesh
from flexmbs.ffrf.integrals import BODY_LOADS, ShapeIntegrals, interface_loads
from flexmbs.modaldata import InterfaceData, ModalData, from_shapes

TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def small_mesh():
    return Mesh(
        TET,
        {"tet4": np.array([[0, 1, 2, 3]])},
        node_number=np.array([11, 12, 13, 14]),
        node_sets={"root": [0, 1]},
        face_sets={"skin": {"tet4": np.array([[0, 1]])}},
        cell_sets={"all": {"tet4": np.array([0])}},
        source="tet.msh",
    )


def small_body(nf=3):
    """Eight points of a quarter of a kilogram that move in random shapes."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(3, 3, nf, nf))
    x, phi = rng.normal(size=(8, 3)), rng.normal(size=(8, 3, nf))
    S_kl = 0.25 * np.einsum("nka,nlb->klab", phi, phi)
    K_geo = A.reshape(9, nf, nf)[: 1 + 0]
    K_geo = np.concatenate([K_geo] * (len(BODY_LOADS) + 6))
    K_geo = K_geo + np.swapaxes(K_geo, 1, 2)
    integrals = ShapeIntegrals(
        mass=2.0,
        S_O=0.25 * x.sum(axis=0),
        S_f=0.25 * phi.sum(axis=0),
        Theta_kl=0.25 * x.T @ x,
        I_kl=0.25 * np.einsum("nk,nla->kla", x, phi),
        S_kl=S_kl,
        m_ff=S_kl[0, 0] + S_kl[1, 1] + S_kl[2, 2],
        K_ff=np.diag(np.arange(1.0, nf + 1)),
        D_ff=np.zeros((nf, nf)),
        K_geo=K_geo,
        loads=(*BODY_LOADS, *interface_loads("tip")),
    )
    theta, shift = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    Phi = np.stack([np.cross(theta, TET), np.tile(shift, (4, 1)), TET * [[2.0, 0, 0]]])[:nf]
    tip = InterfaceData(
        np.ones(3), np.eye(3), rng.normal(size=(3, nf)), rng.normal(size=(3, nf)), np.array([2]), np.ones(1)
    )
    return from_shapes(integrals, mesh=small_mesh(), Phi=Phi, interfaces={"tip": tip})


def test_the_file_gives_back_what_was_written(tmp_path):
    modal = small_body()
    modal.save(tmp_path / "a.modal.h5")
    read = ModalData.load(tmp_path / "a.modal.h5")
    for name in ("S_f", "I_kl", "S_kl", "m_ff", "K_ff", "K_geo"):
        assert np.array_equal(getattr(read.integrals, name), getattr(modal.integrals, name))
    assert read.integrals.loads == modal.integrals.loads
    assert np.array_equal(read.mesh.cells["tet4"], modal.mesh.cells["tet4"])
    assert list(read.mesh.node_sets) == ["root"] and read.mesh.face_sets["skin"]["tet4"].tolist() == [[0, 1]]
    assert read.interface("tip").type == "rbe2" and read.kind == modal.kind
    assert np.array_equal(read.interface("tip").Psi, modal.interface("tip").Psi)


def test_unknown_interface_lists_those_of_the_file():
    with pytest.raises(InputError, match=r'interface "tp" is not in this file \(it has tip\)'):
        small_body().interface("tp")


def test_select_slices_everything(tmp_path):
    modal = small_body()
    limit = modal.frequency_hz[1]
    for part in (modal.select(count=2), modal.select([1, 2]), modal.select(max_frequency=limit)):
        assert part.nf == 2 and part.Phi.shape[0] == 2 and len(part.kind) == 2
        assert part.integrals.K_geo.shape[1:] == (2, 2) and part.interface("tip").Phi.shape == (3, 2)
    assert np.array_equal(modal.select([3, 1]).Phi[0], modal.Phi[2])
    for wrong in ({"modes": [4]}, {"modes": [1, 1]}, {"count": 9}):
        with pytest.raises(InputError):
            modal.select(**wrong)


def test_rows_of_a_point_are_exact_for_rigid_motion_F18():
    modal = small_body()
    x = np.array([0.2, 0.3, 0.1])
    u0, Phi, Psi = modal.marker_rows(at=x)
    theta = np.array([0.1, 0.2, 0.3])
    assert np.allclose(u0, x) and np.allclose(Phi[:, 0], np.cross(theta, x)) and np.allclose(Psi[:, 0], theta)
    assert np.allclose(Phi[:, 1], [1, 2, 3]) and np.allclose(Psi[:, 1], 0)
    u0, Phi, Psi = modal.marker_rows(node=13)
    assert np.allclose(u0, TET[2]) and np.allclose(Psi[:, 0], theta)
    assert np.allclose(modal.marker_rows(nearest=[0, 0.9, 0.05])[0], TET[2])
    with pytest.raises(InputError, match="not in the body"):
        modal.marker_rows(at=[0.6, 0.6, 0.6])
    with pytest.raises(InputError, match="no node 99"):
        modal.marker_rows(node=99)


def test_rows_inside_a_beam_follow_its_cubic_F18():
    mesh = Mesh(np.array([[0.0, 0, 0], [2.0, 0, 0]]), {"beam2": np.array([[0, 1]])})
    nf = 2
    Phi, Psi = np.zeros((nf, 2, 3)), np.zeros((nf, 2, 3))
    Phi[0, 1] = [0, 8.0, 0]  # v = x^3: v' = 12 at x = 2
    Psi[0, 1] = [0, 0, 12.0]
    Phi[1, 1] = [0, 0, 4.0]  # w = x^2: theta_y = -w'
    Psi[1, 1] = [0.3, -4.0, 0]
    S_kl = np.zeros((3, 3, nf, nf))
    S_kl[1, 1] = np.eye(nf)
    zero = np.zeros((nf, nf))
    body = ShapeIntegrals(
        1.0, np.zeros(3), np.zeros((3, nf)), np.eye(3), np.zeros((3, 3, nf)), S_kl, np.eye(nf), zero, zero
    )
    modal = from_shapes(body, mesh=mesh, Phi=Phi, Psi=Psi)
    _, rows, turn = modal.marker_rows(at=[0.5, 0, 0])
    assert np.allclose(rows[:, 0], [0, 0.125, 0]) and np.allclose(turn[:, 0], [0, 0, 0.75])
    assert np.allclose(rows[:, 1], [0, 0, 0.25]) and np.allclose(turn[:, 1], [0.075, -1.0, 0])


def damaged(path, change):
    """A copy of the file with one change and a valid checksum: only the validation can notice."""
    with h5py.File(path, "r+") as file:
        change(file)
        file.attrs["content_sha256"] = np.bytes_(hdf5.content_hash(file).encode())


def replace(file, name, data):
    attributes = dict(file[name].attrs)
    del file[name]
    node = file.create_dataset(name, data=data)
    for key, value in attributes.items():
        if key not in ("DIMENSION_LIST",):
            node.attrs[key] = value


CHANGES = {
    "is missing": lambda f: f.__delitem__("inertia/S_f"),
    "has the shape": lambda f: replace(f, "inertia/S_f", np.zeros((3, 7))),
    "not finite": lambda f: replace(f, "inertia/S_O", np.array([0.0, np.nan, 0])),
    "not symmetric": lambda f: replace(f, "inertia/K_ff", np.arange(9.0).reshape(3, 3)),
    "indices outside": lambda f: replace(f, "mesh/cells/tet4", np.array([[0, 1, 2, 9]])),
    "not positive definite": lambda f: (
        replace(f, "inertia/S_kl", np.zeros((3, 3, 3, 3))),
        replace(f, "inertia/m_ff", np.zeros((3, 3))),
    ),
    "some motion has a negative mass": lambda f: replace(f, "inertia/S_f", 9 * f["inertia/S_f"][()]),
    "K_ff gives energy": lambda f: replace(f, "inertia/K_ff", np.diag([-1.0, 2.0, 3.0])),
    "D_ff feeds energy": lambda f: replace(f, "inertia/D_ff", np.diag([0.0, -1e-3, 3.0])),
    "D_ff is not symmetric": lambda f: replace(f, "inertia/D_ff", np.triu(np.ones((3, 3)))),
    "mass is negative": lambda f: replace(f, "inertia/mass", -1.0),
    "not a rotation": lambda f: replace(f, "interfaces/tip/rotation", 2 * np.eye(3)),
    "frequencies are not ascending": lambda f: replace(f, "modes/frequency_hz", np.array([3.0, 2, 1])),
    "loads of K_geo": lambda f: f["inertia/K_geo"].attrs.modify(
        "loads", hdf5.text_array(["b.x"] * (len(BODY_LOADS) + 6))
    ),
    "quality/warnings": lambda f: f["quality"].create_dataset("warnings", data=3.0),
    "quality/static_error": lambda f: f["quality"].create_dataset("static_error", data=np.zeros(3)),
    "quality/frequency_error": lambda f: f["quality"].create_dataset(
        "frequency_error", data=np.array([b"a", b"b"])
    ),
    "quality/tie_patch_error": lambda f: f["quality"].create_dataset("tie_patch_error", data=np.ones(2)),
    "not a group": lambda f: (f.__delitem__("material"), f.create_dataset("material", data=1)),
    "out of range": lambda f: replace(f, "mesh/points", np.full((4, 3), 1e200)),
    "set root has": lambda f: replace(f, "mesh/sets/nodes/root", np.array([0.5, 1.0])),
    "not an array of numbers of the right kind": lambda f: replace(
        f, "inertia/S_O", np.array([b"a", b"b", b"c"])
    ),
    "is not an array with": lambda f: replace(f, "inertia/m_ff", np.zeros(3)),
    "does not hold the cell types it names": lambda f: f["mesh/cells"].attrs.create(
        "order", hdf5.text_array(["tet4", "hex8"])
    ),
    "lacks the attribute order": lambda f: f["mesh/cells"].attrs.__delitem__("order"),
    "lumped_difference is not a group": lambda f: (
        f["quality"].pop("lumped_difference", None),
        f["quality"].create_dataset("lumped_difference", data=1.0),
    ),
    "preload_stress does not fit": lambda f: f["modes"].create_dataset(
        "preload_stress", data=np.zeros((4, 6))
    ),
    "Phi has": lambda f: replace(f, "modes/Phi", np.zeros((2, 4, 3))),
    "its frame is left-handed": lambda f: replace(f, "interfaces/tip/rotation", np.diag([1.0, 1.0, -1.0])),
    "negative frequencies": lambda f: replace(f, "modes/frequency_hz", np.array([-1.0, 2, 3])),
    "format_version 99": lambda f: f.attrs.modify("format_version", 99),
}


@pytest.mark.parametrize("message", CHANGES)
def test_damaged_content_is_refused_by_name(tmp_path, message):
    path = tmp_path / "a.modal.h5"
    small_body().save(path)
    damaged(path, CHANGES[message])
    with pytest.raises(InputError, match=message):
        ModalData.load(path)


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "a.modal.h5"
    small_body().save(path)
    with h5py.File(path, "r+") as file:
        replace(file, "inertia/mass", 3.0)
    with pytest.raises(InputError, match="checksum"):
        ModalData.load(path)
