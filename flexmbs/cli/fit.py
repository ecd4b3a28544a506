"""Fit parameters to measurements: [fit] of a case.

flexmbs fit CASE.toml
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_root
from flexmbs.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("case", metavar="CASE.toml", help="a case with [fit], or a file that includes one")
    add_root(parser)
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="override a value")
    parser.add_argument("--allow-python", action="store_true", help="let the case call its Python functions")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.input.source import parse_settings
    from flexmbs.study.fit import fit

    found = fit(
        args.case, root=args.root, allow_python=args.allow_python, overrides=parse_settings(args.set),
        progress=Progress("fit", quiet=args.quiet),
    )  # fmt: skip
    again = " ".join(f"--set {name}={value!r}" for name, value in found.parameters.items())
    text = f"{found.text}\nwith these values: flexmbs run {args.case} {again}"
    return Output(text, found.data(), ExitCode.DONE if found.converged else ExitCode.SOLVER)
