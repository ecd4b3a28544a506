"""Make a runnable folder from a template, or from any shipped case with the files that it names.

flexmbs new slider-crank first
flexmbs new case:robot-arm arm         a case of those that come with the program; without a name: all of them
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "template", metavar="TEMPLATE", nargs="?",
        help="pendulum, four-bar, slider-crank, robot-arm, beam; or case:NAME; without one: the list",
    )  # fmt: skip
    parser.add_argument("folder", metavar="DIR", nargs="?", help="new folder (default: named like the case)")


def run(args: argparse.Namespace) -> Output:
    from flexmbs.case.templates import create, listed

    if args.template is None:
        found = listed()
        width = max(map(len, found))
        lines = [f"{name:<{width}}  {title}" for name, title in found.items()]
        return Output("\n".join(lines), {"templates": found}, next="flexmbs new NAME DIR")
    folder = args.folder or args.template.removeprefix("case:")
    files = create(args.template, folder)
    case = next(name for name in files if name.endswith(".toml") and not name.endswith(".reduce.toml"))
    data = {"folder": folder, "files": files, "case": case}
    return Output(f"created {folder}: {', '.join(files)}", data, next=f"cd {folder} && flexmbs run {case}")
