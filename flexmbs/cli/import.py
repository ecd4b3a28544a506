"""a reduced body of another program, as modal data

flexmbs import rod.SID_FEM -o rod.modal.h5       (also .fem, .mbsim.h5, .simscape.mat, .extptfm)
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a.fem, SID_FEM, mbsim.h5, simscape.mat, extptfm")
    parser.add_argument("-o", "--output", metavar="X.modal.h5", required=True)
    parser.add_argument(
        "--inertia-order", choices=("xy-yz-xz", "xy-xz-yz"), help="of J in a SID file; default: as Oe says"
    )
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.disk import check_target
    from flexmbs.exchange import import_body

    check_target(args.output, args.overwrite)
    modal, notes = import_body(args.file, inertia_order=args.inertia_order)
    modal.save(args.output, overwrite=args.overwrite)
    frames = ", ".join(modal.interfaces) or "no interface (frames of a case name nodes by number)"
    lines = [f"{args.output}: {modal.nf} modes, {frames}", *notes]
    data = {"file": args.output, "modes": modal.nf, "interfaces": list(modal.interfaces), "notes": notes}
    return Output("\n".join(lines), data)
