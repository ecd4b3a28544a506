"""n_h = n_k - n_t, open or closed, and the class of a mechanism, from the joints of the user (F28)."""

import pytest

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.dynamics.analyses.mobility import mobility
from flexmbs.dynamics.mechanism import build

Z = [0, 0, 1]


def rigid():
    return {"type": "rigid", "mass": 1, "inertia": {"ixx": 0.1, "iyy": 0.2, "izz": 0.25}}


def point(*pos):
    return {"type": "particle", "mass": 1, "initial": {"pos": list(pos)}}


def mechanism(bodies, *joints):
    """Joints as (type, from, to, point, axis, further keys); a name of a body stands for a rigid one."""
    parts = {name: rigid() for name in bodies} if not isinstance(bodies, dict) else bodies
    data = {"bodies": parts, "joints": {}, "analysis": {"type": "assembly"}}
    for k, (kind, one, other, at, axis, *more) in enumerate(joints):
        placed = {} if at is None else {"point": list(at), "axis": list(axis)}
        data["joints"][f"j{k}"] = {"type": kind, "from": one, "to": other, **placed, **(more or [{}])[0]}
    return data


def table(legs):
    places = [(1, 1, 0), (-1, 1, 0), (-1, -1, 0), (1, -1, 0)]
    return mechanism(["t"], *(("in_plane", "ground", "t", places[k], Z) for k in range(legs)))


ROD = {"length": 1}
#: bodies and joints -> class, structure, joints less bodies by hand, freedoms
CHAINS = {
    "mass point on a rod": (
        mechanism({"p": point(1, 0, 0)}, ("distance", "ground", "p", None, Z, ROD)), "spatial", "open", 0, 2,
    ),
    "double pendulum of particles": (
        mechanism(
            {"p": point(1, 0, 0), "q": point(1, 1, 0)},
            ("distance", "ground", "p", None, Z, ROD), ("distance", "p", "q", None, Z, ROD),
        ),
        "spatial", "open", 0, 4,
    ),
    "body on a joint without coordinates": (
        mechanism(["a"], ("constant_velocity", "ground", "a", (0, 0, 0), Z)), "spherical", "open", 0, 2,
    ),
    "pendulum that is cut": (
        mechanism(["a"], ("revolute", "ground", "a", (0, 0, 0), Z, {"cut": True})), "planar", "open", 0, 1,
    ),
    "table on three legs": (table(3), "spatial", "closed", 2, 3),
    "table on four legs": (table(4), "spatial", "closed", 3, 3),
    "free body": (mechanism(["a"]), "spatial", "open", 0, 6),
    "free body by a joint": (mechanism(["a"], ("free", "ground", "a", None, Z)), "spatial", "open", 0, 6),
    "two free bodies": (mechanism(["a", "b"]), "spatial", "branched", 0, 12),
    "free chain": (
        mechanism("abc", ("revolute", "a", "b", (0, 0, 0), Z), ("revolute", "b", "c", (1, 0, 0), Z)),
        "spatial", "open", 0, 8,
    ),
    "free four-bar": (
        mechanism(
            "abcd", ("revolute", "a", "b", (0, 0, 0), Z), ("revolute", "b", "c", (0, 1, 0), Z),
            ("revolute", "c", "d", (2, 2, 0), Z), ("revolute", "d", "a", (1, 0, 0), Z),
        ),
        "spatial", "closed", 1, 7,
    ),
    "two chains": (
        mechanism("ab", ("revolute", "ground", "a", (0, 0, 0), Z), ("revolute", "ground", "b", (1, 0, 0), Z)),
        "planar", "branched", 0, 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_loops_are_counted_from_the_joints_of_the_user_F28(name):
    data, kind, structure, loops, freedoms = CHAINS[name]
    report = check(Case.from_dict(data))
    counts = report.counts
    assert (counts.kind, counts.structure) == (kind, structure)
    assert (counts.n_loops, counts.mobility) == (loops, freedoms)
    n_free = counts.n_floating
    assert counts.n_joints == len(data["joints"]) and counts.n_bodies == len(data["bodies"])
    free = f" + {n_free} free" if n_free else ""
    assert f"loops {counts.n_joints} joints{free} - {counts.n_bodies} bodies = {loops}" in report.lines[0]
    assert counts.gruebler == freedoms or counts.redundant or name == "free four-bar"
    system = build(Case.from_dict(data).model(), formulation="descriptor")
    state = system.initial_state()
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    other = mobility(system, evaluator, state)
    assert (other.kind, other.structure, other.n_loops) == (kind, structure, loops)
    assert (other.mobility, other.gruebler) == (freedoms, counts.gruebler)


@pytest.mark.parametrize("joint, count", [("universal", 1), ("constant_velocity", 1)])
def test_shafts_through_one_point_are_spherical_whatever_couples_them(joint, count):
    middle = (joint, "a", "b", (0, 0, 0), (0, 0.2, 1))
    data = mechanism(
        "ab", ("revolute", "ground", "a", (0, 0, -0.2), Z), middle,
        ("revolute", "b", "ground", (0, 0.08, 0.2), (0, 0.4, 1)),
    )  # fmt: skip
    counts = check(Case.from_dict(data)).counts
    assert (counts.kind, counts.gruebler, counts.mobility) == ("spherical", count, 1)


def four_bar(coupler="revolute"):
    last = ("revolute", "c", "ground", (0.4, 0, 0), Z)
    return mechanism(
        "abc", ("revolute", "ground", "a", (0, 0, 0), Z), ("revolute", "a", "b", (0.1, 0.2, 0), Z),
        (coupler, "b", "c", (0.5, 0.35, 0), Z), last,
    )  # fmt: skip


#: mechanism -> f_sz, b, redundant, words
DETERMINACY = {
    "four hinges": (four_bar(), 18, 20, 3, "statically indeterminate, 3-fold; kinematically inde"),
    "with a ball": (four_bar("spherical"), 18, 18, 1, "statically indeterminate, 1-fold; kinematic"),
    "body welded": (
        mechanism(["a"], ("fixed", "ground", "a", (0, 0, 0), Z)), 6, 6, 0,
        "statically determinate; kinematically determinate, nothing moves",
    ),
    "beam welded twice": (
        mechanism(["a"], *(("fixed", "ground", "a", (x, 0, 0), Z) for x in (0, 1))), 6, 12, 6,
        "statically indeterminate, 6-fold; kinematically determinate, nothing moves",
    ),
    "mass point": (CHAINS["mass point on a rod"][0], 3, 1, 0, "statically determinate; kinematically inde"),
    "free body": (mechanism(["a"]), 6, 0, 0, "statically determinate; kinematically indeterminate, it moves"),
}  # fmt: skip


@pytest.mark.parametrize("name", DETERMINACY)
def test_conditions_of_all_joints_tell_determinacy_F28(name):
    """b = sum (6 - f_i), of which b_flen = f_sz - f are independent."""
    data, free, b, redundant, words = DETERMINACY[name]
    counts = check(Case.from_dict(data)).counts
    assert (counts.body_freedoms, counts.conditions, counts.redundant) == (free, b, redundant)
    assert counts.mobility == free - (b - redundant)
    text = f"free bodies {free} freedoms, b = {b} conditions, {b - redundant} independent: {words}"
    assert any(text in line for line in counts.lines())
