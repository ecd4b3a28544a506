"""Frames: several sections, arms between nodes and axes, released ends, rods."""

from dataclasses import replace

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.beams import ROD, Beam, BeamData, beam_axes
from flexmbs.fe.materials import isotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.prestress import prestress_matrix
from flexmbs.fe.sections import rectangle, tube
from flexmbs.fe.stress import stress_modes
from flexmbs.ffrf.integrals import shape_integrals
from flexmbs.post.beam_skin import beam_surface, fibre_stress
from tests.fe.modes import smallest_modes

STEEL = isotropic("steel", 210e9, 0.3, 7850.0)
SECTION = rectangle(0.02, 0.03)
ARM = np.array([0.01, -0.3, 0.2])


def frame(points, cells, beams, index=None):
    """Beams from node to node; y of the sections as near to the x-y plane as it can be."""
    points, cells = np.asarray(points, dtype=float), np.asarray(cells)
    axes = beam_axes(points[cells[:, 1]] - points[cells[:, 0]], None)
    index = np.zeros(len(cells), dtype=np.int64) if index is None else np.asarray(index)
    return Mesh(points, {"beam2": cells}, beam=BeamData.of(axes, tuple(beams), index), source="frame")


def line(n, beams, length=1.0, index=None):
    x = np.linspace(0.0, length, n + 1)
    points = np.column_stack([x, 0 * x, 0 * x])
    return frame(points, np.column_stack([np.arange(n), np.arange(1, n + 1)]), beams, index)


def free_dofs(mesh, held):
    """All but those of the held nodes; rods leave rotations without stiffness out."""
    turning = np.repeat(mesh.turning_nodes()[:, None], 3, axis=1)
    there = np.hstack([np.ones((mesh.n_nodes, 3), dtype=bool), turning])
    there[held] = False
    return np.flatnonzero(there.ravel())


def solved(mesh, F, held):
    K, free = assemble(mesh, STEEL).K_fe.tocsr(), free_dofs(mesh, held)
    u = np.zeros(len(F))
    u[free] = np.linalg.solve(K[free][:, free].toarray(), F[free])
    return u.reshape(-1, 6)


BEAM = Beam(SECTION, "timoshenko", True)


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_a_beam_on_arms_is_the_beam_where_it_lies(mass):
    """Free frequencies, mass, centre and inertia do not know by which nodes a body is described."""
    plain = line(6, [replace(BEAM, section=replace(SECTION, shear_factor=(0.8, 0.8)))])
    on_arms = replace(plain, points=plain.points - ARM)
    on_arms = replace(on_arms, beam=replace(plain.beam, offset=np.tile(ARM, (6, 2, 1))))
    ours, theirs = assemble(on_arms, STEEL, mass=mass), assemble(plain, STEEL, mass=mass)
    found, expected = (smallest_modes(model.K_fe, model.M_fe, 20).frequency_hz for model in (ours, theirs))
    np.testing.assert_allclose(found[6:], expected[6:], rtol=1e-6)
    Phi = np.zeros((ours.n_dof, 1))
    Phi[4::6] = np.linspace(0, 1, 7)[:, None] ** 2  # a field of rotations, which the arms turn into motion
    moved = Phi.copy()
    moved[0::6], moved[2::6] = Phi[4::6] * ARM[2], -Phi[4::6] * ARM[0]
    a = shape_integrals(ours.mass_form, on_arms.points, Phi, ours.K_fe)
    b = shape_integrals(theirs.mass_form, plain.points, moved, theirs.K_fe)
    for name in ("mass", "com", "inertia", "S_f", "I_kl", "S_kl", "m_ff", "K_ff"):
        one, other = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max(), err_msg=name)


def test_a_hinge_between_two_cantilevers():
    """Both halves carry half of the load at the hinge: P L^3 / 6 E I."""
    mesh = line(2, [Beam(SECTION, "euler-bernoulli", False)], length=2.0)
    released = np.zeros((2, 12), dtype=bool)
    released[0, 10] = released[0, 11] = True  # bending at the end of the first one
    mesh = replace(mesh, beam=replace(mesh.beam, released=released))
    F = np.zeros(18)
    F[8] = 1.0
    u = solved(mesh, F, [0, 2])
    assert u[1, 2] == pytest.approx(1.0 / (6 * STEEL.E * SECTION.Iy), rel=1e-9)
    body = shape_integrals(assemble(mesh, STEEL).mass_form, mesh.points, np.zeros((18, 0)), None)
    assert body.mass == pytest.approx(7850 * 2.0 * SECTION.A) and body.com[0] == pytest.approx(1.0)


def test_an_end_released_along_the_axis_keeps_the_mass_in_place():
    mesh = line(1, [Beam(SECTION, "euler-bernoulli", False)])
    released = np.zeros((1, 12), dtype=bool)
    released[0, 6] = True
    mesh = replace(mesh, beam=replace(mesh.beam, released=released))
    model = assemble(mesh, STEEL)
    assert not model.K_fe.toarray()[np.ix_([0, 6], [0, 6])].any()
    body = shape_integrals(model.mass_form, mesh.points, np.zeros((12, 0)), None)
    assert body.com[0] == pytest.approx(0.5)
    M = model.M_fe.toarray()
    assert M[0, 0] == pytest.approx(7850 * SECTION.A) and M[6, 6] == pytest.approx(0.0, abs=1e-12)


def test_a_beam_released_at_both_ends_is_refused():
    mesh = line(1, [Beam(SECTION, "euler-bernoulli", False)])
    released = np.zeros((1, 12), dtype=bool)
    released[0, [3, 9]] = True
    with pytest.raises(InputError, match="moves freely between its nodes"):
        assemble(replace(mesh, beam=replace(mesh.beam, released=released)), STEEL)


ROD_OF = Beam(tube(0.01), ROD, False)


def test_rods_of_a_tripod_against_their_sum():
    points = [[0, 0, 1.0], [1, 0, 0], [-0.5, 0.8, 0], [-0.4, -0.9, 0.1]]
    mesh = frame(points, [[1, 0], [2, 0], [3, 0]], [ROD_OF])
    P = np.array([10.0, -5.0, 3.0])
    F = np.zeros(24)
    F[:3] = P
    u = solved(mesh, F, [1, 2, 3])[0]
    K = np.zeros((3, 3))
    for foot in points[1:]:
        d = np.subtract(points[0], foot)
        K += STEEL.E * ROD_OF.section.A / np.linalg.norm(d) ** 3 * np.outer(d, d)
    np.testing.assert_allclose(u[:3], np.linalg.solve(K, P), rtol=1e-10)
    assert not u[3:].any() and not mesh.turning_nodes().any()


def test_frequencies_of_a_rod_and_of_the_same_rod_as_a_string():
    """c / 4 L (2 k - 1) along it; taut by N: k / 2 L sqrt(N / mu) across it."""
    n, N = 60, 1e4
    mesh = line(n, [ROD_OF])
    model = assemble(mesh, STEEL)
    along = 6 * np.arange(1, n + 1)
    K, M = (A.tocsr()[along][:, along].tocsc() for A in (model.K_fe, model.M_fe))
    expected = np.sqrt(STEEL.E / STEEL.rho) / 4 * np.array([1, 3, 5])
    np.testing.assert_allclose(smallest_modes(K, M, 3).frequency_hz, expected, rtol=3e-3)
    U = np.zeros((n + 1, 6))
    U[:, 0] = mesh.points[:, 0] * N / (STEEL.E * ROD_OF.section.A)
    K_pre = prestress_matrix(mesh, {"": STEEL}, U.ravel())
    across = 6 * np.arange(1, n) + 1
    K, M = (A.tocsr()[across][:, across].tocsc() for A in (K_pre, model.M_fe))
    expected = np.array([1, 2, 3]) / 2 * np.sqrt(N / (STEEL.rho * ROD_OF.section.A))
    np.testing.assert_allclose(smallest_modes(K, M, 3).frequency_hz, expected, rtol=2e-3)


def test_sections_in_series_have_their_own_stress_and_picture(tmp_path):
    thin = replace(BEAM, section=replace(tube(0.01), extra=2.0))
    mesh = line(2, [BEAM, thin], index=[0, 1])
    F = np.zeros(18)
    F[12] = 1000.0
    u = solved(mesh, F, [0])
    areas = np.array([SECTION.A, thin.section.A])
    assert u[2, 0] == pytest.approx((1000 * 0.5 / (STEEL.E * areas)).sum(), rel=1e-10)
    sigma = stress_modes(mesh, STEEL, u.reshape(-1, 1), at="cells")[0]
    np.testing.assert_allclose(sigma[:, 0], 1000 / areas, rtol=1e-9)
    mesh = replace(mesh, node_sets={"root": [0], "tip": [2]})
    modal = fm.reduce(mesh, material={"young": 210e9, "poisson": 0.3, "density": 7850.0}, modes=4,
                      interfaces={"root": {"set": "root"}, "tip": {"set": "tip"}})  # fmt: skip
    assert modal.integrals.mass == pytest.approx(7850 * 0.5 * areas.sum() + 1.0)
    modal.save(tmp_path / "a.modal.h5")
    again = fm.ModalData.load(tmp_path / "a.modal.h5")
    assert again.mesh.beam.beams == mesh.beam.beams
    surface, _, _ = beam_surface(again)
    fields = np.concatenate([again.Phi, again.Psi], axis=2)
    assert np.ptp(surface.points[: len(surface.points) // 2, 1]) == pytest.approx(0.02)
    assert np.ptp(surface.points[len(surface.points) // 2 :, 1]) == pytest.approx(0.01)
    assert np.isfinite(fibre_stress(again, fields)).all()
