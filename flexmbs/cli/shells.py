"""Scripts that let shells complete the command line: words of the parser, files by the ending they want."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Option:
    """An option: its spellings, help, choices, and the ending of the files that it takes, `*` for any."""

    words: list[str]
    help: str
    choices: list[str] = field(default_factory=list)
    files: str = ""
    takes: bool = False


@dataclass(frozen=True)
class Command:
    """A command: help, options, choices and file endings of its arguments."""

    name: str
    help: str
    options: list[Option]
    choices: list[str]
    files: str


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """All commands of the program."""
    found = []
    subparsers = next(item for item in parser._actions if isinstance(item, argparse._SubParsersAction))
    for name, sub in subparsers.choices.items():
        options, choices, files = [], [], ""
        for action in sub._actions:
            if action.option_strings:
                options.append(_option(action))
            else:
                choices += [str(word) for word in action.choices or []]
                files = files or _ending(action)
        help_ = (sub.description or "").strip().splitlines()[0]
        found.append(Command(name, help_, options, choices, files))
    return found


def _option(action: argparse.Action) -> Option:
    choices = [str(word) for word in action.choices or []]
    takes = action.nargs != 0
    help_ = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    return Option(list(action.option_strings), help_, choices, _ending(action) if takes else "", takes)


def _ending(action: argparse.Action) -> str:
    """Ending of the files of an argument by its name: `CASE.toml` takes .toml, FILE and DIR any."""
    name = str(action.metavar or action.dest)
    first = name.split("|")[0]
    if "." in first:
        return "." + first.rpartition(".")[2]
    return "*" if name.isupper() and name in ("FILE", "DIR", "MESH", "PART", "IN") else ""


def bash(commands: list[Command]) -> str:
    """For bash, without bash-completion."""
    cases = []
    for c in commands:
        words = " ".join([*(w for o in c.options for w in o.words), *c.choices])
        inner = [
            f"      {'|'.join(o.words)}) {_bash_values(o)}; return ;;"
            for o in c.options
            if o.choices or o.files
        ]
        files = f'_flexmbs_files "{c.files}"' if c.files else ":"
        body = [f"  {c.name})", "    case $before in", *inner, "      *) ;;", "    esac"]
        body.append(f'    COMPREPLY=($(compgen -W "{words}" -- "$word"))')
        cases.append("\n".join([*body, f"    [[ $word == -* ]] || {files}", "    ;;"]))
    names = " ".join(c.name for c in commands)
    return "\n".join(
        [
            "_flexmbs_files() {",
            "  local found",
            '  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -d -- "$word")',
            "  while IFS= read -r found; do",
            '    [[ $1 == "*" || $found == *"$1" ]] && COMPREPLY+=("$found")',
            "  done \\",
            '    < <(compgen -f -- "$word")',
            "}",
            "_flexmbs() {",
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" k',
            "  COMPREPLY=()",
            "  for ((k = 1; k < COMP_CWORD; k++)); do",
            '    [[ ${COMP_WORDS[k]} == -* ]] || { command="${COMP_WORDS[k]}"; break; }',
            "  done",
            '  case "$command" in',
            f'  "") COMPREPLY=($(compgen -W "{names} --help --version" -- "$word")) ;;',
            *cases,
            "  esac",
            "}",
            "complete -o filenames -F _flexmbs flexmbs",
        ]
    )


def _bash_values(o: Option) -> str:
    if o.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(o.choices)}" -- "$word"))'
    return f'_flexmbs_files "{o.files}"'


def zsh(commands: list[Command]) -> str:
    """For zsh, a function of its completion system."""
    lines = ["#compdef flexmbs", "_flexmbs() {", "  local -a commands", "  commands=("]
    lines += [f"    {shlex.quote(_colons(c.name) + ':' + c.help)}" for c in commands]
    lines += ["  )", "  if (( CURRENT == 2 )); then _describe command commands; return; fi"]
    lines += ['  local command="$words[2]"', "  shift words; (( CURRENT-- ))", '  case "$command" in']
    for c in commands:
        lines.append(f"  {c.name}) _arguments -s \\")
        for o in c.options:
            for word in o.words:
                value = f":value:{_zsh_values(o.choices, o.files)}" if o.takes else ""
                lines.append(f"    {shlex.quote(word + '[' + _brackets(o.help) + ']' + value)} \\")
        lines.append(f"    {shlex.quote('*:argument:' + _zsh_values(c.choices, c.files))} ;;")
    return "\n".join([*lines, "  esac", "}", '_flexmbs "$@"'])


def _zsh_values(choices: list[str], files: str) -> str:
    if choices:
        return f"({' '.join(choices)})"
    return "_files" if files in ("*", "") else f'_files -g "*{files}"'


def _colons(text: str) -> str:
    return text.replace(":", r"\:")


def _brackets(text: str) -> str:
    return text.replace("[", r"\[").replace("]", r"\]").replace(":", r"\:")


def fish(commands: list[Command]) -> str:
    """For fish, one line per word."""
    lines = ["complete -c flexmbs -f", "complete -c flexmbs -n __fish_use_subcommand -l version"]
    for c in commands:
        lines.append(f"complete -c flexmbs -n __fish_use_subcommand -a {c.name} -d {shlex.quote(c.help)}")
        here = f"complete -c flexmbs -n '__fish_seen_subcommand_from {c.name}'"
        if c.files:
            ending = "" if c.files == "*" else c.files
            lines.append(f"{here} -a '(__fish_complete_suffix \"{ending}\")'")
        if c.choices:
            lines.append(f"{here} -a {shlex.quote(' '.join(c.choices))}")
        for o in c.options:
            words = " ".join(f"-l {w[2:]}" if w.startswith("--") else f"-s {w[1:]}" for w in o.words)
            value = f" -x -a {shlex.quote(' '.join(o.choices))}" if o.choices else " -r" if o.takes else ""
            value += " -F" if o.files else ""
            lines.append(f"{here} {words} -d {shlex.quote(o.help)}{value}")
    return "\n".join(lines)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
