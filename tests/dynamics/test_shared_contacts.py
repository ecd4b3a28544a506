"""Contacts that only push beside others that say the same: shares without pull, lift-off (F28)."""

import itertools

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute, prepare

FORMULATIONS = ("recursive", "minimal", "descriptor")
#: of a contact that pushes up, one that pushes down, a groove
KINDS = {"up": {"unilateral": True}, "down": {"unilateral": True, "pushes": "down"}, "groove": {}}
BODY = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.01, "iyy": 0.012, "izz": 0.015}}


def cam(contacts, load, lift="=0.05 + 0.02*sin(x)", **analysis):
    """A follower of 1 kg under a load on a driven disc at 10 rad/s, held by contacts of one lift."""
    pair = {"type": "cam", "cam": "shaft", "follower": "guide", "lift": lift}
    return {
        "bodies": {"disc": BODY, "rod": BODY},
        "joints": {
            "shaft": {"type": "revolute", "from": "ground", "to": "disc"},
            "guide": {
                "type": "prismatic", "from": "ground", "to": "rod", "axis": [0, 1, 0],
                "initial": {"position": 0.05},
            },
        },
        "couplings": {f"{kind}_{k}": pair | KINDS[kind] for k, kind in enumerate(contacts)},
        "drives": {"motor": {"joint": "shaft", "position": "=10*t"}},
        "forces": {"load": {"type": "joint_force", "joint": "guide", "value": load}},
        "analysis": {"t_end": 0.1, "rtol": 1e-9, "atol": 1e-12} | analysis,
        "output": {"every": 0.05},
    }  # fmt: skip


def shares(contacts, push):
    """By hand: those that can bear the whole push bear the same, the others nothing."""
    bears = [kind == "groove" or (kind == "up") == (push > 0.0) for kind in contacts]
    return [abs(push) / sum(bears) * (np.sign(push) if k == "groove" else 1.0) * b
            for k, b in zip(contacts, bears, strict=True)]  # fmt: skip


@pytest.mark.parametrize("load", [-10.0, 10.0])
@pytest.mark.parametrize(
    "contacts",
    [("up", "down"), ("groove", "up"), ("up", "groove"), ("up", "up", "down"), ("down", "groove", "up")],
)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_no_contact_pulls_that_others_can_spare(formulation, contacts, load, tmp_path):
    data = cam(contacts, load, formulation=formulation)
    result = execute(Case.from_dict(data), tmp_path / "a.h5").result
    push = -load - 2.0 * np.sin(10.0 * result["time"])  # m s'' = push + load
    found = np.column_stack([result[f"couplings/{name}/force"] for name in data["couplings"]])
    np.testing.assert_allclose(found, [shares(contacts, x) for x in push], atol=1e-8)
    assert not len(result["events/time"]), "nothing lifts"


@pytest.mark.parametrize("contacts", [("up", "down"), ("down", "up"), ("up", "groove"), ("groove", "up")])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_load_that_changes_its_direction_passes_from_one_contact_to_another(
    formulation, contacts, tmp_path
):
    data = cam(contacts, "=-10*cos(20*t)", formulation=formulation, t_end=0.5)
    result = execute(Case.from_dict(data), tmp_path / "a.h5").result
    push = 10.0 * np.cos(20.0 * result["time"]) - 2.0 * np.sin(10.0 * result["time"])
    assert push.min() < -1.0 and push.max() > 1.0
    found = np.column_stack([result[f"couplings/{name}/force"] for name in data["couplings"]])
    np.testing.assert_allclose(found, [shares(contacts, x) for x in push], atol=1e-7)
    assert not len(result["events/time"])


def test_a_follower_on_two_equal_cams_lifts_off_and_lands_like_on_one(tmp_path):
    load = "=4*cos(30*t) - 3"
    results = [
        execute(Case.from_dict(cam(contacts, load, t_end=0.25)), tmp_path / f"{len(contacts)}.h5").result
        for contacts in (("up",), ("up", "up"))
    ]
    one, two = ([list(r["events/time"]), list(r["events/kind"])] for r in results)
    assert "contact_lost" in one[1] and "contact_regained" in one[1]
    for kind in ("contact_lost", "contact_regained"):
        times = [[t for t, k in zip(*events, strict=True) if k == kind] for events in (one, two)]
        np.testing.assert_allclose(np.unique(np.round(times[1], 9)), np.unique(np.round(times[0], 9)))
    path = "joints/guide/position"
    np.testing.assert_allclose(results[1][path], results[0][path], atol=1e-8)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_contacts_of_a_prescribed_motion_pull_alike_where_nothing_else_can(formulation, tmp_path):
    data = cam(("up", "up"), 10.0, formulation=formulation, type="kinematics")
    result = execute(Case.from_dict(data), tmp_path / "a.h5").result
    push = -10.0 - 2.0 * np.sin(10.0 * result["time"])
    for name in data["couplings"]:
        np.testing.assert_allclose(result[f"couplings/{name}/force"], push / 2, rtol=1e-9)


WEDGES = {"ab": ("a", "b", 1.0), "bc": ("b", "c", 2.0), "ac": ("a", "c", 2.0), "ba": ("b", "a", 1.0)}
WEDGES |= {"ca": ("c", "a", 0.5), "ac2": ("a", "c", 2.0)}


def sliders(kinds, forces):
    """Three sliders of 1, 2, 3 kg that move as 1 : 1 : 2, coupled by wedges, some of which only push."""
    data = cam((), 0.0, t_end=0)
    del data["drives"]
    data["bodies"] = {name: BODY | {"mass": mass} for name, mass in zip("abc", (1.0, 2.0, 3.0), strict=True)}
    data["joints"] = {
        name: {"type": "prismatic", "from": "ground", "to": name, "axis": [1, 0, 0]} for name in "abc"
    }
    data["couplings"] = {
        name: {"type": "cam", "cam": first, "follower": second, "lift": f"={ratio}*x"} | KINDS[kind]
        for (name, (first, second, ratio)), kind in zip(WEDGES.items(), kinds, strict=True)
    }
    data["forces"] = {
        f"on_{name}": {"type": "joint_force", "joint": name, "value": float(F)}
        for name, F in zip("abc", forces, strict=True)
    }
    return data


def bounded_least_squares(C, needed, sides):
    """Forces with C^T x = needed, least in their efforts, none against its side, or None.

    By trying all sets of contacts that bear nothing.
    """
    size, best = np.linalg.norm(C, axis=1), None
    contacts = np.flatnonzero(sides)
    for n in range(len(contacts) + 1):
        for off in itertools.combinations(contacts, n):
            on = np.setdiff1d(np.arange(len(C)), off)
            x = np.zeros(len(C))
            if len(on):
                x[on] = np.linalg.pinv((C[on] / size[on, None]).T) @ needed / size[on]
            fits = np.abs(C.T @ x - needed).max() < 1e-9 and np.all(sides * x > -1e-9)
            if fits and (best is None or np.sum((size * x) ** 2) < np.sum((size * best) ** 2) - 1e-12):
                best = x
    return best


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_shares_without_pull_are_the_bounded_least_squares(formulation):
    rng, bounded = np.random.default_rng(5), 0
    masses, ratios = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0])
    C = np.zeros((len(WEDGES), 3))
    for row, (first, second, ratio) in zip(C, WEDGES.values(), strict=True):
        row["abc".index(second)], row["abc".index(first)] = 1.0, -ratio
    for _ in range(12):
        kinds, forces = rng.choice(list(KINDS), len(WEDGES)), rng.uniform(-10, 10, 3)
        system = prepare(
            Case.from_dict(sliders(kinds, forces) | {"analysis": {"t_end": 0, "formulation": formulation}})
        )
        acc = ratios * (ratios @ forces) / (ratios @ (masses * ratios))
        signs = np.array([{"up": 1.0, "down": -1.0, "groove": 0.0}[kind] for kind in kinds])
        expected = bounded_least_squares(C, masses * acc - forces, signs)
        if expected is None:
            continue
        motion = system.forward_dynamics(system.initial_state())
        found = np.array([motion[f"couplings.{name}"] for name in WEDGES])
        found *= np.where(signs < 0.0, -1.0, 1.0)  # those that push down count so
        np.testing.assert_allclose(found, expected, atol=1e-8)
        bounded += bool(np.any((np.abs(expected) < 1e-12) & (signs != 0.0)))
    assert bounded >= 4


def test_formulations_agree_where_some_contacts_cannot_but_pull():
    rng, pulled = np.random.default_rng(11), 0
    for _ in range(12):
        kinds, forces = rng.choice(["up", "down"], len(WEDGES)), rng.uniform(-10, 10, 3)
        found = []
        for formulation in FORMULATIONS:
            data = sliders(kinds, forces) | {"analysis": {"t_end": 0, "formulation": formulation}}
            system = prepare(Case.from_dict(data))
            motion = system.forward_dynamics(system.initial_state())
            found.append([motion[f"couplings.{name}"] for name in WEDGES])
        np.testing.assert_allclose(found[1], found[0], atol=1e-8)
        np.testing.assert_allclose(found[2], found[0], atol=1e-8)
        pulled += bool(np.min(found[0]) < -1e-6)
    assert pulled == 2


def pushed_carriage(compliance, *sides):
    """A carriage on two rails that cams hold on one or both sides against a force beside it."""
    frames = {side: {"pos": [0, y, 0]} for side, y in (("left", -0.3), ("right", 0.3), ("beside", 3.0))}
    data = cam((), 0.0, t_end=0)
    data["ground"] = {"frames": {"disc": {"pos": [0, 0, 1.0]}} | frames}
    data["bodies"] = {"disc": BODY, "carriage": BODY | {"mass": 4.0, "frames": frames}}
    soft = {"compliance": compliance} if compliance else {}
    data["joints"] = {"shaft": {"type": "revolute", "from": "ground.disc", "to": "disc"}} | {
        side: {"type": "prismatic", "from": f"ground.{side}", "to": f"carriage.{side}", "axis": [1, 0, 0]}
        | soft
        for side in ("left", "right")
    }
    data["couplings"] = {
        side: {"type": "cam", "cam": "shaft", "follower": side, "lift": "=0.02*sin(x)", "unilateral": True}
        for side in sides
    }
    data["forces"] = {"load": {"type": "point", "on": "carriage.beside", "force": [-50.0, 3.0, -7.0]}}
    return data


@pytest.mark.parametrize("compliance", [None, [0, 1e-7, 2e-7, 3e-5, 1e-5, 2e-5], [0, 0, 0, 0, 0, 2e-5]])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_contact_that_is_held_at_zero_is_as_if_it_were_not_there(formulation, compliance):
    motions = []
    for sides in (("left", "right"), ("right",)):
        data = pushed_carriage(compliance, *sides)
        data["analysis"]["formulation"] = formulation
        system = prepare(Case.from_dict(data))
        motions.append(system.forward_dynamics(system.initial_state()))
    both, one = motions
    assert both["couplings.left"] == pytest.approx(0.0, abs=1e-9)
    assert one["couplings.right"] == pytest.approx(50.0, rel=1e-9)
    for path in [f"joints.{s}.reaction_{w}" for s in ("left", "right") for w in ("force", "moment")]:
        np.testing.assert_allclose(both[path], one[path], atol=1e-7)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_contacts_on_redundant_rails_let_go_together_when_the_load_turns(formulation, tmp_path):
    """Rows that never matter are left out of the steps: what lifts off is the same."""
    data = pushed_carriage(None, "left", "right")
    data["forces"]["load"]["force"] = ["=-50*cos(20*t)", 3.0, -7.0]
    data["drives"] = {"motor": {"joint": "shaft", "position": "=0*t"}}
    data["analysis"] |= {"t_end": 0.1, "formulation": formulation}
    result = execute(Case.from_dict(data), tmp_path / "a.h5").result
    left, right = (result[f"couplings/{side}/force"] for side in ("left", "right"))
    np.testing.assert_allclose(left, 0.0, atol=1e-7)
    np.testing.assert_allclose(right[:2], 50.0 * np.cos(20.0 * result["time"][:2]), atol=1e-7)
    lost = [
        t
        for t, kind in zip(result["events/time"], result["events/kind"], strict=True)
        if kind == "contact_lost"
    ]
    np.testing.assert_allclose(lost, np.pi / 40.0, rtol=1e-9)
    assert result["joints/left/position"][-1, 0] > 1e-4
