"""Entry point: finds the commands, reads the options, and turns every ending into text and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import json
import logging
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from typing import IO, Any, NoReturn

from flexmbs import __version__, cli, disk, interrupts
from flexmbs.cli.output import Output, coloured
from flexmbs.errors import Diagnostic, ExitCode, FlexmbsError, InputError, nearest, visible

SHOWN = 10  # errors on the screen; all of them with --json or --log
NOT_COMMANDS = {"main", "output", "shells"}


def command_modules(words: Iterable[str] = ()) -> dict[str, Any]:
    """Command name -> module, of the commands among the words of a command line; of all where none is."""
    names = {info.name for info in pkgutil.iter_modules(cli.__path__)} - NOT_COMMANDS
    chosen = names.intersection(words) or names
    return {name: importlib.import_module(f"flexmbs.cli.{name}") for name in sorted(chosen)}


def global_options(default: Any = None) -> argparse.ArgumentParser:
    """Options that may stand before or after the command."""

    def default_of(value: Any) -> Any:
        return value if default is None else default

    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("global options")
    group.add_argument(
        "--json", action="store_true", default=default_of(False), help="one JSON object on standard output"
    )
    group.add_argument(
        "--quiet", action="store_true", default=default_of(False), help="errors only on standard error"
    )
    group.add_argument(
        "-v", "--verbose", action="count", default=default_of(0), help="say more; twice: everything"
    )
    group.add_argument("--log", metavar="FILE", default=default_of(None), help="write a complete log to FILE")
    group.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default=default_of("auto"),
        help="colours on a terminal (auto, unless NO_COLOR is set), always or never",
    )
    group.add_argument(
        "--traceback",
        action="store_true",
        default=default_of(False),
        help="show Python tracebacks (for developers)",
    )
    return parser


class Parser(argparse.ArgumentParser):
    """Wrong words on the command line are answered with the nearest right one."""

    commands: Mapping[str, argparse.ArgumentParser] = {}

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, extra = self.parse_known_args(args, namespace)
        if not extra:
            return known
        parser = self.commands[known.command]
        options = [text for action in parser._actions for text in action.option_strings]
        first = extra[0].partition("=")[0]
        advice = f"; {nearest(first, options)}" if first.startswith("-") else ""
        parser.error(f"unrecognized arguments: {' '.join(extra)}{advice}")

    def error(self, message: str) -> NoReturn:
        wrong = re.match("argument COMMAND: invalid choice: '(.*?)'", message)
        if wrong:
            message = f'there is no command "{wrong[1]}"; {nearest(wrong[1], list(self.commands))}'
        super().error(message)


def build_parser(words: Iterable[str] = ()) -> argparse.ArgumentParser:
    """The parser of the commands among these words, or of all of them."""
    parser = Parser(
        prog="flexmbs",
        description="Flexible multibody dynamics: a mesh becomes modal data, a mechanism becomes motion.",
        parents=[global_options()],
    )
    parser.add_argument("--version", action="version", version=f"flexmbs {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=argparse.ArgumentParser
    )
    for name, module in command_modules(words).items():
        first_line = (module.__doc__ or "").strip().splitlines()[0]
        sub = commands.add_parser(
            name,
            help=first_line,
            description=module.__doc__,
            parents=[global_options(argparse.SUPPRESS)],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    parser.commands = commands.choices
    return parser


def configure_logging(args: argparse.Namespace) -> None:
    root = logging.getLogger("flexmbs")
    root.setLevel(logging.DEBUG)
    root.handlers.clear()
    screen = logging.StreamHandler(sys.stderr)
    levels = [logging.WARNING, logging.INFO, logging.DEBUG]
    screen.setLevel(logging.ERROR if args.quiet else levels[min(args.verbose, 2)])
    screen.setFormatter(logging.Formatter("%(message)s"))
    root.addHandler(screen)
    if args.log:
        from flexmbs.disk.log import open_log

        log_file = logging.StreamHandler(open_log(args.log))
        log_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(log_file)


def print_output(output: Output, as_json: bool, color: str = "never") -> None:
    if as_json:
        print(json.dumps(output.data, indent=2, default=to_plain))
    elif output.text:
        print("\n".join(coloured(line, color, sys.stdout) for line in visible(output.text).split("\n")))
    sys.stdout.flush()


def to_plain(value: Any) -> Any:
    """JSON form of numpy values and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def report_error(error: FlexmbsError, args: argparse.Namespace) -> int:
    errors = [item for item in error.diagnostics if item.severity == "error"]
    if args.json:
        payload = {
            "error": type(error).__name__,
            "exit_code": int(error.exit_code),
            "errors": [str(item) for item in errors],
            "codes": [item.code for item in errors],
            "warnings": [str(item) for item in error.diagnostics if item.severity != "error"],
        }
        print(json.dumps(payload, indent=2))
    lines = [str(item) for item in error.diagnostics[:SHOWN]]
    if len(error.diagnostics) > SHOWN:
        rest = len(error.diagnostics) - SHOWN
        lines.append(f"... and {rest} more ({len(error.diagnostics)} in all; --json or --log shows them)")
    told = "\n".join(coloured(line, args.color, sys.stderr) for line in lines)
    try:
        print(told, file=sys.stderr, flush=True)
    except OSError:  # the exit code tells it where nothing can be written
        give_up(sys.stderr)
    for item in error.diagnostics:
        logging.getLogger("flexmbs.log").debug("%s", item)
    return int(error.exit_code)


def give_up(stream: IO[str]) -> None:
    """Leave what waits for a full disk: Python would end with a code of its own for it."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def report_bug(error: BaseException) -> int:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename.rsplit('flexmbs/', 1)[-1]}:{frame.lineno}"
    print(f"internal error  {type(error).__name__} at {place}: {error}", file=sys.stderr)
    print(
        "This is a bug in flexmbs; please report it with the input and the output of --traceback.",
        file=sys.stderr,
    )
    return int(ExitCode.INTERNAL)


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code and never raises. Without words it is the process itself."""
    if argv is None:
        interrupts.end_in_time()
    try:
        return command(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)


def command(words: list[str]) -> int:
    """Run one command to its exit code, with all that it says."""
    for stream in (sys.stdout, sys.stderr):  # what a terminal cannot show is shown as an escape
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(100_000, 50, 50)  # what is imported stays: looking for garbage in it takes 0.15 s
    args = None
    try:
        args = build_parser(words).parse_args(words)
        configure_logging(args)
        output = args.run(args)
        print_output(output, args.json, args.color)
        if output.next and not args.json and not args.quiet:
            print(coloured(f"next:   {output.next}", args.color, sys.stderr), file=sys.stderr)
        return int(output.exit_code)
    except SystemExit as stop:  # argparse: --help, --version, usage
        return int(stop.code or 0) if isinstance(stop.code, int | None) else int(ExitCode.USAGE)
    except FlexmbsError as error:
        assert args is not None
        if args.traceback:
            traceback.print_exc()
        return report_error(error, args)
    except BrokenPipeError:
        sys.stderr.close()
        return int(ExitCode.DONE)
    except OSError as error:
        if args is None or error.errno not in disk.FULL:
            return report_bug(error)
        give_up(sys.stdout)
        what = Diagnostic(
            "file.write", "standard output", "could not be written: the disk is full", "make room"
        )
        return report_error(InputError(what), args)
    except Exception as error:  # the last door: anything that arrives here is a bug of ours
        if args is not None and args.traceback:
            traceback.print_exc()
        return report_bug(error)


if __name__ == "__main__":
    sys.exit(main())
