"""Make a runnable folder from a template: case, mesh recipe, README."""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "template", metavar="TEMPLATE", help="pendulum, four-bar, slider-crank, robot-arm, beam"
    )
    parser.add_argument("folder", metavar="DIR", help="new folder; it must not exist, or be empty")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.case.templates import create

    files = create(args.template, args.folder)
    case = next(name for name in files if name.endswith(".toml") and not name.endswith(".reduce.toml"))
    lines = [f"created {args.folder}: {', '.join(files)}", f"next:   cd {args.folder} && flexmbs run {case}"]
    return Output("\n".join(lines), {"folder": args.folder, "files": files, "case": case})
