"""the tour on shipped files: mesh, modal data, simulation, stresses, report

flexmbs demo            into ./flexmbs-demo
flexmbs demo DIR        into DIR
"""

from __future__ import annotations

import argparse
import sys

from flexmbs.cli.output import Output, Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default="flexmbs-demo", help="default: ./flexmbs-demo"
    )


def run(args: argparse.Namespace) -> Output:
    from flexmbs.demo import demo

    lines, stops = [], []
    for number, stop in enumerate(demo(args.folder, Progress("demo", quiet=args.quiet)), start=1):
        title = f"{number}. {stop.sentence}"
        block = "\n".join([title, *("   " + line for line in stop.text.splitlines()), f"   -> {stop.file}"])
        lines.append(block)
        stops.append({"sentence": stop.sentence, "file": str(stop.file), "seconds": round(stop.seconds, 3)})
        if not args.quiet and not args.json:
            print(f"{title} ({stop.seconds:.1f} s)", file=sys.stderr, flush=True)
    return Output("\n\n".join(lines), {"folder": args.folder, "stops": stops})
