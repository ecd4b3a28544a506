"""Shells of a run as solids in a deck: loads stay what they were, CalculiX finds the recovered stresses."""

import subprocess

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import isotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.fe.shells.sections import ShellData, ShellSection
from flexmbs.fe.stress import stress_modes
from flexmbs.post.export import export
from flexmbs.post.export.deck import _equations
from flexmbs.post.export.loads import BodyState, fe_model, inertia_forces
from flexmbs.post.export.thick import require_plain, thicken
from flexmbs.post.modals import materials_of
from flexmbs.post.record import Record
from flexmbs.post.stress import von_mises
from flexmbs.reduce import reduce
from tests.post.test_deck import field_of, pulled, write_state

KINDS = ["tri3", "tri6", "quad4", "quad8", "quad9"]
LENGTH, WIDTH, THICK = 0.4, 0.06, 0.004


def strip(tie="rbe2", element="quad9", **more):
    divisions = [40, 6] if element in ("quad4", "tri3") else [20, 3]
    shape = {"shape": "shell", "size": [LENGTH, WIDTH], "divisions": divisions, "element": element}
    recipe = {
        "mesh": {"thickness": THICK, **shape, **more},
        "interfaces": {"left": {"set": "x_min", "tie": tie}, "right": {"set": "x_max", "tie": tie}},
        "material": "steel",
        "modes": 4,
    }
    return reduce(recipe)


def folded(kind, offset=0.0):
    """A plate with a rib along its middle, on a curved face: fibres of all sorts."""
    spec = {"shape": "shell", "size": [1, 1], "divisions": [4, 4], "thickness": 0.1, "element": kind}
    mesh = build_shape(spec)[0]
    bent = mesh.points.copy()
    bent[:, 2] = np.where(bent[:, 0] > 0.0, 1.7 * bent[:, 0], 0.05 * np.sin(4 * bent[:, 1]))
    return Mesh(bent, mesh.cells, shell=ShellData.uniform(mesh.cells, ShellSection(0.1, offset)))


@pytest.mark.parametrize("offset", [0.0, 0.03, -0.2])
@pytest.mark.parametrize("kind", KINDS)
def test_loads_keep_their_resultants(kind, offset):
    mesh = folded(kind, offset)
    deck = thicken(mesh)
    nodal = np.random.default_rng(1).normal(size=(mesh.n_nodes, 6))
    forces = deck.carry(nodal)
    np.testing.assert_allclose(forces.sum(axis=0), nodal[:, :3].sum(axis=0), atol=1e-10)
    moment = np.cross(mesh.points, nodal[:, :3]).sum(axis=0) + nodal[:, 3:].sum(axis=0)
    np.testing.assert_allclose(np.cross(deck.points, forces).sum(axis=0), moment, atol=1e-10)


def test_solids_beside_shells_keep_their_nodes():
    """A brick with a shell on its top: its four nodes there stay in the shell, below or above its middle."""
    points = ELEMENTS["hex8"].ref_coords
    cells = {"hex8": np.arange(8)[None], "quad4": np.arange(4, 8)[None]}
    shell = ShellData.uniform({"quad4": cells["quad4"]}, ShellSection(0.2, 0.05))
    deck = thicken(Mesh(points, cells, shell=shell))
    np.testing.assert_array_equal(deck.points[:8], points)
    assert deck.number[:8].tolist() == list(range(1, 9)) and deck.shared == [4, 5, 6, 7] and not deck.joints
    for node in deck.shared:
        fibre = deck.fibres_of[node][0]
        ends = deck.points[[deck.fibres.low[fibre], deck.fibres.high[fibre]]]
        np.testing.assert_allclose(np.array(deck.weights(fibre)) @ ends, points[node], atol=1e-12)
    rows = "\n".join(_equations(deck, {int(deck.place[4])})).splitlines()
    assert rows[:2] == ["*EQUATION", "3"] and len(rows) == 3 * 3 * 3  # one node is held by a rigid body
    nodal = np.random.default_rng(1).normal(size=(8, 6)) * np.repeat([[0.0], [1.0]], 4, axis=0)
    np.testing.assert_allclose(deck.carry(nodal).sum(axis=0), nodal[:, :3].sum(axis=0), atol=1e-12)


def size(mesh):
    """Volume of solids, volume of the material of shells."""
    one = np.ones(mesh.n_nodes)
    return float(one @ (assemble(mesh, isotropic("unit", 1.0, 0.0, 1.0)).mass_form.Ms @ one))


@pytest.mark.parametrize("kind", KINDS)
def test_solids_have_the_volume_of_the_shells(kind):
    """Also where normals of neighbours point to different sides; at a fold fibres of two sides cross."""
    mesh = folded(kind)
    turned = {name: rows.copy() for name, rows in mesh.cells.items()}
    if kind in ("tri3", "quad4"):
        turned[kind][1::2] = turned[kind][1::2, ::-1]
    names = {"tri3": "wedge6-plain", "tri6": "wedge15", "quad4": "hex8-plain"}
    for cells in (mesh.cells, turned):
        deck = thicken(Mesh(mesh.points, cells, shell=mesh.shell))
        assert len(deck.joints) == (5 if kind in ("tri3", "quad4") else 9)
        solid = Mesh(deck.points, {names.get(kind, "hex20"): deck.cells[kind]})
        assert size(solid) == pytest.approx(size(mesh), rel=0.01)


def test_inertia_of_a_spinning_shell_is_that_of_its_mass(tmp_path):
    """As for solids; fibres that turn, and a section beside its nodes, are part of it."""
    modal = strip(element="quad4", offset=0.01)
    w, alpha, a, g = (np.random.default_rng(2).normal(size=(4, 3)) * [[30], [400], [50], [5]])[:]
    values = {"acceleration": a, "angular_velocity": w, "angular_acceleration": alpha}
    record = Record.load(write_state(tmp_path / "bar.h5", modal, values, {}, gravity=g))
    forces = inertia_forces(record, modal, fe_model(modal), BodyState(record, "bar", 0))
    mass, S_O, J = modal.integrals.mass, modal.integrals.S_O, modal.integrals.inertia
    expected = -mass * (a - g) - np.cross(alpha, S_O) - np.cross(w, np.cross(w, S_O))
    np.testing.assert_allclose(forces[:, :3].sum(axis=0), expected, rtol=1e-9)
    moment = np.cross(modal.mesh.points, forces[:, :3]).sum(axis=0) + forces[:, 3:].sum(axis=0)
    expected = -np.cross(S_O, a - g) - J @ alpha - np.cross(w, J @ w)
    np.testing.assert_allclose(moment, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("section", "says"),
    [
        (ShellSection(0.1, bending=0.0), "membranes"),
        (ShellSection(0.1, bending=2.0), "bending or shear stiffness"),
        (ShellSection(0.1, stiffness=tuple(np.eye(8).ravel())), "stiffness of their own"),
    ],
)
def test_sections_that_no_solid_has_stop(section, says):
    cells = {"quad4": np.arange(4)[None]}
    mesh = Mesh(ELEMENTS["quad4"].ref_coords, cells, shell=ShellData.uniform(cells, section))
    with pytest.raises(InputError, match=says):
        require_plain(mesh, "strip")


def compare(tmp_path, modal, inner):
    """Largest difference of von Mises stress at both faces to CalculiX, of the largest."""
    path, q = pulled(tmp_path, modal)
    done = export(path, tmp_path / "bar.inp")
    assert done["levers"] < 1e-9
    options = {"capture_output": True, "text": True, "timeout": 300, "check": False}
    ran = subprocess.run(["ccx", "bar"], cwd=tmp_path, **options)
    assert "*ERROR" not in ran.stdout, ran.stdout[-2000:]
    deck, stress = thicken(modal.mesh), field_of(tmp_path / "bar.frd", "STRESS", 6)
    fields = np.concatenate([modal.Phi, modal.Psi], axis=2).reshape(modal.nf, -1).T
    fibre = inner[deck.fibres.node]
    worst = 0.0
    for face, ends in (("bottom", deck.fibres.low), ("top", deck.fibres.high)):
        found = np.array([stress[int(n)] for n in deck.number[ends]])
        modes = stress_modes(modal.mesh, materials_of(modal), fields, "nodes", face)
        recovered = von_mises(np.tensordot(q, modes, axes=1))[deck.fibres.node]
        worst = max(worst, np.abs(von_mises(found) - recovered)[fibre].max() / recovered[fibre].max())
    return worst


@pytest.mark.slow
@pytest.mark.needs("ccx")
@pytest.mark.parametrize("tie", ["rbe2", "rbe3"])
@pytest.mark.parametrize("element", ["quad4", "tri6", "quad9"])
def test_calculix_finds_the_stresses_of_shells(tmp_path, tie, element):
    modal = strip(tie, element)
    inner = np.abs(modal.mesh.points[:, 0]) < 0.5 * LENGTH - WIDTH
    assert compare(tmp_path, modal, inner) < 0.01


@pytest.mark.slow
@pytest.mark.needs("ccx")
def test_calculix_finds_the_stresses_beside_a_fold(tmp_path):
    """An angle bar: nodes along its edge have a fibre in either leg, and are rigid."""
    mesh = strip(element="quad9").mesh
    points = mesh.points.copy()
    across = points[:, 1] - 0.01
    points[:, 1], points[:, 2] = np.maximum(across, 0.0), np.maximum(-across, 0.0)
    leg = np.abs(across)
    bent = Mesh(points, mesh.cells, node_sets=mesh.node_sets, shell=mesh.shell)
    ends = {name: {"set": of, "tie": "rbe2"} for name, of in (("left", "x_min"), ("right", "x_max"))}
    modal = fm.reduce(bent, interfaces=ends, material="steel", modes=4)
    inner = (np.abs(points[:, 0]) < 0.5 * LENGTH - WIDTH) & (leg > 0.2 * WIDTH)
    assert len(thicken(modal.mesh).joints) > 20
    assert compare(tmp_path, modal, inner) < 0.02
