"""Stage 2: turn a case file into a result.

The result is written by segments into RESULT.h5.parts and packed into RESULT.h5 at the end. SIGINT and
SIGTERM keep what was computed; --resume goes on to the numbers of the uninterrupted run.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from typing import Any

from flexmbs.cli.output import Output, Progress, add_overwrite, add_root
from flexmbs.errors import Diagnostic, ExitCode, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("case", metavar="CASE.toml")
    parser.add_argument("-o", "--output", metavar="RESULT.h5", help="default: output.file of the case")
    add_root(parser)
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="override a value")
    parser.add_argument("--resume", action="store_true", help="go on with an unfinished result")
    add_overwrite(parser)
    parser.add_argument(
        "--verify", action="store_true", help="run the other formulation too; exit 6 when they differ"
    )
    parser.add_argument(
        "--announce", action="store_true", help="a line committed t=... on stderr for every part that is safe"
    )
    parser.add_argument("--live", action="store_true", help="serve a page that follows the run")
    parser.add_argument(
        "--verify-solution", action="store_true", help="estimate errors by finer steps and more modes"
    )
    parser.add_argument("--allow-python", action="store_true", help="let the case call its Python functions")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.case import Case
    from flexmbs.case.runner import execute
    from flexmbs.input.source import parse_settings

    case = Case.load(args.case, root=args.root, allow_python=args.allow_python, **parse_settings(args.set))
    other = _second(case, args) if args.verify else None
    with _live_page(case, args) if args.live else nullcontext():
        done = execute(
            case, args.output, overwrite=args.overwrite, resume=args.resume,
            progress=Progress("run", quiet=args.quiet),
            announce=(lambda t: _tell(f"committed t={t!r}", quiet=False)) if args.announce else None,
            say=lambda text: _tell(text, args.quiet),
        )  # fmt: skip
        opinions = _opinions(case, done, other, args) if other else []
        errors = _errors(case, done, args) if args.verify_solution else []
    return _output(done, opinions, errors)


def _second(case: Any, args: argparse.Namespace) -> str | None:
    """The formulation that checks a case; without one, [expected] values must be there."""
    from flexmbs.case.second_opinion import other_formulation

    other = other_formulation(case)
    if other is None and not case.spec.expected:
        what = "has no [expected] values, and its analysis no second formulation"
        remedy = 'give [expected] values, or verify a case of type "dynamics" or "assembly"'
        raise UsageError(Diagnostic("usage.verify", args.case, what, remedy))
    return other


def _opinions(case: Any, done: Any, other: str, args: argparse.Namespace) -> list[Any]:
    """Differences from the other formulation."""
    from flexmbs.case.second_opinion import second_opinion

    _tell(f"verifying by formulation = {other}", args.quiet)
    return second_opinion(case, done.result, other, progress=Progress("verify", quiet=args.quiet))


def _errors(case: Any, done: Any, args: argparse.Namespace) -> list[Any]:
    """Estimated errors of sensors and metrics."""
    from flexmbs.case.solution import verify_solution

    progress = Progress("verify", quiet=args.quiet)
    return verify_solution(case, done, progress=progress, say=lambda text: _tell(text, args.quiet))


def _live_page(case: Any, args: argparse.Namespace) -> Any:
    """The server of the page that follows the run; its address is said whatever --quiet says."""
    from flexmbs.case.runner import result_path, settings
    from flexmbs.post.live import LiveServer

    server = LiveServer(args.output or result_path(case), settings(case).t_end)
    _tell(f"watch the run at {server.url}", quiet=False)
    return server


def measured(result: Any) -> dict[str, float]:
    """Values of [metrics] in a result."""
    paths = [path for path in result.paths if path.startswith("metrics/")]
    return {path.removeprefix("metrics/"): float(result[path]) for path in paths}


def _tell(text: str, quiet: bool) -> None:
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def _output(done: Any, opinions: list[Any], errors: list[Any]) -> Output:
    """Closing summary, every line of [expected], the second opinion, and estimated errors."""
    checks = [*done.comparisons, *opinions]
    numbers = measured(done.result)
    lines = [str(done.result.path), done.summary.text]
    lines += [f"{name} = {value:.8g}" for name, value in numbers.items()]
    lines += [str(item) for item in checks]
    if errors:
        from flexmbs.case.solution import HEADER

        lines += [HEADER, *(str(item) for item in errors)]
    data = {
        "result": str(done.result.path),
        "status": done.result.status,
        "method": done.summary.method,
        "reason": done.summary.reason,
        "statistics": done.summary.statistics,
        "warnings": done.summary.warnings,
        "metrics": numbers,
        "expected": [vars(item) | {"passed": item.passed} for item in done.comparisons],
        "verified": [vars(item) | {"passed": item.passed} for item in opinions],
        "solution": [item.data() for item in errors],
    }
    code = ExitCode.DONE if all(item.passed for item in checks) else ExitCode.DIFFERENT
    go_on = f"flexmbs channels {done.result.path}"
    return Output("\n".join(line for line in lines if line), data, code, next=go_on)
