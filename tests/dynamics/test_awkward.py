"""Mechanisms that programs stumble over: right class and names, no NaN, or an error with its place (F28)."""

import math

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.dynamics.loops.change_point import change_point
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.resources import resource
from flexmbs.simulate.failure import clash
from tests.dynamics.awkward import (
    bar,
    crossed_hinges,
    door,
    driven,
    four_bar,
    gears,
    joint,
    parallelogram,
    rails,
    rod_between,
    sarrus,
    slider_crank,
    truss,
    welded,
    with_velocity,
)


def run(data, path):
    """A finished run; everything in it is a number."""
    result = fm.run(Case.from_dict(data), path / "r.h5", overwrite=True)
    for name in result.paths:
        if name.split("/")[0] in ("bodies", "joints", "couplings", "drives", "energy", "system"):
            assert np.all(np.isfinite(np.asarray(result[name], dtype=float))), name
    return result


def plane_rows(name):
    return [f"joints.{name} ({what})" for what in ("rotation x", "rotation y", "translation z")]


def bennett():
    data = dict(Case.load(resource("cases", "bennett.toml")).source.data)
    return data | {"analysis": {"t_end": 0}, "expected": {}}


HINGE = [
    f"({what})" for what in ("rotation x", "rotation y", "translation x", "translation y", "translation z")
]

#: by name: case, class, mobility, count, redundant rows
REDUNDANT = {
    "parallelogram": (parallelogram(), "planar", 1, 1, plane_rows("d")),
    "four-bar": (four_bar(0.3, 0.9, 0.7, 0.8, 0.5), "planar", 1, 1, plane_rows("d")),
    "three cranks": (
        parallelogram(bars=3) | {"analysis": {"t_end": 0}}, "planar", 1, 0,
        [*plane_rows("d"), *plane_rows("b2"), "joints.b2 (translation x)"],
    ),
    "door on two hinges": (door(), "planar", 1, -1, [f"joints.h1 {row}" for row in HINGE]),
    "door on three hinges": (
        door(3), "planar", 1, -3, [f"joints.h{k} {row}" for k in (1, 2) for row in HINGE],
    ),
    "carriage on two rails": (
        rails(), "planar", 1, -1,
        [f"joints.right ({what})" for what in
         ("rotation about ground x", "rotation about ground z", "rotation y",
          "translation along ground z", "translation y")],
    ),
    "beam welded at both ends": (
        welded(), "spatial", 0, -6,
        [f"joints.right ({kind} {axis})" for kind in ("rotation", "translation") for axis in "xyz"],
    ),
    "two equal pairs of gears": (gears(), "planar", 1, 0, ["couplings.second (law)"]),
    "Sarrus": (sarrus(), "spatial", 1, 0, ["joints.y3 (rotation y)"]),
    "Bennett": (bennett(), "spatial", 1, -2, plane_rows("j4")),
    "spherical four-bar": (
        crossed_hinges(), "spherical", 1, 1, [f"joints.j3 (translation {axis})" for axis in "xyz"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_mechanisms_are_counted_and_run_F28(name, tmp_path):
    data, kind, mobility, gruebler, rows = REDUNDANT[name]
    counts = check(Case.from_dict(data)).counts
    assert (counts.kind, counts.mobility, counts.gruebler) == (kind, mobility, gruebler)
    assert sorted(counts.redundant_rows) == sorted(rows)
    assert counts.n_loops == counts.n_joints - counts.n_bodies
    more = mobility - gruebler
    assert (f"{more} more than counted" in counts.difference) == bool(more)
    assert (f"{len(rows) - more} redundant rows hold" in counts.difference) == (
        kind != "spatial" and len(rows) > more
    )
    result = run(data, tmp_path)
    assert result["topology/kinematic_class"] == kind and result["topology/loops"] == counts.n_loops
    assert list(result["topology/redundant_rows"]) == counts.redundant_rows
    assert any("redundant" in line for line in result["topology/report"])


def accelerations(data):
    system = Case.from_dict(data).system()
    return system.forward_dynamics(system.initial_state())


def test_redundant_mechanisms_move_as_their_reduced_ones():
    """The same without what is redundant: the same accelerations, to rounding."""
    free = door()
    del free["joints"]["h1"]
    assert accelerations(door())["joints.h0.acceleration"] == pytest.approx(
        accelerations(free)["joints.h0.acceleration"], abs=1e-12
    )
    one = rails()
    del one["joints"]["right"]
    two = accelerations(rails())["joints.left.acceleration"][0]
    assert two == pytest.approx(accelerations(one)["joints.left.acceleration"][0], rel=1e-12)
    single = gears()
    del single["couplings"]["second"]
    found = accelerations(gears())["joints.a.acceleration"][0]
    assert found == pytest.approx(accelerations(single)["joints.a.acceleration"][0], rel=1e-12)
    assert found == pytest.approx(0.5 / (0.1 + 0.1 / 4), rel=1e-12)
    three, loose = parallelogram(bars=3), parallelogram(bars=3)
    loose["joints"]["b2"]["type"] = "in_plane"  # holds nothing that moves
    loose["joints"]["b2"].pop("initial")
    loose["couplings"] = {"same": {"type": "linear", "terms": {"a": 1, "a2": -1}}}
    for name in ("a", "d", "a2"):
        found = accelerations(three)[f"joints.{name}.acceleration"][0]
        assert found == pytest.approx(accelerations(loose)[f"joints.{name}.acceleration"][0], rel=1e-9)


def test_doors_load_their_hinges_alike():
    for hinges in (2, 3):
        motion = accelerations(door(hinges))
        up = [motion[f"joints.h{k}.reaction_force"][2] for k in range(hinges)]
        np.testing.assert_allclose(up, 98.1 / hinges, rtol=1e-9)


def test_reactions_that_stay_open_are_named_and_the_others_are_not():
    counts = check(Case.from_dict(rails())).counts
    assert counts.indeterminate_joints == [
        "joints.left (translation x, y; rotation x, y, z)",
        "joints.right (translation x, y; rotation x, y, z)",
    ]  # fmt: skip
    counts = check(Case.from_dict(gears())).counts
    assert counts.indeterminate_joints == ["couplings.first (force)", "couplings.second (force)"]
    both = rails()  # a chain beside a redundant loop has nothing open
    both["bodies"]["arm"] = bar(0.4)
    both["joints"]["arm"] = joint("revolute", "carriage", "arm", 0.3)
    assert not any("joints.arm" in text for text in check(Case.from_dict(both)).counts.indeterminate_joints)


def energy_jump(result):
    size = max(np.ptp(result["energy/kinetic"]), np.max(result["energy/kinetic"]))
    return np.abs(result["energy/balance_error"]).max() / size


def deltoid(angle):
    """A kite, 0.4 0.4 and 0.7 0.7, which folds flat."""
    return four_bar(0.4, 0.4, 0.7, 0.7, angle)


def equal_links():
    """Crank and rod of one length: the pin passes over the main bearing."""
    case = slider_crank(0.5, 0.5, 1.2)
    case["gravity"] = [0, 0, 0]
    return with_velocity(case, main=2.0, big=-4.0, small=2.0)


#: change points: a start before one, with the speed that takes it through
PASSED = {
    "parallelogram": with_velocity(parallelogram(1.0), a=-4.0, d=-4.0, b=4.0),
    "three cranks": with_velocity(parallelogram(1.0, 3), a=-4.0, d=-4.0, b=4.0),
    "parallelogram from the other side": with_velocity(parallelogram(-0.8), a=8.0, d=8.0, b=-8.0),
    "crank as long as its rod": equal_links(),
}


@pytest.mark.parametrize("name", PASSED)
def test_change_points_are_passed_on_the_branch_of_the_velocity(name, tmp_path):
    data = PASSED[name]
    assert change_point(*_system(data)) is None  # the start is regular
    result = run(data, tmp_path)
    assert energy_jump(result) < 1e-6
    assert "change_point" in [
        kind.decode() if isinstance(kind, bytes) else kind for kind in result["events/kind"]
    ]
    if "a" in result.joints:
        a, d = (result.joints[k].position[:, 0] for k in ("a", "d"))
        assert a.min() < 0.0 < a.max(), "it has passed the change point"
        np.testing.assert_allclose(a, d, atol=1e-6)
    else:
        main, big = (result.joints[k].position[:, 0] for k in ("main", "big"))
        assert main[0] < math.pi / 2 < main[-1], "it has passed the change point"
        np.testing.assert_allclose(big, -2 * main, atol=1e-6)


def _system(data):
    system = Case.from_dict(data).system()
    return system, system.initial_state()


FLAT = "the start is a singular position of joints.d"


def test_a_start_in_a_change_point_asks_for_the_branch(tmp_path):
    for data in (parallelogram(0.0), with_velocity(parallelogram(0.0), a=2.0)):
        for call in (lambda data=data: run(data, tmp_path), lambda data=data: check(Case.from_dict(data))):
            with pytest.raises(SolverError) as error:
                call()
            text = str(error.value)
            assert FLAT in text and "choose none" in text
            assert "give initial velocities of joints." in text and "in the ratio 1 : " in text


def test_a_start_in_a_change_point_goes_on_along_its_velocity(tmp_path):
    """With equal speeds it stays a parallelogram, else it is the crossed one, whose cranks turn apart."""
    data = parallelogram(0.0)
    data["gravity"] = [0, 0, 0]
    data["analysis"] = data["analysis"] | {"t_end": 0.1}
    result = run(with_velocity(data, a=2.0, d=2.0, b=-2.0), tmp_path)
    np.testing.assert_allclose(result.joints["a"].position, result.joints["d"].position, atol=1e-8)
    assert result.joints["a"].position[-1, 0] == pytest.approx(0.2, rel=1e-6)
    assert any("the velocity chooses one" in str(text) for text in check(Case.from_dict(data)).warnings)
    ratio = (0.8 + 0.5) / (0.8 - 0.5)
    data["joints"]["b"]["initial"].pop("velocity")
    result = run(with_velocity(data, a=0.3, d=-0.3 * ratio), tmp_path)
    a, d = (np.tan(result.joints[name].position[1:, 0] / 2) for name in ("a", "d"))
    np.testing.assert_allclose(d / a, -ratio, rtol=1e-6)
    assert energy_jump(result) < 1e-6


def test_velocities_near_a_branch_are_taken_onto_it():
    system, state = _system(with_velocity(parallelogram(0.0), a=2.0, d=2.04, b=-2.0))
    found = change_point(system, state)
    assert found.velocity is not None
    motion = state.copy()
    motion.vel[:] = found.velocity
    evaluator = system.evaluator()
    evaluator.kinematics(motion)
    rates = {c.joint: evaluator.ws.coord.v[c.number] for c in system.coordinates}
    assert rates["a"] == pytest.approx(rates["d"], rel=1e-12)


def test_a_driven_start_in_a_change_point_names_both_speeds():
    data = driven(parallelogram(0.0), a="=2*t")
    data["joints"]["d"].pop("initial")
    system, state = _system(data)
    found = change_point(system, state)
    assert found.velocity is None and len(found.names) == 1
    speeds = sorted(float(branch[0]) for branch in found.branches)
    ratio = (0.8 + 0.5) / (0.8 - 0.5)  # of the crossed linkage, where it lies flat
    assert any(abs(abs(speed) - 2.0) < 1e-9 for speed in speeds)
    assert any(abs(abs(speed) - 2.0 * ratio) < 1e-9 for speed in speeds)
    with pytest.raises(SolverError, match="branches of the motion part there"):
        check(Case.from_dict(data))


def test_a_shaky_structure_is_no_mechanism(tmp_path):
    for call in (lambda: run(truss(), tmp_path), lambda: check(Case.from_dict(truss()))):
        with pytest.raises(SolverError, match="joints.c .translation x.: no motion leaves it"):
            call()


def test_rows_that_are_redundant_everywhere_are_no_change_point():
    for name, (data, *_) in REDUNDANT.items():
        assert change_point(*_system(data)) is None, name


#: lock-ups: case, time, joints, number of good samples kept at least
STUCK = {
    "slider pulled beyond reach": (driven(slider_crank(), guide="=0.9 + 0.3*t"), 1 / 3, "joints.small", 300),
    "slider pulled beyond reach, by kinematics": (
        driven(slider_crank(), "kinematics", guide="=0.9 + 0.3*t"), 1 / 3, "joints.small", 300,
    ),
    "rocker turned beyond its dead point": (
        driven(four_bar(0.6, 0.3, 0.5, 0.8, 0.9), a="=0.9 + 2*t"), 0.1432, "joints.d", 250,
    ),
    "rocker turned beyond its dead point, by kinematics": (
        driven(four_bar(0.6, 0.3, 0.5, 0.8, 0.9), "kinematics", a="=0.9 + 2*t"), 0.1432, "joints.d", 250,
    ),
    "drives that part": (driven(parallelogram(), a="=1 + t", d="=1 + t + 0.1*t**2"), 0.0, "joints.c", 1),
    "drives that part, by kinematics": (
        driven(parallelogram(), "kinematics", a="=1 + t", d="=1 + t + 0.1*t**2"), 0.0, "joints.c", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "dopri5", "dop853"])
@pytest.mark.parametrize("name", STUCK)
def test_lock_ups_name_time_joint_and_keep_what_was_computed(name, method, tmp_path):
    data, time, place, samples = STUCK[name]
    data = data | {"analysis": {"method": method} | data["analysis"]}
    with pytest.raises(SolverError) as error:
        fm.run(Case.from_dict(data), tmp_path / "r.h5")
    found = error.value.diagnostics[0]
    assert float(found.where.removeprefix("t = ").removesuffix(" s")) == pytest.approx(time, abs=6e-3)
    assert place in found.what
    assert "gap" in found.what or "miss by" in found.what or "open at" in found.what
    kept = fm.Result.load(tmp_path / "r.h5")
    assert kept.status == "failed" and len(kept.time) >= samples
    assert np.all(np.isfinite(kept["bodies/crank/position"]))
    assert np.abs(kept["solver/constraint_position"]).max() < 1e-6  # where a run is given up


def test_one_instant_of_drives_that_part_is_an_error(tmp_path):
    data = driven(parallelogram(), a="=1 + t", d="=1 + t + 0.1*t**2")
    data["analysis"] = {"type": "dynamics", "t_end": 0}
    with pytest.raises(
        SolverError, match="the constraints contradict each other: they miss by .* at joints.c"
    ):
        fm.run(Case.from_dict(data), tmp_path / "r.h5")


@pytest.mark.parametrize("patience", [0.0, 60.0])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("name", ["slider pulled beyond reach", "rocker turned beyond its dead point"])
def test_the_implicit_method_names_the_joints_of_a_lock_up(name, rtol, patience, tmp_path, monkeypatch):
    """Whenever the segments before the failure are written, by a wall clock; what was computed is kept."""
    monkeypatch.setattr("flexmbs.simulate.run.COMMIT_SECONDS", patience)
    data, time, place, _ = STUCK[name]
    own = {"method": "generalized-alpha", "rtol": rtol, "atol": 1e-2 * rtol}
    with pytest.raises(SolverError) as error:
        fm.run(Case.from_dict(data | {"analysis": data["analysis"] | own}), tmp_path / "r.h5")
    found = error.value.diagnostics[0]
    assert float(found.where.removeprefix("t = ").removesuffix(" s")) == pytest.approx(time, abs=1e-4)
    assert place in found.what and "lock-up or change point near" in found.what
    assert "generalized-alpha" not in found.remedy
    kept = fm.Result.load(tmp_path / "r.h5")
    assert kept.status == "failed" and kept.time[-1] == pytest.approx(time, abs=2e-3)
    assert np.abs(kept["solver/constraint_position"]).max() < 1e-6


def test_more_drives_than_freedoms_are_a_warning():
    data = driven(parallelogram(), "kinematics", a="=1 + t", d="=1 + t")
    assert any(
        "2 driven freedoms for 1 degrees of freedom" in str(text)
        for text in check(Case.from_dict(data)).warnings
    )


def test_gears_of_two_ratios_lock(tmp_path):
    data = gears()
    data["couplings"]["second"]["teeth"] = [30, 61]
    report = check(Case.from_dict(data))
    assert report.counts.mobility == 0
    assert any("nothing can move" in str(text) for text in report.warnings)
    assert run(data, tmp_path).joints["a"].acceleration[0, 0] == pytest.approx(0.0, abs=1e-9)


def held_twice():
    data = four_bar(0.3, 0.9, 0.7, 0.8, 0.5)
    data["joints"]["d"]["initial"] = {"position": 2.9, "hold": True}
    return data


def too_long():
    data = four_bar(0.3, 0.9, 0.7, 0.8, 0.5)
    data["bodies"]["coupler"] = bar(3.0)
    return data


def speeds_held():
    data = with_velocity(four_bar(0.3, 0.9, 0.7, 0.8, 0.5), a=1.0, d=5.0)
    data["joints"]["d"]["initial"]["hold"] = True
    return data


def upside_down():
    data = sarrus()
    data["joints"]["x3"].pop("initial")
    data["joints"]["y3"].pop("initial")
    return data


def gap():
    data = welded()
    data["ground"]["frames"]["right"]["pos"] = [2.1, 0, 0]
    return data


#: starts that cannot be: case, words of the error
IMPOSSIBLE = {
    "both cranks held": (
        held_twice(), ["positions", "joints.c (translation x)", "joints.a (hold)", "joints.d (hold)"],
    ),
    "a rod too long": (too_long(), ["positions", "joints.d (translation x)", "check lengths"]),
    "speeds held against each other": (
        speeds_held(), ["velocities", "joints.c (translation", "joints.d (hold)"],
    ),
    "axes the wrong way round": (
        upside_down(), ["joints.y3", "opposite directions", "turn one of the frames"],
    ),
    "a gap between welds": (gap(), ["joints.right (translation x) |g| = 0.1"]),
    "drives that contradict from the start": (
        driven(four_bar(0.3, 0.9, 0.7, 0.8, 0.5), a="=0.5 + t", d="=1.8"),
        ["positions", "drives.m_a, drives.m_d"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_starts_that_cannot_be_assembled_say_what_misses_by_how_much_F34(name):
    data, words = IMPOSSIBLE[name]
    with pytest.raises(SolverError) as error:
        check(Case.from_dict(data))
    for word in words:
        assert word in str(error.value)


def moved():
    data = four_bar(0.3, 0.9, 0.7, 0.8, 0.5)
    data["joints"]["d"]["initial"] = {"position": 2.9}
    return data, "joints.d: the loop closes at angle = 1.294"


def faster():
    data = with_velocity(four_bar(0.3, 0.9, 0.7, 0.8, 0.5), a=1.0, d=5.0)
    data["joints"]["a"]["initial"].pop("hold")
    return data, "joints.d: angle begins with -0.049"


def driven_elsewhere():
    data = driven(four_bar(0.3, 0.9, 0.7, 0.8, 0.5), a="=0.5 + t")
    data["joints"]["a"]["initial"] = {"position": 2.0}
    return data, "joints.a: the loop closes at angle = 0.5, given was 2; its drive gives it"


@pytest.mark.parametrize("make", [moved, faster, driven_elsewhere])
def test_given_values_that_assembly_changes_are_warned_of_F34(make, tmp_path):
    data, warning = make()
    assert any(warning in str(text) for text in check(Case.from_dict(data)).warnings)
    result = run(data | {"analysis": {"t_end": 0.02}}, tmp_path)
    assert np.abs(result["solver/constraint_position"]).max() < 1e-9


HIDDEN = "bodies.rod may spin about the line through joints.near and joints.far"


@pytest.mark.parametrize(
    "kinds, mobility", [(("spherical", "spherical"), 2), (("spherical", "universal"), 2)]
)
def test_rods_that_may_spin_are_told_and_run(kinds, mobility, tmp_path):
    data = rod_between(*kinds)
    counts = check(Case.from_dict(data)).counts
    assert counts.hidden == [HIDDEN] and counts.mobility == mobility
    assert energy_jump(run(data, tmp_path)) < 1e-5


def test_a_universal_joint_across_holds_its_rod(tmp_path):
    data = rod_between("universal", "spherical")
    counts = check(Case.from_dict(data)).counts
    assert counts.hidden == [] and counts.mobility == 1
    run(data, tmp_path)


def telescope(slide, near="spherical"):
    """The rod of `rod_between` in two parts, with a mass fixed beside the line on the second."""
    data = rod_between(near, "spherical")
    data["bodies"] |= {"inner": bar(1.0), "tank": bar(0.1)}
    data["bodies"]["rod"]["frames"]["side"] = {"pos": [0.5, 0, 0]}
    data["bodies"]["inner"]["frames"]["side"] = {"pos": [0.5, 0, 0]}
    data["joints"]["far"]["from"] = "inner.end"
    data["joints"]["slide"] = joint(slide, "rod.side", "inner.side", axis=[1, 0, 0])
    data["bodies"]["inner"]["frames"]["valve"] = {"pos": [0.6, 0.1, 0.05]}
    data["joints"]["tank"] = joint("fixed", "inner.valve", "tank")
    return data


@pytest.mark.parametrize("slide, hidden", [("prismatic", 1), ("cylindrical", 2)])
def test_struts_of_several_bodies_may_spin_between_balls(slide, hidden):
    counts = check(Case.from_dict(telescope(slide))).counts
    expected = {
        "prismatic": ["bodies.rod and bodies.inner and bodies.tank may spin together near far"],
        "cylindrical": [
            "bodies.rod may spin near slide",
            "bodies.inner and bodies.tank may spin together far slide",
        ],
    }[slide]
    texts = [
        text.replace("about the line through joints.", "").replace("and joints.", "")
        for text in counts.hidden
    ]
    assert texts == expected
    assert counts.mobility == 2 + hidden  # the crank, the travel in the strut, the spins
    assert f"{hidden} of the freedoms hidden" in counts.difference
    data = telescope(slide)
    data["drives"] = {"turn": {"joint": "main", "position": "=t"}}
    assert check(Case.from_dict(data)).counts.hidden == counts.hidden
    held = check(Case.from_dict(telescope(slide, "universal"))).counts  # its pins are across the line
    assert len(held.hidden) == hidden - 1 and held.mobility == 1 + hidden


def test_doors_and_driven_shafts_hide_nothing():
    assert check(Case.from_dict(door())).counts.hidden == []
    shaft = rod_between("revolute", "revolute")
    shaft["joints"] = {
        "main": joint("revolute", "ground", "crank", axis=[1, 0, 0]),
        "near": joint("revolute", "crank.end", "rod", axis=[1, 0, 0]),
        "far": joint("revolute", "rod.end", "block", axis=[1, 0, 0]),
        "guide": joint("prismatic", "ground", "block", axis=[1, 0, 0]),
    }
    names = [text.split()[0] for text in check(Case.from_dict(shaft)).counts.hidden]
    assert "bodies.rod" in names
    shaft["drives"] = {"motor": {"joint": "near", "position": "=t"}}
    assert check(Case.from_dict(shaft)).counts.hidden == []


def massless(data, name):
    data["bodies"][name] |= {"mass": 0.0, "inertia": {"ixx": 0, "iyy": 0, "izz": 0}}
    return data


def test_a_coupler_without_mass_moves_its_cranks(tmp_path):
    data = massless(four_bar(0.3, 0.9, 0.7, 0.8, 0.5), "coupler")
    assert energy_jump(run(data, tmp_path)) < 1e-6
    light = four_bar(0.3, 0.9, 0.7, 0.8, 0.5)
    light["bodies"]["coupler"] = bar(0.9, 1e-9)
    np.testing.assert_allclose(
        accelerations(data)["joints.a.acceleration"], accelerations(light)["joints.a.acceleration"], rtol=1e-6
    )


def test_a_spin_that_nothing_determines_is_an_error_with_the_body():
    ghost = {
        "bodies": {"ghost": {"type": "rigid", "mass": 0}},
        "joints": {"j": joint("revolute", "ground", "ghost")},
        "analysis": {"t_end": 1},
    }
    for data, name in ((massless(rod_between("spherical", "spherical"), "rod"), "rod"), (ghost, "ghost")):
        with pytest.raises(SolverError, match=f"bodies.{name}  error  a joint coordinate moves no inertia"):
            check(Case.from_dict(data))


def test_there_are_enough_of_them():
    """Redundant 10, change points 6, lock-ups 4, inconsistent starts 6, hidden or massless 4."""
    assert len(REDUNDANT) >= 10 and len(STUCK) >= 4 and len(IMPOSSIBLE) + 3 >= 6
    assert len(PASSED) + 4 >= 6


def test_a_start_in_a_change_point_names_joints_of_the_case(tmp_path):
    """A rod upright on a ball, under a ball on a slide: its speeds are those of the ball below."""
    top = {"top": {"pos": [0, 0, 1]}}
    data = {
        "ground": {"frames": top},
        "bodies": {"rod": bar(1.0) | {"frames": top}, "block": bar(0.1) | {"pose": {"pos": [0, 0, 1]}}},
        "joints": {
            "slide": joint("prismatic", "ground.top", "block", axis=[1, 0, 0]),
            "low": joint("spherical", "ground", "rod"),
            "up": joint("spherical", "rod.top", "block"),
        },
        "analysis": {"t_end": 0.1},
    }
    with pytest.raises(
        SolverError, match=r"give initial velocities of joints\.low\.rotation\.y, joints\.low\."
    ):
        run(data, tmp_path)


@pytest.mark.parametrize("far", [1e-4, 0.5])
def test_drives_that_agree_or_lead_into_a_lock_up_are_not_told_to_contradict(far):
    """A run that ends near them has another cause; the lock-up of the rocker is at 0.1432 s."""
    twice = parallelogram(0.7)
    twice["drives"] = {name: {"joint": name, "position": "=0.7 + t + t**2"} for name in "ad"}
    for item in twice["joints"].values():
        item.pop("initial", None)
    found = Diagnostic("solver.step_too_small", "t = 0 s", "the step shrinks to nothing")
    for data in (twice, driven(four_bar(0.6, 0.3, 0.5, 0.8, 0.9), a="=0.9 + 2*t")):
        system = Case.from_dict(data).system()
        assert clash(found, system, system.initial_state(), far) is None
    twice["drives"]["d"]["position"] = "=0.7 + t + 1.01*t**2"
    system = Case.from_dict(twice).system()
    assert "drives.a and drives.d contradict" in clash(found, system, system.initial_state(), 0.1).what
