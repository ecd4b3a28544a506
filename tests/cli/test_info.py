"""`flexmbs info` on a mesh, on modal data and on a result."""

import json

import flexmbs as fm
from flexmbs.cli.main import main
from flexmbs.resources import resource


def test_info_of_a_shipped_mesh(capsys):
    assert main(["info", str(resource("meshes", "rod.msh")), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["format"] == "mesh" and data["cells"] == {"tet10": 1758} and not data["errors"]
    assert {"bore_big", "bore_small"} <= {row["name"] for row in data["sets"]}


def test_info_of_modal_data(tmp_path, capsys):
    mesh = {"shape": "box", "size": [0.3, 0.04, 0.03], "divisions": [2, 1, 1]}
    modal = fm.reduce({"mesh": mesh, "material": "steel", "modes": 2, "interfaces": ["x_min"]})
    modal.save(tmp_path / "a.modal.h5")
    assert main(["info", str(tmp_path / "a.modal.h5"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["rigid_modes"] == 6 and data["modes"] == len(data["frequency_hz"]) == len(data["kind"])
    assert data["quality"]["sylvester_missing"] == 0


def test_info_of_a_result(tmp_path, capsys):
    case = tmp_path / "drop.toml"
    case.write_text(
        'format_version = 1\ngravity = [0, 0, -9.81]\n[bodies.ball]\ntype = "rigid"\nmass = 1.0\n'
        "inertia = { ixx = 1, iyy = 1, izz = 1 }\n[analysis]\nt_end = 0.01\n"
    )
    out = tmp_path / "drop.h5"
    assert main(["run", str(case), "-o", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["info", str(out), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "complete" and data["bodies"] == ["ball"] and data["samples"] > 1
    assert data["tree"] == ["ball on ground, free"] and data["cuts"] == []


def test_info_of_a_result_shows_tree_and_cuts(tmp_path, capsys):
    out = tmp_path / "wishbone.h5"
    case = str(resource("cases", "double-wishbone.toml"))
    assert main(["run", case, "-o", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["info", str(out)]) == 0
    text = capsys.readouterr().out
    assert "  tree        carrier on arm1 by joints.j12\n" in text
    assert "  cut         joints.j23: closes a loop, and has the fewest constraints in it\n" in text


def test_info_of_nothing_known(tmp_path, capsys):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    assert main(["info", str(path)]) == 3
    assert main(["info", str(tmp_path)]) == 3


def test_info_of_a_file_cut_off(tmp_path, capsys):
    path = tmp_path / "part.modal.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert main(["info", str(path)]) == 3
    assert "not a readable HDF5 file" in capsys.readouterr().err


def test_info_of_a_case_and_of_a_recipe(capsys):
    assert main(["info", str(resource("cases", "slider_crank.toml")), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bodies"] == {"crank": "rigid", "rod": "flexible", "slider": "rigid"}
    assert data["drives"] == {"motor": "main"} and data["parameters"]["r"] == 0.05
    assert main(["info", str(resource("meshes", "rod.reduce.toml"))]) == 0
    assert "tangent:bore_big" in capsys.readouterr().out


def test_info_of_a_case_counts_its_freedoms_as_check_does(tmp_path, capsys):
    path = str(resource("cases", "bennett.toml"))
    assert main(["info", path, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert main(["check", path, "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert data["mechanism"] == {key: checked[key] for key in data["mechanism"]}
    assert (data["mechanism"]["mobility"], data["mechanism"]["gruebler"]) == (1, -2)
    assert main(["info", path]) == 0
    shown = capsys.readouterr().out
    assert main(["check", path]) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith(("mobility", "cut", "tree"))
    ]
    assert len(lines) > 3 and all(f"  {line}" in shown for line in lines)
    out = tmp_path / "b.h5"
    assert main(["run", path, "-o", str(out), "--quiet", "--overwrite"]) == 0
    capsys.readouterr()
    assert main(["info", str(out)]) == 0
    assert f"  {lines[0]}" in capsys.readouterr().out


def test_info_says_why_freedoms_are_not_counted(tmp_path, capsys):
    case = tmp_path / "open.toml"
    body = '[bodies.{}]\ntype = "rigid"\nmass = 1.0\ninertia = {{ ixx = 1, iyy = 1, izz = 1 }}\n'
    case.write_text(
        "format_version = 1\n" + body.format("a") + "[ground.frames]\nfar = { pos = [9, 0, 0] }\n"
        '[joints.j]\ntype = "revolute"\nfrom = "ground"\nto = "a"\n'
        '[joints.k]\ntype = "revolute"\nfrom = "ground.far"\nto = "a"\n'
    )
    assert main(["info", str(case)]) == 0
    assert "not assembled: " in capsys.readouterr().out
    case.write_text('format_version = 1\n[bodies.a]\ntype = "flexible"\nreduce = "a.reduce.toml"\n')
    (tmp_path / "a.reduce.toml").write_text('mesh = "a.msh"\n')
    assert main(["info", str(case)]) == 0
    assert "bodies.a must be reduced first" in capsys.readouterr().out
    assert not (tmp_path / "a.reduce.modal.h5").exists()


def test_info_names_a_later_run_that_has_not_replaced_the_result(tmp_path, capsys):
    """The first ends well, the second is stopped by a law that has no value from 0.05 s on."""
    text = """format_version = 1
[bodies.ball]
type = "rigid"
mass = 1
[joints.way]
type = "prismatic"
from = "ground"
to = "ball"
[forces.push]
type = "joint_force"
joint = "way"
value = "=sqrt(T - t)"
[parameters]
T = 1
[analysis]
t_end = 0.1
"""
    case, result = tmp_path / "a.toml", tmp_path / "a.h5"
    case.write_text(text)
    assert main(["run", str(case), "-o", str(result), "--quiet"]) == 0
    assert main(["run", str(case), "-o", str(result), "--quiet", "--overwrite", "--set", "T=0.05"]) == 4
    capsys.readouterr()
    assert main(["info", str(result)]) == 0
    assert "warning: a later run lies in a.h5.parts: failed, up to t = 0.0" in capsys.readouterr().out
