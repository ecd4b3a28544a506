"""A loaded four-bar against equations of its own in absolute coordinates, written out beside it."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.errors import InputError
from tests.dynamics import planar_peer as own

CRANK = np.eye(9)[2]


def fourth(f, h=1e-4):
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def test_linear_model_about_a_moving_state_F38(tmp_path):
    """A, B, C, D between efforts, unit loads and forces, and speeds, accelerations and reactions."""
    inputs = ["a", "d", "rod.h.force.x", "couple"]
    outputs = ["hook.x", "hook.y", "joints.c.reaction_force.x", "joints.a.reaction_force.y"]
    data = own.case(
        type="linearize", about="assembled", inputs=inputs, outputs=outputs, frequencies=[0.3, 2.0]
    )
    data["sensors"] = {"hook": {"type": "acceleration", "on": "rod.h"}}
    found = fm.run(Case.from_dict(data), tmp_path / "a.h5")
    assert found.linear.states[0] == "b.angle"  # what the program takes as independent
    row = np.eye(9)[5] - np.eye(9)[2]
    z0 = own.placed(own.START, CRANK, 0.6)
    x0 = np.array([row @ z0, row @ own.moved(z0, CRANK, 2.5)])

    def rates_and_outputs(x, u):
        z = own.placed(z0, row, x[0])
        v = own.moved(z, row, x[1])
        more = own.on_rod(z, [u[2], 0.0])
        more[[2, 8]] += [u[0], u[1] + own.COUPLE * u[3]]
        a, lam = own.accelerations(z, v, more)
        arm = own.turned(z[5], own.HOOK - [own.CENTRE[1], 0.0])
        hook = a[3:5] + a[5] * np.array([-arm[1], arm[0]]) - v[5] ** 2 * arm
        return np.array([x[1], row @ a, *hook, -lam[4], lam[1]])

    no = np.zeros(4)
    by_state = np.array([fourth(lambda h, e=e: rates_and_outputs(x0 + h * e, no)) for e in np.eye(2)]).T
    by_input = np.array([fourth(lambda h, e=e: rates_and_outputs(x0, h * e)) for e in np.eye(4)]).T
    for name, expected in {
        "A": by_state[:2],
        "C": by_state[2:],
        "B": by_input[:2],
        "D": by_input[2:],
    }.items():
        size = np.abs(expected).max()
        np.testing.assert_allclose(found[f"linear/{name}"], expected, rtol=0, atol=1e-7 * size, err_msg=name)
    values = np.linalg.eigvals(by_state[:2])
    expected = np.sort(np.abs(values)) / (2 * np.pi)
    np.testing.assert_allclose(found["linear/frequency_hz"], expected, rtol=1e-7)
    for f, H in zip(found["linear/response/frequency"], found["linear/response/H"] @ [1, 1j], strict=True):
        inner = np.linalg.solve(2j * np.pi * f * np.eye(2) - by_state[:2], by_input[:2])
        expected = by_state[2:] @ inner + by_input[2:]
        np.testing.assert_allclose(H, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("cut", ["a", "b", "c", "d"])
def test_inverse_dynamics_of_a_loop_F36(tmp_path, cut):
    t = np.linspace(0.0, 1.0, 21)
    law = CubicSpline(t, 0.6 + 0.9 * t**2 * (3 - 2 * t) + 0.1 * np.sin(6 * t) * t * t)
    table = np.column_stack([t, law(t)])
    np.savetxt(tmp_path / "m.csv", table, delimiter=",", header="time,a", comments="", fmt="%.17g")
    data = own.case(type="inverse_dynamics", motion=str(tmp_path / "m.csv"))
    data["joints"][cut]["cut"] = True
    data["joints"]["a"]["initial"] = {"position": 0.6}
    data["output"] = {"every": 0.1}
    found = fm.run(Case.from_dict(data), tmp_path / "a.h5")
    z, expected = own.START, []
    for time in found.time:
        z = own.placed(z, CRANK, law(time))
        torque, lam = own.effort(z, own.moved(z, CRANK, law(time, 1)), CRANK, law(time, 2))
        expected.append([torque, *-lam[4:6]])
    computed = np.column_stack([found.drives.motion_a.effort, found.joints.c.reaction_force[:, :2]])
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
@pytest.mark.parametrize("angle", [0.6, 1.9, 3.5, 5.2])
def test_accelerations_and_reactions_by_absolute_coordinates(tmp_path, formulation, angle):
    z = own.START
    for part in np.linspace(0.6, angle, 20):
        z = own.placed(z, CRANK, part)
    data = own.case(type="dynamics", formulation=formulation, t_end=0)
    data["joints"]["a"]["initial"]["position"] = angle
    for name, value in {"b": z[5] - z[2], "c": z[8] - z[5], "d": z[8]}.items():
        data["joints"][name]["initial"] = {"position": value}
    found = fm.run(Case.from_dict(data), tmp_path / "a.h5")
    np.testing.assert_allclose(found.bodies.rod.position[0, :2], own.point(z, 1, 0.0), atol=1e-9)
    a, lam = own.accelerations(z, own.moved(z, CRANK, 2.5))
    computed = [found.joints.a.acceleration[0, 0], found.bodies.rocker.angular_acceleration[0, 2]]
    np.testing.assert_allclose(computed, a[[2, 8]], rtol=1e-8)
    computed = [*found.joints.c.reaction_force[0, :2], *found.joints.d.reaction_force[0, :2]]
    np.testing.assert_allclose(computed, [*-lam[4:6], *lam[6:8]], rtol=0, atol=1e-8 * np.abs(lam).max())


@pytest.mark.parametrize("change", ["cut", "order"])
def test_a_start_of_another_tree_is_refused(tmp_path, change):
    """As many numbers, but of other coordinates: the run would begin somewhere else."""
    data = own.case(type="dynamics", t_end=0.1)
    first = fm.run(Case.from_dict(data), tmp_path / "a.h5")
    data["analysis"]["start"] = str(tmp_path / "a.h5")
    again = fm.run(Case.from_dict(data), tmp_path / "b.h5")
    for name in "abcd":
        np.testing.assert_allclose(again.joints[name].position[0], first.joints[name].position[-1], atol=1e-9)
    if change == "cut":
        data["joints"]["b"]["cut"] = True
    else:
        data["joints"] = {name: data["joints"][name] for name in "dcba"}
    with pytest.raises(InputError, match="crank.*here rocker on ground by d"):
        fm.run(Case.from_dict(data), tmp_path / "c.h5")
