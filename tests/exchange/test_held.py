"""Structures that are held, from OpenFAST's superelements: they run on ground, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.case import Case, run
from flexmbs.case.check import check
from flexmbs.certificate.summary import modal_data, modal_text
from flexmbs.cli.main import main
from flexmbs.errors import InputError, UsageError
from flexmbs.exchange import export_body, extptfm, import_body
from flexmbs.exchange.boundary import Boundary
from flexmbs.fmu import export_fmu
from tests.exchange.test_bodies import as_openfast_reads

CASE = """
[ground.frames.place]
pos = [3, -2, 1]

[ground.frames.shaker]
pos = ["=0.01*sin(t)", 0, 0]

[bodies.mast]
type = "flexible"
modal = "mast.modal.h5"

[joints.base]
type = "fixed"
from = "ground.place"
to = "mast"

[forces.wave]
type = "point"
on = "mast.frame1"
force = ["=9e-3*sin(20*t)", 5e-3, -3e-3]

[forces.wind]
type = "torque"
on = "mast.frame1"
torque = [2e-3, "=4e-3*cos(15*t)", 7e-3]

[sensors.top]
type = "displacement"
on = "mast.frame1"

[analysis]
t_end = 0.2
method = "dop853"
rtol = 1e-9
atol = 1e-18

[output]
every = 0.02
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A crooked tube, held at its foot, its superelement, and this read again by the command."""
    path = tmp_path_factory.mktemp("held")
    mesh = {
        "shape": "beam", "nodes": [[0, 0, 0], [0.5, 0, 5], [1, 0.7, 9], [1.5, 2, 12]],
        "section": {"tube": [0.4, 0.36]},
    }  # fmt: skip
    recipe = {"mesh": mesh, "interfaces": {"top": {"set": "z_max"}}, "fix": {"z_min": "x y z rx ry rz"}}
    modal = fm.reduce(recipe, material="steel", modes=3)
    i = modal.integrals
    damped = replace(modal, integrals=i.with_damping(0.8 * i.m_ff + 2e-4 * i.K_ff))
    export_body(damped, path / "mast.extptfm")
    assert main(["import", str(path / "mast.extptfm"), "-o", str(path / "mast.modal.h5")]) == 0
    damped.save(path / "original.modal.h5")
    return path


def test_a_held_body_comes_back_in_the_coordinates_of_its_file(folder, tmp_path):
    """Matrices to all digits, now and from there on; frequencies of the original; the rest is not known."""
    modal = fm.ModalData.load(folder / "original.modal.h5")
    found = fm.ModalData.load(folder / "mast.modal.h5")
    _, file = as_openfast_reads(folder / "mast.extptfm")
    i = found.integrals
    for A, name in ((i.m_ff, "MASS"), (i.K_ff, "STIFFNESS"), (i.D_ff, "DAMPING")):
        np.testing.assert_allclose(A, file[name], rtol=0, atol=1e-15 * np.abs(A).max())
    np.testing.assert_allclose(found.frequency_hz, modal.frequency_hz, rtol=1e-7)
    top = modal.interfaces["top"]
    G = np.vstack([top.Phi, top.Psi])
    flexibility = G @ np.linalg.solve(modal.integrals.K_ff, G.T)
    np.testing.assert_allclose(i.K_ff[:6, :6] @ flexibility, np.eye(6), atol=1e-6)
    place = found.interfaces["frame1"]
    np.testing.assert_array_equal(np.vstack([place.Phi, place.Psi]), np.eye(6, 9))
    export_body(found, tmp_path / "again.extptfm")
    _, again = as_openfast_reads(tmp_path / "again.extptfm")
    for name in ("MASS", "STIFFNESS", "DAMPING"):  # modes may change their sign
        a, b = np.abs(again[name]), np.abs(file[name])
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * b.max())


def test_what_a_held_body_does_not_know_is_said(folder, tmp_path):
    found = fm.ModalData.load(folder / "mast.modal.h5")
    i = found.integrals
    for array in (i.mass, i.com, i.inertia, i.S_O, i.S_f, i.I_kl, i.S_kl):
        assert np.isnan(array).any()
    assert found.rigid_modes == 0 and "mass, mass centre" in found.quality["warnings"][-1]
    assert "mass         not known" in modal_text(found) and modal_data(found)["mass"] is None
    with pytest.raises(UsageError, match="mass, mass centre and inertia are not known"):
        export_body(found, tmp_path / "mast.SID_FEM")
    broken = replace(found, integrals=replace(i, mass=1.0))
    with pytest.raises(InputError, match="the frame is held"):
        broken.save(tmp_path / "broken.modal.h5")


@pytest.mark.parametrize(("version", "name"), [(4, "loads"), (5, "weights")])
def test_loads_of_a_file_are_left_out_by_name(folder, tmp_path, version, name):
    """In the last line of a file of that version of OpenFAST; the first number of loads is a time."""
    path = tmp_path / "b.extptfm"
    export_body(fm.ModalData.load(folder / "original.modal.h5"), path, openfast=version)
    text = path.read_text().splitlines()
    assert not any("left out" in note for note in import_body(path)[1])
    text[-1] = text[-1].replace("0.0", "5.0", 1)
    path.write_text("\n".join(text))
    assert [note for note in import_body(path)[1] if note.startswith(f"{name} of the file are left out")]


def test_a_held_body_rests_where_its_stiffness_holds_it(folder):
    """K q = f of the file, from `start = "equilibrium"`; at rest, nothing is said of energies."""
    still = CASE.replace('"=9e-3*sin(20*t)"', "9e-3").replace('"=4e-3*cos(15*t)"', "4e-3")
    still = still.replace("t_end = 0.2", 't_end = 0.02\nstart = "equilibrium"')
    (folder / "still.toml").write_text(still)
    result = run(Case.load(folder / "still.toml"), folder / "still.h5")
    _, file = as_openfast_reads(folder / "mast.extptfm")
    wanted = np.linalg.solve(file["STIFFNESS"], [9e-3, 5e-3, -3e-3, 2e-3, 4e-3, 7e-3, 0, 0, 0])
    q = np.asarray(result["bodies/mast/q"])
    np.testing.assert_allclose(q[[0, -1]], [wanted, wanted], rtol=0, atol=1e-8 * np.abs(wanted).max())


def test_a_check_says_which_reactions_are_not_known(folder):
    (folder / "case.toml").write_text(CASE)
    counts = check(Case.load(folder / "case.toml")).counts
    assert counts.not_known == ["joints.base"]
    assert counts.lines()[-2:] == [
        "not known   reaction of joints.base: its body does not say what holds it",
        "unique      every other component of the reactions",
    ]


def test_a_held_body_moves_by_the_matrices_of_its_file(folder):
    """M q'' + D q' + K q = f of what the file says, integrated here; no number for what holds it.

    Loads are small: what a torque does at rotations beyond small ones is of second order.
    """
    (folder / "case.toml").write_text(CASE)
    result = run(Case.load(folder / "case.toml"), folder / "case.h5")
    _, file = as_openfast_reads(folder / "mast.extptfm")
    M, K, D = file["MASS"], file["STIFFNESS"], file["DAMPING"]
    n = len(M)

    def rate(t, y):
        f = np.zeros(n)
        f[:6] = 9e-3 * np.sin(20 * t), 5e-3, -3e-3, 2e-3, 4e-3 * np.cos(15 * t), 7e-3
        return np.concatenate([y[n:], np.linalg.solve(M, f - K @ y[:n] - D @ y[n:])])

    t = np.asarray(result["time"])
    wanted = solve_ivp(rate, (0, 0.2), np.zeros(2 * n), "DOP853", t, rtol=1e-10, atol=1e-19).y[:n].T
    q = np.asarray(result["bodies/mast/q"])
    assert np.abs(wanted[:, :3]).max() > 1e-9
    np.testing.assert_allclose(q, wanted, rtol=0, atol=1e-7 * np.abs(wanted).max())
    np.testing.assert_allclose(np.asarray(result["sensors/top"]), q[:, :3], rtol=0, atol=1e-20)
    for name in (
        "joints/base/reaction_force",
        "joints/base/reaction_moment",
        "system/com",
        "system/momentum",
    ):
        assert np.isnan(np.asarray(result[name])).all(), name
    balance = np.abs(np.asarray(result["energy/balance_error"])).max()
    assert balance < 1e-7 * np.abs(np.asarray(result["energy/strain"])).max()
    case = Case.load(folder / "case.toml")
    system = case.system()
    state = system.initial_state()
    assert np.isnan(system.forward_dynamics(state)["joints.base.reaction_force"]).all()
    assert np.isnan(system.mass_matrix(state, "mast")[:6]).all()
    with pytest.raises(UsageError, match="its rigid motions weigh"):
        system.explain(state)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"fixed"', '"spherical"', "its frame may move, .*\"fixed\""),
        ('to = "mast"', 'to = "mast.frame1"', "its frame may move"),
        ('"ground.place"', '"ground.shaker"', "its frame may move"),
        ('to = "mast"', 'to = "mast"\ncut = true', "equations that need"),
        ("[analysis]", '[analysis]\nformulation = "descriptor"', "equations that need"),
        ("[ground.frames.place]", "gravity = [0, 0, -9]\n[ground.frames.place]", "its weight is not known"),
    ],
)  # fmt: skip
def test_a_held_body_is_refused_where_it_is_not_known(folder, old, new, said):
    assert old in CASE
    (folder / "bad.toml").write_text(CASE.replace(old, new, 1))
    with pytest.raises(InputError, match=f"bodies.mast: .*{said}"):
        run(Case.load(folder / "bad.toml"), folder / "bad.h5")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        (lambda K, M: K[6].fill(1e4), "exchange.symmetry"),
        (lambda K, M: (K[6:].fill(0.0), K[:, 6:].fill(0.0)), "exchange.grounded"),
        (lambda K, M: M.fill(0.0), "exchange.mass"),
        (lambda K, M: np.fill_diagonal(M[6:, 6:], -1.0), "exchange.content"),
    ],
)
def test_matrices_that_no_body_has_are_refused(changed, code, tmp_path):
    """A free body of one interface and two modes, then what is changed."""
    K, M = np.zeros((8, 8)), np.eye(8)
    K[6, 6], K[7, 7] = 1e4, 2e4
    whole = Boundary(np.zeros((1, 3)), K, M, np.zeros((8, 8)))
    path = tmp_path / "b.extptfm"
    path.write_text("\n".join(extptfm.lines_of(whole)))
    assert not import_body(path)[0].held
    changed(K, M)
    path.write_text("\n".join(extptfm.lines_of(whole)))
    with pytest.raises(InputError) as refused:
        import_body(path)
    assert refused.value.diagnostics[0].code == code


@pytest.mark.needs("cc")
def test_a_held_body_becomes_an_fmu(folder, tmp_path):
    """Sensors are outputs as of any case; what is not known is none."""
    (folder / "case.toml").write_text(CASE)
    case = Case.load(folder / "case.toml")
    done = export_fmu(case, tmp_path / "mast.fmu")
    assert done["outputs"] == [f"sensors.top.{axis}" for axis in "xyz"]
    with pytest.raises(InputError, match=r"joints.base.reaction_force.x .* is not known"):
        export_fmu(case, tmp_path / "no.fmu", channels=("joints.base.reaction_force",))
