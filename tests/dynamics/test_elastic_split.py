"""Reactions that the stiffness of flexible bodies decides, against beams by hand (F28)."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import prepare
from flexmbs.post.report import report
from tests.dynamics.awkward import door

L, AREA, I, YOUNG, DENSITY, G = 2.0, 4e-4, 1.3e-8, 2.1e11, 7850.0, 9.81
WEIGHT = DENSITY * AREA * G * L

RECIPE = f"""
method = "craig-bampton"
modes = 6
material = {{ young = {YOUNG}, poisson = 0.3, density = {DENSITY} }}
[mesh]
shape = "beam"
length = {L}
divisions = 8
section = {{ A = {AREA}, Iy = {I}, Iz = {I}, J = {2 * I} }}
[interfaces]
left = {{ node = 1 }}
mid = {{ node = 5 }}
right = {{ node = 9 }}
"""

#: supports by interface, and what they carry of the weight by hand: propped cantilever, two spans, built in
BEAMS = {
    "propped": ({"left": "fixed", "right": "in_plane"}, {"left": 5 / 8, "right": 3 / 8}),
    "two spans": (
        {"left": "spherical", "mid": "in_plane", "right": "in_line"},
        {"left": 3 / 16, "mid": 5 / 8, "right": 3 / 16},
    ),
    "built in": ({"left": "fixed", "right": "fixed"}, {"left": 1 / 2, "right": 1 / 2}),
}  # fmt: skip
#: moments about y at the left and the right support, over weight times length
MOMENTS = {"propped": (-1 / 8, 0.0), "two spans": (0.0, 0.0), "built in": (-1 / 12, 1 / 12)}


def case(folder, name, q=None, recipe=RECIPE, modes=None, **analysis):
    (folder / "beam.reduce.toml").write_text(recipe)
    places = {"left": 0.0, "mid": L / 2, "right": L}
    joints = {}
    for place, kind in BEAMS[name][0].items():
        joints[place] = {"type": kind, "from": f"ground.{place}", "to": f"beam.{place}"}
        if kind == "in_line":
            joints[place]["axis"] = [1, 0, 0]
    beam = {"type": "flexible", "reduce": "beam.reduce.toml", "geometric_stiffening": False}
    beam |= {} if modes is None else {"modes": {"list": modes}}
    data = {
        "gravity": [0, 0, -G],
        "ground": {"frames": {key: {"pos": [x, 0, 0]} for key, x in places.items()}},
        "bodies": {"beam": beam if q is None else beam | {"initial": {"q": q}}},
        "joints": joints,
        "analysis": analysis,
    }
    if name == "two spans":  # nothing else holds its turning about its own axis
        joints["roll"] = {"type": "perpendicular", "from": "ground.side", "to": "beam.left"}
        data["ground"]["frames"]["side"] = {"rot": {"axis": [1, 0, 0], "angle": np.pi / 2}}
    return Case.from_dict(data, folder=folder)


def check_reactions(name, joints, rel):
    for place, part in BEAMS[name][1].items():
        force = np.asarray(joints[place].reaction_force).reshape(-1, 3)[-1]
        assert force[2] == pytest.approx(part * WEIGHT, rel=rel)
        assert np.abs(force[:2]).max() < 1e-6 * WEIGHT
    for place, part in zip(("left", "right"), MOMENTS[name], strict=True):
        moment = np.asarray(joints[place].reaction_moment).reshape(-1, 3)[-1]
        assert moment[1] == pytest.approx(part * WEIGHT * L, abs=rel * WEIGHT * L)


@pytest.mark.parametrize("name", BEAMS)
def test_beams_on_redundant_supports_carry_as_by_hand_in_every_formulation_F28(name, tmp_path):
    """A rigid beam leaves the split open; the elastic one decides it by its stiffness alone."""
    still = fm.run(case(tmp_path, name, type="statics"), tmp_path / "still.h5")
    check_reactions(name, still.joints, 1e-6)
    q = np.asarray(still.bodies["beam"].q)[-1].tolist()
    for formulation in ("recursive", "minimal", "descriptor"):
        system = prepare(case(tmp_path, name, q, formulation=formulation, t_end=0))
        motion = system.forward_dynamics(system.initial_state())
        check_reactions(name, motion.joints, 1e-6)
        assert np.abs(motion.bodies["beam"].q_ddot).max() < 1e-5 * G


@pytest.mark.parametrize("name", BEAMS)
def test_reactions_that_bending_decides_are_said_so_and_count_as_unique_F28(name, tmp_path):
    """Three supports: the rigid beam leaves their forces open, the elastic one nothing."""
    counts = check(case(tmp_path, name, type="statics")).counts
    assert counts.redundant and not counts.indeterminate_joints
    for place in BEAMS[name][1]:
        assert f"joints.{place} " in str(counts.stiffness_decides), place
    assert "unique      every component of the reactions" in counts.lines()
    assert any("stiffness   decides the reaction of joints.left" in line for line in counts.lines())
    result = fm.run(case(tmp_path, name, type="statics"), tmp_path / "still.h5")
    for place in BEAMS[name][1]:
        assert result.attributes_of(f"joints/{place}/reaction_force").get("determinate", True)
    assert "by the stiffness" in str(result["summary/text"])


def test_modes_of_one_plane_decide_the_reactions_of_that_plane_only_F28(tmp_path):
    """A beam that bends in x-z alone, built in at both ends: pull, twist and bending in x-y stay open."""
    flat = RECIPE.replace(f"Iz = {I}", f"Iz = {3 * I}")  # no mode is one of both planes
    whole = case(tmp_path, "built in", recipe=flat, type="statics").system()
    shapes = np.abs(whole.model.bodies["beam"].modal.Phi).max(axis=1)
    modes = [k + 1 for k, (x, y, z) in enumerate(shapes) if z > 1e3 * max(x, y)]
    assert 0 < len(modes) < len(shapes)
    counts = check(case(tmp_path, "built in", recipe=flat, modes=modes, type="statics")).counts
    both = ("left", "right")
    assert counts.indeterminate_joints == [f"joints.{k} (translation x, y; rotation x, z)" for k in both]
    assert counts.stiffness_decides == [f"joints.{k} (translation z; rotation y)" for k in both]
    assert counts.shared == "shared by the stiffness of bodies and joints, the rest by least squares"


def test_a_rigid_beam_and_a_prescribed_shape_leave_the_forces_open_F28(tmp_path):
    """In kinematics the shape stays as it is given: no stiffness decides."""
    data = case(tmp_path, "built in", type="kinematics", t_end=0.0)
    counts = check(data).counts
    assert len(counts.indeterminate_joints) == 2 and not counts.stiffness_decides
    assert counts.shared == "shared by least squares"
    result = fm.run(data, tmp_path / "held.h5")
    assert not result.attributes_of("joints/left/reaction_force")["determinate"]


def test_compliant_hinges_decide_what_a_rigid_door_leaves_open_F28():
    data = door(2)
    assert len(check(Case.from_dict(data)).counts.indeterminate_joints) == 2
    for name in ("h0", "h1"):
        data["joints"][name]["compliance"] = [1e-8, 1e-8, 2e-8, 1e-6, 1e-6, 0]
    counts = check(Case.from_dict(data)).counts
    assert not counts.indeterminate_joints and len(counts.stiffness_decides) == 2


def test_the_report_says_what_decides_the_reactions(tmp_path):
    for kind, text in (("statics", "by the stiffness of bodies and joints"), ("kinematics", "by least norm")):
        data = case(tmp_path, "built in", type=kind, **({"t_end": 0.0} if kind == "kinematics" else {}))
        fm.run(data, tmp_path / f"{kind}.h5")
        report(tmp_path / f"{kind}.h5", tmp_path / f"{kind}.html", animation=False)
        assert text in (tmp_path / f"{kind}.html").read_text()
