"""Say everything that can be known of a case before its run.

Errors with file, line and column; mobility by count and by rank, tree and cuts, redundant rows by joint and
direction, open reactions, assembly, initial energy, advice on the step, size of the result.
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_overwrite, add_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("case", metavar="CASE.toml")
    add_root(parser)
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="override a value")
    parser.add_argument("--explain", action="store_true", help="print the quantities of the formulation")
    parser.add_argument("--at", metavar="T", type=float, default=0.0, help="explain time T [s] of the motion")
    parser.add_argument("--result", metavar="FILE.h5", help="take the state at T from this result")
    parser.add_argument("--body", metavar="NAME", action="append", help="of this body alone; may be repeated")
    parser.add_argument(
        "--rotation", metavar="NAME", action="append", default=[],
        help="bodies in rotation parameters too: euler_parameters, zyx, xyz, ...",
    )  # fmt: skip
    parser.add_argument("--digits", metavar="N", default="6", help="digits of printed numbers, or all")
    parser.add_argument("--latex", action="store_true", help="print a LaTeX document of the quantities alone")
    parser.add_argument("--save", metavar="FILE", help="write the arrays to FILE.h5 or FILE.npz")
    add_overwrite(parser)
    parser.add_argument("--allow-python", action="store_true", help="let the case call its Python functions")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.case import Case
    from flexmbs.input.source import parse_settings

    case = Case.load(args.case, root=args.root, allow_python=args.allow_python, **parse_settings(args.set))
    from flexmbs.case.check import check, text  # of a file with mistakes nothing else is needed

    progress = Progress("reduce", quiet=args.quiet)
    report = check(case, progress)
    shown = text(report)
    data = report.data()
    if args.explain or args.save or args.latex:
        from flexmbs.post.matrices import explained

        more, data["explain"] = explained(case, args, progress)
        shown = more if args.latex else f"{shown}\n\n{more}"
    return Output(shown, data, next="" if args.latex else f"flexmbs run {args.case}")
