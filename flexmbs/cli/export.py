"""a result or a body for other programs: ParaView, spreadsheets, pandas, xarray; MBDyn, Simpack, ...

flexmbs export RESULT.h5 -o a.vtkhdf       moving bodies with displacement and stress (also a.pvd)
flexmbs export RESULT.h5 -o a.csv --channel rod.q --channel "energy.*"      (also a.parquet)
flexmbs export RESULT.h5 -o a.nc           everything, as NetCDF-4
flexmbs export RESULT.h5 -o a.mat          for Matlab, Octave; a_res.mat for Modelica tools; a.mf4 (MDF 4)
flexmbs export X.modal.h5 -o x.SID_FEM     the body (also .fem, .mbsim.h5, .simscape.mat, .extptfm)
flexmbs export X.modal.h5 -o modes.vtu     pictures of its modes (also .xdmf)
flexmbs export case.toml --fmi -o a.fmu    the mechanism for co-simulation, FMI 3.0
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "result", metavar="RESULT.h5|CASE.toml", help="a result, finished or not; a body; with --fmi a case"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="a.vtkhdf, pvd, csv, parquet, nc, mat, mf4, inp; of a body: see above",
    )
    parser.add_argument("--channel", action="append", default=[], help="only these columns of a table")
    parser.add_argument("--body", action="append", default=[], help="only these bodies")
    parser.add_argument(
        "--modal", action="append", default=[], metavar="BODY=FILE", help="modal data that moved"
    )
    parser.add_argument("--time", type=float, metavar="T", help="sample of a deck [s], default: the last")
    parser.add_argument(
        "--invariants", action="store_true", default=None, help=".fem: integrals as they are, groups 14 to 19"
    )
    parser.add_argument(
        "--inertia-order", choices=("xy-xz-yz", "xy-yz-xz"), help="of J in a SID file, default: the first"
    )
    parser.add_argument(
        "--openfast", type=int, choices=(5, 4), help="version that reads an .extptfm file, default: 5"
    )
    parser.add_argument(
        "--fmi", action="store_true", help="write a case as an FMU; --channel: further outputs"
    )
    parser.add_argument(
        "--carry", action="store_true", help="an FMU with Python and all libraries in it: 170 MB"
    )
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="override a value")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs import hdf5

    if args.fmi:
        return fmu(args)
    if hdf5.file_format(args.result) == "flexmbs-modal":
        return body(args)
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


def body(args: argparse.Namespace) -> Output:
    """A reduced body in the format of another program."""
    from flexmbs.exchange import export_body

    names = ("invariants", "inertia_order", "openfast")
    options = {name: getattr(args, name) for name in names}
    done = export_body(args.result, args.output, overwrite=args.overwrite, **options)
    return Output(
        "\n".join([f"{done['file']}: {done['modes']} modes for {done['program']}", *done["notes"]]), done
    )


def fmu(args: argparse.Namespace) -> Output:
    """A case for the system models of other programs."""
    from flexmbs.case import Case
    from flexmbs.fmu import export_fmu
    from flexmbs.input.source import parse_settings

    case = Case.load(args.result, **parse_settings(args.set))
    done = export_fmu(
        case, args.output, channels=tuple(args.channel), carry=args.carry, overwrite=args.overwrite
    )
    words = ", ".join(f"{len(done[kind])} {kind}" for kind in ("inputs", "outputs", "metrics", "parameters"))
    return Output(f"{done['file']}: {words}", done)
