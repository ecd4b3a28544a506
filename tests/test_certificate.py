"""The certificate: every test notices what it is there for."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import flexmbs as fm
from flexmbs.certificate import certificate_text, proofs
from flexmbs.certificate.certify import below_last, judge
from flexmbs.certificate.geometry import surface_inertia, surface_moments
from flexmbs.errors import Diagnostics, InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import isotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box, cylinder
from flexmbs.modal.basis import Columns, orthonormalise
from flexmbs.modal.craig_bampton import craig_bampton
from flexmbs.modal.eigen import Modes
from flexmbs.modal.frame import apply_frame
from flexmbs.modal.interfaces import make_interface
from flexmbs.modal.receptance import reduced as reduced_basis
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import tie

STEEL = isotropic("steel", 2.1e11, 0.3, 7850.0)


def reduced(ties=("rbe2", "rbe3"), n=6):
    mesh = box((0.3, 0.2, 0.1), (3, 2, 2), element="hex8-plain")
    fe = assemble(mesh, STEEL)
    items = [
        make_interface(mesh, name, mesh.node_set_of(name), set_name=name, tie=kind)
        for name, kind in zip(("x_min", "x_max"), ties, strict=True)
    ]
    statics = Statics(tie(fe.K_fe, fe.M_fe, mesh.points, 3, items))
    return statics, *craig_bampton(statics, n, None)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8", "hex20", "hex27"])
def test_surface_moments_of_a_box(element):
    volume, first, second = surface_moments(
        box((1.0, 2.0, 3.0), (2, 1, 2), corner=(0, 0, 0), element=element)
    )
    assert volume == pytest.approx(6.0, rel=1e-12)
    assert np.allclose(first, [3.0, 6.0, 9.0], rtol=1e-12)
    assert np.allclose(second, [[2, 3, 4.5], [3, 8, 9], [4.5, 9, 18]], rtol=1e-12)


@pytest.mark.parametrize("element", ["hex20", "hex27", "tet10"])
def test_curved_volumes_agree_with_their_surface(element):
    mesh = cylinder(0.02, 0.1, (1, 8, 3), 0.01, element=element)
    form = assemble(mesh, STEEL).mass_form
    mass, S_O, Theta_kl = surface_inertia(mesh, {"": STEEL})
    one, X = np.ones(mesh.n_nodes), mesh.points
    assert mass == pytest.approx(one @ (form.Ms @ one), rel=1e-9)
    assert np.allclose(S_O, one @ (form.Ms @ X), atol=1e-9 * mass)
    assert np.allclose(Theta_kl, X.T @ (form.Ms @ X), atol=1e-9 * np.trace(Theta_kl))


def test_several_materials_are_weighed_apart():
    mesh = box((1.0, 1.0, 1.0), (2, 1, 1), corner=(0, 0, 0), element="hex8")
    mesh = Mesh(mesh.points, mesh.cells, cell_sets={"left": {"hex8": np.array([0])}})
    light = isotropic("light", 1e9, 0.3, 1000.0)
    mass, S_O, _ = surface_inertia(mesh, {"": STEEL, "left": light})
    assert mass == pytest.approx(0.5 * 8850.0)
    assert S_O[0] == pytest.approx(0.5 * (1000.0 * 0.25 + 7850.0 * 0.75))


@pytest.mark.parametrize("ties", [("rbe2", "rbe2"), ("rbe3", "rbe3")])
def test_sylvester_counts_like_the_dense_problem(ties):
    statics, _, _, modes = reduced(ties)
    held, free = statics.holding(statics.model.boundary), statics.holding()
    K, M = statics.model.K.toarray(), statics.model.M.toarray()
    N = scipy.linalg.null_space(statics.model.boundary.toarray())
    fixed = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    loose = scipy.linalg.eigh(K, M, eigvals_only=True)
    for omega2 in (0.5 * modes.omega2[0], modes.omega2[3] * 1.001, modes.omega2[5] * 4):
        assert proofs.count_below(held, omega2) == np.sum(fixed < omega2)
        assert proofs.count_below(free, omega2) == np.sum(loose < omega2)


def test_residuals_notice_a_wrong_mode():
    statics, _, _, modes = reduced()
    held = statics.holding(statics.model.boundary)
    assert proofs.eigen_residuals(held, modes).max() < 1e-7
    assert proofs.backward_errors(held, modes).max() < 1e-8
    wrong = Modes(modes.omega2 * (1 + 1e-4), modes.V)
    assert np.allclose(proofs.eigen_residuals(held, wrong), 1e-4, rtol=1e-2)


@pytest.mark.parametrize("size", [1e-1, 1e-2, 1e-4])
def test_frequencies_lie_within_their_bounds(size):
    """Of Ritz pairs in a space that holds the modes but for a part of this size."""
    statics, _, _, modes = reduced()
    held = statics.holding(statics.model.boundary)
    K, M = statics.model.K.toarray(), statics.model.M.toarray()
    N = scipy.linalg.null_space(statics.model.boundary.toarray())
    exact = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    V = modes.V + size * held.inverse_mass(
        N @ np.random.default_rng(3).normal(size=(N.shape[1], len(modes.omega2)))
    ) * modes.omega2 / np.sqrt(N.shape[1] * np.trace(M) / len(M))
    T = held.inverse_mass(V)
    mu, W = scipy.linalg.eigh(V.T @ M @ T, V.T @ M @ V)
    near = Modes(1.0 / mu[::-1], V @ W[:, ::-1])
    bounds = proofs.frequency_bounds(held, near, held.inverse_mass(near.V))
    error = np.abs(np.sqrt(near.omega2 / exact[: len(mu)]) - 1.0)
    assert (error <= bounds + 1e-12).all()
    assert bounds.max() < 10.0 * size and (size > 1e-3 or bounds[:-2].max() < 1e-6)


@pytest.mark.parametrize("part", [1e-2, 1e-5])
def test_what_a_mode_holds_of_a_lower_one_counts_by_its_square(part):
    """As in the quotient that gives its frequency; rounding of high modes beside very low ones is no more."""
    statics, _, _, modes = reduced()
    held, M = statics.holding(statics.model.boundary), statics.model.M
    V = modes.V.copy()
    V[:, -1] += part * V[:, 0]
    images = held.inverse_mass(V)
    mu = np.sum(V * (M @ images), axis=0) / np.sum(V * (M @ V), axis=0)
    near = Modes(1.0 / mu, V)
    ratio = modes.omega2[-1] / modes.omega2[0]
    error = np.sqrt(near.omega2[-1] / modes.omega2[-1]) - 1.0
    assert ratio > 4.0 and np.isclose(error, -0.5 * part**2 * (ratio - 1.0), rtol=0.01, atol=1e-9)
    for bound in (proofs.eigen_residuals(held, near, images), proofs.frequency_bounds(held, near, images)):
        assert abs(error) <= bound[-1] + 1e-9 and bound[-1] < 4.0 * part**2 * ratio + 1e-7


def test_rigid_residual_notices_a_spring_to_ground():
    mesh = box((0.3, 0.2, 0.1), (2, 1, 1), element="hex8")
    K = assemble(mesh, STEEL).K_fe
    assert proofs.rigid_residual(K, mesh.points, 3) < 1e-12
    held = K + sp.csc_matrix(([1e-4 * K.max()], ([0], [0])), shape=K.shape)
    assert proofs.rigid_residual(held, mesh.points, 3) > 1e-6


def test_the_static_test_needs_the_static_shapes():
    statics, static, dynamic, _ = reduced()
    model = statics.model
    assert proofs.static_error(statics, reduced_basis(Columns.join([static, dynamic]), model)) < 1e-9
    lacking = Columns(static.U[:, :11], static.names[:11])
    tangent, expected = apply_frame(lacking, "tangent:x_min", model)
    assert proofs.static_error(statics, orthonormalise(tangent, model.K, model.M, expected)) > 1e-3


def test_out_of_bounds_is_reported_and_nan_is_out_of_bounds():
    found = Diagnostics()
    judge({"mass_error": 1e-3, "eigen_residual": float("nan"), "static_error": 0.0}, "x", found)
    assert [item.code for item in found.errors] == ["certificate.eigen_residual"]
    assert [item.code for item in found.warnings] == ["certificate.mass_error"]


def test_a_stiffness_that_resists_rigid_motion_is_refused(tmp_path):
    import scipy.io

    mesh = box((0.3, 0.2, 0.1), (2, 1, 1), element="hex8")
    fe = assemble(mesh, STEEL)
    K = sp.lil_matrix(fe.K_fe)
    K[0, 0] *= 1.01
    np.savetxt(tmp_path / "n.txt", np.column_stack([mesh.node_number, mesh.points]), fmt="%.17g")
    scipy.io.mmwrite(tmp_path / "K.mtx", sp.coo_matrix(K))
    scipy.io.mmwrite(tmp_path / "M.mtx", sp.coo_matrix(fe.M_fe))
    with pytest.raises(InputError, match="rigid motions strain the model"):
        fm.reduce({"matrices": [str(tmp_path / name) for name in ("K.mtx", "M.mtx", "n.txt")], "modes": 2})


def test_suspicious_units_and_elements_are_warned_of():
    mesh = {"shape": "box", "size": [0.3, 0.2, 0.1], "divisions": [2, 1, 1], "element": "tet4"}
    rubber = {"young": 1e6, "poisson": 0.49, "density": 1e-9}
    modal = fm.reduce({"mesh": mesh, "material": rubber, "modes": 3})
    text = certificate_text(modal)
    for word in ("kg/m^3", "incompressible", "tet10"):
        assert word in text


def test_the_count_keeps_its_distance_from_eigenvalues():
    assert below_last(np.array([1.0, 2.0])) == pytest.approx(2.0 * (1 - 1e-4), rel=1e-9)
    assert below_last(np.array([1.0, 2.0, 2.0 + 1e-6])) == pytest.approx(2.0 * (1 - 1e-4), rel=1e-9)
    assert below_last(np.array([1.0, 1.0 + 3e-4])) == pytest.approx(1.0 + 2.7e-4, rel=1e-9)
    assert below_last(np.array([3.0, 3.0])) == pytest.approx(3.0 * (1 - 1e-4), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_modes_of_threefold_frequency_are_counted(n):
    """Four nodes between two rigid faces: three equal frequencies, at which the count was wrong."""
    mesh = {"shape": "box", "size": [0.3, 0.2, 0.1], "divisions": [2, 1, 1], "element": "hex8"}
    modal = fm.reduce({"mesh": mesh, "material": "steel"}, modes=n, interfaces=["x_min", "x_max"])
    assert modal.quality["sylvester_missing"] == 0


#: a flat bar held at two faces of its ends
PLATE = {
    "material": "steel", "stress": "none", "geometric_stiffness": False,
    "mesh": {"shape": "box", "size": [0.4, 0.06, 0.02], "divisions": [8, 2, 1], "element": "hex8"},
    "interfaces": {"left": {"set": "x_min"}, "right": {"set": "x_max"}},
}  # fmt: skip


def test_errors_of_frequencies_are_those_against_the_full_model_F52():
    """The free frequencies of the same mesh, by its own eigenvalues."""
    few = fm.reduce(PLATE | {"modes": 2})
    full = fm.reduce(PLATE | {"modes": 12, "method": "free-interface"}).frequency_hz
    known = few.quality["frequency_error"]
    np.testing.assert_allclose(known[:, 0], few.frequency_hz, rtol=1e-6)
    exact = known[:7, 0] / (1.0 + known[:7, 1])
    np.testing.assert_allclose(exact, [full[np.argmin(np.abs(full - f))] for f in exact], rtol=2e-4)
    np.testing.assert_allclose(np.sort(exact)[:5], full[:5], rtol=2e-4)  # each stands for another one
    assert known[0, 1] < 5e-3 < 0.05 < known[5, 1]
    assert "frequencies of the free body" in certificate_text(few)


def test_the_certificate_says_up_to_where_a_body_is_good_F52():
    """The same error at the end of a band that ends there."""
    body = fm.reduce(PLATE | {"modes": 2, "fmax": "12 kHz"})
    good = body.quality["reduction_good_hz"]
    assert body.quality["reduction_error"] > 0.3 and 0.0 < good < 12e3
    assert fm.reduce(PLATE | {"modes": 2, "fmax": good}).quality["reduction_error"] <= 0.3
    assert fm.reduce(PLATE | {"modes": 2, "fmax": 1.5 * good}).quality["reduction_error"] > 0.3
    assert "BEYOND" in certificate_text(body) and f"good to 0.3 up to {good:.4g} Hz" in certificate_text(body)


def test_a_number_of_modes_names_no_band_that_could_be_missed():
    """Where no frequency was asked for, up to where they are good is a fact and no warning."""
    body = fm.reduce(PLATE | {"modes": 7})
    assert body.quality["reduction_error"] > 0.3
    row = next(line for line in certificate_text(body).splitlines() if "interface response" in line)
    assert "BEYOND" not in row and "reduction error" not in str(body.quality["warnings"])
    assert f"up to {body.quality['reduction_good_hz']:.4g} Hz" in row


def test_free_modes_are_offered_where_they_are_far_better_F52():
    """What is foretold is what the other method then gives."""
    fixed = fm.reduce(PLATE | {"modes": 7, "fmax": "4 kHz"})
    free = fm.reduce(PLATE | {"modes": 7, "fmax": "4 kHz", "method": "free-interface"})
    foretold = fixed.quality["free_interface_error"]
    assert free.quality["reduction_error"] == pytest.approx(foretold, rel=0.01)
    offered = any("free-interface" in text and "how_to_modes" in text for text in fixed.quality["notes"])
    assert offered == (foretold < 0.01 * fixed.quality["reduction_error"])
    assert not any("free-interface" in text for text in free.quality["notes"])
