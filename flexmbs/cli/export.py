"""a result for other programs: ParaView, spreadsheets, pandas, xarray

flexmbs export RESULT.h5 -o a.vtkhdf       moving bodies with displacement and stress (also a.pvd)
flexmbs export RESULT.h5 -o a.csv --channel rod.q --channel "energy.*"      (also a.parquet)
flexmbs export RESULT.h5 -o a.nc           everything, as NetCDF-4
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.h5", help="a result, finished or not")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="a.vtkhdf, pvd, csv, parquet, nc, inp"
    )
    parser.add_argument("--channel", action="append", default=[], help="only these columns of a table")
    parser.add_argument("--body", action="append", default=[], help="only these bodies")
    parser.add_argument(
        "--modal", action="append", default=[], metavar="BODY=FILE", help="modal data that moved"
    )
    parser.add_argument("--time", type=float, metavar="T", help="sample of a deck [s], default: the last")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.post.export import export
    from flexmbs.post.options import pairs

    done = export(
        args.result,
        args.output,
        channels=args.channel,
        bodies=args.body,
        modal=pairs(args.modal, "--modal", "BODY=FILE"),
        time=args.time,
        overwrite=args.overwrite,
        progress=Progress("export", quiet=args.quiet),
    )
    words = ", ".join(f"{value} {name}" for name, value in done.items() if isinstance(value, int))
    words += f"; {done['warning']}" if "warning" in done else ""
    return Output(f"{done['file']}: {words}", done)
