"""Hidden degrees of freedom: what a body, or a group held together, may do while all others rest (F28)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.dynamics.analyses.initial import assemble
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.model.system import build_system
from tests.dynamics.test_counts import Z, mechanism

X, Y = (1, 0, 0), (0, 1, 0)
C, K = (0.1, 0.2, 0), (0.5, 0.35, 0)
#: a four-bar whose coupler pin `b` is to be put in
CRANK, ROCKER = ("revolute", "ground", "c", (0, 0, 0), Z), ("revolute", "r", "ground", (0.4, 0, 0), Z)
ALONG = tuple(np.subtract(K, C))


def between(*at, ends=("revolute", "revolute")):
    """Part `m` between crank and coupler, by two joints at their points."""
    first, second = at
    joints = (CRANK, (ends[0], "c", "m", first, Z), (ends[1], "m", "k", second, Z))
    return mechanism(["c", "m", "k", "r"], *joints, ("spherical", "k", "r", K, Z), ROCKER)


def stages(first="prismatic", second="prismatic", **more):
    """A slider-crank's rod as a telescope with three stages."""
    data = mechanism(
        ["c", "cyl", "m", "rod", "r"], CRANK, ("revolute", "c", "cyl", C, Z),
        (first, "cyl", "m", (0.2, 0.2375, 0), ALONG), (second, "m", "rod", (0.3, 0.275, 0), ALONG),
        ("revolute", "rod", "r", K, Z), ROCKER,
    )  # fmt: skip
    data["joints"]["j2"] |= more
    return data


def hidden(data):
    return check(Case.from_dict(data)).counts


def freedoms_alone(data, body):
    """Freedoms of a body while all others rest: of its six columns in dependent coordinates."""
    system = build_system(Case.from_dict(data).model(), absolute=True)
    evaluator = Evaluator(system)
    state = assemble(system, evaluator)
    number = system.numbers.index[body]
    columns = slice(system.tables.tree.o_eta[number], system.tables.tree.o_qd[number])
    G = evaluator.jacobian(state)[:, columns]
    return G.shape[1] - np.linalg.matrix_rank(G, 1e-8)


PIN = "joints.j1 and joints.j2"
#: part between two others -> what it may do, freedoms by hand
ALONE = {
    "middle stage": (stages(), "slide along joints.j2 and joints.j3", 1),
    "pin, one point": (between(C, C), f"spin about the line through {PIN}", 1),
    "pin, two points": (between(C, (0.1, 0.2, 0.01)), f"spin about the line through {PIN}", 1),
    "floating pin": (
        between(C, (0.1, 0.2, 0.01), ends=("cylindrical",) * 2),
        f"spin about and slide along the line through {PIN}", 2,
    ),
    "ball": (between(C, C, ends=("spherical",) * 2), f"turn any way about {PIN}", 3),
    "disc": (between(C, C, ends=("planar",) * 2), f"move alone in 3 ways between {PIN}", 3),
    "foot": (  # turns about the normal through its ball, away from where the plane is measured
        mechanism(
            ["k", "m", "r"], ("cylindrical", "ground", "k", (0, 0, 0), Z),
            ("spherical", "k", "m", (0, 0, 0.2), Z), ("planar", "m", "r", (0.1, 0.3, 0), Z),
            ("prismatic", "r", "ground", (0, 0, 0), X),
        ),
        "move alone between joints.j1 and joints.j2", 1,
    ),
    "nut": (
        mechanism(
            ["m", "k"], ("helical", "ground", "m", (0, 0, 0), Z, {"lead": 0.01}),
            ("helical", "m", "k", (0, 0, 0.1), Z, {"lead": 0.01}), ("prismatic", "k", "ground", (1, 0, 0), Z),
        ),
        "move alone between joints.j0 and joints.j1", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_what_moves_alone_is_named_with_all_its_freedoms(name):
    data, text, freedoms = ALONE[name]
    counts = hidden(data)
    assert f"bodies.m may {text}" in counts.hidden
    assert freedoms_alone(data, "m") == freedoms
    others = sum("bodies.m may" not in item for item in counts.hidden)  # couplers between balls spin
    assert counts.n_hidden == freedoms + others
    assert f"{counts.n_hidden} of the freedoms hidden" in counts.difference


USES = [
    ("spring", {"stiffness": 1000.0}), ("damper", {"damping": 3.0}), ("friction", {"effort": 0.1}),
    ("stop", {"lower": -1.0, "upper": 1.0, "stiffness": 1e4}),
]  # fmt: skip


def flywheels(**more):
    data = mechanism(
        ["m", "k"], ("revolute", "ground", "m", (0, 0, 0), Z), ("revolute", "m", "k", (0, 0, 0.1), Z)
    )
    data["joints"]["j1"] |= more
    return data


def test_what_springs_and_elements_hold_is_not_hidden_A_dual_mass_flywheel():
    assert hidden(flywheels()).hidden == ["bodies.m may spin about the line through joints.j0 and joints.j1"]
    for kind, table in USES:
        assert hidden(flywheels(**{kind: table})).hidden == [], kind
    for force in (
        {"type": "joint_force", "joint": "j1", "value": 2.0},
        {"type": "bushing", "from": "m", "to": "k", "stiffness": [1, 1, 1, 1, 1, 1]},
        {"type": "torque", "on": "m", "torque": [0, 0, 1]},
        {"type": "spring_damper", "from": "ground", "to": "m.rim", "damping": 5.0},
    ):
        data = flywheels()
        data["bodies"]["m"]["frames"] = {"rim": {"pos": [0.1, 0.2, 0]}}
        data["ground"] = {"frames": {"post": {"pos": [1, 0, 0]}}}
        if force["type"] == "spring_damper":
            force["from"] = "ground.post"
        assert hidden(data | {"forces": {"f": force}}).hidden == [], force["type"]
    data = flywheels() | {"drives": {"d": {"joint": "j1", "position": "=t"}}}
    assert hidden(data).hidden == []


def test_a_coil_spring_along_the_strut_does_not_keep_it_from_spinning():
    """A spring between two points on the line feels the travel, not the turn."""
    data = mechanism(
        ["cyl", "rod", "r"], ("spherical", "ground", "cyl", (0, 0, 0), Z),
        ("cylindrical", "cyl", "rod", (0, 0, 0.3), Z), ("spherical", "rod", "r", (0, 0, 1), Z),
        ("prismatic", "r", "ground", (0, 0, 1), X),
    )  # fmt: skip
    data["bodies"]["rod"]["frames"] = {"top": {"pos": [0, 0, 1]}}
    data["forces"] = {
        "coil": {"type": "spring_damper", "from": "cyl", "to": "rod.top", "stiffness": 9.0, "length": 1.0}
    }
    assert [text.split()[0] for text in hidden(data).hidden] == ["bodies.cyl", "bodies.rod"]
    data["joints"]["j1"]["spring"] = {"coordinate": "angle", "stiffness": 1.0}
    (together,) = hidden(data).hidden
    assert (
        together
        == "bodies.cyl and bodies.rod may spin together about the line through joints.j0 and joints.j2"
    )


def test_rows_of_a_joint_that_hold_only_here_hide_nothing():
    """A shaft bent at a right angle turns about one pin of its joint, until that pin itself is turned."""
    at, out = (0, 0, 0), (0.4, 1, 0.1)
    data = mechanism(
        ["a", "m", "k"], ("spherical", "ground", "a", (-1, 0, 0), Z),
        ("universal", "a", "m", at, (0, 0, 1)), ("spherical", "m", "k", (1, 0, 0), Z),
        ("spherical", "k", "ground", out, Z),
    )  # fmt: skip
    assert freedoms_alone(data, "m") == 1  # about x, which is a pin of the joint here
    assert not any(text.startswith("bodies.m ") for text in hidden(data).hidden)


def test_couplings_without_value_beside_the_start_leave_the_first_finding():
    data = between(C, C)
    data["joints"]["j0"]["initial"] = {"position": 0.0}
    data["bodies"]["w"] = {"type": "rigid", "mass": 1, "inertia": {"ixx": 1, "iyy": 1, "izz": 1}}
    data["joints"]["j9"] = {"type": "prismatic", "from": "ground", "to": "w"}
    zero = "=j9.position - sqrt(1e-12 - j0.position**2)"
    data["couplings"] = {"edge": {"type": "expression", "zero": zero}}
    assert f"bodies.m may spin about the line through {PIN}" in hidden(data).hidden


def strut(*upper, fold=True):
    """Cylinder and rod with a hinge between, on a ball below; above as given, up to a slider."""
    bodies = ["a", "b", *(["c"] if fold else []), *(["yoke"] if len(upper) > 1 else []), "s"]
    last = bodies[1 + fold]
    joints = [("spherical", "ground", "a", (0, 0, 0), Z), ("prismatic", "a", "b", (0, 0, 0.3), Z)]
    joints += [("revolute", "b", "c", (0, 0, 0.6), X)] if fold else []
    ends = [last, *bodies[2 + fold :]]
    joints += [(kind, ends[k], ends[k + 1], (0, 0, 1), Z) for k, kind in enumerate(upper)]
    return mechanism(bodies, *joints, ("prismatic", "s", "ground", (0, 0, 1), X))


@pytest.mark.parametrize("upper", [("spherical",), ("revolute", "universal")])
@pytest.mark.parametrize("fold", [True, False])
def test_struts_may_spin_in_an_axial_bearing_below_their_yoke(upper, fold):
    counts = hidden(strut(*upper, fold=fold))
    who = "bodies.a and bodies.b" + (" and bodies.c" if fold else "")
    end = f"joints.j{2 + fold}"
    assert counts.hidden == [f"{who} may spin together about the line through joints.j0 and {end}"]


def test_ends_of_massless_rods_and_free_bodies_are_not_hidden():
    """A part between two rods swings with them, and a chassis between its wheels is what moves."""
    chain = mechanism(
        {"p": {"type": "particle", "mass": 1, "initial": {"pos": [1, 0, 0]}},
         "q": {"type": "particle", "mass": 1, "initial": {"pos": [1, 1, 0]}}},
        ("distance", "ground", "p", None, Z, {"length": 1}), ("distance", "p", "q", None, Z, {"length": 1}),
    )  # fmt: skip
    assert hidden(chain).hidden == []
    wheels = (("revolute", "m", "k", (0, 1, 0), Y), ("revolute", "m", "r", (0, -1, 0), Y))
    assert hidden(mechanism(["m", "k", "r"], *wheels)).hidden == []
    assert hidden(mechanism(["m", "k", "r"], ("free", "ground", "m", None, Z), *wheels)).hidden == []
