"""From tables to the model: joint frames in every form, bodies from recipes, damping, outcome of a run."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.build import cache, reduction
from flexmbs.case.outcome import comparisons, metrics
from flexmbs.case.runner import execute, prepare, result_path
from flexmbs.errors import InputError
from flexmbs.expressions import ExpressionError
from flexmbs.model.band import modal_damping

BODY = {
    "type": "rigid",
    "mass": 2.0,
    "com": [0.1, 0.2, 0.3],
    "inertia": {"ixx": 0.2, "iyy": 0.3, "izz": 0.4, "ixy": 0.01},
}


TURN = {"axis": [0, 0, 1], "angle": "=t"}


@pytest.mark.parametrize(
    "kind, drive, words",
    [
        ("spherical", {"position": "=t"}, 'position of "rotation" of joint j is a rotation table'),
        ("spherical", {"velocity": "=t"}, 'velocity of "rotation" of joint j is a list of three'),
        ("spherical", {"position": TURN, "coordinate": "angle"}, 'no coordinate "angle"; choices: rotation'),
        ("free", {"position": TURN}, "several coordinates; which one is driven?"),
        (
            "free",
            {"position": TURN, "coordinate": "x"},
            'position of "x" of joint j is a number or an expression',
        ),
        ("free", {"velocity": [0, 0, 1], "coordinate": "y"}, 'velocity of "y" of joint j is a number'),
        ("free", {"velocity": [0, 0], "coordinate": "rotation"}, "expected 3 values"),
        ("spherical", {"position": {"axis": [0, 0, 1]}}, "a rotation needs axis and angle"),
        ("spherical", {"position": {"sequence": "xy", "angles": ["=t"]}}, "needs 2 angles, found 1"),
        ("spherical", {"position": {"axis": [0, 0, 1], "angle": "=j.velocity[0]"}}, "only t and parameters"),
        ("spherical", {"position": {"axis": [0, 0, 1], "angle": "3 mm"}}, "angle"),
        ("spherical", {"velocity": ["3 m/s", 0, 0]}, "unit"),
        ("fixed", {"position": 1.0}, "has no coordinate"),
    ],
)
def test_what_cannot_drive_a_joint_is_said(kind, drive, words):
    data = {"bodies": {"a": BODY}, "joints": {"j": {"type": kind, "from": "ground", "to": "a"}}}
    with pytest.raises(InputError) as error:
        Case.from_dict(data | {"drives": {"m": {"joint": "j"} | drive}, "analysis": {"t_end": 1}}).system()
    assert words in str(error.value)


def test_a_spring_on_a_ball_says_what_to_take():
    joint = {"type": "spherical", "from": "ground", "to": "a", "spring": {"stiffness": 1.0}}
    with pytest.raises(InputError, match="take three revolute joints"):
        Case.from_dict({"bodies": {"a": BODY}, "joints": {"j": joint}, "analysis": {"t_end": 1}}).system()


def test_the_places_of_a_free_joint_are_driven_and_their_efforts_carry_the_body():
    """In all formulations: m (a - g) along x, y, z of ground, with the turning left free."""
    laws = {"x": "=0.1*t**2", "y": "=0.2*t**2", "z": "=-0.3*t**2"}
    body = BODY | {"com": [0, 0, 0]}
    for formulation in ("recursive", "minimal", "descriptor"):
        data = {
            "gravity": [1.0, -9.0, 3.0], "bodies": {"a": body},
            "joints": {"j": {"type": "free", "from": "ground", "to": "a"}},
            "drives": {k: {"joint": "j", "coordinate": k, "position": law} for k, law in laws.items()},
            "analysis": {"t_end": 0, "formulation": formulation},
        }  # fmt: skip
        system = prepare(Case.from_dict(data))
        motion = system.forward_dynamics(system.initial_state())
        expected = {"x": 2 * (0.2 - 1), "y": 2 * (0.4 + 9), "z": 2 * (-0.6 - 3)}
        for k, force in expected.items():
            assert motion.drives[k] == pytest.approx(force, rel=1e-12)


def accelerations(joint, **more):
    """Joint and body motion of one body on one joint to ground."""
    data = {
        "gravity": [1.0, -9.0, 3.0],
        "bodies": {"a": BODY | more.pop("body", {})},
        "joints": {"j": joint},
    } | more
    system = Case.from_dict(data).system()
    motion = system.forward_dynamics(system.initial_state())
    a = motion.bodies["a"]
    return np.concatenate([motion.joints["j"].acceleration, a.position, a.quaternion, a.acceleration])


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 0, 0], [0, 2, 0], [1, -2, 0.5], [0, 0, -1]])
def test_axis_turns_both_markers(axis):
    """`axis` is short for frames on both sides with z along it; zero is where the frames coincide."""
    n = np.array(axis, dtype=float) / np.linalg.norm(axis)
    side = np.cross(n, [0.3, 0.5, -0.7])
    rot = {"z": list(n), "x": list(side / np.linalg.norm(side))}
    start = {"initial": {"position": 0.7, "velocity": 1.3}}
    short = accelerations({"type": "revolute", "from": "ground", "to": "a", "axis": axis} | start)
    frames = accelerations(
        {"type": "revolute", "from": "ground.f", "to": "a.f"} | start,
        ground={"frames": {"f": {"rot": rot}}},
        body={"frames": {"f": {"rot": rot}}},
    )
    np.testing.assert_allclose(short, frames, rtol=1e-9, atol=1e-12)


def test_point_and_axis_place_a_joint_in_ground():
    """With the body at its pose the joint stands at the point, and its zero is that position."""
    pose = {"pos": [0.5, 0.1, 0.2], "rot": {"sequence": "zx", "angles": [0.4, -0.3]}}
    point = [0.3, -0.2, 0.6]
    placed = accelerations(
        {"type": "revolute", "from": "ground", "to": "a", "point": point, "axis": [0, 1, 0]},
        body={"pose": pose},
    )
    case = Case.from_dict({"bodies": {"a": BODY | {"pose": pose}}})
    body = case.model().bodies["a"]
    local = body.pose_rot.T @ (np.array(point) - body.pose_pos)
    frames = accelerations(
        {"type": "revolute", "from": "ground.f", "to": "a.f", "axis": [0, 1, 0]},
        ground={"frames": {"f": {"pos": point}}},
        body={"frames": {"f": {"pos": list(local), "rot": {"matrix": body.pose_rot.T.tolist()}}}},
    )
    np.testing.assert_allclose(placed, frames, rtol=1e-9, atol=1e-12)


def test_ground_may_stand_on_either_side():
    start = {"position": 0.4, "velocity": -1.1}
    back = {"position": -0.4, "velocity": 1.1}
    forth = accelerations({"type": "revolute", "from": "ground", "to": "a", "initial": start})
    swapped = accelerations({"type": "revolute", "from": "a", "to": "ground", "initial": back})
    np.testing.assert_allclose(forth[0], -swapped[0], rtol=1e-10)
    np.testing.assert_allclose(forth[1:], swapped[1:], rtol=1e-10, atol=1e-12)


RECIPE = """\
method = "craig-bampton"
modes = {modes}
material = "steel"
frame = "tangent:root"
[mesh]
shape = "beam"
length = 1.0
divisions = 4
section = {{ circle = "10 mm" }}
[interfaces]
root = {{ set = "x_min" }}
"""
CASE = """\
[bodies.rod]
type = "flexible"
reduce = "rod.reduce.toml"
modes = {{ count = 2 }}
damping = {damping}
[joints.wall]
type = "fixed"
from = "ground"
to = "rod.root"
"""


def flexible(tmp_path, modes=3, damping='{ type = "none" }'):
    (tmp_path / "rod.reduce.toml").write_text(RECIPE.format(modes=modes))
    (tmp_path / "c.toml").write_text(CASE.replace("{{", "{").replace("}}", "}").replace("{damping}", damping))
    return Case.load(tmp_path / "c.toml").model().bodies["rod"]


def test_recipes_are_reduced_when_missing_or_out_of_date(tmp_path, monkeypatch):
    monkeypatch.setenv("FLEXMBS_CACHE", str(tmp_path / "cache"))
    assert flexible(tmp_path, modes=3).modal.nf == 3
    (made,) = cache.folder().iterdir()
    stamp = made.read_bytes()
    monkeypatch.setattr(reduction, "run", None)
    assert flexible(tmp_path, modes=3).modal.nf == 3  # up to date: not made again
    monkeypatch.undo()
    monkeypatch.setenv("FLEXMBS_CACHE", str(tmp_path / "cache"))
    assert flexible(tmp_path, modes=4).modal.nf == 4
    made.write_bytes(b"damaged")
    assert flexible(tmp_path, modes=3).modal.nf == 3
    assert made.read_bytes() == stamp
    assert not (tmp_path / "rod.reduce.modal.h5").exists()


def test_what_reduce_has_written_beside_the_recipe_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("FLEXMBS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "rod.reduce.toml").write_text(RECIPE.format(modes=3))
    fm.reduce(tmp_path / "rod.reduce.toml").save(tmp_path / "rod.reduce.modal.h5")
    monkeypatch.setattr(reduction, "run", None)
    assert flexible(tmp_path).modal.nf == 3 and not cache.folder().exists()


def test_without_a_cache_bodies_are_kept_in_memory(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLEXMBS_CACHE", str(tmp_path / "file"))
    assert flexible(tmp_path).modal.nf == 3


def test_damping_is_that_of_the_kept_modes_F14(tmp_path):
    omega = 2 * np.pi * flexible(tmp_path).modal.frequency_hz[:2]
    modal = flexible(tmp_path, damping='{ type = "modal", ratio = [0.01, 0.02] }')
    np.testing.assert_allclose(
        modal.D_ff, np.diag(2 * np.array([0.01, 0.02]) * omega), rtol=1e-8, atol=1e-5
    )  # modes are square to 1e-6
    rayleigh = flexible(tmp_path, damping='{ type = "rayleigh", alpha = 2.0, beta = 1e-4 }')
    np.testing.assert_allclose(
        rayleigh.D_ff, np.diag(2.0 + 1e-4 * omega**2), rtol=1e-6, atol=1e-4
    )  # as the modes
    matrix = flexible(tmp_path, damping='{ type = "matrix", matrix = [[2, 1], [1, 3]] }')
    np.testing.assert_array_equal(matrix.D_ff, [[2, 1], [1, 3]])


@pytest.mark.parametrize(
    ("damping", "words"),
    [
        ('{ type = "modal", ratio = [0.01, 0.02, 0.03] }', "3 ratios for 2 modes"),
        ('{ type = "matrix", matrix = [[2, 1]] }', "must be 2 by 2"),
        ('{ type = "matrix", matrix = [[2, 1], [0, 3]] }', "not symmetric"),
        ('{ type = "matrix", matrix = [[-2, 0], [0, 3]] }', "negative eigenvalue"),
        ('{ type = "modl", ratio = 0.1 }', 'did you mean "modal"'),
    ],
)
def test_wrong_damping_is_named(tmp_path, damping, words):
    with pytest.raises(InputError, match=words):
        flexible(tmp_path, damping=damping)


def test_modal_damping_of_full_matrices_F14():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(2, 3, 3))
    M, K = A @ A.T + np.eye(3), B @ B.T + np.eye(3)
    D = modal_damping(M, K, np.array([0.1, 0.2, 0.3]))
    from scipy.linalg import eigh

    omega2, V = eigh(K, M)
    np.testing.assert_allclose(
        V.T @ D @ V, np.diag(2 * np.array([0.1, 0.2, 0.3]) * np.sqrt(omega2)), atol=1e-12
    )


PENDULUM = {
    "gravity": [0, -9.81, 0],
    "bodies": {"a": {"type": "rigid", "mass": 1, "com": [0, -1, 0], "inertia": {"ixx": 0.1, "izz": 0.1}}},
    "joints": {"pin": {"type": "revolute", "from": "ground", "to": "a", "initial": {"position": 0.5}}},
    "analysis": {"t_end": 0.5},
    "output": {"every": 0.1},
}


def test_metrics_and_expected_read_the_result(tmp_path):
    case = Case.from_dict(
        PENDULUM
        | {
            "metrics": {"fast": "=max(abs(pin.velocity))", "first": "=pin.position[0]"},
            "expected": {
                "metrics.first": {"value": 0.5, "atol": 1e-12},
                "joints.pin.position[0]": {"value": 0.5, "atol": 1e-12},
                "joints.pin.position[0][0]": {"value": 0.6, "rtol": 0.01},
                "bodies.a.position.x[-1]": {"value": 0.0, "atol": 1e-12},
            },
        }
    )
    run = execute(case, tmp_path / "r.h5")
    assert [item.passed for item in run.comparisons] == [True, True, False, True]
    assert not run.passed
    assert run.comparisons[2].error == pytest.approx(0.1)
    assert float(run.result["metrics/first"]) == pytest.approx(0.5)
    assert metrics(case, run.result)["fast"] == pytest.approx(np.abs(run.result["joints/pin/velocity"]).max())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"metrics": {"m": "=pin.position"}}, "numbers, not one"),
        ({"expected": {"joints.pin.position": {"value": 0, "atol": 1}}}, "give a component and a time"),
        ({"expected": {"joints.pin.position[9]": {"value": 0, "atol": 1}}}, "out of range"),
        ({"metrics": {"m": "=max(pn.position)"}}, "the result will have no channel"),
        ({"analysis": {"t_end": 0.5, "until": "=pn.position"}}, "there is no channel or parameter"),
    ],
)
def test_channels_that_do_not_fit_are_named(tmp_path, more, words):
    with pytest.raises((InputError, ExpressionError), match=words):
        execute(Case.from_dict(PENDULUM | more), tmp_path / "r.h5")


def test_run_takes_parameters_and_files(tmp_path, monkeypatch):
    import flexmbs as fm

    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(
        "[parameters]\nL = 1\n[bodies.a]\ntype = 'rigid'\nmass = 1\ncom = ['=L', 0, 0]\n"
        "[joints.pin]\ntype = 'revolute'\nfrom = 'ground'\nto = 'a'\n"
        "[analysis]\nt_end = 0.1\n[output]\nevery = 0.05\n"
    )
    case = fm.Case.load("p.toml")
    assert str(result_path(case)) == "p.h5"
    result = fm.run(case, L=2.0)
    assert result.status == "complete"
    assert len(result.time) == 3
    assert (tmp_path / "p.h5").is_file()
    assert comparisons(case, result) == []


def test_a_frame_outside_its_body_is_named_with_its_place(tmp_path):
    flexible(tmp_path)
    path = tmp_path / "c.toml"
    text = path.read_text().replace(
        'type = "flexible"', 'type = "flexible"\nframes = { off = { at = [9, 0, 0] } }'
    )
    path.write_text(text + '\n[sensors.off]\ntype = "position"\non = "rod.off"\n')
    with pytest.raises(
        InputError, match=r"c\.toml:\d+:\d+ .*bodies\.rod\.frames\.off: the point \[9, 0, 0\]"
    ):
        Case.load(path).system()


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("bodies", "ground", {"type": "particle", "mass": 1.0}),
        ("parameters", "t", 5.0),
        ("parameters", "pi", 3.0),
        ("states", "t", {"rate": 1.0}),
    ],
)
def test_names_that_mean_something_else_are_refused(table, name, value):
    """In silence the one would take the place of the other."""
    with pytest.raises(InputError, match="take another name") as error:
        Case.from_dict({table: {name: value}})
    assert [item.code for item in error.value.diagnostics] == ["case.name"]


@pytest.mark.parametrize("name", ["x", "v"])
def test_a_parameter_called_like_the_variable_of_a_law_is_refused_there(name):
    data = {
        "parameters": {name: 5.0},
        "bodies": {"a": {"type": "particle", "mass": 1.0}},
        "joints": {"s": {"type": "prismatic", "from": "ground", "to": "a"}},
        "forces": {"f": {"type": "joint_force", "joint": "s", "value": f"={name}"}},
    }
    Case.from_dict(data).system()
    data["joints"]["s"]["spring"] = {"force": f"=-3*{name}"}
    with pytest.raises(InputError, match="a variable of this law"):
        Case.from_dict(data).system()
