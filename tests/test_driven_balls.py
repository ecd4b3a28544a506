"""Balls whose rotation is prescribed, in cases: all formulations, integrators, analyses (F19a)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import execute
from flexmbs.errors import InputError
from flexmbs.spatial import quat_to_matrix

CARDAN = {"sequence": "xyz", "angles": ["=0.5*sin(3*t)", "=0.4*sin(2*t)", "=12*t"]}


def rigid(mass, com, inertia):
    names = ("ixx", "iyy", "izz")
    return {"type": "rigid", "mass": mass, "com": com, "inertia": dict(zip(names, inertia, strict=True))}


def swung(law, *, cut=False, start=None, **analysis):
    """A pendulum that carries an arm on a driven ball."""
    carrier = rigid(3.0, [0.2, 0, -0.3], [0.2, 0.3, 0.25])
    socket = {"type": "spherical", "from": "carrier.pin", "to": "arm", "cut": cut, "initial": start or {}}
    hinge = {"type": "revolute", "from": "ground", "to": "carrier", "axis": [0, 1, 0]}
    return {
        "gravity": [0, 0, -9.81],
        "bodies": {
            "carrier": carrier | {"frames": {"pin": {"pos": [0.4, 0.1, -0.2]}}},
            "arm": rigid(1.5, [0.3, 0.05, 0.1], [0.05, 0.06, 0.07]),
        },
        "joints": {"hinge": hinge | {"initial": {"position": 0.3, "velocity": 0.5}}, "socket": socket},
        "drives": {"swing": {"joint": "socket"} | law},
        "analysis": {"t_end": 1.0, "method": "dop853", "rtol": 1e-9, "atol": 1e-11} | analysis,
        "output": {"every": 0.05},
    }


def run(data, path):
    return execute(Case.from_dict(data), path, overwrite=True).result


LAWS = {
    "position": {"position": CARDAN},  # two turns about z
    "velocity": {"velocity": ["=1 + t", 0.5, "=-20*sin(t)"]},
    "acceleration": {"acceleration": [1.0, "=t", "=30*cos(3*t)"]},
}
START = {"position": {"axis": [1, 0, 0], "angle": 2.8}, "velocity": [0.1, 0.2, 0.3]}
#: what is reported, and how far formulations and integrators may be apart
PATHS = ("drives/swing/effort", "joints/hinge/position", "joints/socket/reaction_moment", "energy/work")


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_a_driven_ball_moves_alike_in_every_formulation_as_branch_and_as_cut(tmp_path, law):
    start = None if law == "position" else START
    first = run(swung(LAWS[law], start=start), tmp_path / "a.h5")
    assert first["drives/swing/effort"].shape == (21, 3)
    energy = max(float(np.ptp(first["energy/work"])), 1.0)
    for cut in (False, True):
        for formulation in ("recursive", "minimal", "descriptor"):
            data = swung(LAWS[law], cut=cut, start=start, formulation=formulation)
            result = run(data, tmp_path / "b.h5")
            assert np.abs(result["energy/balance_error"]).max() < 1e-7 * energy
            for path in PATHS:
                size = max(1.0, float(np.abs(first[path]).max()))
                np.testing.assert_allclose(result[path], first[path], rtol=0, atol=1e-7 * size, err_msg=path)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
@pytest.mark.parametrize("cut", [False, True])
def test_work_of_a_driven_ball_beside_a_rod_that_follows_the_time(tmp_path, cut, formulation):
    """Each counts once: the energy balances, and nothing is left to move."""
    data = swung(LAWS["position"], cut=cut, formulation=formulation)
    data["ground"] = {"frames": {"far": {"pos": [1.0, 0, 0.5]}}}
    rod = {"type": "distance", "from": "ground.far", "to": "carrier.pin", "length": "=0.9 + 0.1*sin(4*t)"}
    data["joints"] |= {
        "rod": rod,
        "hinge": {k: v for k, v in data["joints"]["hinge"].items() if k != "initial"},
    }
    result = run(data, tmp_path / "a.h5")
    size = float(np.ptp(result["energy/work"]))
    assert size > 1.0 and np.abs(result["energy/balance_error"]).max() < 1e-7 * size


@pytest.mark.slow
@pytest.mark.parametrize("cut", [False, True])
def test_the_implicit_step_follows_a_driven_ball(tmp_path, cut):
    first = run(swung(LAWS["position"]), tmp_path / "a.h5")
    data = swung(LAWS["position"], cut=cut, method="generalized-alpha", rtol=1e-6, atol=1e-8)
    result = run(data, tmp_path / "b.h5")
    for path in PATHS[:3]:
        size = max(1.0, float(np.abs(first[path]).max()))
        np.testing.assert_allclose(result[path], first[path], rtol=0, atol=1e-4 * size, err_msg=path)


@pytest.mark.slow
def test_a_constant_angular_velocity_is_a_turn_at_that_rate(tmp_path):
    """Far beyond half a turn, about an oblique axis, from an oblique start; the quaternion has no jump."""
    w = np.array([3.0, -20.0, 9.0])
    data = swung({"velocity": list(w)}, start={"position": {"axis": [1, 2, 3], "angle": 2.0}})
    result = run(data, tmp_path / "a.h5")
    from flexmbs.spatial import exp_so3

    q, t = result["joints/socket/position"], result["time"]
    wanted = quat_to_matrix(q[0]) @ exp_so3(t[:, None] * w)
    np.testing.assert_allclose(quat_to_matrix(q), wanted, rtol=0, atol=1e-8)
    assert (np.sum(q[1:] * q[:-1], axis=1) > 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("cut", [False, True])
def test_kinematics_and_statics_of_a_driven_ball(tmp_path, cut):
    """Kinematics reports the efforts of a run; statics holds the ball where its law has it at the start."""
    data = swung(LAWS["position"], cut=cut, type="kinematics")
    data["drives"]["hinge"] = {"joint": "hinge", "position": "=0.3 + sin(t)"}
    del data["analysis"]["method"]
    still = run(data, tmp_path / "a.h5")
    data["analysis"] |= {"type": "dynamics", "method": "dop853"}
    moving = run(data, tmp_path / "b.h5")
    for path in ("drives/swing/effort", "drives/hinge/effort"):
        np.testing.assert_allclose(still[path], moving[path], rtol=0, atol=1e-7, err_msg=path)
    law = {"position": {"axis": [0, 1, 0], "angle": 0.7}}
    rest = run(swung(law, cut=cut, type="statics", t_end=0.0), tmp_path / "c.h5")
    # both in the plane of the hinge's turn but for y: torque about y of the arm's weight, its axes
    R = quat_to_matrix(rest["bodies/arm/quaternion"][0])
    torque = -np.cross([0.3, 0.05, 0.1], 1.5 * R.T @ np.array([0, 0, -9.81]))
    np.testing.assert_allclose(rest["drives/swing/effort"][0], torque, rtol=0, atol=1e-9)
    held = np.array([np.cos(0.35), 0, np.sin(0.35), 0])
    np.testing.assert_allclose(rest["joints/socket/position"][0], held, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law", [{"position": {"axis": [0, 0, 1], "angle": "=0.3 + 3*t"}}, {"velocity": [0, 0, 3]}]
)
def test_linearised_the_ball_is_held_to_its_law(tmp_path, law):
    """Only the hinge is left, whatever the law is, and whether the ball is a branch or a cut."""
    values = []
    for cut in (False, True):
        result = run(swung(law, cut=cut, type="linearize", t_end=0.0), tmp_path / "a.h5")
        values.append(result["linear/eigenvalues"])
        assert len(values[-1]) == 1
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=1e-8)


def test_check_counts_three_freedoms_and_says_what_the_drive_gives():
    law = {"position": {"axis": [0, 0, 1], "angle": "=0.5 + 3*t"}}
    start = {"position": {"axis": [0, 0, 1], "angle": 0.2}, "velocity": [0, 0, 1]}
    data = swung(law, start=start)
    texts = [str(item) for item in check(Case.from_dict(data)).warnings]
    assert any("turned from the given rotation by 0.3 rad; its drive gives it" in text for text in texts)
    assert any("differs from the given angular velocity by 2 rad/s" in text for text in texts)
    assert not any("driven freedoms" in text for text in texts)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
def test_a_driven_ball_may_say_what_a_loop_says_too(cut, formulation):
    """Two balls leave a turn about their line: three driven freedoms are two too many, but they agree."""
    arm, far = rigid(1.5, [0.3, 0.05, 0.1], [0.05, 0.06, 0.07]), {"point": [1, 0, 0]}
    ball = {"type": "spherical", "from": "ground", "to": "arm"}
    law = {"axis": [1, 0, 0], "angle": "=0.3*t + t**2"}
    data = {
        "bodies": {"arm": arm},
        "joints": {"socket": ball | {"cut": cut}, "second": ball | far | {"cut": not cut}},
        "drives": {"swing": {"joint": "socket", "position": law}},
        "analysis": {"t_end": 1.0, "formulation": formulation},
    }
    case = Case.from_dict(data)
    assert any("3 driven freedoms for 1 degrees" in str(item) for item in check(case).warnings)
    system = case.system()
    motion = system.forward_dynamics(system.initial_state())
    np.testing.assert_allclose(motion["bodies.arm.angular_acceleration"], [2.0, 0, 0], atol=1e-9)
    # about the line the torque is that of the drive alone
    I_x = 0.05 + 1.5 * (0.05**2 + 0.1**2)
    assert motion["drives.swing"][0] == pytest.approx(2.0 * I_x, rel=1e-9)


@pytest.mark.parametrize(
    "law, words",
    [
        (
            {"quaternion": ["=t - 0.5", 0, 0, 0]},
            "is no rotation at t = 0.5 s: its quaternion, or its axis, is zero",
        ),
        ({"x": ["=1 - t", "=t", 0], "z": ["=t", 0, 1]}, "not of length one, at right angles"),
        ({"axis": [0, 0, 1], "angle": "=where(t > 0.5, 1, 0)"}, "jumps by 1 at t = 0.5"),
    ],
)
def test_a_law_that_is_no_rotation_or_jumps_is_refused(tmp_path, law, words):
    with pytest.raises(InputError, match="drives.swing") as error:
        execute(Case.from_dict(swung({"position": law})), tmp_path / "a.h5")
    assert words in str(error.value)


def test_two_drives_on_one_ball_are_refused():
    data = swung(LAWS["position"])
    data["drives"]["again"] = {"joint": "socket", "coordinate": "rotation", "velocity": [0, 0, 1]}
    with pytest.raises(InputError, match=r"already driven by drives.swing \(rotation\)"):
        Case.from_dict(data).system()
