"""Static equilibrium: found where there is one, refused where there is none, doubts said (F37)."""

import numpy as np
import pytest
from scipy.optimize import fsolve, minimize

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import SolverError

G = 9.81
ROUND = {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}


def slider(mass=1.0, force=None, gravity=0.0, kind="statics", states=None, **joint):
    """A mass on a line along x, `gravity` along -x; `kind`: keys of [analysis], or its type."""
    data = {
        "gravity": [-gravity, 0, 0],
        "bodies": {"m": {"type": "rigid", "mass": mass}},
        "joints": {"x": {"type": "prismatic", "from": "ground", "to": "m", "axis": [1, 0, 0], **joint}},
        "analysis": {"type": kind} if isinstance(kind, str) else kind,
    }
    if force is not None:
        data["forces"] = {"f": {"type": "joint_force", "joint": "x", "value": force}}
    if states is not None:
        data["states"] = {name: {"rate": rate, "initial": s} for name, (rate, s) in states.items()}
    return data


def beside(data, **heavy):
    """The same with a body of 10 t or a fast rotor beside it."""
    data["bodies"]["big"] = {"type": "rigid", "mass": 1e4, "inertia": ROUND}
    data["joints"]["z"] = {"type": "fixed", "from": "ground", "to": "big", **heavy}
    return data


def still(data, tmp_path):
    """Result and warnings of a run."""
    done = execute(Case.from_dict(data, folder=tmp_path), tmp_path / "r.h5", overwrite=True)
    return done.result, done.summary.warnings


def pendulum(angle, **more):
    """A mass 0.7 below its hinge where the angle is zero."""
    return {
        "gravity": [0, -G, 0],
        "bodies": {"bob": {"type": "rigid", "mass": 2.0, "com": [0, -0.7, 0], "inertia": ROUND}},
        "joints": {
            "pin": {"type": "revolute", "from": "ground", "to": "bob", "initial": {"position": angle}, **more}
        },
        "analysis": {"type": "statics"},
    }


def four_springs():
    """Two masses of 1 g and 10 t on springs in a row."""
    data = slider(1e-3, spring={"stiffness": 1e-3}, force=5e-3)
    return beside(data, type="prismatic", axis=[0, 0, 1], spring={"stiffness": 1e6})


ROTOR = {"drives": {"motor": {"joint": "z", "position": "=1000*t"}}}
NONE = {
    "1 kg beside 10 t": beside(slider(1.0, 5e-3)) | {"gravity": [0, 0, -G]},
    "1 g beside 10 t": beside(slider(1e-3, 5e-3)) | {"gravity": [0, 0, -G]},
    "1 kg beside a fast rotor": beside(slider(1.0, 50.0), type="revolute") | ROTOR,
    "loads that hardly move it": slider(1.0, 1e-9),
    "far from its own rest": beside(slider(1.0, 20.0), type="prismatic", axis=[0, 0, 1],
                                    spring={"stiffness": 1e8}, initial={"position": 0.4}),
}  # fmt: skip


@pytest.mark.parametrize("name", NONE)
@pytest.mark.parametrize("kind", [{"type": "statics"}, {"type": "linearize", "about": "equilibrium"},
                                  {"type": "dynamics", "t_end": 0.1, "start": "equilibrium"}])  # fmt: skip
def test_what_nothing_holds_has_no_equilibrium_however_heavy_its_neighbours(name, kind, tmp_path):
    with pytest.raises(SolverError, match=r"joints\.x\.travel.*stays unbalanced.*hold or support"):
        still(NONE[name] | {"analysis": kind}, tmp_path)


def test_soft_springs_beside_heavy_parts_find_their_place(tmp_path):
    result, warnings = still(four_springs() | {"gravity": [0, 0, -G]}, tmp_path)
    np.testing.assert_allclose(result.joints.x.position[0, 0], 5e-3 / 1e-3, rtol=1e-9)
    np.testing.assert_allclose(result.joints.z.position[0, 0], -1e4 * G / 1e6, rtol=1e-9)
    assert np.abs(result.joints.x.acceleration[0, 0]) < 1e-6
    assert not warnings


@pytest.mark.parametrize("stiffness", [1e7, 1e8, 1e9, 1e10])
@pytest.mark.parametrize("start", [-0.0100001, -0.5, 0.3])
def test_a_mass_rests_on_a_stiff_stop(stiffness, start, tmp_path):
    stop = {"lower": -0.01, "upper": 1.0, "stiffness": stiffness, "damping": 0.0}
    result, _ = still(slider(2.0, gravity=G, stop=stop, initial={"position": start}), tmp_path)
    depth = -0.01 - result.joints.x.position[0, 0]
    assert depth == pytest.approx(2.0 * G / stiffness, rel=1e-6)
    assert abs(result.joints.x.acceleration[0, 0]) < 1e-5 * G


@pytest.mark.parametrize("stiffness, moment, angle", [(0.01, 2.0, 200.0), (1e-3, 50.0, 5e4)])
def test_a_torsion_spring_winds_up_as_far_as_it_takes(stiffness, moment, angle, tmp_path):
    data = pendulum(0.0, spring={"stiffness": stiffness}) | {"gravity": [0, 0, 0]}
    data["forces"] = {"f": {"type": "joint_force", "joint": "pin", "value": moment}}
    assert still(data, tmp_path)[0].joints.pin.position[0, 0] == pytest.approx(angle, rel=1e-9)


@pytest.mark.parametrize("angle, rest", [(3.1, 0.0), (2 * np.pi + 3.0, 2 * np.pi), (0.5, 0.0), (0.0, 0.0)])
def test_long_ways_do_not_leap_over_the_next_equilibrium(angle, rest, tmp_path):
    result, warnings = still(pendulum(angle), tmp_path)
    assert result.joints.pin.position[0, 0] == pytest.approx(rest, abs=1e-9)
    assert not warnings


def test_an_unstable_equilibrium_is_said_to_be_one(tmp_path):
    result, warnings = still(pendulum(np.pi), tmp_path)
    assert result.joints.pin.position[0, 0] == pytest.approx(np.pi, abs=1e-12)
    assert warnings == ["the equilibrium is unstable: it gives way along joints.pin.angle"]
    assert warnings[0] in result["summary/text"]
    said = []
    data = pendulum(np.pi) | {"analysis": {"type": "dynamics", "t_end": 0.01, "start": "equilibrium"}}
    execute(Case.from_dict(data), tmp_path / "d.h5", say=said.append)
    assert f"warning: {warnings[0]}" in said


def test_a_light_part_that_gives_way_beside_a_heavy_stiff_one_is_unstable(tmp_path):
    data = beside(pendulum(np.pi), type="prismatic", axis=[0, 1, 0], spring={"stiffness": 1e12})
    data["bodies"]["bob"] |= {"mass": 1e-3, "inertia": {"ixx": 0, "iyy": 0, "izz": 0}}
    assert still(data, tmp_path)[1] == ["the equilibrium is unstable: it gives way along joints.pin.angle"]


def test_neutral_freedoms_stay_where_they_are(tmp_path):
    """Two masses on a spring, loaded against each other, on a body that nothing holds."""
    data = slider(1.0)
    data["bodies"]["n"] = {"type": "rigid", "mass": 3.0}
    data["joints"]["y"] = {"type": "prismatic", "from": "m", "to": "n", "axis": [1, 0, 0],
                           "spring": {"stiffness": 700.0}, "initial": {"position": 0.3}}  # fmt: skip
    data["joints"]["x"]["initial"] = {"position": 0.123}
    data["forces"] = {
        "push": {"type": "point", "on": "n", "force": [50.0, 0, 0]},
        "pull": {"type": "point", "on": "m", "force": [-50.0, 0, 0]},
    }
    result, warnings = still(data, tmp_path)
    assert result.joints.y.position[0, 0] == pytest.approx(50.0 / 700.0, rel=1e-9)
    assert abs(result.joints.x.position[0, 0]) < 1.0 and not warnings


def test_one_of_many_equilibria_is_found(tmp_path):
    """A ball joint and a spring without gravity: the spring is slack along a curve."""
    data = {
        "bodies": {"b": {"type": "rigid", "mass": 3.0, "com": [0.3, 0.1, 0], "inertia": ROUND,
                         "frames": {"e": {"pos": [0.5, 0, 0]}}}},
        "ground": {"frames": {"far": {"pos": [0.2, 0.9, 0.3]}}},
        "joints": {"ball": {"type": "spherical", "from": "ground", "to": "b"}},
        "forces": {"s": {"type": "spring_damper", "from": "ground.far", "to": "b.e", "stiffness": 1e4,
                         "length": 0.8}},
        "analysis": {"type": "statics"},
    }  # fmt: skip
    result, warnings = still(data, tmp_path)
    assert result["forces/s/length"][0] == pytest.approx(0.8, rel=1e-9)
    assert not warnings


def test_a_hanging_chain_takes_the_shape_of_least_energy(tmp_path):
    n, length, span = 6, 0.3, 1.2
    mass = 1 + 0.2 * np.arange(n)
    data = {
        "gravity": [0, -G, 0],
        "ground": {"frames": {"e": {"pos": [span, 0, 0]}}},
        "bodies": {},
        "joints": {},
    }
    start = [0.9, -0.3, -0.3, -0.6, -0.3, -0.3]
    for i in range(n):
        data["bodies"][f"l{i}"] = {
            "type": "rigid", "mass": mass[i], "com": [length / 2, 0, 0], "inertia": ROUND,
            "frames": {"e": {"pos": [length, 0, 0]}},
        }  # fmt: skip
        data["joints"][f"j{i}"] = {
            "type": "revolute", "from": f"l{i - 1}.e" if i else "ground", "to": f"l{i}",
            "initial": {"position": start[i]},
        }  # fmt: skip
    data["joints"]["end"] = {"type": "revolute", "from": "ground.e", "to": f"l{n - 1}.e"}
    result, _ = still(data | {"analysis": {"type": "statics"}}, tmp_path)

    def energy(a):
        y = np.append(0.0, np.cumsum(length * np.sin(a)))
        return G * float(mass @ (y[:-1] + y[1:])) / 2

    def ends(a):
        return [np.sum(length * np.cos(a)) - span, np.sum(length * np.sin(a))]

    options = {"constraints": {"type": "eq", "fun": ends}, "tol": 1e-14, "options": {"maxiter": 1000}}
    expected = minimize(energy, np.linspace(-1, 1, n), **options)
    angles = np.cumsum([result.joints[f"j{i}"].position[0, 0] for i in range(n)])
    assert energy(angles) == pytest.approx(expected.fun, rel=1e-10)


@pytest.mark.parametrize("length, mass", [(1e-3, 1e-9), (1.0, 1.0), (1e3, 1e9)])
@pytest.mark.parametrize("light", [1.0, 1e-6])
def test_a_chain_of_any_size_finds_its_angles_from_upside_down(length, mass, light, tmp_path):
    """Three rods on torsion springs, stiff, soft and stiff; the middle one is lighter."""
    masses, stiff = mass * np.array([1.0, light, 0.5]), mass * G * length * np.array([8.0, 1e-2 * light, 3.0])
    data = {"gravity": [0, -G, 0], "bodies": {}, "joints": {}, "analysis": {"type": "statics"}}
    for i in range(3):
        data["bodies"][f"b{i}"] = {
            "type": "rigid", "mass": masses[i], "com": [0, length / 2, 0],
            "inertia": dict.fromkeys(("ixx", "iyy", "izz"), masses[i] * length**2 / 12),
            "frames": {"e": {"pos": [0, length, 0]}},
        }  # fmt: skip
        data["joints"][f"j{i}"] = {
            "type": "revolute", "from": f"b{i - 1}.e" if i else "ground", "to": f"b{i}",
            "spring": {"stiffness": stiff[i]}, "initial": {"position": 0.1},
        }  # fmt: skip
    result, warnings = still(data, tmp_path)
    found = np.array([result.joints[f"j{i}"].position[0, 0] for i in range(3)])
    weight = (masses / 2 + np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)) * G * length
    angle = np.cumsum(found)
    lever = np.cumsum((weight * np.sin(angle))[::-1])[::-1]  # moments of the weights about the joints
    np.testing.assert_allclose(lever, stiff * found, rtol=1e-6, atol=1e-12 * stiff.max())
    assert np.abs(found).max() > 1.0 and not warnings


# own states


def servo(force, **more):
    """A slider under gravity; the state follows its position with a lag of 0.5 s."""
    return slider(1.0, force, G, states={"s": ("=(x.position-states.s)/0.5", 0.3)}, **more)


@pytest.mark.parametrize("kind", [{"type": "statics"}, {"type": "linearize", "about": "equilibrium"},
                                  {"type": "dynamics", "t_end": 0.5, "start": "equilibrium"}])  # fmt: skip
def test_own_states_rest_in_equilibrium(kind, tmp_path):
    result, warnings = still(servo("=-40*states.s-120*x.position", kind=kind), tmp_path)
    np.testing.assert_allclose(result.joints.x.position[[0, -1], 0], -G / 160, rtol=1e-6)
    np.testing.assert_allclose(result["states/s"][[0, -1]], -G / 160, rtol=1e-6)
    assert not warnings


def test_linear_models_stand_where_the_states_rest(tmp_path):
    kind = {"type": "linearize", "about": "equilibrium"}
    result, _ = still(servo("=-1e5*states.s**3-20*x.position", kind=kind), tmp_path)
    x = fsolve(lambda x: -1e5 * x**3 - 20 * x - G, -0.05, xtol=1e-12)[0]
    assert result.joints.x.position[0, 0] == pytest.approx(x, rel=1e-9)
    np.testing.assert_allclose(result.linear.A[1], [-20, 0, -3e5 * x**2], rtol=1e-6, atol=1e-8)


def test_coupled_nonlinear_states_rest_together(tmp_path):
    data = slider(1.0, "=-30*states.a-20*x.position", G, states={
        "a": ("=2*states.b-states.a-states.a**3", 0.0),
        "b": ("=x.position-4*states.b+0.5*sin(states.a)", 1.0),
    })  # fmt: skip
    result, _ = still(data, tmp_path)

    def rates(z):
        x, a, b = z
        return [-30 * a - 20 * x - G, 2 * b - a - a**3, x - 4 * b + 0.5 * np.sin(a)]

    expected = fsolve(rates, [-0.3, -0.1, -0.1], xtol=1e-13)
    found = [result.joints.x.position[0, 0], result["states/a"][0], result["states/b"][0]]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("proportional", [80.0, 0.0])
def test_an_integrating_controller_holds_its_set_point(proportional, tmp_path):
    """The rate is free of the state: place and force follow from each other."""
    data = slider(
        1.0, f"=-{proportional}*(x.position-0.2)-50*states.i", G, states={"i": ("=x.position-0.2", 7.0)}
    )
    result, warnings = still(data, tmp_path)
    assert result.joints.x.position[0, 0] == pytest.approx(0.2, abs=1e-9)
    assert result["states/i"][0] == pytest.approx(-G / 50, rel=1e-9)
    assert not warnings


@pytest.mark.parametrize("leak", [0.0, 1e-6, 1e-2])
def test_a_start_without_forces_is_left_for_the_set_point(leak, tmp_path):
    """Spring and controller start at rest; only the rate of the integrator is not zero."""
    states = {"i": (f"=0.5-x.position-{leak}*states.i", 0.0)}
    result, warnings = still(slider(1.0, "=10*states.i", states=states, spring={"stiffness": 5.0}), tmp_path)
    integral = 0.5 / (2.0 + leak)  # x = 2 i
    assert result["states/i"][0] == pytest.approx(integral, rel=1e-8)
    assert result.joints.x.position[0, 0] == pytest.approx(2.0 * integral, rel=1e-8)
    assert not warnings


def test_states_whose_rates_nothing_lets_vanish_stay_and_are_named(tmp_path):
    states = {
        "clock": ("=1", 4.0),
        "speed_error": ("=1-x.velocity", 2.0),
        "path": ("=x.velocity", 3.0),  # at rest wherever it is
        "held": ("=0", 0.5),  # an input of a co-simulation
        "lag": ("=x.position-states.lag", 0.0),
        "sum": ("=x.position", 6.0),  # moves nothing
    }
    data = slider(1.0, "=-100*x.position-20*states.speed_error+states.held", G, states=states)
    result, warnings = still(data, tmp_path)
    x = (-G - 40.0 + 0.5) / 100.0
    assert result.joints.x.position[0, 0] == pytest.approx(x, rel=1e-9)
    found = {name: result[f"states/{name}"][0] for name in states}
    kept = {name: start for name, (_, start) in states.items()} | {"lag": x}
    assert found == pytest.approx(kept, rel=1e-9)
    named = [text.partition(" stays")[0] for text in warnings]
    assert named == ["states.clock", "states.speed_error", "states.sum"]
    assert "rate vanish, 1 1/s" in warnings[0]


def test_of_integrators_that_say_the_same_one_acts_and_others_stay(tmp_path):
    states = {"a": ("=x.position-0.1", 0.0), "b": ("=x.position-0.1", 0.25), "c": ("=2*states.d", 9.0),
              "d": ("=x.position-0.1", 0.0)}  # fmt: skip
    data = slider(1.0, "=-100*x.position-50*(states.a+states.b)", G, states=states)
    result, warnings = still(data, tmp_path)
    assert result.joints.x.position[0, 0] == pytest.approx(0.1, abs=1e-9)
    assert result["states/a"][0] + result["states/b"][0] == pytest.approx((-G - 10.0) / 50.0, rel=1e-9)
    assert not warnings


def test_states_rest_in_a_mechanism_that_drives_hold(tmp_path):
    data = slider(1.0, kind={"type": "statics"}, states={"s": ("=x.position**2-states.s**3", 1.0)})
    data["drives"] = {"d": {"joint": "x", "position": "=0.4+t"}}
    assert still(data, tmp_path)[0]["states/s"][0] == pytest.approx(0.4 ** (2 / 3), rel=1e-9)


@pytest.mark.slow  # two hundred iterations
def test_rates_that_come_to_rest_nowhere_are_no_equilibrium(tmp_path):
    data = slider(1.0, "=-100*x.position", G, states={"s": ("=1+states.s**2", 0.5)})
    with pytest.raises(SolverError, match=r"states\.s.*rate.*does not come to rest|leave no way"):
        still(data, tmp_path)


@pytest.mark.parametrize("kind", [{"type": "statics"}, {"type": "linearize", "about": "equilibrium"}])
def test_equilibrium_is_sought_from_the_state_of_another_result(kind, tmp_path):
    """A double well: the start says which of its two places."""
    force = "=10*x.position-10*x.position**3"
    data = slider(1.0, force, kind={"type": "dynamics", "t_end": 0.1}, initial={"position": -0.9})
    fm.run(Case.from_dict(data), tmp_path / "well.h5")
    data = slider(1.0, force, kind=kind | {"start": "well.h5"}, initial={"position": 0.9})
    assert still(data, tmp_path)[0].joints.x.position[0, 0] == pytest.approx(-1.0, rel=1e-9)


# no inertia, negative inertia


def test_a_mass_point_without_mass_rests_on_its_spring(tmp_path):
    result, warnings = still(slider(0.0, 5.0, spring={"stiffness": 100.0}), tmp_path)
    assert result.joints.x.position[0, 0] == pytest.approx(0.05, rel=1e-9)
    np.testing.assert_allclose(result.joints.x.acceleration[0], 0.0)
    np.testing.assert_allclose(result.joints.x.reaction_force[0], [0, 0, 0], atol=1e-9)  # force less spring
    assert not warnings


@pytest.mark.parametrize("masses", [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_springs_in_a_row_share_a_load_whatever_has_mass(masses, tmp_path):
    data = slider(masses[0], gravity=0.0, spring={"stiffness": 100.0})
    data["bodies"]["n"] = {"type": "rigid", "mass": masses[1]}
    data["joints"]["y"] = {
        "type": "prismatic", "from": "m", "to": "n", "axis": [1, 0, 0], "spring": {"stiffness": 50.0}
    }  # fmt: skip
    data["forces"] = {"f": {"type": "point", "on": "n", "force": [5.0, 3.0, 0]}}
    result, _ = still(data, tmp_path)
    assert result.joints.x.position[0, 0] == pytest.approx(0.05, rel=1e-9)
    assert result.joints.y.position[0, 0] == pytest.approx(0.1, rel=1e-9)
    for joint in ("x", "y"):
        np.testing.assert_allclose(result.joints[joint].reaction_force[0], [-5, -3, 0], atol=1e-8)


def test_a_buckled_beam_is_named(tmp_path):
    """Clamped at both ends, one of which slides, and pushed beyond 4 pi^2 EI / l^2."""
    recipe = {
        "mesh": {"shape": "beam", "length": 1.0, "divisions": 10, "section": {"rectangle": [0.01, 0.02]}},
        "interfaces": {"root": {"set": "x_min"}, "tip": {"set": "x_max"}},
    }
    fm.reduce(recipe, material="steel", modes=6, frame="mean-axis").save(tmp_path / "b.modal.h5")
    load = 4 * np.pi**2 * 2.1e11 * 0.02 * 0.01**3 / 12
    data = {
        "ground": {"frames": {"end": {"pos": [1.0, 0, 0]}}},
        "bodies": {"b": {"type": "flexible", "modal": "b.modal.h5"}},
        "joints": {
            "l": {"type": "fixed", "from": "ground", "to": "b.root"},
            "r": {"type": "prismatic", "from": "ground.end", "to": "b.tip", "axis": [1, 0, 0]},
        },
        "analysis": {"type": "statics"},
    }
    data["forces"] = {"p": {"type": "joint_force", "joint": "r", "value": -0.8 * load}}
    result, warnings = still(data, tmp_path)
    assert result.joints.r.position[0, 0] == pytest.approx(-0.8 * load / (2.1e11 * 2e-4), rel=1e-3)
    assert not [text for text in warnings if "unstable" in text]
    data["forces"]["p"]["value"] = -1.2 * load
    try:
        warnings = still(data, tmp_path)[1]
        assert any("unstable: it gives way along bodies.b.q" in text for text in warnings)
    except SolverError as error:
        assert error.diagnostics[0].code == "statics.unstable" and "bodies.b.q" in str(error)
