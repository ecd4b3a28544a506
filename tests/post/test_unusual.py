"""Results that are unfinished, single states or incomplete: commands cope or say what is missing."""

import pytest

from flexmbs.cli.main import main
from flexmbs.post.record import Record
from flexmbs.post.scene import result_scene
from tests.post.synthetic import case, write_result, write_unfinished

COMMANDS = [
    ["animate", "R", "-o", "a.html"],
    ["animate", "R", "-o", "a.glb"],
    ["animate", "R", "-o", "a.png"],
    ["plot", "R", "rod.q", "-o", "a.svg"],
    ["stress", "R", "rod", "-o", "s.h5"],
    ["report", "R", "-o", "r.html"],
    ["export", "R", "-o", "a.vtkhdf"],
    ["export", "R", "-o", "a.pvd"],
    ["export", "R", "-o", "a.csv"],
    ["export", "R", "-o", "a.parquet"],
    ["export", "R", "-o", "a.nc"],
]


def run(command, result, folder, monkeypatch):
    monkeypatch.chdir(folder)
    return main([*(str(result) if word == "R" else word for word in command), "--quiet"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: f"{c[0]}-{c[-1]}")
def test_unfinished_results_are_read_by_the_same_name(command, tmp_path, monkeypatch, capsys):
    path = write_unfinished(tmp_path / "run.h5")
    assert not path.exists() and Record.load(path).n_samples == 22
    assert run(command, path, tmp_path, monkeypatch) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: f"{c[0]}-{c[-1]}")
def test_a_single_state_is_a_result_too(command, tmp_path, monkeypatch, capsys):
    path = write_result(tmp_path / "one.h5", n=1)
    assert run(command, path, tmp_path, monkeypatch) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: f"{c[0]}-{c[-1]}")
def test_results_without_a_case_are_drawn_as_far_as_known(command, tmp_path, monkeypatch, capsys):
    path = write_result(tmp_path / "bare.h5", n=5, items=False)
    code = run(command, path, tmp_path, monkeypatch)
    assert code == (3 if command[0] == "stress" else 0), capsys.readouterr().err


def test_particles_have_no_orientation(tmp_path):
    data = case()
    data["bodies"]["slider"] = {"type": "particle", "mass": 1.0}
    path = write_result(tmp_path / "p.h5", n=5, case_data=data, without=("bodies/slider/quaternion",))
    body = result_scene(Record.load(path)).bodies[2]
    assert body.kind == "particle" and body.quaternion.shape == (5, 4) and len(body.mesh.triangles)


def test_rigid_results_need_no_modal_data(tmp_path, monkeypatch):
    data = case()
    data["bodies"].pop("rod")
    path = write_result(tmp_path / "r.h5", n=5, case_data=data, without=("bodies/rod/q", "bodies/rod/q_dot"))
    scene = result_scene(Record.load(path))
    assert all(body.skin is None for body in scene.bodies) and scene.notes == []
    assert run(["report", "R", "-o", "r.html"], path, tmp_path, monkeypatch) == 0


def test_no_result_ends_in_a_traceback(tmp_path, monkeypatch, capsys):
    (tmp_path / "text.h5").write_text("no result")
    for command in COMMANDS:
        assert run(command, tmp_path / "text.h5", tmp_path, monkeypatch) == 3
        assert run(command, tmp_path / "missing.h5", tmp_path, monkeypatch) == 3
    assert "Traceback" not in capsys.readouterr().err
