"""Runs of whole systems: segments and resume to the same bits, signals, output, events, what is said."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import FlexmbsError, InputError, SolverError, UsageError
from flexmbs.reduce import reduce
from flexmbs.resources import resource
from flexmbs.results import Result, segments
from flexmbs.results.compare import compare
from flexmbs.simulate import RunSettings
from flexmbs.simulate.record.fields import unit_of_q
from flexmbs.simulate.run import good_samples

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = {
    "type": "rigid",
    "mass": 1.0,
    "com": [0.5, 0, 0],
    "inertia": {"ixx": 1e-3, "iyy": 1 / 12, "izz": 1 / 12},
    "frames": {"tip": {"pos": [1.0, 0, 0]}},
}


def pendulum(analysis=None, **more):
    """Double pendulum; sections of the case may be replaced."""
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {"a": LINK, "b": LINK},
        "joints": {
            "pin": {"type": "revolute", "from": "ground", "to": "a"},
            "knee": {"type": "revolute", "from": "a.tip", "to": "b"},
        },
        "analysis": {"t_end": 1.0, **(analysis or {})},
    } | more


def four_bar(analysis=None, **more):
    crank = LINK
    return {
        "gravity": [0, -9.81, 0],
        "ground": {"frames": {"right": {"pos": [1.5, 0, 0]}}},
        "bodies": {"left": crank, "bar": LINK, "right": crank},
        "joints": {
            "base": {
                "type": "revolute",
                "from": "ground",
                "to": "left",
                "initial": {"position": 1.0, "velocity": 2.0, "hold": True},
            },
            "top": {"type": "revolute", "from": "left.tip", "to": "bar", "initial": {"position": -1.0}},
            "corner": {"type": "revolute", "from": "right.tip", "to": "bar.tip"},
            "end": {
                "type": "revolute",
                "from": "ground.right",
                "to": "right",
                "initial": {"position": 1.2},
            },
        },
        "analysis": {"t_end": 1.0, **(analysis or {})},
    } | more


def run(data, path, **options):
    return execute(Case.from_dict(data), path, **options)


def same(a, b):
    found = compare(Result.load(a), Result.load(b), rtol=0.0, atol=0.0)
    assert found.equal, found.text


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "generalized-alpha"])
def test_methods_agree_on_a_closed_loop(tmp_path, method):
    exact = run(four_bar({"rtol": 1e-11, "atol": 1e-13, "method": "dop853"}), tmp_path / "exact.h5").result
    found = run(four_bar({"rtol": 1e-8, "atol": 1e-10, "method": method}), tmp_path / "a.h5")
    error = np.abs(found.result.joints.base.position - exact.joints.base.position).max()
    assert error < 1e-5
    assert found.result.solver.constraint_position.max() < 1e-10
    assert found.summary.largest_balance_error < 1e-4 * found.summary.largest_energy
    reaction = found.result.joints.end.reaction_force - exact.joints.end.reaction_force
    assert np.abs(reaction).max() < 1e-3 * np.abs(exact.joints.end.reaction_force).max()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dopri5", "generalized-alpha"])
def test_segments_change_no_number(tmp_path, method):
    settings = {"method": method, "t_end": 0.5}
    run(four_bar(settings), tmp_path / "whole.h5")
    committed = []
    run(
        four_bar(settings, output={"checkpoint_every": 0.04}),
        tmp_path / "pieces.h5",
        announce=committed.append,
    )
    assert len(committed) >= 8
    same(tmp_path / "whole.h5", tmp_path / "pieces.h5")


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["descriptor", "minimal"])
def test_segments_change_no_number_of_other_formulations(tmp_path, formulation):
    """What samples leave behind, factors and loads of friction, must not reach the steps."""
    data = four_bar({"formulation": formulation, "t_end": 0.2, "rtol": 1e-8})
    data["joints"]["end"]["friction"] = {"coefficient": 0.3, "radius": 0.1, "stiction_velocity": 0.1}
    for name, every in (("whole", 1.0), ("pieces", 0.02)):
        run(data | {"output": {"every": 0.01, "checkpoint_every": every}}, tmp_path / f"{name}.h5")
    same(tmp_path / "whole.h5", tmp_path / "pieces.h5")


@pytest.mark.slow
def test_segments_change_no_number_of_flexible_bodies(tmp_path):
    """Of what is computed for many samples at once, such as the ledger and stresses, too."""
    options = {"analysis.t_end": 0.004, "analysis.method": "dop853", "analysis.step": "auto"}
    sensor = {"type": "stress", "on": "rod", "at": {"nearest": [0.1, 0, 0]}}
    paths = [tmp_path / "whole.h5", tmp_path / "pieces.h5", tmp_path / "few.h5"]
    for path, more in zip(
        paths, ({}, {"output.checkpoint_every": 1e-4}, {"output.every": 2e-3}), strict=True
    ):
        overrides = options | {"output.every": 2e-4, "sensors.stress": sensor} | more
        case = Case.load(os.path.join(ROOT, "cases", "flexible-slider-crank.toml"), **overrides)
        case.spec.expected.clear()
        execute(case, path)
    same(*paths[:2])
    whole, few = Result.load(paths[0]), Result.load(paths[2])
    for name in ("bodies/rod/ledger", "sensors/stress", "energy/balance_error"):
        np.testing.assert_array_equal(whole[name][::10], few[name])


def command(*arguments):
    """A child that runs the command line."""
    return subprocess.Popen(
        [sys.executable, "-m", "flexmbs.cli.main", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": ROOT},
    )


CASE = """
gravity = [0, -9.81, 0]
[bodies.a]
type = "rigid"
mass = 1.0
com = [0.5, 0, 0]
inertia = {{ ixx = 1e-3, iyy = 0.08, izz = 0.08 }}
frames = {{ tip = {{ pos = [1, 0, 0] }} }}
[bodies.b]
type = "rigid"
mass = 1.0
com = [0.5, 0, 0]
inertia = {{ ixx = 1e-3, iyy = 0.08, izz = 0.08 }}
[joints.pin]
type = "revolute"
from = "ground"
to = "a"
[joints.knee]
type = "revolute"
from = "a.tip"
to = "b"
[analysis]
t_end = {t_end}
method = "{method}"
rtol = 1e-9
[output]
every = 0.05
checkpoint_every = {every}
"""


def write_case(tmp_path, **values):
    path = tmp_path / "case.toml"
    path.write_text(CASE.format(**({"t_end": 200.0, "method": "dopri5", "every": 1.0} | values)))
    return path


def read_until(child, word, count):
    """Lines of standard error until `word` has come `count` times."""
    lines = []
    while sum(word in line for line in lines) < count:
        line = child.stderr.readline()
        assert line, "".join(lines)
        lines.append(line)
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dopri5", "generalized-alpha"])
def test_killed_run_resumes_to_the_same_bits(tmp_path, method):
    path = write_case(tmp_path, method=method, t_end=60.0)
    whole, cut = tmp_path / "whole.h5", tmp_path / "cut.h5"
    child = command("run", path, "-o", cut, "--announce")
    lines = read_until(child, "committed", 3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    announced = [float(line.split("=")[1]) for line in lines if line.startswith("committed t=")]
    assert not cut.exists() and Result.load(cut).attributes["t_reached"] >= announced[-1]
    child = command("run", path, "-o", cut, "--resume")
    assert child.wait() == 0, child.stderr.read()
    child = command("run", path, "-o", whole)
    assert child.wait() == 0
    same(whole, cut)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_keeps_what_was_computed(tmp_path, number):
    path, result = write_case(tmp_path, t_end=20000.0, every=100.0), tmp_path / "a.h5"
    child = command("run", path, "-o", result, "--announce")
    read_until(child, "committed", 1)
    child.send_signal(number)
    begun = time.monotonic()
    assert child.wait(timeout=30) == 130
    assert time.monotonic() - begun < 5.0
    assert "--resume" in child.stderr.read()
    found = Result.load(result)
    assert found.status == "interrupted" and len(found.time) > 10 and not result.exists()


def test_until_ends_on_the_point(tmp_path):
    data = pendulum({"until": "=-pin.position - 1", "t_end": 5.0, "rtol": 1e-10, "atol": 1e-12})
    result = run(data, tmp_path / "a.h5").result
    assert result.joints.pin.position[-1, 0] == pytest.approx(-1.0, abs=1e-9)
    assert result.time[-1] == result.attributes["t_reached"] < 5.0
    assert result.events.kind == ["until"] and result.events.time[-1] == result.time[-1]


def test_output_times_are_hit_exactly(tmp_path):
    data = pendulum({"t_end": 0.7}, output={"every": 0.3, "times": [0.123]})
    assert run(data, tmp_path / "a.h5").result.time.tolist() == [0.0, 0.123, 0.3, 0.6, 0.7]


def test_the_real_time_factor_is_that_of_the_whole_motion():
    """The trial that chooses a method goes the first part of it."""
    case = Case.load(resource("cases", "double-pendulum.toml"), **{"analysis.t_end": 0.5})
    done = execute(case.with_tables(lambda data: data.pop("expected")), keep=False)
    assert done.summary.moved == 0.5 and done.summary.wall > 0.0


def test_single_state_has_accelerations_and_reactions(tmp_path):
    result = run(pendulum({"t_end": 0.0}), tmp_path / "a.h5").result
    assert result.time.tolist() == [0.0]
    system = Case.from_dict(pendulum()).system()
    motion = system.forward_dynamics(system.initial_state())
    np.testing.assert_allclose(result.joints.knee.acceleration[0], motion["joints.knee.acceleration"])
    np.testing.assert_allclose(result.joints.pin.reaction_force[0], motion["joints.pin.reaction_force"])


def test_energies_and_momenta_of_a_free_body(tmp_path):
    data = {
        "bodies": {
            "a": LINK
            | {"initial": {"velocity": [1, 2, 3], "angular_velocity": [0.3, 2.0, 0.1], "in": "ground"}}
        },
        "analysis": {"t_end": 5.0, "rtol": 1e-10, "atol": 1e-12},
    }
    result = run(data, tmp_path / "a.h5").result
    for name in ("momentum", "angular_momentum"):
        values = result.system[name]
        assert np.abs(values - values[0]).max() < 1e-7
    assert np.abs(np.diff(result.energy.kinetic)).max() < 1e-8
    drift = result.system.com - result.system.com[0] - result.time[:, None] * result.system.momentum[0]
    assert np.abs(drift).max() < 1e-7
    quaternion = result.bodies.a.quaternion
    assert quaternion[0, 0] >= 0.0 and np.abs(np.diff(quaternion, axis=0)).max() < 0.1


@pytest.mark.parametrize("method", ["dop853", "dopri5", "generalized-alpha"])
def test_work_is_to_the_tolerance_where_all_motion_is_prescribed(tmp_path, method):
    """Nothing but the integrals asks for short steps then; 2 kg at 0.5 m, by hand."""
    disc = {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}
    data = {
        "gravity": [0, -9.81, 0],
        "bodies": {"a": {"type": "rigid", "mass": 2.0, "com": [0.5, 0, 0], "inertia": disc}},
        "joints": {"h": {"type": "revolute", "from": "ground", "to": "a"}},
        "drives": {"d": {"joint": "h", "position": "=1 + 5*t + 4*t**2"}},
        "output": {"every": 1.0},
    }
    by_hand = 0.5 * 0.6 * (13.0**2 - 5.0**2) + 2 * 9.81 * 0.5 * (np.sin(10.0) - np.sin(1.0))
    for rtol in (1e-6, 1e-8):
        analysis = {"t_end": 1.0, "rtol": rtol, "method": method}
        result = run(data | {"analysis": analysis}, tmp_path / f"{rtol}.h5").result
        assert result.energy.work[-1] == pytest.approx(by_hand, rel=10 * rtol)


def test_work_and_dissipation_balance(tmp_path):
    data = pendulum({"t_end": 2.0, "rtol": 1e-9})
    data["joints"]["pin"] = data["joints"]["pin"] | {"damper": {"damping": 0.3}, "spring": {"stiffness": 5.0}}
    data["forces"] = {"motor": {"type": "joint_force", "joint": "knee", "value": "=sin(3*t)"}}
    result = run(data, tmp_path / "a.h5").result
    assert result.energy.dissipated[-1] > 0.1 and abs(result.energy.work[-1]) > 1e-3
    assert np.abs(result.energy.balance_error).max() < 1e-6


def test_driven_joint_does_work(tmp_path):
    data = pendulum({"t_end": 1.0, "rtol": 1e-9}, drives={"motor": {"joint": "pin", "position": "=sin(2*t)"}})
    result = run(data, tmp_path / "a.h5").result
    np.testing.assert_allclose(result.joints.pin.position[:, 0], np.sin(2 * result.time), atol=1e-13)
    power = result.drives.motor.effort * result.joints.pin.velocity[:, 0]
    work = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(result.time) * (power[1:] + power[:-1]))])
    assert np.abs(result.energy.work - work).max() < 1e-4
    assert np.abs(result.energy.balance_error).max() < 1e-6


def test_finished_result_is_not_replaced(tmp_path):
    run(pendulum({"t_end": 0.1}), tmp_path / "a.h5")
    with pytest.raises(UsageError, match="--overwrite"):
        run(pendulum({"t_end": 0.1}), tmp_path / "a.h5")


def test_what_is_not_offered_says_so(tmp_path):
    with pytest.raises(FlexmbsError, match="not offered"):
        run(pendulum({"formulation": "minimal", "type": "statics"}), tmp_path / "a.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["dop853", "dopri5", "generalized-alpha"])
def test_failed_run_keeps_what_was_computed(tmp_path, method):
    data = pendulum({"t_end": 3.0, "method": method})
    data["forces"] = {"wrong": {"type": "joint_force", "joint": "pin", "value": "=sqrt(1 - t)"}}
    with pytest.raises(FlexmbsError, match=r"t = (0\.99|1)"):
        run(data, tmp_path / "a.h5", announce=lambda t: None)
    assert not (tmp_path / "a.h5").exists()
    found = Result.load(tmp_path / "a.h5")
    assert found.status == "failed" and 0.999 in found.time
    assert 0.999 < found.time[-1] <= 1.0, "the last good state, behind the last output"
    assert segments.parts_folder(tmp_path / "a.h5").is_dir()


@pytest.mark.parametrize(
    "settings, expected",
    [
        (RunSettings(t_end=1.0, every=0.25), [0, 0.25, 0.5, 0.75, 1.0]),
        (RunSettings(t_end=1.0, every=0.3), [0, 0.3, 0.6, 0.9, 1.0]),
        (RunSettings(t_end=1.0, every=0.5, times=(0.1, 2.0)), [0, 0.1, 0.5, 1.0]),
        (RunSettings(t_end=0.0), [0.0]),
    ],
)
def test_output_grid(settings, expected):
    np.testing.assert_allclose(settings.output_times(), expected, atol=1e-15)


def test_named_output_times_are_kept_to_the_bit():
    times = RunSettings(t_end=0.3, every=0.1, times=(0.1 + 0.2 - 0.1,)).output_times()
    assert len(times) == 4 and (0.1 + 0.2 - 0.1) in times.tolist() and times[-1] == 0.3


@pytest.mark.slow
def test_inverse_dynamics_returns_the_torques_of_a_run(tmp_path):
    data = pendulum({"t_end": 1.0, "rtol": 1e-10, "atol": 1e-12}, output={"every": 0.002})
    data["forces"] = {"motor": {"type": "joint_force", "joint": "pin", "value": "=5*sin(3*t)"}}
    forward = run(data, tmp_path / "a.h5").result
    columns = np.column_stack([forward.time, forward.joints.pin.position, forward.joints.knee.position])
    np.savetxt(tmp_path / "m.csv", columns, delimiter=",", header="time,pin,knee", comments="", fmt="%.16g")
    for motion in ("m.csv", "a.h5"):
        inverse = pendulum({"type": "inverse_dynamics", "motion": motion})  # to the end of the motion
        case = Case.from_dict(inverse, folder=tmp_path)
        result = execute(case, tmp_path / "b.h5", overwrite=True).result
        assert result.time[-1] == 1.0
        effort = {name.split("_")[1]: result.drives[name].effort for name in result.drives}
        inside = slice(20, -20)  # the spline is less smooth at its ends
        torque = 5 * np.sin(3 * result.time)
        assert np.abs(effort["pin"] - torque)[inside].max() < 2e-3
        assert np.abs(effort["knee"])[inside].max() < 2e-3


@pytest.mark.slow
def test_inverse_dynamics_returns_the_torques_on_a_ball(tmp_path):
    """The motion of a ball from a result; its torque is what was there, in the axes of the body."""
    body = {"type": "rigid", "mass": 2.0, "com": [0.3, 0, 0], "inertia": {"ixx": 0.1, "iyy": 0.2, "izz": 0.3}}
    socket = {"type": "spherical", "from": "ground", "to": "body", "initial": {"velocity": [1.0, 2.0, 3.0]}}
    data = {"gravity": [0, 0, -9.81], "bodies": {"body": body}, "joints": {"socket": socket}}
    torque = {"type": "torque", "on": "body", "torque": ["=sin(3*t)", 1.0, 0.5], "in": "body"}
    settings = {"t_end": 1.0, "rtol": 1e-10, "atol": 1e-12}
    forward = data | {"forces": {"m": torque}, "analysis": settings, "output": {"every": 0.002}}
    run(forward, tmp_path / "a.h5")
    inverse = data | {"analysis": {"type": "inverse_dynamics", "motion": "a.h5"}}
    result = execute(Case.from_dict(inverse, folder=tmp_path), tmp_path / "b.h5").result
    effort, t = result.drives["motion_socket_rotation"].effort, result.time
    wanted = np.stack([np.sin(3 * t), 1.0 + 0.0 * t, 0.5 + 0.0 * t], axis=1)
    assert np.abs(effort - wanted)[20:-20].max() < 2e-3  # the spline is less smooth at its ends


def test_wrong_motion_is_named(tmp_path):
    (tmp_path / "m.csv").write_text("time,pim\n0,0\n1,1\n2,2\n3,3\n")
    case = Case.from_dict(
        pendulum({"type": "inverse_dynamics", "motion": "m.csv", "t_end": 1.0}), folder=tmp_path
    )
    with pytest.raises(FlexmbsError, match='did you mean "pin"'):
        execute(case, tmp_path / "b.h5")


def test_statics_and_linearisation(tmp_path):
    result = run(pendulum({"type": "statics"}), tmp_path / "s.h5").result
    assert result.joints.pin.position[0, 0] == pytest.approx(-np.pi / 2, abs=1e-8)
    assert result.joints.knee.acceleration[0, 0] == pytest.approx(0.0, abs=1e-7)
    result = run(pendulum({"type": "linearize", "about": "equilibrium"}), tmp_path / "l.h5").result
    # two equal rods in absolute angles
    M, K = np.array([[4 / 3, 1 / 2], [1 / 2, 1 / 3]]), 9.81 * np.diag([1.5, 0.5])
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    np.testing.assert_allclose(result.linear.frequency_hz, np.sort(omega) / (2 * np.pi), rtol=1e-6)
    assert result.linear.motion.a.shape == (2, 6, 2)


def test_start_from_another_result(tmp_path):
    whole = run(pendulum({"t_end": 1.0, "rtol": 1e-10, "atol": 1e-12}), tmp_path / "whole.h5").result
    run(pendulum({"t_end": 0.5, "rtol": 1e-10, "atol": 1e-12}), tmp_path / "half.h5")
    data = pendulum({"t_end": 0.5, "start": "half.h5", "rtol": 1e-10, "atol": 1e-12})
    rest = execute(Case.from_dict(data, folder=tmp_path), tmp_path / "rest.h5").result
    np.testing.assert_allclose(rest.joints.pin.position[-1], whole.joints.pin.position[-1], atol=1e-8)


def driven_four_bar(**analysis):
    """Four-bar whose motion its drive determines: a crank that turns, a rocker."""

    def link(length):
        return LINK | {"com": [length / 2, 0, 0], "frames": {"tip": {"pos": [length, 0, 0]}}}

    return {
        "gravity": [0, -9.81, 0],
        "ground": {"frames": {"right": {"pos": [0.5, 0, 0]}}},
        "bodies": {"crank": link(0.2), "coupler": link(0.6), "rocker": link(0.4)},
        "joints": {
            "main": {"type": "revolute", "from": "ground", "to": "crank"},
            "left": {
                "type": "revolute",
                "from": "crank.tip",
                "to": "coupler",
                "initial": {"position": "-70 deg"},
            },
            "right": {"type": "revolute", "from": "coupler.tip", "to": "rocker.tip"},
            "bearing": {
                "type": "revolute",
                "from": "ground.right",
                "to": "rocker",
                "initial": {"position": "100 deg"},
            },
        },
        "drives": {"motor": {"joint": "main", "position": "=pi/2 + 2*pi*t"}},
        "analysis": analysis,
    }


@pytest.mark.parametrize("every", [pytest.param(0.01, marks=pytest.mark.slow), 0.0037])
def test_no_run_ends_by_an_output_time_where_a_drive_determines_all(tmp_path, every):
    """Positions are exact with any step there, and steps grew past the point where samples can be found."""
    case = driven_four_bar(t_end=2.0, method="generalized-alpha") | {"output": {"every": every}}
    found = run(case, tmp_path / "a.h5")
    exact = run(
        driven_four_bar(t_end=2.0, type="kinematics") | {"output": {"every": every}}, tmp_path / "b.h5"
    )
    for joint in ("left", "bearing"):
        error = found.result.joints[joint].position - exact.result.joints[joint].position
        assert np.abs(error).max() < 1e-9
    assert found.result.solver.step_size.max() < 0.3


def carried(joint, **more):
    """A link that hangs on a moving place or a changing length."""
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {"a": LINK} | more.pop("bodies", {}),
        "joints": joint,
        "analysis": {"t_end": 1.0, "rtol": 1e-8, "atol": 1e-10},
    } | more


CARRIED = {
    "length": carried(
        {
            "free": {
                "type": "free",
                "from": "ground",
                "to": "a",
                "initial": {"position": [1, 0, 0, 1, 0, 0, 0]},
            },
            "rope": {"type": "distance", "from": "ground", "to": "a", "length": "=1 + 0.2*sin(3*t)"},
        }
    ),
    "support": carried(
        {"pin": {"type": "revolute", "from": "ground.shaker", "to": "a"}},
        ground={"frames": {"shaker": {"pos": ["=0.1*sin(5*t)", "=0.05*t", 0]}}},
    ),
    "carriage": carried(
        {
            "pin": {"type": "revolute", "from": "ground", "to": "a"},
            "knee": {"type": "revolute", "from": "a.cart", "to": "b"},
        },
        bodies={"a": LINK | {"frames": {"cart": {"pos": ["=0.5 + 0.3*sin(4*t)", 0, 0]}}}, "b": LINK},
    ),
    "outer": carried({"pin": {"type": "revolute", "from": "ground", "to": "a.cart"}},
        bodies={"a": LINK | {"frames": {"cart": {"pos": ["=0.3*sin(4*t)", 0, 0]}}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ["dop853", "generalized-alpha"])
@pytest.mark.parametrize("name", sorted(CARRIED))
def test_what_follows_the_time_does_work(tmp_path, name, method):
    case = CARRIED[name]
    case = case | {"analysis": case["analysis"] | {"method": method}}
    found = run(case, tmp_path / "a.h5")
    work = np.abs(found.result.energy.work).max()
    assert work > 0.1
    tolerance = 1e-6 if method == "dop853" else 1e-4  # the integral of the power is in no error control
    assert np.abs(found.result.energy.balance_error).max() < tolerance * max(work, 1.0)


def test_fixed_steps_do_not_leave_the_energy_at_a_singular_position(tmp_path):
    """Where stages are worth nothing (Bennett's linkage, flat), a step is taken in smaller ones."""
    options = {"analysis.method": "rk4", "analysis.step": 0.001}
    case = Case.load(os.path.join(ROOT, "cases", "bennett.toml"), **options)
    found = execute(case, tmp_path / "a.h5")
    assert found.summary.largest_balance_error < 1e-4 * found.summary.largest_energy


def test_a_balance_that_is_off_is_a_warning(tmp_path):
    """A step far too long for the motion: the run ends, and says that it cannot be trusted."""
    from flexmbs.simulate.summary import Watch

    system = Case.from_dict(pendulum({"t_end": 0.1})).system()
    for balance, warned in ((1e-9, False), (0.5, True), (np.nan, True)):
        watch = Watch(system, balance=balance, swings={"work": np.array([0.0, 1.0])})
        assert any("energy balance" in text for text in watch.warnings(1e-3)) == warned
    rough = {"t_end": 2.4, "method": "rk4", "step": 0.2}
    done = run(pendulum(rough), tmp_path / "rough.h5", overwrite=True)
    assert any("energy balance" in text for text in done.summary.warnings)


def test_log_of_the_run_is_in_its_provenance(tmp_path):
    said = []
    done = run(pendulum({"t_end": 0.1}), tmp_path / "a.h5", say=said.append)
    log = str(done.result["provenance/log"])
    assert log.startswith("flexmbs ") and all(text in log for text in said)
    assert "steps with" in log and "case_resolved" in "".join(done.result.paths)


@pytest.mark.parametrize("kind", ["assembly", "statics", "linearize", "kinematics"])
def test_summary_counts_steps_only_where_there_are_some(tmp_path, kind):
    drive = {"motor": {"joint": "pin", "position": "=t"}, "hand": {"joint": "knee", "position": "=0.1*t"}}
    more = {"drives": drive} if kind == "kinematics" else {}
    text = run(pendulum({"type": kind, "t_end": 0.1}, **more), tmp_path / "a.h5").summary.text
    assert "steps" not in text and kind in text
    assert "largest closure" in text


def test_unit_of_elastic_coordinates_follows_from_their_mass():
    """Modes of unit mass carry the root of a mass; shapes as they were given are displacements."""
    assert unit_of_q(np.eye(2)) == "m kg^0.5"
    assert unit_of_q(np.diag([1.0, 0.4])) == "m"


@pytest.mark.parametrize("method", ["dopri5", "dop853", "generalized-alpha"])
def test_own_states_are_in_error_control(tmp_path, method):
    """They may change faster than anything else does; and where the method is implicit, be stiff."""
    data = pendulum({"t_end": 0.1, "rtol": 1e-6, "atol": 1e-8, "method": method}, output={"every": 0.01})
    data["states"] = {"fast": {"rate": "=1000*cos(1000*t)"}, "lag": {"rate": "=-2000*(lag - sin(30*t))"}}
    result = run(data, tmp_path / "a.h5").result
    t, lam, w = result.time, 2000.0, 30.0
    np.testing.assert_allclose(result.states.fast, np.sin(1000 * t), atol=5e-5)
    lag = lam * (lam * np.sin(w * t) - w * (np.cos(w * t) - np.exp(-lam * t))) / (lam**2 + w**2)
    np.testing.assert_allclose(result.states.lag, lag, atol=5e-5)


def test_an_own_state_without_a_value_ends_the_run(tmp_path):
    data = pendulum({"t_end": 1.0, "method": "generalized-alpha"})
    data["states"] = {"s": {"rate": "=sqrt(0.5 - t)"}}
    with pytest.raises(FlexmbsError, match="t = 0.(49|5)"):
        run(data, tmp_path / "a.h5")
    assert np.all(np.isfinite(Result.load(tmp_path / "a.h5").states.s))


NO_VALUE = {
    "drives.motor": {"drives": {"motor": {"joint": "pin", "position": "=sqrt(T - t)"}}},
    "forces.push": {"forces": {"push": {"type": "joint_force", "joint": "pin", "value": "=sqrt(T - t)"}}},
    "states.s": {"states": {"s": {"rate": "=sqrt(T - t)"}}},
    "joints.rod": {
        "bodies": {"a": LINK, "b": LINK, "c": LINK},
        "joints": {
            "rod": {"type": "distance", "from": "ground", "to": "a.tip", "length": "=1 + 0*sqrt(T - t)"}
        },
    },
    "a place on ground that follows t": {
        "ground": {"frames": {"f": {"pos": [0, "=0*sqrt(T - t)", 0]}}},
        "bodies": {"a": LINK},
        "joints": {"pin": {"type": "revolute", "from": "ground.f", "to": "a"}},
    },
}


@pytest.mark.parametrize("method", ["dop853", "generalized-alpha"])
@pytest.mark.parametrize("name", NO_VALUE)
def test_expressions_that_end_are_named(tmp_path, name, method):
    """On the way, and at the start, where the rates of the drive are infinite."""
    part = NO_VALUE[name] | {"parameters": {"T": 0.5}}
    with pytest.raises(FlexmbsError, match=rf"t = 0.(49|5).*{name} has no finite value there"):
        run(pendulum({"t_end": 1.0, "method": method}, **part), tmp_path / "a.h5")
    with pytest.raises(FlexmbsError, match=rf"(^{name} .* at t = 0 s|t = 0 s.*{name} has no finite)"):
        run(
            pendulum({"t_end": 1.0, "method": method}, **part | {"parameters": {"T": -1.0}}),
            tmp_path / "b.h5",
        )


@pytest.mark.parametrize(
    "analysis",
    [{"type": "kinematics"}, {"type": "dynamics"}, {"type": "dynamics", "method": "generalized-alpha"}],
)
@pytest.mark.parametrize("name", ["drives.motor", "forces.push"])
def test_nothing_but_prescribed_motion_needs_values_too(tmp_path, name, analysis):
    """Where drives leave nothing open no equation is solved, yet what is reported must be numbers."""
    driven = {"motor": {"joint": "pin", "position": "=t"}, "other": {"joint": "knee", "position": "=t"}}
    part = NO_VALUE[name] | {"parameters": {"T": 0.4997}}
    part["drives"] = driven | part.get("drives", {})
    with pytest.raises(SolverError, match=rf"{name}.*has no finite value"):
        run(pendulum({"t_end": 1.0, **analysis}, **part), tmp_path / "a.h5")
    result = Result.load(tmp_path / "a.h5")
    assert result.status == "failed" and 0.49 < result.time[-1] < 0.5
    assert (
        np.isfinite(result["joints/knee/position"]).all() and np.isfinite(result["drives/motor/effort"]).all()
    )


def test_segments_without_samples_hold_no_bad_one():
    """Long steps may make nothing but their state durable."""
    nothing = {
        "time": np.zeros(0),
        "joints/a/position": np.zeros((0, 1)),
        "joints/b/position": np.zeros((0, 0)),
    }
    assert good_samples(nothing) == 0
    some = {"time": np.arange(3.0), "joints/a/position": np.array([[0.0], [1.0], [np.nan]])}
    assert good_samples(some | {"joints/b/position": np.zeros((3, 0))}) == 2


@pytest.mark.needs("sksundae")
@pytest.mark.parametrize("method", ["ida", "cvode"])
def test_references_end_where_rates_have_no_value(tmp_path, method):
    """They crept on by steps that did not move the time, for hours."""
    part = NO_VALUE["forces.push"] | {"parameters": {"T": 0.5}}
    with pytest.raises(SolverError, match="forces.push has no finite value there"):
        run(pendulum({"t_end": 1.0, "method": method}, **part), tmp_path / "a.h5")


def test_sensors_without_a_value_are_warned_of(tmp_path):
    data = pendulum(
        {"t_end": 1.0},
        output={"every": 0.1},
        sensors={"s": {"type": "expression", "value": "=sqrt(0.45 - t)"}},
    )
    warnings = run(data, tmp_path / "a.h5").summary.warnings
    assert any("sensors.s: has no finite value at t = 0.5 s" in text for text in warnings)


@pytest.mark.parametrize("law", [3.0, {"function": "laws.py:pull", "channels": ["pin.position"]}])
def test_python_functions_are_announced_as_slow(tmp_path, law):
    (tmp_path / "laws.py").write_text("def pull(t, x):\n    return -x\n")
    data = pendulum({"t_end": 0.01})
    data["forces"] = {"f": {"type": "joint_force", "joint": "pin", "value": law}}
    said = []
    case = Case.from_dict(data, folder=tmp_path, allow_python=True)
    execute(case, tmp_path / "a.h5", say=said.append)
    assert any("slow" in text for text in said) == isinstance(law, dict)


@pytest.mark.parametrize("when", [-1.0, 0.2])
def test_what_a_python_function_raises_is_shown(tmp_path, when):
    """At the start and on the way."""
    law = f"def pull(t, x):\n    return -x if t < {when} else {{}}['gas']\n"
    (tmp_path / "laws.py").write_text(law)
    data = pendulum({"t_end": 1.0})
    value = {"function": "laws.py:pull", "channels": ["pin.position"]}
    data["forces"] = {"f": {"type": "joint_force", "joint": "pin", "value": value}}
    case = Case.from_dict(data, folder=tmp_path, allow_python=True)
    with pytest.raises(FlexmbsError, match=r"forces\.f.*laws\.py:pull raised KeyError: 'gas'"):
        execute(case, tmp_path / "a.h5")


@pytest.mark.parametrize("formulation", ["minimal", "descriptor"])
def test_numbers_do_not_depend_on_slices_of_wall_time(tmp_path, monkeypatch, formulation):
    analysis = {"t_end": 0.5, "rtol": 1e-7, "formulation": formulation}
    found = []
    for seconds in (1e9, 1e-6):
        monkeypatch.setattr("flexmbs.integrate.driver.SLICE_SECONDS", seconds)
        found.append(tmp_path / f"{seconds}.h5")
        run(pendulum(analysis, output={"every": 0.05}), found[-1])
    same(*found)


def test_small_loads_on_stiff_modes_settle_F37(tmp_path):
    """The last Newton step counts: modes of 1e4 rad/s turn a change of 1e-12 into a force that is felt."""
    recipe = {
        "mesh": {"shape": "beam", "length": 1.0, "divisions": 10, "section": {"rectangle": [0.01, 0.02]}}
    }
    recipe["interfaces"] = {"root": {"set": "x_min"}, "tip": {"set": "x_max"}}
    steel = {"young": 7e10, "poisson": 0.3, "density": 2700.0}
    reduce(recipe, material=steel, modes=6, frame="tangent:root").save(tmp_path / "beam.modal.h5")
    data = {
        "ground": {"frames": {"mid": {"pos": [0.5, 0.0, 0.0]}}},
        "bodies": {
            "beam": {
                "type": "flexible",
                "modal": str(tmp_path / "beam.modal.h5"),
                "frames": {"mid": {"at": [0.5, 0.0, 0.0]}},
            }
        },
        "joints": {
            "wall": {"type": "fixed", "from": "ground", "to": "beam.root"},
            "rest": {"type": "in_plane", "from": "beam.mid", "to": "ground.mid", "axis": [0, 1, 0]},
        },
        "forces": {"load": {"type": "point", "on": "beam.tip", "force": [0, -0.1, 0]}},
        "analysis": {"type": "statics"},
    }
    found = run(data, tmp_path / "a.h5").result
    # clamped at 0, on a rest at a, loaded at a + c: R = P (1 + 3 c / 2 a)
    assert found.joints.rest.reaction_force[0, 1] == pytest.approx(-0.25, rel=1e-3)  # mode count


def test_radau_ends_on_a_state_that_is_not_finite_with_an_error(tmp_path):
    """A force at the edge of all numbers: its derivatives are beyond."""
    data = {
        "bodies": {"a": {"type": "particle", "mass": 1.0, "initial": {"velocity": [1.0, 0.0, 0.0]}}},
        "forces": {"f": {"type": "point", "on": "a", "force": ["=exp(400*a.velocity.x)", 0, 0]}},
        "analysis": {"t_end": 2.0, "method": "radau"},
    }
    with pytest.raises(SolverError, match="no rates there"):
        run(data, tmp_path / "a.h5")


JUMPS = {"where(t<0.35,0,1)": 0.35, "mod(10*t,1)": 0.1, "floor(2*t)": 0.5, "where(t>0,1,0)": 0.0}
EVEN = ["where(t<0.35,t,0.35)", "abs(t-0.5)", "1000*max(t-1/3,0)", "mod(t,0.5)*mod(-t,0.5)", "sin(t)"]


@pytest.mark.parametrize("formulation", ["recursive", "descriptor"])
@pytest.mark.parametrize("law", JUMPS)
def test_a_prescribed_position_that_jumps_is_refused(tmp_path, formulation, law):
    data = pendulum({"formulation": formulation}, drives={"motor": {"joint": "pin", "position": f"={law}"}})
    with pytest.raises(FlexmbsError, match=rf"drives.motor.*{law[:3]}.*t = {JUMPS[law]:.2g}"):
        run(data, tmp_path / "a.h5")
    assert not (tmp_path / "a.h5").exists()


def test_laws_that_only_bend_run(tmp_path):
    for k, law in enumerate(EVEN):
        data = pendulum({"t_end": 0.6}, drives={"motor": {"joint": "pin", "position": f"={law}"}})
        assert run(data, tmp_path / f"{k}.h5").result.status == "complete"


def test_output_times_behind_the_end_are_named(tmp_path):
    data = pendulum({"t_end": 0.2}, output={"every": 0.1, "times": [0.05, 0.5]})
    done = run(data, tmp_path / "a.h5")
    assert any("output.times: 0.5 s" in text for text in done.summary.warnings)


def test_redundant_rows_are_refused_where_they_are_called_an_error(tmp_path):
    """As by `check`: a run that shares the forces all the same would break the promise in silence."""
    path = tmp_path / "a.h5"
    with pytest.raises(InputError, match="3 redundant constraint rows"):
        run(four_bar({"redundant": "error"}), path)
    assert not path.exists()
    run(pendulum({"redundant": "error", "t_end": 0.0}), path)


def test_a_length_that_jumps_is_refused_by_its_own_size(tmp_path):
    data = pendulum()
    data["joints"]["knee"] = {"type": "distance", "from": "a.tip", "to": "b", "length": "=where(t<0.35,1,2)"}
    with pytest.raises(FlexmbsError, match=r"joints.knee.*jumps by 1 at t = 0.35 s"):
        run(data, tmp_path / "a.h5")


def test_a_complete_result_is_not_resumed(tmp_path):
    path = tmp_path / "a.h5"
    case = Case.from_dict(pendulum({"t_end": 0.1}))
    execute(case, path)
    before = path.stat()
    done = execute(case, path, resume=True)
    assert done.summary.text == "complete already: nothing was left to compute"
    assert done.result.status == "complete" and os.path.samestat(before, path.stat())
    assert os.listdir(tmp_path) == ["a.h5"]
    other = Case.from_dict(pendulum({"t_end": 0.2}))
    with pytest.raises(UsageError, match="exists already"):
        execute(other, path, resume=True)


def test_results_are_planned_before_they_are_computed(tmp_path, monkeypatch):
    data = pendulum({"t_end": 1.0}, output={"every": 1e-5})
    assert execute(Case.from_dict(data), tmp_path / "b.h5").result["time"].size == 100_001
    os.remove(tmp_path / "b.h5")
    monkeypatch.setattr("flexmbs.simulate.settings.MAX_BYTES", 2**20)
    with pytest.raises(
        UsageError, match=r"GiB in samples of \d+ bytes are asked for, more than the limit of 0.000976562 GiB"
    ):
        execute(Case.from_dict(data), tmp_path / "a.h5")
    assert os.listdir(tmp_path) == []


def test_samples_of_one_step_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("flexmbs.simulate.run.MAX_WAITING", 2**20)
    data = pendulum({"t_end": 1.0}, output={"every": 1e-5})
    with pytest.raises(SolverError, match="one step holds samples of more than 1048576 bytes"):
        execute(Case.from_dict(data), tmp_path / "a.h5")


BAD_MOTIONS = {
    "time,pin\n0,0\n1,two\n2,2\n": r'm.csv:3  error  "two" in the column pin is no finite number',
    "time,pin\n0,0\n1,nan\n2,2\n": r'm.csv:3  error  "nan" in the column pin',
    "time,pin\n0,0\n1\n2,2\n": "m.csv:3  error  has 1 values for 2 names",
    "time,pin\n0,0,0\n1,1\n": "m.csv:2  error  has 3 values for 2 names",
    "time,pin\n": "has no row of numbers",
    "time\n0\n1\n": 'has one column, "time"',
    "": 'has one column, ""',
}


@pytest.mark.parametrize("text", BAD_MOTIONS)
@pytest.mark.parametrize("end", [{}, {"t_end": 1.0}])
def test_what_is_wrong_with_a_motion_is_told_with_its_line(tmp_path, text, end, recwarn):
    (tmp_path / "m.csv").write_text(text)
    data = pendulum() | {"analysis": {"type": "inverse_dynamics", "motion": "m.csv"} | end}
    case = Case.from_dict(data, folder=tmp_path)
    with pytest.raises(InputError, match=BAD_MOTIONS[text]):
        execute(case, tmp_path / "a.h5")
    assert not recwarn.list
