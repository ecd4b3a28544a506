"""Reactions that the stiffness of flexible bodies decides, against beams by hand (F28)."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import prepare

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


def case(folder, name, q=None, **analysis):
    (folder / "beam.reduce.toml").write_text(RECIPE)
    places = {"left": 0.0, "mid": L / 2, "right": L}
    joints = {}
    for place, kind in BEAMS[name][0].items():
        joints[place] = {"type": kind, "from": f"ground.{place}", "to": f"beam.{place}"}
        if kind == "in_line":
            joints[place]["axis"] = [1, 0, 0]
    beam = {"type": "flexible", "reduce": "beam.reduce.toml", "geometric_stiffening": False}
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
