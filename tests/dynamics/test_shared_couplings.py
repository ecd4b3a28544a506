"""Couplings that say the same: every one carries its share, in every formulation (F28)."""

import copy

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import prepare
from tests.dynamics.awkward import gears, joint

FORMULATIONS = ("recursive", "minimal", "descriptor")
ZS, ZP, ZR, MODULE = 24, 18, 60, 0.002


def by(data, formulation):
    data = copy.deepcopy(data)
    data["analysis"] = {"t_end": 0, "formulation": formulation}
    return Case.from_dict(data)


def planetary(n):
    """Sun, ring at ground, `n` planets, torque on the sun against the inertia of the carrier."""

    def body(mass):
        return {"type": "rigid", "mass": mass, "inertia": {"ixx": 1e-4, "iyy": 1e-4, "izz": 1e-4}}

    data = {
        "bodies": {"sun": body(0.5), "carrier": body(1.0) | {"frames": {}}},
        "joints": {"sun": joint("revolute", "ground", "sun"),
                   "carrier": joint("revolute", "ground", "carrier")},
        "couplings": {},
        "forces": {"motor": {"type": "joint_force", "joint": "sun", "value": 0.5}},
        "analysis": {"t_end": 0},
    }  # fmt: skip
    for k in range(n):
        a, r = 2 * np.pi * k / n, 0.5 * MODULE * (ZS + ZP)
        data["bodies"]["carrier"]["frames"][f"pin{k}"] = {"pos": [r * np.cos(a), r * np.sin(a), 0.0]}
        data["bodies"][f"planet{k}"] = body(0.2)
        data["joints"][f"pin{k}"] = joint("revolute", f"carrier.pin{k}", f"planet{k}")
        mesh = {"type": "gear", "carrier": "carrier", "module": MODULE, "pressure_angle": np.radians(20)}
        data["couplings"][f"inner{k}"] = mesh | {"wheels": ["sun", f"planet{k}"], "teeth": [ZS, ZP]}
        data["couplings"][f"outer{k}"] = mesh | {
            "wheels": [f"planet{k}", "ground"], "teeth": [ZP, ZR], "internal": True
        }  # fmt: skip
    return data


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_two_equal_pairs_of_gears_halve_the_torque(formulation):
    system = prepare(by(gears(), formulation))
    motion = system.forward_dynamics(system.initial_state())
    # 0.5 on a; b turns half as fast the other way: J a = 0.5 + T, J b = T 40 / 20, b = -a / 2
    torque = -0.5 * 0.25 / 1.25
    for name in ("first", "second"):
        assert motion[f"couplings.{name}"] == pytest.approx(torque / 2, rel=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_law_written_with_other_numbers_or_wheels_exchanged_carries_the_same_share(formulation):
    data = gears()
    data["couplings"] = {
        "gear": {"type": "gear", "wheels": ["one", "two"], "teeth": [20, 40]},
        "back": {"type": "gear", "wheels": ["two", "one"], "teeth": [40, 20]},
        "terms": {"type": "linear", "terms": {"a": 700.0, "b": 1400.0}},
        "law": {"type": "expression", "zero": "=a.position/2 + b.position"},
    }
    system = prepare(by(data, formulation))
    motion = system.forward_dynamics(system.initial_state())
    torque = -0.5 * 0.25 / 1.25 / 4
    on_a = {"gear": 1.0, "back": 0.5, "terms": 700.0, "law": 0.5}  # torque on a of a unit
    for name, factor in on_a.items():
        assert motion[f"couplings.{name}"] * factor == pytest.approx(torque, rel=1e-8), name


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_twins_share_alike_whatever_the_numbers_of_their_laws(formulation):
    data = gears()
    factors = {"one": 1.0, "same": 1.0, "large": 1e7}
    data["couplings"] = {k: {"type": "linear", "terms": {"a": f, "b": 2 * f}} for k, f in factors.items()}
    system = prepare(by(data, formulation))
    motion = system.forward_dynamics(system.initial_state())
    for name, factor in factors.items():
        effort = motion[f"couplings.{name}"] * factor
        assert effort == pytest.approx(-0.5 * 0.25 / 1.25 / 3, rel=1e-8), name


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("soft", ["a", "b", "ab"])
@pytest.mark.parametrize("turn", [None, {"axis": [1, 0.3, 0.2], "angle": 0.77}])
def test_a_compliance_that_no_self_stress_loads_decides_nothing(turn, soft, formulation):
    data = gears()
    if turn:
        data["ground"]["frames"] = {"left": {"rot": turn}, "right": {"pos": [0.1, 0, 0], "rot": turn}}
        data["joints"]["a"]["from"] = "ground.left"
    for name in soft:
        data["joints"][name]["compliance"] = [1e-7] * 3 + [1e-5] * 3
    system = prepare(by(data, formulation))
    motion = system.forward_dynamics(system.initial_state())
    for name in ("first", "second"):
        assert motion[f"couplings.{name}"] == pytest.approx(-0.5 * 0.25 / 1.25 / 2, rel=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_couplings_of_turns_and_travels_share_by_least_squares_beside_a_compliance(formulation):
    """Shafts a (compliant) and b, a rack s, four laws: what they put on the joints is known, not loaded."""
    data = gears()
    data["ground"]["frames"]["up"] = {"pos": [0, 0.1, 0]}
    data["bodies"]["rack"] = data["bodies"]["one"]
    data["joints"]["s"] = joint("prismatic", "ground.up", "rack", axis=[1, 0, 0])
    data["joints"]["a"]["compliance"] = [1e-6] * 3 + [1e-4] * 3
    laws = {"g": {"a": 20, "b": 40}, "r1": {"s": 1, "a": -0.1}, "r2": {"s": 1, "b": 0.2},
            "r3": {"s": 3, "b": 0.6}}  # fmt: skip
    data["couplings"] = {name: {"type": "linear", "terms": terms} for name, terms in laws.items()}
    system = prepare(by(data, formulation))
    motion = system.forward_dynamics(system.initial_state())
    rows = np.array([[terms.get(k, 0.0) for k in "abs"] for terms in laws.values()])
    inertia, move = np.array([0.1, 0.1, 1.0]), np.array([1.0, -0.5, 0.1])
    needed = inertia * move * 0.5 / (inertia @ move**2) - np.array([0.5, 0.0, 0.0])
    length = float(system.tables.length[0])
    size = np.linalg.norm(rows / np.array([length, length, 1.0]), axis=1)
    known = np.linalg.lstsq((rows / size[:, None]).T, needed, rcond=1e-12)[0] / size
    np.testing.assert_allclose([motion[f"couplings.{name}"] for name in laws], known, rtol=1e-8)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_planets_share_alike_and_leave_sun_and_carrier_without_side_load(formulation, tmp_path):
    result = fm.run(by(planetary(3), formulation), tmp_path / "r.h5")
    loads = [result[f"couplings/inner{k}/tangential_force"][0] for k in range(3)]
    single = fm.run(by(planetary(1), formulation), tmp_path / "one.h5")
    assert abs(loads[0]) > 1.0 and abs(single["couplings/inner0/tangential_force"][0]) > 3.0
    np.testing.assert_allclose(loads, loads[0], rtol=1e-8)
    for name in ("sun", "carrier"):
        assert np.abs(result[f"joints/{name}/reaction_force"]).max() < 1e-7 * abs(loads[0])
        assert not result.attributes_of(f"joints/{name}/reaction_force").get("determinate", True)
        assert single.attributes_of(f"joints/{name}/reaction_force").get("determinate", True)


def test_bearings_of_wheels_are_open_where_the_force_on_the_teeth_is_known():
    bearings = {f"joints.{name} (translation x, y)" for name in ("sun", "carrier", "pin0", "pin1")}
    data = planetary(2)
    texts = set(check(Case.from_dict(data)).counts.indeterminate_joints)
    assert bearings <= texts and len(texts - bearings) == 4
    for mesh in data["couplings"].values():
        del mesh["pressure_angle"]
    texts = set(check(Case.from_dict(data)).counts.indeterminate_joints)
    assert texts == {f"couplings.{side}{k} (force)" for side in ("inner", "outer") for k in (0, 1)}
    assert not check(Case.from_dict(planetary(1))).counts.indeterminate_joints


def tandem():
    """Two driven pinions on one rack under a load of 100 N: radius 0.1, J = 0.1, angles t^2."""
    inertia = {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}
    pinion = {"type": "rack_pinion", "rack": "rack", "radius": 0.1}
    return {
        "ground": {"frames": {"right": {"pos": [0.3, 0, 0]}, "up": {"pos": [0, 0.1, 0]}}},
        "bodies": {
            name: {"type": "rigid", "mass": mass, "inertia": inertia}
            for name, mass in (("one", 1.0), ("two", 1.0), ("rack", 2.0))
        },
        "joints": {
            "a": joint("revolute", "ground", "one"),
            "b": joint("revolute", "ground.right", "two"),
            "rack": joint("prismatic", "ground.up", "rack", axis=[1, 0, 0]),
        },
        "couplings": {"left": pinion | {"pinion": "a"}, "right": pinion | {"pinion": "b"}},
        "forces": {"load": {"type": "joint_force", "joint": "rack", "value": -100.0}},
        "drives": {f"motor_{k}": {"joint": k, "position": "=t*t"} for k in "ab"},
    }


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_drives_give_what_the_shares_of_their_couplings_take(formulation):
    system = prepare(by(tandem(), formulation))
    motion = system.forward_dynamics(system.initial_state())
    push = 0.5 * (100.0 + 2.0 * 0.2)  # the rack gains 0.2 m/s^2, a pinion 2 rad/s^2
    for side, drive in (("left", "motor_a"), ("right", "motor_b")):
        assert motion[f"couplings.{side}"] == pytest.approx(push, rel=1e-9)
        assert motion[f"drives.{drive}"] == pytest.approx(0.1 * push + 0.1 * 2.0, rel=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_both_driven_cranks_of_a_parallelogram_give_their_share(formulation):
    angle = 0.7
    tip = (0.1 * np.array([np.cos(angle), np.sin(angle), 0.0])).tolist()
    turned, short = {"rot": {"axis": [0, 0, 1], "angle": angle}}, {"tip": {"pos": [0.1, 0, 0]}}

    def body(mass, size, **more):
        inertia = {"ixx": size, "iyy": 1.3 * size, "izz": 1.1 * size}
        return {"type": "rigid", "mass": mass, "inertia": inertia} | more

    data = {
        "gravity": [0.3, -9.81, 1.0],
        "ground": {"frames": {"right": {"pos": [0.3, 0, 0]}}},
        "bodies": {
            "crank": body(1.0, 0.01, frames=short, pose=turned),
            "coupler": body(2.0, 0.02, frames={"tip": {"pos": [0.3, 0, 0]}}, pose={"pos": tip}),
            "rocker": body(1.5, 0.015, frames=short, pose=turned | {"pos": [0.3, 0, 0]}),
        },
        "joints": {
            "a": joint("revolute", "ground", "crank", angle),
            "c": joint("revolute", "crank.tip", "coupler"),
            "d": joint("revolute", "coupler.tip", "rocker.tip"),
            "b": joint("revolute", "ground.right", "rocker", angle),
        },
        "drives": {f"motor_{k}": {"joint": k, "position": f"={angle}"} for k in "ab"},
    }
    system = prepare(by(data, formulation))
    motion = system.forward_dynamics(system.initial_state())
    # of an own program of all bodies and rows, with the least squares over the forces of all joints
    for drive, torque in (("motor_a", 1.44582722), ("motor_b", 0.09344621)):
        assert motion[f"drives.{drive}"] == pytest.approx(torque, abs=1e-8)
