"""Say everything that can be known of a case before its run.

Errors with file, line and column; mobility by count and by rank, tree and cuts, redundant rows by joint and
direction, open reactions, assembly, initial energy, advice on the step, size of the result.
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("case", metavar="CASE.toml")
    add_root(parser)
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="override a value")
    parser.add_argument("--explain", action="store_true", help="print the quantities of the formulation")
    parser.add_argument("--allow-python", action="store_true", help="let the case call its Python functions")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.case import Case
    from flexmbs.input.source import parse_settings

    case = Case.load(args.case, root=args.root, allow_python=args.allow_python, **parse_settings(args.set))
    from flexmbs.case.check import check, text  # of a file with mistakes nothing else is needed

    report = check(case, Progress("reduce", quiet=args.quiet))
    shown = text(report)
    data = report.data()
    if args.explain:
        from flexmbs.case.explain import explain

        analysis = case.spec.analysis
        data["explain"] = explain(
            case.system(), analysis.formulation if analysis is not None else "recursive"
        )
        shown += "\n\n" + "\n".join(data["explain"])
    return Output(shown, data)
