"""Linear models between chosen inputs and outputs, frequency response, Campbell diagram (F38)."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.cli.main import main
from flexmbs.dynamics.analyses.linearize import linearize
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import InputError
from flexmbs.ffrf.mass import mass_matrix
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.forces.base import FORCES
from flexmbs.model.model import Model
from flexmbs.simulate.record.ports import response, with_ports
from tests.dynamics.mechanisms import cloud
from tests.model.test_couplings import four_bar

M1, M2, K1, K2, C1, C2 = 2.0, 0.5, 800.0, 300.0, 1.5, 0.7


def two_masses(**analysis):
    """Two masses in line: spring and damper to ground and between them."""
    slide = {"type": "prismatic", "from": "ground", "axis": [1, 0, 0]}
    return {
        "bodies": {"a": {"type": "rigid", "mass": M1}, "b": {"type": "rigid", "mass": M2}},
        "joints": {
            "a": slide | {"to": "a", "spring": {"stiffness": K1}, "damper": {"damping": C1}},
            "b": slide | {"to": "b"},
        },
        "forces": {
            "link": {
                "type": "joint_force", "joint": "a",
                "value": f"={K2}*(joints.b.position - joints.a.position)"
                f" + {C2}*(joints.b.velocity - joints.a.velocity)",
            },
            "back": {
                "type": "joint_force", "joint": "b",
                "value": f"=-{K2}*(joints.b.position - joints.a.position)"
                f" - {C2}*(joints.b.velocity - joints.a.velocity)",
            },
            "shaker": {"type": "point", "on": "b", "force": [3.0, 0, 0]},
        },
        "analysis": {"type": "linearize"} | analysis,
    }  # fmt: skip


def test_receptance_of_two_masses_is_its_closed_form(tmp_path):
    data = two_masses(
        inputs=["joints.a.travel", "shaker"],
        outputs=["joints.b.position", "bodies.a.velocity.x", "b.acceleration.x", "joints.a.reaction_force.x"],
        frequencies={"from": 0.5, "to": "20 Hz", "n": 40, "spacing": "log"},
    )
    result = fm.run(Case.from_dict(data), tmp_path / "r.h5")
    frequency = result["linear/response/frequency"]
    H = result["linear/response/H"] @ [1.0, 1j]
    assert frequency[0] == pytest.approx(0.5) and frequency[-1] == pytest.approx(20.0)
    K = np.array([[K1 + K2, -K2], [-K2, K2]])
    C = np.array([[C1 + C2, -C2], [-C2, C2]])
    for f, found in zip(frequency, H, strict=True):
        w = 2 * np.pi * f
        G = np.linalg.inv(K + 1j * w * C - w * w * np.diag([M1, M2]))
        G = G @ np.diag([1.0, 3.0])  # the shaker is 3 N strong
        # all that accelerates mass a goes through its joint: springs, dampers, efforts
        expected = np.array([G[1], 1j * w * G[0], -w * w * G[1], -w * w * M1 * G[0]])
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())
    assert result.linear.inputs == ["joints.a.travel", "forces.shaker"]
    assert result.linear.outputs[3] == "joints.a.reaction_force.x"
    assert result.linear.output_units == ["m", "m/s", "m/s^2", "N"]


def test_expressions_and_wrenches_are_outputs(tmp_path):
    data = two_masses(outputs=["twice", "held"], inputs=["shaker"])
    data["sensors"] = {
        "twice": {"type": "expression", "value": "=2*b.position.x + 7"},
        "held": {"type": "reaction", "joint": "a"},
    }
    linear = fm.run(Case.from_dict(data), tmp_path / "r.h5").linear
    np.testing.assert_allclose(linear.C[0], [0.0, 2.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(linear.C[1], [K1 * -1.0 - K2, K2, -C1 - C2, C2], rtol=1e-9)
    assert linear.output_units == ["1"] + ["N"] * 3 + ["N m"] * 3


def test_every_axis_of_the_model_has_its_scale(tmp_path):
    data = two_masses(frequencies=[1.0, 2.0], outputs=["a.position.x"])
    result = fm.run(Case.from_dict(data), tmp_path / "r.h5")
    assert result.dimensions("linear/response/H") == (
        "linear/response/frequency", "linear/output", "linear/input", "linear/re_im",
    )  # fmt: skip
    for name, axes in {"A": ("rate", "state"), "B": ("rate", "input"), "C": ("output", "state")}.items():
        assert result.dimensions(f"linear/{name}") == tuple(f"linear/{axis}" for axis in axes)
    tree = result.to_xarray()["linear"]
    assert float(tree["C"].sel(output="bodies.a.position.x", state="a.travel")) == pytest.approx(1.0)
    assert result.units("linear/response/frequency") == "Hz"


def test_inputs_of_a_loop_move_it_as_forward_dynamics_says():
    model = four_bar()
    model.add(FORCES["point"](name="push", on="rod.end", force=[2.0, 5.0, 0.0]))
    system = build(model)
    state = system.initial_state()
    outputs = ("joints.c.acceleration", "joints.c.reaction_force.x", "bodies.rocker.angular_acceleration.z")
    linear, chosen, _ = with_ports(system, state, linearize(system, state), ("d", "forces.push"), outputs)
    ends = [with_ports(system, state, linear, (f"rod.end.force.{a}",), outputs)[0].D[:, 0] for a in "xy"]
    bare = system.forward_dynamics(state)
    model.forces["push"].force = [4.0, 10.0, 0.0]
    pushed = build(model).forward_dynamics(state)
    found = [
        pushed["joints.c.acceleration"][0] - bare["joints.c.acceleration"][0],
        pushed["joints.c.reaction_force"][0] - bare["joints.c.reaction_force"][0],
        pushed["bodies.rocker.angular_acceleration"][2] - bare["bodies.rocker.angular_acceleration"][2],
    ]
    np.testing.assert_allclose(linear.D[:, 1], found, rtol=1e-9)
    np.testing.assert_allclose(2.0 * ends[0] + 5.0 * ends[1], found, rtol=1e-9)
    assert chosen.names[2] == "bodies.rocker.angular_acceleration.z"


def test_response_of_a_free_flexible_body_is_that_of_its_full_equations():
    B = cloud(np.random.default_rng(4), 3)
    model = Model()
    model.add(FlexibleBody(name="b", modal=SimpleNamespace(integrals=B, interfaces={}), D_ff=0.1 * np.eye(3)))
    system = build(model)
    state = system.initial_state()
    linear, _, _ = with_ports(
        system, state, linearize(system, state), ("b.torque.y",), ("b.q", "b.acceleration")
    )
    K, D = np.zeros((9, 9)), np.zeros((9, 9))
    K[6:, 6:], D[6:, 6:] = B.K_ff, 0.1 * np.eye(3)
    M, load = mass_matrix(B, np.zeros(3)), np.eye(9)[4]
    for f in (0.7, 2.1):
        w = 2 * np.pi * f
        x = np.linalg.solve(K + 1j * w * D - w * w * M, load)
        expected = np.concatenate([x[6:], -w * w * x[:3]])
        np.testing.assert_allclose(response(linear, np.array([f]))[0, :, 0], expected, rtol=1e-7)


def rotor(**analysis):
    """A disc on a hinge without inertia, driven about its axis."""
    return {
        "parameters": {"speed": "3000 rpm", "k": 2000.0},
        "bodies": {
            "cage": {"type": "rigid", "mass": 0},
            "disc": {"type": "rigid", "mass": 5, "inertia": {"ixx": 0.02, "iyy": 0.02, "izz": 0.035}},
        },
        "joints": {
            "hinge": {"type": "universal", "from": "ground", "to": "cage"},
            "bearing": {"type": "revolute", "from": "cage", "to": "disc"},
        },
        "drives": {"motor": {"joint": "bearing", "position": "=speed*t"}},
        "forces": {
            "spring": {"type": "bushing", "from": "ground", "to": "cage",
                       "stiffness": [0, 0, 0, "=k", "=k", 0], "damping": [0] * 6},
        },
        "analysis": {"type": "linearize"} | analysis,
    }  # fmt: skip


def test_campbell_diagram_of_a_disc_whirls_forward_and_backward(tmp_path):
    data = rotor(campbell={"parameter": "speed", "from": 0, "to": "6000 rpm", "n": 5})
    result = fm.run(Case.from_dict(data), tmp_path / "r.h5")
    speed = result["linear/campbell/value"]
    assert speed[-1] == pytest.approx(200 * np.pi)
    spin = 0.035 * speed / (2 * 0.02)
    both = np.sqrt(spin**2 + 2000.0 / 0.02)
    found = 2 * np.pi * result["linear/campbell/frequency_hz"]
    np.testing.assert_allclose(found, np.column_stack([both - spin, both + spin]), rtol=1e-9)
    np.testing.assert_allclose(result["linear/campbell/whirl"][1:], [[-1.0, 1.0]] * 4, atol=1e-9)
    assert np.isnan(result["linear/campbell/whirl"][0]).all()  # nothing turns: no sense
    picture = tmp_path / "c.svg"
    assert main(["plot", str(tmp_path / "r.h5"), "linear.campbell", "-o", str(picture)]) == 0
    assert b"<svg" in picture.read_bytes()


def test_branches_go_on_where_frequencies_cross(tmp_path):
    """Two oscillators, one stiffened by the parameter: their frequencies cross and keep their branch."""
    data = two_masses(campbell={"parameter": "k", "values": [50.0, 150.0, 250.0, 350.0, 450.0]})
    data["parameters"] = {"k": 1.0}
    data["forces"] = {}
    data["joints"]["b"]["spring"] = {"stiffness": "=k"}
    found = fm.run(Case.from_dict(data), tmp_path / "r.h5")["linear/campbell/frequency_hz"]
    fixed = np.sqrt(K1 / M1)  # damping hardly moves it
    moving = np.sqrt(np.array([50.0, 150.0, 250.0, 350.0, 450.0]) / M2)
    assert moving[0] < fixed < moving[-1]
    np.testing.assert_allclose(2 * np.pi * found, np.column_stack([moving, np.full(5, fixed)]), rtol=1e-6)


def test_governor_over_its_speed_is_linearised_about_each_equilibrium(tmp_path):
    g, length = 9.81, 0.5
    case = {
        "parameters": {"w": 6.0},
        "gravity": [0, 0, -g],
        "bodies": {
            "shaft": {"type": "rigid", "mass": 1, "inertia": {"ixx": 1, "iyy": 1, "izz": 1}},
            "ball": {"type": "rigid", "mass": 1, "com": [0, 0, -length]},
        },
        "joints": {
            "spin": {"type": "revolute", "from": "ground", "to": "shaft"},
            "arm": {"type": "revolute", "from": "shaft", "to": "ball", "axis": [0, 1, 0],
                    "initial": {"position": 0.5}},
        },
        "drives": {"motor": {"joint": "spin", "position": "=w*t"}},
        "analysis": {
            "type": "linearize", "about": "equilibrium",
            "campbell": {"parameter": "w", "values": [5.0, 6.0, 9.0]},
        },
    }  # fmt: skip
    found = fm.run(Case.from_dict(case), tmp_path / "r.h5")["linear/campbell/frequency_hz"][:, 0]
    w = np.array([5.0, 6.0, 9.0])
    np.testing.assert_allclose(2 * np.pi * found, w * np.sqrt(1 - (g / (w * w * length)) ** 2), rtol=1e-7)


def test_frequency_response_is_drawn(tmp_path, capsys):
    data = two_masses(frequencies=[1.0, 2.0, 5.0], outputs=["a.position.x", "b.position.x"])
    fm.run(Case.from_dict(data), tmp_path / "r.h5")
    target = str(tmp_path / "r.svg")
    assert main(["plot", str(tmp_path / "r.h5"), "linear.response.b.position.x", "-o", target]) == 0
    assert "bodies.b.position.x / joints.a.travel" in capsys.readouterr().out
    assert main(["plot", str(tmp_path / "r.h5"), "linear.response.nothing", "-o", target, "--overwrite"]) == 3
    assert main(["plot", str(tmp_path / "r.h5"), "linear.campbell", "-o", target, "--overwrite"]) == 3
    assert "campbell in [analysis]" in capsys.readouterr().err
    assert main(["plot", str(tmp_path / "r.h5"), "linear.response", "time", "-o", target, "--overwrite"]) == 2
    assert main(["plot", str(tmp_path / "r.h5"), "linear.response", "-o", str(tmp_path / "r.txt")]) == 2


@pytest.mark.parametrize(
    "analysis, message",
    [
        ({"inputs": ["nothing"]}, '"nothing" names no joint coordinate, load or force'),
        ({"inputs": ["q.force.x"]}, 'there is no body or frame "q"'),
        ({"inputs": ["joints.c"]}, "has several"),
        ({"inputs": ["forces.strut"]}, "forces.strut is no input; choose point"),
        ({"outputs": ["nothing"]}, 'no channel "nothing"'),
        ({"outputs": ["bodies.a.position[7]"]}, "components run from 0 to 2"),
        ({"campbell": {"parameter": "v", "from": 0, "to": 1}}, 'there is no parameter "v"'),
        ({"campbell": {"parameter": "v", "from": 0}}, 'give "from" and "to", or "values"'),
        ({"frequencies": {"from": 0, "to": 1, "spacing": "log"}}, "needs 0 < from < to"),
        ({"type": "assembly", "outputs": ["a.position"]}, 'belongs to an analysis of type "linearize"'),
    ],
)
def test_what_cannot_be_an_input_or_output_is_said(tmp_path, analysis, message):
    data = two_masses(**analysis)
    data["bodies"]["c"] = {"type": "rigid", "mass": 1, "inertia": {"ixx": 1, "iyy": 1, "izz": 1}}
    data["joints"]["c"] = {"type": "cylindrical", "from": "ground", "to": "c"}
    data["forces"]["strut"] = {
        "type": "spring_damper",
        "from": "ground",
        "to": "c",
        "stiffness": 1,
        "length": 1,
    }
    with pytest.raises(InputError) as error:
        fm.run(Case.from_dict(data), tmp_path / "r.h5")
    assert message in str(error.value)


def mass_on_a_spring(**analysis):
    """1 kg on a spring of 1 Hz."""
    data = two_masses(**analysis)
    data["bodies"] = {"a": {"type": "rigid", "mass": 1.0}}
    data["joints"] = {"a": data["joints"]["a"] | {"spring": {"stiffness": (2 * np.pi) ** 2}}}
    del data["joints"]["a"]["damper"], data["forces"]
    return data


@pytest.mark.parametrize("spring, frequency, mode", [(False, 0.0, "0 Hz"), (True, 1.0, "1 Hz")])
def test_a_response_on_a_pole_is_refused_with_the_mode(tmp_path, spring, frequency, mode):
    data = mass_on_a_spring(frequencies=[frequency, 2.0])
    if not spring:
        del data["joints"]["a"]["spring"]
    text = rf"the response at {mode} has no bound: mode 1 \({mode}, damping ratio 0\) stands there"
    with pytest.raises(InputError, match=text):
        fm.run(Case.from_dict(data), tmp_path / "r.h5")


@pytest.mark.parametrize("beside", [1e-3, -1e-6, 1e-9])
def test_a_response_beside_a_pole_is_its_closed_form(tmp_path, beside):
    """As far as the distance to the pole is known."""
    data = mass_on_a_spring(frequencies=[1.0 + beside], outputs=["a.position.x"], inputs=["a.force.x"])
    H = fm.run(Case.from_dict(data), tmp_path / "r.h5")["linear/response/H"].reshape(-1)[0]
    expected = 1.0 / ((2 * np.pi) ** 2 * (1.0 - (1.0 + beside) ** 2))
    assert H == pytest.approx(expected, rel=1e-9 + 1e-15 / abs(beside))


def test_a_free_machine_with_stiff_parts_answers_above_zero_as_its_mass(tmp_path):
    """The pole at zero does not spread: at 0.01 Hz beside a spring of 5 kHz."""
    data = two_masses(frequencies=[0.01], inputs=["a.force.x"], outputs=["a.position.x"])
    data["joints"]["b"] = {"type": "prismatic", "from": "a", "to": "b", "axis": [1, 0, 0]}
    data["joints"]["b"]["spring"] = {"stiffness": 4e8}
    del data["forces"], data["joints"]["a"]["spring"], data["joints"]["a"]["damper"]
    H = fm.run(Case.from_dict(data), tmp_path / "r.h5")["linear/response/H"].reshape(-1)[0]
    assert H == pytest.approx(-1.0 / ((M1 + M2) * (2 * np.pi * 0.01) ** 2), rel=1e-6)


@pytest.mark.parametrize("held", ["drive", "weld"])
def test_where_nothing_moves_freely_there_are_no_modes_and_loads_go_through(tmp_path, held, capsys):
    data = mass_on_a_spring(
        frequencies=[0.0, 1.0], inputs=["a.force.x"], outputs=["joints.a.reaction_force.x"],
        campbell={"parameter": "p", "values": [1.0, 2.0]},
    )  # fmt: skip
    data["parameters"] = {"p": 1.0}
    if held == "drive":
        data["drives"] = {"m": {"joint": "a", "position": "=p*t"}}
    else:
        data["joints"]["a"] = {"type": "fixed", "from": "ground", "to": "a"}
    path, said = tmp_path / "r.h5", []
    result = fm.run(Case.from_dict(data), path, say=said.append)
    assert any("nothing moves freely" in text for text in said)
    assert len(result.linear.frequency_hz) == 0 and result.linear.campbell.frequency_hz.shape == (2, 0)
    np.testing.assert_allclose(result["linear/response/H"][:, 0, 0], [[-1.0, 0.0]] * 2, atol=1e-12)
    result.to_xarray()
    for channel in ("linear.response", "linear.campbell"):
        assert main(["plot", str(path), channel, "-o", str(tmp_path / f"{channel}.svg")]) == 0
    assert main(["animate", str(path), "-o", str(tmp_path / "r.glb")]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_the_campbell_diagram_shows_damping_too_and_knows_its_names(tmp_path, capsys):
    data = two_masses(campbell={"parameter": "c", "values": [0.5, 1.0, 2.0]})
    data["parameters"] = {"c": 1.0}
    data["joints"] = {"a": data["joints"]["a"] | {"damper": {"damping": "=c"}}}
    data["bodies"] = {"a": data["bodies"]["a"]}
    del data["forces"]
    fm.run(Case.from_dict(data), tmp_path / "r.h5")
    target = str(tmp_path / "r.svg")
    expected = np.array([0.5, 2.0]) / (2 * np.sqrt(K1 * M1))
    draw = ["plot", str(tmp_path / "r.h5"), "-o", target, "--overwrite", "--json"]
    for name, low, high in [
        ("linear.campbell.damping_ratio", *expected),
        ("linear.campbell.frequency_hz", *[np.sqrt(K1 / M1) / (2 * np.pi)] * 2),
    ]:
        assert main([*draw, name]) == 0
        curve = json.loads(capsys.readouterr().out)["curves"][0]
        assert (curve["min"], curve["max"]) == (pytest.approx(low, rel=1e-6), pytest.approx(high, rel=1e-6))
    assert main([*draw[:-1], "linear.campbell.dampingratio"]) == 3
    assert 'did you mean "linear.campbell.damping_ratio"?' in capsys.readouterr().err
    assert main([*draw[:-1], "linear.campbell.zzz"]) == 3
