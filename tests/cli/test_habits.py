"""Completion, channels, new, colours, hints, and what editors are told of the keys."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache

import jsonschema
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.editors import install, schema_of
from flexmbs.case.templates import cases, create, listed
from flexmbs.cli.main import build_parser, main
from flexmbs.cli.output import coloured
from flexmbs.errors import InputError
from flexmbs.input.descriptions import TEXTS
from flexmbs.resources import resource


class Terminal:
    def __init__(self, tty):
        self.tty = tty

    def isatty(self):
        return self.tty


def complete(tmp_path, *words):
    """What bash offers for the last of the words, in a folder with a case and a result."""
    for name in ("a.toml", "b.h5", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir(exist_ok=True)
    script = script_of("bash")
    line = " ".join(f"'{word}'" for word in ("flexmbs", *words))
    ask = f'COMP_WORDS=({line}); COMP_CWORD={len(words)}; _flexmbs; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", script + "\n" + ask], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_options_choices_and_files(tmp_path):
    assert complete(tmp_path, "ver") == ["verify"]
    assert set(complete(tmp_path, "check", "--a")) == {"--at", "--allow-python"}
    assert set(complete(tmp_path, "check", "")) >= {"a.toml", "sub", "--explain"}
    assert "b.h5" not in complete(tmp_path, "check", "") and "b.h5" in complete(tmp_path, "plot", "")
    assert complete(tmp_path, "check", "a.toml", "--color", "al") == ["always"]
    assert "zsh" in complete(tmp_path, "completion", "")
    assert complete(tmp_path, "--color", "al") == ["always"]
    assert complete(tmp_path, "--color", "always", "ver") == ["verify"] and complete(tmp_path, "--js") == [
        "--json"
    ]
    assert set(complete(tmp_path, "reduce", "--method", "")) == {"craig-bampton", "free-interface", "given"}
    assert set(complete(tmp_path, "reduce", "--material", "")) >= {"steel", "a.toml"}
    assert set(complete(tmp_path, "export", "")) >= {"a.toml", "b.h5"}
    # a colon parts words in bash: "case", ":", "robot"
    assert complete(tmp_path, "new", "case", ":", "robot") == ["robot-arm"]


@pytest.mark.slow
@pytest.mark.needs("fish")
def test_fish_completes(tmp_path):
    (tmp_path / "script").write_text(script_of("fish"))

    def complete(line):
        ask = ["fish", "-c", f"source script; complete -C '{line}'"]
        done = subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True, check=True)
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert complete("flexmbs ver") == ["verify"] and complete("flexmbs --color al") == ["always"]
    assert complete("flexmbs --js") == ["--json"] and complete("flexmbs check --a") == [
        "--allow-python",
        "--at",
    ]
    assert complete("flexmbs new case:robot") == ["case:robot-arm"]
    assert complete("flexmbs reduce --method g") == ["given"]


ASK_ZSH = """
import os, pty, select, sys, time
pid, screen = pty.fork()
if not pid:
    os.execvp("zsh", ["zsh", "-f", "-i"])
def send(text, wanted):
    os.write(screen, text.encode())
    seen, end = "", time.time() + 20
    while wanted not in seen and time.time() < end:
        if select.select([screen], [], [], 0.1)[0]:
            seen += os.read(screen, 65536).decode(errors="replace")
    assert wanted in seen, seen
send("PS1=; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d dump; echo rea''dy\\n", "ready")
for k in range(1, len(sys.argv), 2):
    send(sys.argv[k] + "\\t", sys.argv[k + 1])
    send("\\x15echo nex''t\\n", "next")
"""


@pytest.mark.slow
@pytest.mark.needs("zsh")
def test_zsh_completes(tmp_path):
    """Typed at a terminal of its own."""
    (tmp_path / "_flexmbs").write_text(script_of("zsh"))
    (tmp_path / "only.h5").touch()
    pairs = {
        "flexmbs ver": "verify ", "flexmbs --color al": "always ", "flexmbs --quiet che": "check ",
        "flexmbs check --rota": "--rotation ", "flexmbs reduce --method g": "given ",
        "flexmbs plot o": "only.h5", "flexmbs new case:robot": "case:robot-arm ",
        "flexmbs reduce --material ti": "titanium ",
    }  # fmt: skip
    words = [word for pair in pairs.items() for word in pair]
    ask = [sys.executable, "-c", ASK_ZSH, *words]
    done = subprocess.run(
        ask, cwd=tmp_path, env=os.environ | {"TERM": "dumb"}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@cache
def script_of(shell):
    """What the command prints."""
    return subprocess.run(["flexmbs", "completion", shell], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_have_every_command_and_option_and_are_sound(shell, capsys, tmp_path):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, parser in build_parser().commands.items():
        assert name in script
        for action in parser._actions:
            for word in action.option_strings:
                assert word.lstrip("-") in script, (name, word)
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        assert subprocess.run([shell, "-n", tmp_path / "script"], check=False).returncode == 0


def test_channels_are_listed_with_units(tmp_path, capsys):
    case = Case.load(resource("cases", "pendulum.toml"), **{"analysis.t_end": 0.01})
    fm.run(case.with_tables(lambda data: data.pop("expected")), tmp_path / "a.h5")
    assert main(["channels", str(tmp_path / "a.h5"), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["channels"]}
    assert rows["pin.reaction_force"]["unit"] == "N" and rows["pin.reaction_force"]["components"] == list(
        "xyz"
    )
    assert rows["rod.velocity"]["unit"] == "m/s" and rows["energy.kinetic"]["unit"] == "J"
    result = fm.Result.load(tmp_path / "a.h5")
    assert all(len(np.atleast_1d(result.channel(name))) for name in rows)
    assert main(["channels", str(tmp_path / "a.h5"), "*.reaction_*"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 and err.startswith("next:   flexmbs plot ")


@pytest.mark.parametrize("name", cases())
def test_every_shipped_case_can_be_begun_with(name, tmp_path):
    create(f"case:{name}", tmp_path / "new")
    case = Case.load(tmp_path / "new" / f"{name}.toml", allow_python=True)
    for body, table in case.spec.bodies.items():
        recipe = getattr(table, "reduce", None)
        if recipe:
            data = tomllib.loads((tmp_path / "new" / recipe).read_text())
            mesh = data.get("mesh")
            assert not isinstance(mesh, str) or (tmp_path / "new" / mesh).is_file(), body


def test_new_lists_what_there_is_and_refuses_what_there_is_not(capsys, tmp_path):
    assert main(["new"]) == 0
    assert "case:robot-arm" in capsys.readouterr().out and len(listed()) > 40
    assert main(["new", "case:robotarm", str(tmp_path / "x")]) == 2
    assert 'did you mean "case:robot-arm"' in capsys.readouterr().err


def test_colours_are_where_they_are_wanted(monkeypatch):
    line = "a.toml:1:1  error  it is so"
    assert coloured(line, "always", Terminal(False)) == "a.toml:1:1  \x1b[1;31merror\x1b[0m  it is so"
    assert coloured(line, "auto", Terminal(False)) == coloured(line, "never", Terminal(True)) == line
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b" in coloured("next:   flexmbs", "auto", Terminal(True))
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured(line, "auto", Terminal(True)) == line


def test_check_names_the_next_command(capsys):
    case = str(resource("cases", "pendulum.toml"))
    assert main(["check", case]) == 0
    assert capsys.readouterr().err.endswith(f"next:   flexmbs run {case}\n")
    assert main(["check", case, "--quiet"]) == 0
    assert "next:" not in capsys.readouterr().err


def keys_of(kind):
    schema = schema_of(kind)
    for table, item in {kind: schema, **schema["$defs"]}.items():
        for key, value in item.get("properties", {}).items():
            yield table, key, value


@pytest.mark.parametrize("kind", ["case", "recipe"])
def test_every_key_is_described(kind):
    found = list(keys_of(kind))
    assert len(found) > 150
    for table, key, value in found:
        assert len(value["description"]) > 5, f"{table}.{key}: add it to flexmbs/input/descriptions.py"


def test_no_description_is_of_a_key_that_is_gone():
    known = set()
    for kind, root in (("case", "CaseFile"), ("recipe", "RecipeFile")):
        for table, key, _ in keys_of(kind):
            known |= {key, f"{root if table == kind else table}.{key}"}
    assert set(TEXTS) <= known


@pytest.mark.parametrize("kind, pattern", [("case", "*.toml"), ("recipe", "*.reduce.toml")])
def test_editors_take_all_shipped_files(kind, pattern):
    checker = jsonschema.Draft202012Validator(schema_of(kind))
    for path in sorted(resource("cases").glob(pattern)):
        if kind == "recipe" or not path.name.endswith(".reduce.toml"):
            errors = list(checker.iter_errors(tomllib.loads(path.read_text())))
            assert not errors, f"{path.name}: {errors[0].json_path}: {errors[0].message[:200]}"


def test_editors_are_set_up_and_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode" / "extensions.json").write_text("{}")
    assert main(["schema", "--install", str(tmp_path)]) == 0
    assert "next:   open the folder" in capsys.readouterr().err
    rules = tomllib.loads((tmp_path / ".taplo.toml").read_text())["rule"]
    for rule in rules:
        schema = json.loads((tmp_path / rule["schema"]["path"]).read_text())
        assert schema["properties"]
    assert len(tomllib.loads((tmp_path / "tombi.toml").read_text())["schemas"]) == 2
    assert (tmp_path / ".vscode" / "extensions.json").read_text() == "{}"
    with pytest.raises(InputError, match="exists already"):
        install(tmp_path)
    assert ".taplo.toml" in install(tmp_path, overwrite=True)


@pytest.mark.needs("taplo")
def test_taplo_finds_a_mistake_and_takes_a_shipped_case(tmp_path):
    install(tmp_path)
    text = resource("cases", "pendulum.toml").read_text()
    for name, content in (
        ("good.toml", text),
        ("bad.toml", text.replace("mass = 2.0", 'mass = "=2"\nmas = 2')),
    ):
        (tmp_path / name).write_text(content)
        done = subprocess.run(
            ["taplo", "lint", name], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) == (name == "good.toml"), done.stderr
