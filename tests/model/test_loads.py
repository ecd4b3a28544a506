"""Distributed loads against the integrals of the body: a load per volume is like its weight (F15, F16)."""

from types import SimpleNamespace

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import isotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sections import rectangle
from flexmbs.fe.shapes.parametric import beam, box
from flexmbs.ffrf.integrals import shape_integrals
from flexmbs.model.laws.loads import mean_place, pressure_load

RHO = 2000.0
MATERIAL = isotropic("test", 1e9, 0.3, RHO)
ALL = slice(None)


def solid(element):
    """A box with a bent upper side, and random smooth shapes on its nodes."""
    mesh = box(size=[1.0, 0.4, 0.3], divisions=[3, 2, 2], element=element)
    points = mesh.points.copy()
    points[:, 2] *= 1.0 + 0.2 * points[:, 0] ** 2
    every = {"all": {kind: np.arange(len(rows)) for kind, rows in mesh.cells.items()}}
    mesh = Mesh(points, mesh.cells, face_sets=mesh.face_sets, cell_sets=every)
    x, y, z = points.T
    shapes = [[x**2, x * y, z], [y * z, x, x * z], [1 + x, z**2, y]]
    Phi = np.array([np.stack(shape, axis=1) for shape in shapes])
    return SimpleNamespace(mesh=mesh, Phi=Phi, Psi=None)


@pytest.mark.parametrize("element", ["hex8", "hex20", "hex27", "tet4", "tet10"])
def test_load_per_volume_is_like_the_weight_F15(element):
    modal = solid(element)
    form = assemble(modal.mesh, MATERIAL).mass_form
    body = shape_integrals(form, modal.mesh.points, modal.Phi.transpose(1, 2, 0).reshape(-1, 3))
    size, place, rows = mean_place(modal, ALL, "all", "f")
    assert RHO * size == pytest.approx(body.mass, rel=1e-12)
    np.testing.assert_allclose(RHO * size * place, body.S_O, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(RHO * size * rows, body.S_f, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("element", ["hex8", "hex20", "hex27", "tet4", "tet10"])
def test_pressure_on_the_skin_gives_the_volume_F16(element):
    """Gauss: the pressure p on the whole skin does -p div(S) dV; with S = u0 it is -3 p V, as a whole 0."""
    modal = solid(element)
    mesh = modal.mesh
    skin: dict[str, list] = {}
    for faces in mesh.face_sets.values():
        for kind, rows in faces.items():
            skin.setdefault(kind, []).append(rows)
    sets = {"skin": {kind: np.concatenate(rows) for kind, rows in skin.items()}}
    modal.mesh = Mesh(mesh.points, mesh.cells, face_sets=sets, cell_sets=mesh.cell_sets)
    modal.Phi = np.concatenate([modal.mesh.points[None], modal.Phi])
    volume = mean_place(modal, ALL, "all", "f")[0]
    load = pressure_load(modal, ALL, "skin", "f")
    np.testing.assert_allclose(load[:6], 0.0, atol=1e-13)
    by_mode = load[6:].reshape(-1, 4)
    assert by_mode[0, 3] == pytest.approx(-3.0 * volume, rel=1e-12)
    np.testing.assert_allclose(by_mode[0, :3], 0.0, atol=1e-13)


def test_load_per_length_of_a_beam_is_like_its_weight_F15():
    mesh = beam(rectangle(0.05, 0.1), length=1.3, divisions=4)
    every = {"all": {"beam2": np.arange(4)}}
    mesh = Mesh(mesh.points, mesh.cells, cell_sets=every, beam=mesh.beam)
    rng = np.random.default_rng(1)
    U = rng.normal(size=(3, mesh.n_nodes, 6))
    modal = SimpleNamespace(mesh=mesh, Phi=U[:, :, :3], Psi=U[:, :, 3:])
    body = shape_integrals(
        assemble(mesh, MATERIAL).mass_form, mesh.points, U.transpose(1, 2, 0).reshape(-1, 3)
    )
    size, place, rows = mean_place(modal, ALL, "all", "f")
    assert size == pytest.approx(1.3, rel=1e-13)
    np.testing.assert_allclose(RHO * 0.005 * size * place, body.S_O, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(RHO * 0.005 * size * rows, body.S_f, rtol=1e-11, atol=1e-11)


def test_sets_that_are_not_there_are_named():
    modal = solid("hex8")
    with pytest.raises(InputError, match="z_max"):
        pressure_load(modal, ALL, "z_mx", "forces.f.set")
    with pytest.raises(InputError, match="face or cell set"):
        mean_place(modal, ALL, "nothing", "forces.f.set")
