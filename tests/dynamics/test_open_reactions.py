"""Which reactions are unique (F28), against the null space of all constraints in absolute coordinates.

Couplings and drives count as the rows that they are, compliances by the energy of the null vectors.
"""

import re

import numpy as np
import pytest
from scipy.linalg import null_space

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.generate import four_bars, scissor_lift
from flexmbs.dynamics.analyses.mobility import joint_speeds, mobility
from flexmbs.dynamics.loops.null_spaces import wide
from flexmbs.dynamics.reactions import self_stress
from flexmbs.spatial import axis_angle
from tests.benchmarks.flexible import LENGTH, lift_case

LOCKED = {"revolute": "xyzXY", "cylindrical": "xyXY", "spherical": "xyz", "prismatic": "xyXYZ"}
WORDS = {**{k: ("translation", k) for k in "xyz"}, **{k: ("rotation", k.lower()) for k in "XYZ"}}


class Mechanism:
    """Bodies at rest and the joints between them, all markers of a joint at one place in one attitude.

    `bodies`: place and attitude; `joints`: type, from, to, place, attitude; `laws` and `drives`: factors of
    joint coordinates (about or along z).
    """

    def __init__(self, bodies, joints, laws=None, drives=None, soft=None):
        self.bodies, self.joints, self.soft = bodies, joints, soft or {}
        self.laws, self.drives = laws or {}, {name: {j: 1.0} for name, j in (drives or {}).items()}

    def data(self):
        frames = {name: {} for name in ("ground", *self.bodies)}
        joints = {}
        for name, (kind, start, end, x, A) in self.joints.items():
            for body in (start, end):
                r, R = self.bodies.get(body, (np.zeros(3), np.eye(3)))
                own = R.T @ A
                frames[body][name] = {"pos": list(R.T @ (x - r)), "rot": axes(own)}
            joints[name] = {"type": kind, "from": f"{start}.{name}", "to": f"{end}.{name}"}
            if name in self.soft:
                joints[name]["compliance"] = list(self.soft[name])
        inertia = {"ixx": 0.01, "iyy": 0.012, "izz": 0.015}
        return {
            "ground": {"frames": frames.pop("ground")},
            "bodies": {
                name: {"type": "rigid", "mass": 1.0, "inertia": inertia, "frames": frames[name],
                       "pose": {"pos": list(r), "rot": axes(R)}}
                for name, (r, R) in self.bodies.items()
            },
            "joints": joints,
            "couplings": {name: {"type": "linear", "terms": terms} for name, terms in self.laws.items()},
            "drives": {m: {"joint": j, "position": 0} for m, terms in self.drives.items() for j in terms},
            "analysis": {"t_end": 0},
        }  # fmt: skip

    def row(self, joint, direction):
        """Constraint row of one direction of a joint on all bodies; capitals are rotations."""
        _, start, end, x, A = self.joints[joint]
        a, out = A[:, "xyz".index(direction.lower())], np.zeros(6 * len(self.bodies))
        for body, sign in ((end, 1.0), (start, -1.0)):
            if body != "ground":
                k = 6 * list(self.bodies).index(body)
                part = [*a, *np.cross(x - self.bodies[body][0], a)] if direction.islower() else [0, 0, 0, *a]
                out[k : k + 6] += sign * np.array(part)
        return out

    def along(self, joint):
        return "z" if self.joints[joint][0] == "prismatic" else "Z"

    def states(self):
        """Null vectors of G^T and what they load: names of components with their rows."""
        own = [[(f"joints.{j}", k, 1.0)] for j, item in self.joints.items() for k in LOCKED[item[0]]]
        named = {f"couplings.{k}": v for k, v in self.laws.items()} | {
            f"drives.{k}": v for k, v in self.drives.items()
        }
        own += [[(f"joints.{j}", self.along(j), f) for j, f in terms.items()] for terms in named.values()]
        G = np.array([sum(f * self.row(j[7:], k) for j, k, f in terms) for terms in own])
        size = np.array([np.linalg.norm([f for *_, f in terms]) for terms in own])
        U, s, _ = np.linalg.svd(G / size[:, None])
        N = U[:, int(np.sum(s > 1e-9 * s[0])) :]
        loads = {}
        for terms, n, d in zip(own, N, size, strict=True):
            for joint, k, f in terms:
                loads[joint, k] = loads.get((joint, k), 0.0) + f / d * n
        return loads, dict(zip(named, N[len(N) - len(named) :], strict=True))

    def open(self):
        """Components that are open when all is rigid, and when compliances decide."""
        loads, named = self.states()
        n = len(next(iter(loads.values())))
        energy = [np.zeros(n)]
        for (joint, k), load in loads.items():
            energy.append(np.sqrt(self.soft.get(joint[7:], [0.0] * 6)["xyzXYZ".index(k)]) * load)
        _, s, Vt = np.linalg.svd(np.array(energy), full_matrices=True)
        free = Vt[int(np.sum(s > 1e-9)) :].T
        found = []
        for Z in (np.eye(n), free):
            texts = {
                (j, *WORDS[k]) for (j, k), load in loads.items() if np.abs(load @ Z).max(initial=0) > 1e-9
            }
            found.append(
                texts | {(k, "", "") for k, load in named.items() if np.abs(load @ Z).max(initial=0) > 1e-9}
            )
        return found


def axes(R):
    return {"x": list(R[:, 0]), "y": list(R[:, 1])}


def components(texts):
    """Sets of (name, word, axis) from the texts of a check."""
    found = set()
    for text in texts:
        name, inner = re.match(r"(\S+) \((.*)\)", text).groups()
        if not name.startswith("joints."):
            found.add((name, "", ""))
            continue
        for part in inner.split("; "):
            word, _, which = part.partition(" ")
            found |= {(name, word, axis) for axis in which.split(", ")}
    return found


def check_open(mechanism):
    counts = check(Case.from_dict(mechanism.data())).counts
    in_any, still = mechanism.open()
    assert components(counts.indeterminate_joints) == still
    decided = {item for item in in_any if item not in still}
    assert components(counts.stiffness_decides) == decided
    unique = "unique      every component of the reactions"
    assert (unique in counts.lines()) is not still
    return counts


ANGLE = 0.7
PIN = 0.1 * np.array([np.cos(ANGLE), np.sin(ANGLE), 0.0])
BASE = np.array([0.3, 0.0, 0.0])
SPACE = axis_angle(np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), 1.1)


def loop(kinds, T, **more):
    """A parallelogram with joints a, c, d, b of the given types."""
    R, E = axis_angle(np.array([0.0, 0.0, 1.0]), ANGLE), np.eye(3)
    bodies = {"crank": (np.zeros(3), R), "coupler": (PIN, E), "rocker": (BASE, R)}
    ends = {"a": ("ground", "crank", np.zeros(3), E), "c": ("crank", "coupler", PIN, R),
            "d": ("coupler", "rocker", PIN + BASE, E), "b": ("ground", "rocker", BASE, E)}  # fmt: skip
    joints = {
        name: (kind, start, end, T @ x, T @ A)
        for (name, (start, end, x, A)), kind in zip(ends.items(), kinds, strict=True)
    }
    return Mechanism({k: (T @ r, T @ A) for k, (r, A) in bodies.items()}, joints, **more)


@pytest.mark.parametrize("soft", ["", "b", "acdb"])
@pytest.mark.parametrize("factor", [0.3, 1 / 7, 1e-3, 1e7])
@pytest.mark.parametrize("T", [np.eye(3), SPACE], ids=["plane", "turned"])
def test_laws_that_say_the_same_leave_open_what_they_load_and_no_rounding(T, factor, soft):
    compliance = {name: [1e-7] * 3 + [1e-5] * 3 for name in soft}
    laws = {"k1": {"a": 1.0, "b": -1.0}, "k2": {"a": factor, "b": -factor}}
    kinds = ("revolute", "cylindrical", "spherical", "revolute")
    counts = check_open(loop(kinds, T, laws=laws, soft=compliance))
    assert counts.redundant == 2
    if soft:
        assert counts.indeterminate_joints == ["couplings.k1 (force)", "couplings.k2 (force)"]


def tandem():
    """Two pinions on one rack, both driven."""
    E, upright = np.eye(3), np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    bodies = {"one": (np.zeros(3), E), "two": (BASE, E), "rack": (np.array([0.0, 0.1, 0.0]), E)}
    joints = {"a": ("revolute", "ground", "one", np.zeros(3), E),
              "b": ("revolute", "ground", "two", BASE, E),
              "s": ("prismatic", "ground", "rack", np.array([0.0, 0.1, 0.0]), upright)}  # fmt: skip
    laws = {"r1": {"s": 1.0, "a": -0.1}, "r2": {"s": 1.0, "b": -0.1}}
    return Mechanism(bodies, joints, laws, {"m": "a", "n": "b"})


def test_two_driven_pinions_of_one_rack_share_in_an_open_way(tmp_path):
    counts = check_open(tandem())
    assert (counts.mobility, counts.redundant, counts.driven) == (1, 0, 1)
    assert "1 by rank, 1 of it driven" in "".join(counts.lines())
    assert {"drives.m (effort)", "drives.n (effort)"} <= set(counts.indeterminate_joints)
    result = fm.run(Case.from_dict(tandem().data()), tmp_path / "r.h5")
    for path in ("drives/m/effort", "drives/n/effort", "couplings/r1/force"):
        assert not result.attributes_of(path).get("determinate", True), path
    # all that goes through the joint of a pinion, drive and teeth, is known
    assert result.attributes_of("joints/a/reaction_moment").get("determinate", True)


def test_one_driven_pinion_leaves_nothing_open():
    mechanism = tandem()
    del mechanism.drives["n"]
    counts = check_open(mechanism)
    assert counts.driven == 1 and not counts.indeterminate_joints


@pytest.mark.parametrize("T", [np.eye(3), SPACE], ids=["plane", "turned"])
@pytest.mark.parametrize("driven", ["a", "ab", "acdb"])
def test_drives_that_hold_each_other_in_a_loop_open_the_forces_between_them(T, driven):
    """With all joints driven the cut is, too."""
    drives = {f"m{joint}": joint for joint in driven}
    counts = check_open(loop(("revolute",) * 4, T, drives=drives))
    assert (counts.mobility, counts.redundant, counts.driven) == (1, 3, 1)


def test_compliance_decides_between_drives():
    soft = {name: [1e-7] * 3 + [1e-5] * 3 for name in "acdb"}
    counts = check_open(loop(("revolute",) * 4, np.eye(3), drives={"m": "a", "n": "b"}, soft=soft))
    assert not counts.indeterminate_joints


def test_a_cut_joint_that_holds_nothing_is_strained_by_nothing():
    mechanism = loop(("revolute",) * 4, np.eye(3), soft={"a": [1e-7] * 3 + [1e-5] * 3})
    plain = check(Case.from_dict(mechanism.data())).counts
    data = mechanism.data()
    data["joints"]["loose"] = {"type": "free", "from": "ground", "to": "coupler"}
    counts = check(Case.from_dict(data)).counts
    assert counts.stiffness_decides == plain.stiffness_decides and plain.stiffness_decides
    assert counts.indeterminate_joints == plain.indeterminate_joints


def test_the_drive_of_a_ball_beside_a_hinge_is_open():
    data = {
        "bodies": {"door": {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 1, "iyy": 1, "izz": 1},
                            "frames": {"top": {"pos": [0, 0, 1]}}}},
        "ground": {"frames": {"top": {"pos": [0, 0, 1]}}},
        "joints": {"ball": {"type": "spherical", "from": "ground", "to": "door"},
                   "slide": {"type": "in_line", "from": "ground.top", "to": "door.top"}},
        "drives": {"m": {"joint": "ball", "velocity": [0, 0, 0]}},
        "analysis": {"t_end": 0},
    }  # fmt: skip
    counts = check(Case.from_dict(data)).counts
    assert (counts.mobility, counts.driven, counts.redundant) == (1, 1, 0)
    # the ball's forces across and its drive about x and y hold what the line holds, too
    assert components(counts.indeterminate_joints) == {
        *(("joints.ball", word, axis) for word in ("translation", "rotation") for axis in "xy"),
        *(("joints.slide", "translation", axis) for axis in "xy"),
        ("drives.m", "", ""),
    }


@pytest.mark.parametrize("data", [scissor_lift(9), four_bars(12)], ids=["lift", "four-bars"])
def test_states_that_share_no_joint_are_looked_at_together(data, monkeypatch):
    """As few columns as states load a joint, and the same reactions as with a column for each."""

    def reactions():
        system = Case.from_dict(data).system()
        evaluator, state = system.evaluator(), system.initial_state()
        evaluator.kinematics(state)
        report = mobility(system, evaluator, state)
        return report.redundant, report.indeterminate_joints

    columns, together = [], self_stress._side_by_side

    def counted(*given):
        columns.append(together(*given)[0].shape[1])
        return together(*given)

    def each_by_itself(system, rows, blocks):
        return wide(blocks, len(rows)), np.full((1, 1), -1)  # nothing strains

    monkeypatch.setattr(self_stress, "_side_by_side", counted)
    found = reactions()
    monkeypatch.setattr(self_stress, "_side_by_side", each_by_itself)
    assert reactions() == found and found[1] and max(columns) < found[0] / 2


@pytest.fixture(scope="module")
def rods(tmp_path_factory):
    """Folder of the rod's modal data, made once."""
    return tmp_path_factory.mktemp("rods")


@pytest.mark.parametrize("rigid", [(), ("b1",), ("a1", "b1", "a2", "b2")], ids=["none", "one", "a loop"])
def test_flexible_bars_decide_what_they_strain_in_loops_that_share_them(rigid, rods):
    """Against the null space of all rows in dense matrices: with modes or without them."""
    data = lift_case(4, 3, rods)
    bar = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 1.0, "iyy": 1.0, "izz": 1.0}, "frames": {
        name: {"pos": [x * LENGTH, 0.0, 0.0]} for name, x in (("left", 0), ("middle", 0.5), ("right", 1))
    }}  # fmt: skip
    data["bodies"] |= dict.fromkeys(rigid, bar)
    for name, joint in data["joints"].items():
        if name.startswith("right"):
            joint["type"] = "revolute"
    system = Case.from_dict(data, folder=rods).system()
    evaluator, state = system.evaluator(), system.initial_state()
    report = mobility(system, evaluator, state)
    rows = np.arange(system.n_rows)
    G, joints = evaluator.jacobian(state.copy()), joint_speeds(system)
    places = list(system.joints.values())

    def loaded(speeds):
        """Components of joints that states load which do no work on some speeds."""
        scale = np.abs(G[:, speeds]).max(axis=0)
        stress = null_space((G[:, speeds][:, scale > 1e-9] / scale[scale > 1e-9]).T, rcond=1e-9)
        loads = self_stress.stress_of_joints(evaluator, rows, stress).reshape(len(places), 2, 3, -1)
        turn = np.array([evaluator.ws.marker.R[place.P.number] for place in places])
        own = np.abs(np.einsum("jba,jtbs->jtas", turn, loads)).max(axis=3, initial=0.0)
        return {
            (f"joints.{name}", word, axis)
            for name, item in zip(system.joints, own, strict=True)
            for word, part in zip(("translation", "rotation"), item, strict=True)
            for axis, x in zip("xyz", part, strict=True)
            if x > 1e-6
        }

    in_any, still = loaded(joints), loaded(np.ones_like(joints))
    assert bool(still) is (len(rigid) > 1)
    assert components(report.indeterminate_joints) == still
    assert components(report.stiffness_decides) == in_any - still
