"""Scripts that let shells complete the command line: words of the parser, files by the ending they want."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Option:
    """An option: its spellings, help, choices, and the endings of the files that it takes, `*` for any."""

    words: list[str]
    help: str
    choices: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    takes: bool = False


@dataclass(frozen=True)
class Command:
    """A command: help, options, choices and file endings of its arguments; the program itself has no name."""

    name: str
    help: str
    options: list[Option]
    choices: list[str]
    files: list[str]


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """The program with the options that stand before a command, then all commands."""
    own = [_option(action) for action in parser._actions if action.option_strings]
    found = [Command("", "", own, [], [])]
    subparsers = next(item for item in parser._actions if isinstance(item, argparse._SubParsersAction))
    for name, sub in subparsers.choices.items():
        options: list[Option] = []
        choices: list[str] = []
        files: list[str] = []
        for action in sub._actions:
            if action.option_strings:
                options.append(_option(action))
            else:
                words, endings = _values(action)
                choices, files = choices + words, files or endings
        help_ = (sub.description or "").strip().splitlines()[0]
        found.append(Command(name, help_, options, choices, files))
    return found


def _option(action: argparse.Action) -> Option:
    takes = action.nargs != 0
    choices, files = _values(action) if takes else ([], [])
    help_ = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    return Option(list(action.option_strings), help_, choices, files, takes)


def _values(action: argparse.Action) -> tuple[list[str], list[str]]:
    """Words and file endings that a value may be: `nodes|cells` two words, `CASE.toml` a file, FILE any."""
    parts = [part.split()[0] for part in str(action.metavar or action.dest).split("|")]
    words = [str(word) for word in action.choices or []]
    words += [part for part in parts if len(parts) > 1 and part.islower() and "." not in part]
    files = ["." + part.rpartition(".")[2] for part in parts if "." in part]
    if any(part in ("FILE", "DIR", "MESH", "PART", "IN") for part in parts):
        files = ["*"]
    return [*words, *(_templates() if parts == ["TEMPLATE"] else [])], files


def _templates() -> list[str]:
    """What `flexmbs new` makes folders of."""
    from flexmbs.case.templates import listed

    return list(listed())


def bash(commands: list[Command]) -> str:
    """For bash, without bash-completion. Names with a colon are three words there."""
    program, cases = commands[0], []
    for c in commands[1:]:
        words = " ".join([*(w for o in c.options for w in o.words), *c.choices])
        files = f"_flexmbs_files {_quoted(c.files)}" if c.files else ":"
        cases += [f"  {c.name})", *_bash_options(c), f'    _flexmbs_words "{words}"']
        cases += [f"    [[ $word == -* ]] || {files}", "    ;;"]
    names = " ".join([*(c.name for c in commands[1:]), *(w for o in program.options for w in o.words)])
    takes = "|".join(w for o in program.options if o.takes for w in o.words)
    return "\n".join(
        [
            "_flexmbs_files() {",
            "  local found ending",
            '  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -d -- "$word")',
            "  while IFS= read -r found; do",
            '    for ending in "$@"; do',
            '      [[ $ending == "*" || $found == *"$ending" ]] && COMPREPLY+=("$found")',
            "    done",
            "  done \\",
            '    < <(compgen -f -- "$word")',
            "}",
            "_flexmbs_words() {",
            '  local whole="$word" start=""',
            "  [[ $1 == *:* ]] && compopt +o filenames 2>/dev/null",
            '  [[ $word == : ]] && start="$before:" && whole="$start"',
            '  [[ $before == : ]] && start="${COMP_WORDS[COMP_CWORD-2]}:" && whole="$start$word"',
            '  COMPREPLY=($(compgen -W "$1" -- "$whole"))',
            '  [[ $start ]] && COMPREPLY=("${COMPREPLY[@]#"$start"}")',
            "}",
            "_flexmbs() {",
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" k',
            "  COMPREPLY=()",
            "  for ((k = 1; k < COMP_CWORD; k++)); do",
            '    case "${COMP_WORDS[k]}" in',
            f"      {takes}) ((k++)) ;;",
            "      -*) ;;",
            '      *) command="${COMP_WORDS[k]}"; break ;;',
            "    esac",
            "  done",
            '  case "$command" in',
            '  "")',
            *_bash_options(program),
            f'    _flexmbs_words "{names}" ;;',
            *cases,
            "  esac",
            "}",
            "complete -o filenames -F _flexmbs flexmbs",
        ]
    )


def _bash_options(c: Command) -> list[str]:
    """What may follow an option that takes one of some words, or a file."""
    lines = []
    for o in (o for o in c.options if o.choices or o.files):
        words = f'_flexmbs_words "{" ".join(o.choices)}"; ' if o.choices else ""
        files = f"_flexmbs_files {_quoted(o.files)}; " if o.files else ""
        lines.append(f"      {'|'.join(o.words)}) {words}{files}return ;;")
    return ["    case $before in", *lines, "      *) ;;", "    esac"]


def _quoted(words: list[str]) -> str:
    return " ".join(f'"{word}"' for word in words)


def zsh(commands: list[Command]) -> str:
    """For zsh, a function of its completion system."""
    lines = ["#compdef flexmbs", "_flexmbs_either() {", "  local -a words; words=(${=1}); shift"]
    lines += ['  compadd -a words; _files "$@"', "}"]
    lines += ["_flexmbs() {", '  local curcontext="$curcontext" state', "  local -a commands"]
    lines += ["  typeset -A opt_args", "  commands=("]
    lines += [f"    {shlex.quote(_colons(c.name) + ':' + c.help)}" for c in commands[1:]]
    lines += ["  )", "  _arguments -C -s \\", *_zsh_options(commands[0])]
    lines += ["    '1: :->command' '*:: :->rest' && return", '  case "$state" in']
    lines += ["  command) _describe command commands ;;", '  rest) case "$words[1]" in']
    for c in commands[1:]:
        lines += [f"    {c.name}) _arguments -s \\", *_zsh_options(c)]
        lines.append(f"    {shlex.quote('*:argument:' + _zsh_values(c.choices, c.files))} ;;")
    return "\n".join([*lines, "    esac ;;", "  esac", "}", '_flexmbs "$@"'])


def _zsh_options(c: Command) -> list[str]:
    lines = []
    for o in c.options:
        for word in o.words:
            value = f":value:{_zsh_values(o.choices, o.files)}" if o.takes else ""
            lines.append(f"    {shlex.quote(word + '[' + _brackets(o.help) + ']' + value)} \\")
    return lines


def _zsh_values(choices: list[str], files: list[str]) -> str:
    """Words, files by their endings, or both; any file where nothing is known."""
    words = f"({' '.join(_colons(word) for word in choices)})"
    ends = files[0] if len(files) == 1 else f"({'|'.join(files)})"
    found = "_files" if "*" in files or not files else f'_files -g "*{ends}"'
    if choices and files:
        return f' _flexmbs_either "{" ".join(map(_colons, choices))}" {found.removeprefix("_files")}'
    return words if choices else found


def _colons(text: str) -> str:
    return text.replace(":", r"\:")


def _brackets(text: str) -> str:
    return text.replace("[", r"\[").replace("]", r"\]").replace(":", r"\:")


def fish(commands: list[Command]) -> str:
    """For fish, one line per word."""
    lines = ["complete -c flexmbs -f"]
    lines += [_fish_option("complete -c flexmbs -n __fish_use_subcommand", o) for o in commands[0].options]
    for c in commands[1:]:
        lines.append(f"complete -c flexmbs -n __fish_use_subcommand -a {c.name} -d {shlex.quote(c.help)}")
        here = f"complete -c flexmbs -n '__fish_seen_subcommand_from {c.name}'"
        for ending in c.files:
            lines.append(f"{here} -a '(__fish_complete_suffix \"{ending.strip('*')}\")'")
        if c.choices:
            lines.append(f"{here} -a {shlex.quote(' '.join(c.choices))}")
        lines += [_fish_option(here, o) for o in c.options]
    return "\n".join(lines)


def _fish_option(here: str, o: Option) -> str:
    words = " ".join(f"-l {w[2:]}" if w.startswith("--") else f"-s {w[1:]}" for w in o.words)
    value = " -r" if o.takes else ""
    if o.choices:
        value = f" {'-r' if o.files else '-x'} -a {shlex.quote(' '.join(o.choices))}"
    value += " -F" if o.files else ""
    return f"{here} {words} -d {shlex.quote(o.help)}{value}"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
