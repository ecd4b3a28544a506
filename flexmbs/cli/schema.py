"""Print the JSON Schema of case files, for editors."""

from __future__ import annotations

import argparse
import json

from flexmbs.cli.output import Output, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file; default: standard output")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.case.schema.document import json_schema, write_schema

    schema = json_schema()
    if args.output:
        write_schema(args.output, schema, overwrite=args.overwrite)
        return Output(f"written {args.output}", {"file": args.output})
    return Output(json.dumps(schema, indent=2), schema)
