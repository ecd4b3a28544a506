"""Print the JSON Schema of case files, or of recipes, for editors."""

from __future__ import annotations

import argparse
import json

from flexmbs.cli.output import Output, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", nargs="?", choices=["case", "recipe"], default="case", help="default: case")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file; default: standard output")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.input.document import json_schema, write_schema

    if args.of == "recipe":
        from flexmbs.reduce.tables import RecipeFile as File
    else:
        from flexmbs.case.schema.casefile import CaseFile as File  # type: ignore[assignment]
    schema = json_schema(File, args.of)
    if args.output:
        write_schema(args.output, schema, overwrite=args.overwrite)
        return Output(f"written {args.output}", {"file": args.output})
    return Output(json.dumps(schema, indent=2), schema)
