"""a body of another program as modal data, or a robot description as a case

flexmbs import rod.SID_FEM -o rod.modal.h5       (also .fem, .mbsim.h5, .simscape.mat, .extptfm)
flexmbs import robot.urdf  -o robot.toml         (also MJCF, .xml)
"""

from __future__ import annotations

import argparse
from pathlib import Path

from flexmbs.cli.output import Output, add_overwrite, add_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a.fem, SID_FEM, mbsim.h5, simscape.mat, extptfm, urdf, xml"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="X.modal.h5, or X.toml of a robot"
    )
    parser.add_argument(
        "--inertia-order", choices=("xy-yz-xz", "xy-xz-yz"), help="of J in a SID file; default: as Oe says"
    )
    parser.add_argument("--base", choices=("fixed", "free"), help="of a URDF robot, default fixed")
    add_root(parser)
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.disk import check_target
    from flexmbs.exchange import import_body, import_robot

    if Path(args.file).suffix.lower() in (".urdf", ".xml", ".mjcf"):
        done = import_robot(
            args.file, args.output, base=args.base or "fixed", root=args.root, overwrite=args.overwrite
        )
        lines = [
            f"{done['file']}: {done['bodies']} bodies, {done['joints']} joints; not in it, or not as it was:"
        ]
        return Output("\n".join([*lines, *(f"  {note}" for note in done["notes"])]), done)
    check_target(args.output, args.overwrite)
    modal, notes = import_body(args.file, inertia_order=args.inertia_order)
    modal.save(args.output, overwrite=args.overwrite)
    frames = ", ".join(modal.interfaces) or "no interface (frames of a case name nodes by number)"
    lines = [f"{args.output}: {modal.nf} modes, {frames}", *notes]
    data = {"file": args.output, "modes": modal.nf, "interfaces": list(modal.interfaces), "notes": notes}
    return Output("\n".join(lines), data)
