"""Every command on the result of every analysis: a tree, a loop, rigid and flexible, in one layout."""

import json

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.cli.main import main
from flexmbs.resources import resource
from tests.dynamics.awkward import bar, four_bar, joint

TIMED = {"t_end": 0.02}
ANALYSES = {
    "assembly": {},
    "kinematics": TIMED,
    "inverse_dynamics": TIMED | {"motion": "motion.csv"},
    "quasi_static": TIMED | {"type": "inverse_dynamics", "motion": "motion.csv", "elastic": "quasi-static"},
    "statics": {},
    "dynamics": TIMED,
    "from_equilibrium": TIMED | {"type": "dynamics", "start": "equilibrium"},
    "from_result": TIMED | {"type": "dynamics", "start": "dynamics.h5"},
    "linearize": {"about": "equilibrium"},
}
DRIVEN = ("kinematics", "inverse_dynamics", "quasi_static")
EVERY = 0.004


def tree():
    """Two arms; the first carries a spring, so that there is an equilibrium."""
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {"crank": bar(0.4), "arm": bar(0.3)},
        "joints": {
            "a": joint("revolute", "ground", "crank", -1.2),
            "elbow": joint("revolute", "crank.end", "arm", 0.3) | {"spring": {"stiffness": 5.0}},
        },
    }


def loop():
    case = four_bar(0.3, 0.9, 0.7, 0.8, 0.5)
    case["joints"]["a"]["initial"].pop("hold")
    return case


def flexible(folder):
    """The shipped four-bar with a flexible coupler, its crank joint called a."""
    text = resource("cases", "four-bar-flexible.toml").read_text().split("[drives.motor]")[0]
    (folder / "four-bar-flexible.reduce.toml").write_text(
        resource("cases", "four-bar-flexible.reduce.toml").read_text()
    )
    return text.replace("joints.main", "joints.a").replace('"main"', '"a"')


def case_of(kind, name, folder):
    """The mechanism with one analysis; where it is driven, crank joint a turns slowly."""
    keys = {"type": name} | ANALYSES[name]
    driven = {"motor": {"joint": "a", "position": "=-1.2 + t" if kind == "tree" else "=0.5 + t"}}
    if kind == "flexible":
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        text = flexible(folder) + "\n[analysis]\n" + "\n".join(lines) + f"\n[output]\nevery = {EVERY}\n"
        if name == "kinematics":
            text += '\n[drives.motor]\njoint = "a"\nposition = "=1.7707963 + t"\n'
        (folder / f"{name}.toml").write_text(text)
        return Case.load(folder / f"{name}.toml")
    data = (tree() if kind == "tree" else loop()) | {"analysis": keys, "output": {"every": EVERY}}
    return Case.from_dict(data | ({"drives": driven} if name == "kinematics" else {}), folder=folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Path of every result, by kind and analysis."""
    found = {}
    for kind in ("tree", "loop", "flexible"):
        folder = tmp_path_factory.mktemp(kind)
        start = {"tree": -1.2, "loop": 0.5, "flexible": np.pi / 2 + 0.2}[kind]
        t = np.linspace(0.0, 0.02, 9)
        table = np.column_stack([t, start + t + 3 * t**2])
        np.savetxt(folder / "motion.csv", table, delimiter=",", header="time,a", comments="")
        for name in ANALYSES:
            if name == "from_result" and "dynamics.h5" not in {p.name for p in folder.iterdir()}:
                raise AssertionError("dynamics comes first")
            path = folder / f"{name}.h5"
            fm.run(case_of(kind, name, folder), path)
            found[kind, name] = path
    return found


KINDS = [(kind, name) for kind in ("tree", "loop", "flexible") for name in ANALYSES]


@pytest.mark.slow
@pytest.mark.parametrize("kind, name", KINDS)
def test_results_have_one_layout_and_hold_the_equations(results, kind, name):
    result, usual = fm.Result.load(results[kind, name]), fm.Result.load(results[kind, "dynamics"])
    assert result.status == "complete"
    own = {
        path
        for path in result.paths
        if not path.startswith(("linear/", "drives/", "checkpoint/", "provenance/"))
    }
    assert own == {
        path
        for path in usual.paths
        if not path.startswith(("linear/", "drives/", "checkpoint/", "provenance/"))
    }
    for path in own:
        if path.split("/")[0] in ("bodies", "joints", "energy", "system"):
            assert np.all(np.isfinite(np.asarray(result[path], dtype=float))), path
    assert len(result.time) == (6 if "t_end" in ANALYSES[name] else 1)
    assert np.abs(result["solver/constraint_position"]).max() < 1e-9
    total = sum(result[f"bodies/{b}/acceleration"] for b in ("crank",))
    assert total.shape == (len(result.time), 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "loop", "flexible"])
def test_forces_of_a_motion_are_those_that_drives_take(results, kind):
    """Kinematics and inverse dynamics of rigid mechanisms are the same computation."""
    inverse = fm.Result.load(results[kind, "inverse_dynamics"])
    assert list(inverse.drives) == ["motion_a"]
    start = inverse["joints/a/position"][0, 0]
    t = inverse.time
    np.testing.assert_allclose(inverse["joints/a/position"][:, 0], start + t + 3 * t**2, atol=1e-9)
    quasi = fm.Result.load(results[kind, "quasi_static"]).drives["motion_a"].effort
    if kind != "flexible":
        np.testing.assert_allclose(inverse.drives["motion_a"].effort, quasi, rtol=1e-9)
    else:
        assert np.abs(inverse["bodies/coupler/q_dot"]).max() > 0.0
        assert np.abs(fm.Result.load(results[kind, "quasi_static"])["bodies/coupler/q"]).max() > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "loop", "flexible"])
def test_starts_are_what_they_say(results, kind):
    still = fm.Result.load(results[kind, "statics"])
    swing = fm.Result.load(results[kind, "from_equilibrium"])
    scale = max(1.0, np.abs(still["joints/a/position"]).max())
    np.testing.assert_allclose(
        swing["joints/a/position"], still["joints/a/position"][0, 0], atol=1e-6 * scale
    )
    end = fm.Result.load(results[kind, "dynamics"])["joints/a/position"][-1]
    np.testing.assert_allclose(
        fm.Result.load(results[kind, "from_result"])["joints/a/position"][0], end, atol=1e-12
    )


COMMANDS = [
    "plot X a.position -o p.svg",
    "animate X -o a.html",
    "report X -o r.html",
    "export X -o a.csv",
    "export X -o a.vtkhdf",
    "info X",
    "compare X X",
]


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("kind, name", KINDS)
def test_command(results, kind, name, line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [str(results[kind, name]) if word == "X" else word for word in line.split()]
    code = main([*words, "--quiet", "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert isinstance(json.loads(captured.out), dict)
