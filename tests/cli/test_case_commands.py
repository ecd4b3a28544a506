"""check, schema and new: text, JSON, exit codes; no input ends in a traceback."""

import json
import random
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.templates import names
from flexmbs.cli.main import main
from flexmbs.resources import resource

KEYS = {
    "errors", "warnings", "mobility", "gruebler", "closure_rows", "closure_rank", "redundant",
    "redundant_rows",
    "indeterminate_joints",
}  # fmt: skip


def case(name):
    return str(resource("cases", name + ".toml"))


def test_check_gives_the_promised_keys(capsys):
    assert main(["check", case("parallelogram"), "--json", "--quiet"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) >= KEYS
    assert (data["mobility"], data["closure_rows"], data["redundant"]) == (1, 5, 3)
    assert any("redundant constraint rows" in text for text in data["warnings"])


def test_check_reads_overrides_and_explains(capsys):
    assert main(["check", case("pendulum"), "--set", "joints.pin.initial.position=30 deg", "--explain"]) == 0
    text = capsys.readouterr().out
    assert "start       pin.angle = 0.52359878" in text
    assert "M (F12) mass matrix" in text and "N (F22) C^T M* C" in text


def test_errors_of_a_case_are_exit_3_with_places(tmp_path, capsys):
    path = tmp_path / "bad.toml"
    path.write_text('[bodies.a]\ntype = "rigd"\n[joints.j]\ntype = "revolute"\nfrom = "ground"\nto = "b"\n')
    assert main(["check", str(path)]) == 3
    shown = capsys.readouterr().err
    assert 'bad.toml:2:8  error  bodies.a: type "rigd"; did you mean "rigid"?' in shown
    assert 'bad.toml:6:6  error  joints.j.to: there is no body "b"' in shown
    assert main(["check", str(path), "--json"]) == 3
    assert len(json.loads(capsys.readouterr().out)["errors"]) == 2


def test_a_recipe_is_no_case_and_a_case_no_recipe(tmp_path, capsys):
    shipped = str(resource("cases", "robot-arm.reduce.toml"))
    assert main(["check", shipped]) == 3
    assert "is the recipe of a body, no case; flexmbs reduce" in capsys.readouterr().err
    assert main(["reduce", case("pendulum"), "-o", str(tmp_path / "a.modal.h5")]) == 3
    assert "is a case, no recipe of a body; flexmbs run" in capsys.readouterr().err


def test_unknown_channels_are_found_before_the_run(tmp_path, capsys):
    text = (
        resource("cases", "pendulum.toml")
        .read_text()
        .replace("joints.pin.position[1]", "joints.pn.position[1]")
    )
    path = tmp_path / "p.toml"
    path.write_text(text)
    assert main(["check", str(path)]) == 3
    assert 'no channel "joints.pn.position"; did you mean "joints.pin.position"?' in capsys.readouterr().err


def test_a_loop_that_cannot_close_is_exit_4(capsys):
    assert (
        main(["check", case("parallelogram"), "--set", "B=3", "--set", "ground.frames.right.pos=[0.8,0,0]"])
        == 4
    )
    shown = capsys.readouterr().err
    assert (
        "cannot be assembled, left open: joints.d (translation x) |g| = " in shown
        and " m (tolerance" in shown
    )
    assert "joints.d" in shown


def test_schema_is_json(capsys, tmp_path):
    assert main(["schema"]) == 0
    assert "bodies" in json.loads(capsys.readouterr().out)["properties"]
    assert main(["schema", "-o", str(tmp_path / "s.json")]) == 0
    assert json.loads((tmp_path / "s.json").read_text())["title"] == "flexmbs case file"
    capsys.readouterr()
    assert main(["schema", "recipe"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "flexmbs recipe file" and schema["$defs"]["BoxShape"]["required"] == [
        "shape",
        "size",
        "divisions",
    ]
    page = (
        (Path(__file__).resolve().parents[2] / "docs" / "reduction.md")
        .read_text()
        .partition("| key | default |")[2]
        .partition("\n\n")[0]
    )
    keys = re.findall(r"`\[?(\w+)[^`]*`", "\n".join(line.split("|")[1] for line in page.splitlines()[2:]))
    assert len(keys) > 20 and set(keys) <= set(schema["properties"])
    assert main(["schema", "-o", str(tmp_path / "no" / "s.json")]) == 3


@pytest.mark.parametrize("template", names())
def test_templates_build(template, tmp_path, capsys):
    assert main(["new", template, str(tmp_path / "x"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert "README.md" in data["files"]
    assert main(["check", str(tmp_path / "x" / data["case"]), "--quiet"]) == 0
    assert main(["new", template, str(tmp_path / "x")]) == 3  # it is not empty any more


@pytest.mark.parametrize("template", names())
def test_templates_run_as_written(template, tmp_path, monkeypatch):
    """Every command of the README of a template, in order, and a run whose energy balances."""
    assert main(["new", template, str(tmp_path / "x"), "--quiet"]) == 0
    monkeypatch.chdir(tmp_path / "x")
    lines = Path("README.md").read_text().splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("    flexmbs ")]
    assert any(words[1] == "run" for words in commands)
    for words in commands:
        assert main([*words[1:], "--quiet"]) == 0, words
    (path,) = [path for path in Path().glob("*.h5") if not path.name.endswith(".modal.h5")]
    result = fm.Result.load(path)
    energy = result["energy/balance_error"], result["energy/kinetic"]
    assert result.status == "complete" and np.abs(energy[0]).max() < 1e-3 * np.abs(energy[1]).max()


def test_unknown_template_names_the_nearest(capsys):
    assert main(["new", "pendlum", "x"]) == 2
    assert 'did you mean "pendulum"' in capsys.readouterr().err


def test_no_damaged_case_ends_in_an_internal_error(tmp_path, capsys):
    """Bounded fuzz over shipped cases: exit 0, 3 or 4, never 1."""
    rng = random.Random(17)
    sources = [
        resource("cases", name + ".toml").read_text()
        for name in ("parallelogram", "pendulum", "double-wishbone")
    ]
    values = [
        "0",
        "-1",
        "1e300",
        "nan",
        '"=t"',
        '"5 mm"',
        "[]",
        "{}",
        "true",
        '"ground"',
        "[0, 0, 0]",
        "1e-300",
        '""',
    ]
    path = tmp_path / "f.toml"
    for _ in range(60):
        lines = rng.choice(sources).splitlines()
        for _ in range(rng.randrange(1, 4)):
            k = rng.randrange(len(lines))
            key, equals, _ = lines[k].partition("=")
            lines[k] = f"{key}= {rng.choice(values)}" if equals and rng.random() < 0.8 else rng.choice(lines)
        path.write_text("\n".join(lines))
        assert main(["check", str(path), "--quiet"]) in (0, 3, 4), path.read_text()
    assert "internal error" not in capsys.readouterr().err


def test_generated_cases_are_valid():
    from flexmbs.case.generate import chain, four_bars

    assert len(Case.from_dict(four_bars(3)).model().bodies) == 7
    assert len(Case.from_dict(chain(4)).model().joints) == 4


def test_a_case_without_analysis_says_that_nothing_moves(tmp_path, capsys):
    path = tmp_path / "c.toml"
    path.write_text('[bodies.a]\ntype = "particle"\nmass = 1\n')
    assert main(["run", str(path), "-o", str(tmp_path / "c.h5")]) == 0
    assert "the case has no [analysis], so it is only assembled" in capsys.readouterr().err
