"""The stress that the modes miss (F53) against the full finite-element solution."""

import numpy as np
import pytest
import scipy.sparse as sp

import flexmbs as fm
from flexmbs.fe.stress import stress_modes
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import tie
from flexmbs.modaldata import ModalData
from flexmbs.post.beam_skin import fibre_stress
from flexmbs.post.export.loads import as_interface, body_loads, fe_model
from flexmbs.post.modals import materials_of
from flexmbs.post.record import Record
from flexmbs.post.recovery import recover, summary
from flexmbs.post.shell_skin import face_stress
from flexmbs.post.skin import skin_of
from flexmbs.post.static_part import load_factors
from flexmbs.post.stress import von_mises

RECIPE = """
modes = {modes}
material = "steel"
frame = "{frame}"
[mesh]
shape = "box"
size = [0.4, 0.03, 0.02]
corner = [0, 0, 0]
divisions = [12, 2, 2]
element = "hex20"
[interfaces]
root = {{ set = "x_min" }}
tip = {{ set = "x_max", tie = "rbe3" }}
"""

#: a blade that turns steadily, pulled and bent at its tip; loads so small that levers stay those at rest
CASE = """
format_version = 1
gravity = [0, 0, -0.01]
[bodies.blade]
type = "flexible"
modal = "blade.modal.h5"
damping = {{ type = "modal", ratio = 1.0 }}
geometric_stiffening = false
[joints.hub]
type = "revolute"
from = "ground"
to = "blade.root"
[drives.motor]
joint = "hub"
velocity = "{speed}"
[forces.tip]
type = "point"
on = "blade.tip"
force = [0.4, -0.07, 0.03]
in = "body"
[analysis]
type = "statics"
"""


def solved(folder, frame="mean-axis", modes=2, speed="30 rpm"):
    """Result and modal data of the blade in steady rotation, with a basis made for its vibrations."""
    (folder / "blade.toml").write_text(RECIPE.format(modes=modes, frame=frame))
    modal = fm.reduce(folder / "blade.toml")
    modal.save(folder / "blade.modal.h5")
    (folder / "case.toml").write_text(CASE.format(speed=speed))
    fm.run(folder / "case.toml", folder / "case.h5", overwrite=True)
    return Record.load(folder / "case.h5"), modal


def full_stress(record, modal):
    """Stress (node, 6) of the full model under all loads of the sample, by a solution of its own."""
    fe = fe_model(modal)
    ties = [as_interface(name, item) for name, item in modal.interfaces.items()]
    model = tie(fe.K_fe, fe.M_fe, modal.mesh.points, 3, ties)
    loads = body_loads(record, "blade", {"blade": modal}, -1)
    F = np.asarray(model.G.T @ loads.nodal.ravel())
    for name, item in loads.rigid.items():
        axes = modal.interfaces[name].rotation
        own = np.concatenate([axes.T @ item.force, axes.T @ item.moment])
        F += np.asarray(model.rows[name].T @ own)
    U = np.asarray(model.G @ Statics(model).holding().respond(F[:, None]))
    return stress_modes(modal.mesh, materials_of(modal), U)[0]


@pytest.mark.parametrize("frame", ["mean-axis", "tangent:root"])
def test_static_stress_is_that_of_the_full_model_F53(tmp_path, frame):
    """Everywhere, not only away from the interfaces: the loads are all in the set."""
    record, modal = solved(tmp_path, frame)
    exact = full_stress(record, modal)
    found = recover(record, "blade")
    sigma = np.tensordot(found.q[-1], found.stress, axes=1)
    alone = np.tensordot(found.q[-1, : modal.nf], modal.stress, axes=1)
    largest = von_mises(exact).max()
    assert largest > 1e4
    assert np.abs(sigma - exact).max() < 5e-5 * largest  # 2e-5 found: levers of the deformed body
    away = (modal.mesh.points[:, 0] > 0.06) & (modal.mesh.points[:, 0] < 0.34)
    missed = np.abs(alone - exact)[away].max() / von_mises(exact)[away].max()
    assert missed > 0.01, "the basis would have to miss something"
    assert summary(found, [], None, False)["modes_alone"] != pytest.approx(largest, rel=1e-3)


def test_fewer_modes_miss_more_and_the_sum_stays(tmp_path):
    record, modal = solved(tmp_path, modes=6)
    whole = recover(record, "blade")
    few = modal.select(count=5)
    factors, elsewhere = load_factors(record, "blade", {"blade": modal})
    assert not elsewhere
    static = modal.static_stress
    for c in range(len(modal.integrals.loads)):
        exact = np.tensordot(static.q[:, c], modal.stress, 1) + np.tensordot(
            static.share[:, c], static.stress, 1
        )
        rest = few.static_stress
        again = np.tensordot(rest.q[:, c], few.stress, 1) + np.tensordot(rest.share[:, c], rest.stress, 1)
        np.testing.assert_allclose(again, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max() + 1e-12)
    assert whole.q.shape[1] == modal.nf + len(static.stress)


def test_the_file_keeps_it_and_files_without_it_are_read(tmp_path):
    record, modal = solved(tmp_path)
    again = ModalData.load(tmp_path / "blade.modal.h5")
    np.testing.assert_array_equal(again.static_stress.stress, modal.static_stress.stress)
    np.testing.assert_array_equal(again.static_stress.share, modal.static_stress.share)
    import dataclasses

    old = dataclasses.replace(modal, static_stress=None)
    old.save(tmp_path / "old.modal.h5")
    found = recover(record, "blade", modal={"blade": tmp_path / "old.modal.h5"})
    assert found.q.shape[1] == modal.nf and "modes_alone" not in summary(found, [], None, False)


def test_loads_of_rotation_make_the_basis_complete_for_it(tmp_path):
    """With the static responses to spin and to the acceleration that goes with it, nothing is missed."""
    text = RECIPE.format(modes=2, frame="mean-axis")
    spin = "spin = { angular_velocity = [0, 0, 2] }\n"
    along = "x = { acceleration = [1, 0, 0] }\ny = { acceleration = [0, 1, 0] }\n"
    missed = []
    for number, more in enumerate(("", f"[loads]\n{spin}{along}")):
        (tmp_path / f"{number}.toml").write_text(text.replace("[mesh]", more + "[mesh]"))
        modal = fm.reduce(tmp_path / f"{number}.toml")
        static, c = modal.static_stress, modal.integrals.loads.index("w.zz")
        rest = np.tensordot(static.share[:, c], static.stress, 1)
        carried = np.tensordot(static.q[:, c], modal.stress, 1)
        missed.append(np.abs(rest).max() / np.abs(rest + carried).max())
    assert missed[0] > 0.05 and missed[1] < 1e-4, missed


SHEETS = {
    "quad8": {
        "shape": "shell",
        "size": [0.4, 0.03],
        "corner": [0, 0, 0],
        "element": "quad8",
        "thickness": 0.002,
    },
    "beam2": {"shape": "beam", "length": 0.4, "section": {"rectangle": [0.03, 0.002]}},
}


@pytest.mark.parametrize("kind", SHEETS)
def test_faces_of_shells_and_beams_have_the_static_part_F53(kind):
    """A cantilever under its weight, which one mode of a basis for vibrations misses: the faces have the
    stress of the full model, 3 rho g L^2 / t at the root."""
    root = {"quad8": "x_min", "beam2": "start"}[kind]
    mesh = {**SHEETS[kind], "divisions": [12, 1] if kind == "quad8" else 12}
    item = {"young": 210e9, "poisson": 0.0, "density": 7850.0}
    modal = fm.reduce({"mesh": mesh, "material": item, "modes": 1, "fix": {root: "x y z rx ry rz"}})
    fe, static, c = fe_model(modal), modal.static_stress, modal.integrals.loads.index("a.z")
    pull = np.zeros((modal.mesh.n_nodes, 6))
    pull[:, 2] = 1.0
    held = fe.dofs(modal.mesh.node_sets[root])
    free = np.setdiff1d(np.arange(fe.n_dof), held)
    u = np.zeros(fe.n_dof)
    u[free] = sp.linalg.spsolve(fe.K_fe.tocsc()[free][:, free], (fe.M_fe @ pull.ravel())[free])
    of = {"quad8": face_stress, "beam2": fibre_stress}[kind]
    exact = of(modal, u.reshape(1, -1, 6))[0]
    skin = skin_of(modal)
    alone = np.tensordot(static.q[:, c], skin.stress, axes=1)
    found = alone + np.tensordot(static.share[:, c], skin.static, axes=1)
    assert np.abs(exact).max() == pytest.approx(3 * 7850 * 0.4**2 / 0.002, rel=0.03)  # of the mesh
    np.testing.assert_allclose(found, exact, atol=1e-6 * np.abs(exact).max())
    assert np.abs(alone - exact).max() > 0.02 * np.abs(exact).max()
    few = modal.select([])
    rest = np.tensordot(few.static_stress.share[:, c], skin_of(few).static, axes=1)
    np.testing.assert_allclose(rest, exact, atol=1e-6 * np.abs(exact).max())
