"""Run the reference problems, with error and tolerance for each; exit 6 on any miss.

flexmbs verify            in every formulation and by every integrator that applies: some minutes
flexmbs verify --quick    each problem once
flexmbs verify rigid-simple-pendulum fe-free-block
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress
from flexmbs.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problems", metavar="PROBLEM", nargs="*", help="default: all that are shipped")
    parser.add_argument("--quick", action="store_true", help="each problem once, in less than a minute")
    parser.add_argument("--jobs", metavar="N", type=int, default=2, help="processes that share them, 2")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.verify import verify

    progress = Progress("verify", quiet=args.quiet)
    report = verify(args.problems, quick=args.quick, jobs=args.jobs, progress=progress)
    return Output(report.text, report.data(), ExitCode.DONE if report.passed else ExitCode.DIFFERENT)
