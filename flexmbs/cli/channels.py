"""List the channels of a result: names as plots and expressions take them, components, units."""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.h5", help="a result, finished or not")
    parser.add_argument("pattern", metavar="PATTERN", nargs="*", help="rod.*, *.reaction_force; default: all")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.results import Result
    from flexmbs.results.channels import listed

    result = Result.load(args.result)
    try:
        rows = listed(result, args.pattern)
    finally:
        result.close()
    width = max((len(row.name) for row in rows), default=0)
    lines = [f"{row.name:<{width}}  {row.unit:<8} {' '.join(row.components)}".rstrip() for row in rows]
    if not rows:
        lines = ["no channel has such a name"]
    go_on = f"flexmbs plot {args.result} {rows[0].name}" if rows else f"flexmbs channels {args.result}"
    return Output("\n".join(lines), {"channels": [row._asdict() for row in rows]}, next=go_on)
