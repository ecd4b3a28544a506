"""Compare two results, dataset by dataset; exit 6 when they differ.

Numbers agree when |a - b| <= atol + rtol * scale, with the largest magnitude of the dataset as scale.
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output
from flexmbs.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A.h5")
    parser.add_argument("b", metavar="B.h5")
    parser.add_argument("--rtol", type=float, default=1e-6, help="of the largest magnitude (default 1e-6)")
    parser.add_argument("--atol", type=float, default=1e-9, help="absolute (default 1e-9)")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.results import Result
    from flexmbs.results.compare import compare

    found = compare(Result.load(args.a), Result.load(args.b), rtol=args.rtol, atol=args.atol)
    data = {"equal": found.equal, "compared": found.compared, "differences": [vars(d) for d in found.items]}
    return Output(found.text, data, ExitCode.DONE if found.equal else ExitCode.DIFFERENT)
