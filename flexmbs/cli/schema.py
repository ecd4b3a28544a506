"""Print the JSON Schema of case files, or of recipes, for editors; --install sets a folder up for them.

flexmbs schema --install .       schemas, and settings of the TOML servers of VS Code and Neovim: taplo, tombi
"""

from __future__ import annotations

import argparse
import json

from flexmbs.cli.output import Output, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", nargs="?", choices=["case", "recipe"], default="case", help="default: case")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file; default: standard output")
    parser.add_argument(
        "--install", metavar="DIR", nargs="?", const=".", help="set up this folder (default: the current one)"
    )
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.case.editors import install, schema_of
    from flexmbs.input.document import write_schema

    if args.install is not None:
        files = install(args.install, overwrite=args.overwrite)
        go_on = "open the folder; VS Code has the extension Even Better TOML, Neovim taplo or tombi"
        return Output("\n".join(f"written {file}" for file in files), {"files": files}, next=go_on)
    schema = schema_of(args.of)
    if args.output:
        write_schema(args.output, schema, overwrite=args.overwrite)
        return Output(f"written {args.output}", {"file": args.output})
    return Output(json.dumps(schema, indent=2), schema)
