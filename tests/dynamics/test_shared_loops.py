"""Loops that share joints: ladders, masts, platforms, rings, against dense solutions (F54)."""

import random

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.check import assembled
from flexmbs.case.generate import four_bars, scissor_lift
from flexmbs.case.generate import platform as legs_on_ground
from flexmbs.dynamics.mechanism import build
from flexmbs.model.bodies import GROUND
from flexmbs.model.model import Model
from flexmbs.model.spanning import SMALL, Edge, Graph
from flexmbs.spatial import exp_so3
from tests import reference
from tests.dynamics.mechanisms import add_body, add_joint, body_accelerations, moving_state
from tests.dynamics.test_descriptor import assert_same
from tests.dynamics.test_formulations import rounding_of_descriptor


def body(rng, model, name, flexible):
    add_body(rng, model, name, "flexible" if rng.random() < flexible else "rigid", still=True)


def ladder(rng, model, n, flexible):
    """Two chains of bodies with rungs between them: loops in a row."""
    for k in range(n):
        for side in "ab":
            body(rng, model, f"{side}{k}", flexible)
            other = f"{side}{k - 1}" if k else GROUND
            add_joint(rng, model, f"{side}{k}", "spherical", other, f"{side}{k}")
        add_joint(rng, model, f"rung{k}", str(rng.choice(["in_line", "distance"])), f"a{k}", f"b{k}")


def mast(rng, model, n, flexible):
    """Plates on three struts each: loops of a cell share two struts, cells share plates."""
    below = GROUND
    for k in range(n):
        body(rng, model, f"plate{k}", flexible)
        for s in range(3):
            body(rng, model, f"strut{k}{s}", flexible)
            add_joint(rng, model, f"foot{k}{s}", "spherical", below, f"strut{k}{s}")
            add_joint(rng, model, f"head{k}{s}", "spherical", f"strut{k}{s}", f"plate{k}")
        below = f"plate{k}"


def platform(rng, model, n, flexible):
    """One plate on legs: all loops meet at it and at ground."""
    body(rng, model, "plate", flexible)
    for k in range(n):
        for part in "uv":
            body(rng, model, f"{part}{k}", flexible)
        add_joint(rng, model, f"foot{k}", "spherical", GROUND, f"u{k}")
        add_joint(rng, model, f"leg{k}", "cylindrical", f"u{k}", f"v{k}")
        add_joint(rng, model, f"head{k}", "universal", f"v{k}", "plate")


def ring(rng, model, n, flexible, hub="hub"):
    """Arms about a rigid hub, or ground, each tied to the next one: loops between branches of one body."""
    if hub != GROUND:
        body(rng, model, hub, 0.0)
        add_joint(rng, model, hub, "spherical", GROUND, hub)
    for k in range(n):
        body(rng, model, f"arm{k}", flexible)
        add_joint(rng, model, f"arm{k}", "spherical", hub, f"arm{k}")
    for k in range(n):
        add_joint(rng, model, f"tie{k}", "in_line", f"arm{k}", f"arm{(k + 1) % n}", cut=True)


def compare(system, state, evaluator, atol=1e-10):
    """Motion, and where rows are independent reactions, against the dense solution; the truth."""
    acc = evaluator.observe(state)
    truth = reference.solve(system, evaluator, state)
    found = body_accelerations(system, evaluator, acc)
    scale = max(1.0, *(np.abs(a).max() for a in truth.a_hat.values()))
    for name, a in truth.a_hat.items():
        np.testing.assert_allclose(found[name], a, rtol=0, atol=atol * scale, err_msg=name)
    if truth.rank == truth.n_rows:
        for j, name in enumerate(system.joints):
            wrench = truth.wrench.get(name, evaluator.ws.joint.reaction[j])
            np.testing.assert_allclose(
                evaluator.ws.joint.reaction[j], wrench, rtol=0, atol=10 * atol * scale, err_msg=name
            )
    return truth


def drawn(seed, make, n, flexible, repeat=()):
    """A mechanism of a kind; `repeat`: joints that stand in it twice, whose rows are redundant."""
    rng, model = np.random.default_rng(seed), Model(gravity=np.array([1.0, -3.0, -9.0]))
    make(rng, model, n, flexible)
    for name in repeat:
        joint = model.joints[name]
        keys = {"length": joint.length} if hasattr(joint, "length") else {}
        again = type(joint)(
            name=f"{name}_again", from_frame=joint.from_frame, to_frame=joint.to_frame, **keys
        )
        model.add(again)
    return build(model)


KINDS = {
    "ladder": (ladder, 4), "mast": (mast, 2), "platform": (platform, 6), "ring": (ring, 8),
    "many legs": (platform, 12),
    "ring on ground": (lambda rng, model, n, flexible: ring(rng, model, n, flexible, GROUND), 8),
}  # fmt: skip


@pytest.mark.parametrize("flexible", [0.0, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_loops_that_share_joints_agree_with_the_dense_solution_F54(kind, flexible):
    system = drawn(len(kind), *KINDS[kind], flexible)
    evaluator, state = moving_state(system, 1)
    truth = compare(system, state, evaluator)
    assert truth.n_rows == truth.rank
    assert evaluator.ws.row.redundant.sum() == 0
    if kind.startswith("ring"):  # taken apart
        assert len(system.tables.front.body) > len(system.bodies) > SMALL // 2


def check_stress(system, evaluator, state):
    """States of self-stress: as many as the rank of G says, independent, and they move nothing."""
    G, t = evaluator.jacobian(state.copy()), system.tables
    evaluator.observe(state)
    G[:, t.tree.driven >= 0] = 0.0
    rank = int(np.linalg.matrix_rank(G, 1e-9)) if G.size else 0
    Z = evaluator.ws.null.lam[: evaluator.ws.null.n.max()]
    assert len(Z) == evaluator.ws.row.redundant.sum() == system.n_rows - rank
    assert np.linalg.matrix_rank(Z) == len(Z) if len(Z) else True
    assert np.abs(Z @ G).max(initial=0.0) <= 1e-12 * np.abs(Z).max(initial=0.0)


def turned_plate(n):
    """A plate on n legs of two bars in an oblique plane: three rows of each loop are redundant."""
    R = exp_so3([0.5, -0.7, 0.3])
    bar = {"type": "rigid", "mass": 0.2, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.02}}
    plate = {"type": "rigid", "mass": 2.0, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.2}}
    bodies, joints = {"plate": plate}, {}
    for k in range(n):
        middle = 2 * np.pi * k / n
        foot, knee, head = (
            (R @ [r * np.cos(middle + a), r * np.sin(middle + a), 0.0]).tolist()
            for r, a in ((2.0, 0.0), (1.3, 0.5), (0.5, 0.3))
        )
        bodies |= {f"low{k}": bar | {"pose": {"pos": foot}}, f"up{k}": bar | {"pose": {"pos": knee}}}
        for name, a, b, point in (
            ("foot", "ground", f"low{k}", foot), ("knee", f"low{k}", f"up{k}", knee),
            ("head", f"up{k}", "plate", head),
        ):  # fmt: skip
            axis = R[:, 2].tolist()
            joints[f"{name}{k}"] = {"type": "revolute", "from": a, "to": b, "point": point, "axis": axis}
    return {"gravity": [0, -9.81, 0], "bodies": bodies, "joints": joints, "analysis": {"t_end": 0.1}}


def with_flat_feet(n, count):
    """Legs whose feet cannot say how the leg turns: one row of each is left to the plate."""
    data = legs_on_ground(n)
    for k in range(count):
        foot = data["joints"][f"foot{k}"]
        foot["axis"] = np.cross(foot["axis"], [0.3, 0.1, 1.0]).tolist()
    return data


def with_feet(n):
    """A scissor lift every bar of which is held in its plane by ground: rows on ground all along."""
    data = scissor_lift(n)
    for k in range(1, n):
        data["joints"][f"foot{k}"] = {"type": "in_plane", "from": "ground", "to": f"a{k}"}
    return data


@pytest.mark.parametrize(
    ("data", "still"),
    [
        (with_flat_feet(12, 0), False), (with_flat_feet(9, 3), False), (with_flat_feet(12, 9), True),
        (turned_plate(4), False), (turned_plate(9), False), (with_feet(16), False),
    ],
    ids=["all close", "three left", "more left than can differ", "planar", "planar, many", "along a lift"],
)  # fmt: skip
def test_rows_on_ground_close_on_the_way_or_are_handed_on_F54(data, still):
    system = Case.from_dict(data).system()
    t = system.tables
    assert t.front.tried.sum() > 0
    assert np.diff(t.front.row).max() <= SMALL + 6
    evaluator, state = moving_state(system, 1)
    if still:
        state = system.initial_state()
    truth = compare(system, state, evaluator)
    assert evaluator.ws.row.redundant.sum() == truth.n_rows - truth.rank
    check_stress(system, evaluator, state)


def test_states_of_self_stress_load_their_own_loops_alone_F28():
    """What sharing costs follows from the joints that states load: the same for each loop of any lift."""
    sizes = []
    for n in (6, 24):
        system = Case.from_dict(scissor_lift(n)).system()
        evaluator, state = moving_state(system, 0)
        check_stress(system, evaluator, state)
        null, places = evaluator.ws.null, np.arange(3 * (n - 1))
        sizes.append((null.size[:2] / (n - 1), (places - null.lo[places]).max()))
    (few, narrow), (many, wide) = sizes
    assert few.tolist() == many.tolist()
    assert narrow == wide < 12


@pytest.mark.parametrize("driven", [5, 9])
def test_driven_legs_leave_rows_to_their_platform_F54(driven):
    """A driven slide leaves a leg one freedom less than its foot has rows."""
    data = legs_on_ground(9)
    data["drives"] = {f"d{k}": {"joint": f"slide{k}", "position": "=0"} for k in range(driven)}
    model = Case.from_dict(data).model()
    tree, other = build(model), build(model, formulation="descriptor")
    evaluator, state = moving_state(tree, 0)
    assert tree.tables.front.tried.sum() > 0
    found = body_accelerations(tree, evaluator, evaluator.observe(state))
    second = other.evaluator()
    twin = body_accelerations(other, second, second.observe(other.state_like(tree, state)))
    for name, a in found.items():
        np.testing.assert_allclose(a, twin[name], rtol=0, atol=1e-9, err_msg=name)
    check_stress(tree, evaluator, state)


def test_fronts_of_a_platform_grow_with_its_legs_alone_F54():
    sizes = [np.diff(Case.from_dict(legs_on_ground(n)).system().tables.front.row) for n in (12, 48)]
    assert sizes[0].max() == sizes[1].max()
    assert (sizes[1] ** 2).sum() <= 4.4 * (sizes[0] ** 2).sum()


@pytest.mark.parametrize(("kind", "repeat"), [("ladder", ("rung1", "rung2")), ("ring", ("tie2", "arm3"))])
def test_redundant_rows_of_shared_loops_are_found_where_they_close_F54(kind, repeat):
    system = drawn(5, *KINDS[kind], 0.0, repeat)
    evaluator, state = moving_state(system, 1)
    truth = compare(system, state, evaluator)
    missing = truth.n_rows - truth.rank
    assert missing >= len(repeat)
    assert evaluator.ws.row.redundant.sum() == missing


@pytest.mark.parametrize("n", [3, 9])
def test_a_row_of_flat_four_bars_moves_as_the_dense_solution_says(n):
    """Every loop is singular at once; at rest the acceleration is unique."""
    system = Case.from_dict(four_bars(n, angle=0.0, speed=0.0)).system()
    evaluator, state = system.evaluator(), system.initial_state()
    evaluator.kinematics(state.copy())
    truth = compare(system, state, evaluator, atol=1e-9)
    assert truth.rank < truth.n_rows


def test_a_scissor_lift_agrees_with_dependent_coordinates_F54():
    model = Case.from_dict(scissor_lift(12)).model()
    tree, other = build(model), build(model, formulation="descriptor")
    _, state = moving_state(tree, 0)
    motion = tree.forward_dynamics(state.copy())
    assert_same(motion, other.forward_dynamics(other.state_like(tree, state)), 1e-8)


REPEATED = {"ladder": ("rung1", "rung2"), "ring": ("tie2", "arm3")}


@pytest.mark.parametrize("flexible", [0.0, 0.5])
@pytest.mark.parametrize("kind, again", [*((k, False) for k in KINDS), *((k, True) for k in REPEATED)])
def test_random_loops_that_share_joints_move_as_in_dependent_coordinates_F54(kind, flexible, again):
    tree = drawn(31, *KINDS[kind], flexible, REPEATED[kind] if again else ())
    other, (_, state) = build(tree.model, formulation="descriptor"), moving_state(tree, 2)
    motion = tree.forward_dynamics(state.copy())
    allowed = max(1e-9, rounding_of_descriptor(tree.model, state))
    assert allowed < 1e-5
    assert_same(motion, other.forward_dynamics(other.state_like(tree, state)), allowed)


@pytest.mark.parametrize("n", [3, 9])
def test_flat_four_bars_start_as_in_dependent_coordinates(n):
    """At rest in a position where every loop is singular."""
    model = Case.from_dict(four_bars(n, angle=0.0, speed=0.0)).model()
    tree, other = build(model), build(model, formulation="descriptor")
    found, twin = (s.forward_dynamics(s.initial_state()) for s in (tree, other))
    for name, body in found.bodies.items():
        np.testing.assert_allclose(body.acceleration, twin.bodies[name].acceleration, atol=1e-8)
        np.testing.assert_allclose(
            body.angular_acceleration, twin.bodies[name].angular_acceleration, atol=1e-8
        )


@pytest.mark.parametrize(
    "soft, every", [(1, 1), (3, 4), (6, 1)], ids=["one direction", "three of some", "all"]
)
def test_compliances_share_the_forces_of_a_lift_as_dense_systems_do_F28(soft, every):
    """Every direction of a joint that gives way lets its energy decide, in the envelope of the loops."""
    data = scissor_lift(9) | {"gravity": [1.0, -9.81, 3.0]}  # out of the plane too
    for k, joint in enumerate(data["joints"].values()):
        if k % every == 0:
            joint["compliance"] = [1e-8 * (1 + k % 3)] * soft + [0.0] * (6 - soft)
    model = Case.from_dict(data).model()
    tree, other = build(model), build(model, formulation="descriptor")
    _, state = moving_state(tree, 0)
    motion = tree.forward_dynamics(state.copy())
    assert_same(motion, other.forward_dynamics(other.state_like(tree, state)), 1e-7)


def work(data):
    """Widest front, and the sum of the squares of all."""
    size = np.diff(Case.from_dict(data).system().tables.front.row)
    return int(size.max()), int((size**2).sum())


def shuffled(data, seed):
    rng = random.Random(seed)
    for part in ("bodies", "joints"):
        items = list(data[part].items())
        rng.shuffle(items)
        data[part] = dict(items)
    return data


def test_check_tells_how_many_loops_are_open_at_once():
    def said(data):
        case = Case.from_dict(data)
        return [line for line in assembled(case).lines() if line.startswith("width")]

    assert said(scissor_lift(1)) == []
    text = "width       at most 2 of 19 loops open at once: cost linear in their number"
    assert said(scissor_lift(20)) == [text]
    # ground at every stage: these loops all pass through the first bar
    data = scissor_lift(12)
    for k in range(1, 12):
        data["joints"][f"foot{k}"] = {"type": "in_plane", "from": "ground", "to": f"a{k}"}
    assert said(data) == [
        "width       at most 13 of 22 loops open at once: cost that of the cube of those open together"
    ]


@pytest.mark.parametrize("make", [scissor_lift, four_bars])
def test_work_is_linear_in_any_order_of_the_file_F54(make):
    width, small = work(make(10))
    for data in (make(40), shuffled(make(40), 0), shuffled(make(40), 1)):
        wide, large = work(data)
        assert wide <= 1.5 * width
        assert large <= 6.5 * small  # 39 loops, not 9; not every order finds the very best tree


def test_a_tree_keeps_what_must_stand_in_it_and_leaves_out_what_may_not():
    edges = [Edge(k, k + 1, 5, k) for k in range(6)]
    edges += [Edge(k, k + 2, 5, k, may=k != 1, must=k == 3) for k in range(5)]
    graph = Graph(7, edges)
    for tree in (graph.best(set(range(6))), *graph._candidates()):
        assert len(tree) == 6
        assert 7 not in tree
    assert all(9 in tree for tree in graph._candidates())
