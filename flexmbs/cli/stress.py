"""stresses of a flexible body: hot spots, envelope, histories

flexmbs stress RESULT.h5 rod
flexmbs stress RESULT.h5 rod --node 12 --yield "355 MPa" -o rod.stress.h5
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.h5", help="a result, finished or not")
    parser.add_argument("body", metavar="BODY", help="a flexible body")
    parser.add_argument("-o", "--output", metavar="FILE", help="x.h5: all of it; x.csv: the envelope")
    parser.add_argument(
        "--node", type=int, action="append", default=[], help="history at this node (or cell)"
    )
    parser.add_argument("--count", type=int, default=10, help="number of hot spots (10)")
    parser.add_argument("--apart", type=float, metavar="M", help="least distance of two hot spots [m]")
    parser.add_argument("--yield", dest="limit", metavar="STRESS", help='safety against "355 MPa"')
    parser.add_argument("--from", dest="start", type=float, metavar="T", help="first time [s]")
    parser.add_argument("--to", dest="end", type=float, metavar="T", help="last time [s]")
    parser.add_argument(
        "--rainflow", action="store_true", help="count cycles at --node, else at the hot spot"
    )
    parser.add_argument(
        "--modal", action="append", default=[], metavar="BODY=FILE", help="modal data that moved"
    )
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.post import recovery
    from flexmbs.post.options import pairs, pressure
    from flexmbs.post.record import Record
    from flexmbs.post.recovery_files import check_output, write_files

    check_output(args.output, args.overwrite)
    limit = pressure(args.limit, "--yield")
    found = recovery.recover(
        Record.load(args.result),
        args.body,
        modal=pairs(args.modal, "--modal", "BODY=FILE"),
        start=args.start,
        end=args.end,
        count=args.count,
        apart=args.apart,
        progress=Progress("stress", quiet=args.quiet),
    )
    points = [recovery.point_index(found, number) for number in args.node]
    done = recovery.summary(found, points, limit, args.rainflow)
    write_files(args.output, found, points, limit, overwrite=args.overwrite)
    return Output(recovery.as_text(done), done)
