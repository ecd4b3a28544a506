"""What people are told: metrics, short summaries, names instead of KeyError, a verification that ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.cli.main import main
from flexmbs.errors import UsageError

PENDULUM = """
gravity = [0, -9.81, 0]
[bodies.bob]
type = "rigid"
mass = 1
com = [0, -0.5, 0]
[joints.pin]
type = "revolute"
from = "ground"
to = "bob"
initial = { position = 0.5 }
[analysis]
type = "dynamics"
t_end = 0.01
[metrics]
angle = "=pin.position[-1]"
"""


@pytest.fixture
def case(tmp_path):
    (tmp_path / "p.toml").write_text(PENDULUM)
    return tmp_path / "p.toml"


def test_metrics_are_shown_and_commits_only_when_asked_for(case, tmp_path, capsys):
    out = str(tmp_path / "p.h5")
    assert main(["run", str(case), "-o", out]) == 0
    text = capsys.readouterr()
    assert "angle = 0.49" in text.out and "committed" not in text.err
    assert main(["info", out]) == 0
    assert "angle" in capsys.readouterr().out
    assert main(["info", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["angle"] == pytest.approx(0.5, abs=0.01)
    assert "angle = 0.49" in repr(fm.Result.load(out)) and "angle" in fm.Result.load(out)._repr_html_()
    assert main(["run", str(case), "-o", out, "--overwrite", "--announce"]) == 0
    assert "committed t=0.01" in capsys.readouterr().err


def test_a_case_is_a_summary(case):
    data = {"bodies": {f"b{k}": {"type": "rigid", "mass": 1} for k in range(300)}}
    text = repr(Case.from_dict(data))
    assert len(text) < 300 and "300 bodies: b0, b1" in text and "and 292 more" in text
    assert "1 joints: pin" in repr(Case.load(case)) and "dynamics to 0.01 s" in repr(Case.load(case))


def test_modal_data_are_a_summary():
    recipe = {
        "mesh": {"shape": "box", "size": [0.4, 0.02, 0.02], "divisions": [4, 1, 1]},
        "material": "steel",
        "interfaces": {"root": {"set": "x_min"}},
    }
    modal = fm.reduce(recipe, modes=8, stress="none", geometric_stiffness=False)
    assert len(repr(modal)) < 400 and f"{modal.nf} modes" in repr(modal) and "root" in repr(modal)


@pytest.mark.parametrize("path", ["joint.pin.position", "joints.pni.position", "joints.pin.postion", "x", ""])
def test_unknown_names_of_a_motion_are_our_errors(case, path):
    system = Case.load(case).system()
    motion = system.forward_dynamics(system.initial_state())
    assert motion["joints.pin.position"][0] == pytest.approx(0.5)
    with pytest.raises(UsageError, match="is not in this motion"):
        motion[path]
    with pytest.raises(UsageError, match="there is no such body"):
        system.mass_matrix(system.initial_state(), "bbo")


def children(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_verification_leaves_no_process(number):
    names = ["rigid-double-pendulum", "rigid-andrews-squeezer", "flex-pendulum"]
    command = [sys.executable, "-m", "flexmbs.cli.main", "verify", *names]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while len(children(run.pid)) < 3 and run.poll() is None:  # two that work, one that looks after them
        time.sleep(0.1)
    started = children(run.pid)
    os.kill(run.pid, number)
    assert run.wait(timeout=30) == 130
    time.sleep(0.5)
    assert len(started) >= 2 and not [pid for pid in started if alive(pid)]
