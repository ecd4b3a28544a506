"""Every ending of a command becomes a text for people and an exit code."""

import argparse
import json
import os
import subprocess
import sys

import pytest

from flexmbs.cli import main as cli_main
from flexmbs.cli.output import Output
from flexmbs.errors import Diagnostic, ExitCode, InputError, SolverError


@pytest.fixture
def command(monkeypatch):
    """A command `try` that does what the test says."""

    def install(action):
        class Module:
            """Try it."""

            @staticmethod
            def add_arguments(parser: argparse.ArgumentParser) -> None:
                parser.add_argument("--n", type=int, default=1)

            run = staticmethod(action)

        monkeypatch.setattr(cli_main, "command_modules", lambda words=(): {"try": Module})

    return install


def raising(error):
    def action(args):
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError(Diagnostic("a.b", "x.toml:1:2", "found 3", "write 4")), ExitCode.INPUT),
        (SolverError(Diagnostic("a.b", "t = 1 s", "stopped")), ExitCode.SOLVER),
        (ZeroDivisionError("oops"), ExitCode.INTERNAL),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_errors_become_exit_codes_without_traceback(command, capsys, error, code):
    command(raising(error))
    assert cli_main.main(["try"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    if isinstance(error, InputError):
        assert captured.err == "x.toml:1:2  error  found 3; write 4\n"


def test_ten_errors_are_shown_and_all_are_in_json(command, capsys):
    error = InputError(*(Diagnostic("a.b", f"x:{k}", "bad") for k in range(14)))
    command(raising(error))
    cli_main.main(["try"])
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 11 and "4 more (14 in all" in shown[-1]
    cli_main.main(["try", "--json"])
    assert len(json.loads(capsys.readouterr().out)["errors"]) == 14


def test_json_is_one_object_wherever_the_option_stands(command, capsys):
    command(lambda args: Output("text", {"n": args.n}))
    for argv in (["--json", "try", "--n", "3"], ["try", "--n", "3", "--json"]):
        assert cli_main.main(argv) == 0
        assert json.loads(capsys.readouterr().out) == {"n": 3}


def test_usage_error_is_exit_code_2(capsys):
    assert cli_main.main(["no-such-command"]) == ExitCode.USAGE
    assert cli_main.main([]) == ExitCode.USAGE


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from flexmbs.cli.main import main; main(['--help']);"
        "heavy = {'numpy', 'scipy', 'numba', 'h5py', 'meshio', 'skfem', 'pydantic', 'matplotlib'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_log_that_cannot_be_written_is_an_error(command, capsys, tmp_path):
    command(lambda args: Output("text", {}))
    assert cli_main.main(["try", "--json", "--log", str(tmp_path / "none" / "x.log")]) == ExitCode.INPUT
    assert json.loads(capsys.readouterr().out)["codes"] == ["file.folder"]


def test_wrong_words_are_answered_with_the_nearest(capsys):
    for words, advice in (
        (["reduc", "a.msh"], 'there is no command "reduc"; did you mean "reduce"?'),
        (["reduce", "a.msh", "--modess", "3"], 'unrecognized arguments: --modess 3; did you mean "--modes"?'),
        (["info", "a.msh", "b.msh"], "unrecognized arguments: b.msh\n"),
    ):
        assert cli_main.main(words) == 2
        assert advice in capsys.readouterr().err


def test_log_replaces_logs_only(command, tmp_path):
    command(lambda args: Output("done"))
    log, other = tmp_path / "x.log", tmp_path / "thesis.tex"
    other.write_text("precious")
    assert [cli_main.main(["try", "--log", str(log)]) for _ in range(2)] == [ExitCode.DONE, ExitCode.DONE]
    assert log.read_text().startswith("log of flexmbs\n")
    assert cli_main.main(["try", "--log", str(other)]) == ExitCode.INPUT
    assert other.read_text() == "precious"


HOSTILE = "a\x1b[31mred\x07\u202e\x9b\rb"


def test_control_characters_are_shown_and_not_obeyed(command, capsys):
    def fail(args):
        raise InputError(Diagnostic("x.y", HOSTILE, HOSTILE, HOSTILE))

    command(fail)
    assert cli_main.main(["try"]) == ExitCode.INPUT
    command(lambda args: Output(HOSTILE))
    assert cli_main.main(["try"]) == ExitCode.DONE
    screen = capsys.readouterr()
    for text in (screen.out, screen.err):
        assert "a\\x1b[31mred\\x07\\u202e\\x9b\\rb" in text
        assert not set(text) & set("\x1b\x07\u202e\x9b\r")


def test_values_are_echoed_in_part_only():
    text = str(Diagnostic("x.y", "a.toml:1:1", f'type "{"y" * 100_000}" and {"z" * 100_000}'))
    assert "y" * 70 in text and "(100002 characters)" in text and len(text) < 400
    assert len(str(Diagnostic("x.y", "a.toml:1:1", "word " * 100_000))) < 2000
    assert str(Diagnostic("x.y", "a.toml:1:1", 'type "revolut"')).endswith('type "revolut"')


@pytest.mark.parametrize("words", [["doctor"], ["schema"], ["doctor", "--json"]])
def test_a_full_disk_behind_the_screen_is_told(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flexmbs.cli.main", *words], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, "standard output" in done.stderr) == (ExitCode.INPUT, True), done.stderr


@pytest.mark.parametrize("words", [["info", "nothing.h5"], ["check", "nothing.toml"]])
def test_the_exit_code_tells_it_where_nothing_can_be_written(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "flexmbs.cli.main", *words], stdout=full, stderr=full)
    assert done.returncode == ExitCode.INPUT


ELSEWHERE = {
    "windows": ("sys.modules['fcntl'] = None", "flexmbs runs on Linux and macOS; this is linux"),
    "old": ("sys.version_info = (3, 9, 2)", "flexmbs needs Python 3.11 or newer; this is 3.9.2"),
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_other_platforms_are_told_in_one_line(where):
    change, message = ELSEWHERE[where]
    code = f"import sys; {change}; from flexmbs.cli.main import main; main(['doctor'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (ExitCode.MISSING, "")
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith(message)


def test_a_library_without_locks_says_so():
    code = "import sys; sys.modules['fcntl'] = None; import flexmbs.disk"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: flexmbs needs the file locks of Linux or macOS"
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_that_lack_characters_show_escapes(encoding):
    code = "import sys; from flexmbs.cli import main; sys.exit(main.main(['new', '\u0394', '.']))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding}
    )
    assert done.returncode == ExitCode.USAGE and b"\\u0394" in done.stderr
