"""one self-contained page about a run: motion, energies, stresses, proofs, provenance

flexmbs report RESULT.h5 -o report.html
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.h5", help="a result, finished or not")
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="the page (report.html)"
    )
    parser.add_argument(
        "--modal", action="append", default=[], metavar="BODY=FILE", help="modal data that moved"
    )
    parser.add_argument("--no-animation", action="store_true", help="leave the animation out")
    parser.add_argument(
        "--matrices", metavar="CASE.toml", help="show the matrices of the notes, of this case"
    )
    parser.add_argument("--at", metavar="T", type=float, default=0.0, help="their time [s] (0)")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.post.options import pairs
    from flexmbs.post.report import report

    matrices = None
    if args.matrices:
        from flexmbs.case import Case
        from flexmbs.results import Result

        matrices = Case.load(args.matrices).explain(args.at, Result.load(args.result))
    done = report(
        args.result,
        args.output,
        modal=pairs(args.modal, "--modal", "BODY=FILE"),
        animation=not args.no_animation,
        matrices=matrices,
        overwrite=args.overwrite,
        progress=Progress("report", quiet=args.quiet),
    )
    size = (
        f"{done['bytes'] / 1e6:.2f} MB, {done['bytes_without_animation'] / 1e6:.2f} MB without the animation"
    )
    return Output(f"{done['file']}: {size}", done)
