"""a mesh from a CAD file (.step, .iges, .brep), a gmsh script (.geo), or a mesh in another format

A mesh file (IN.med -o OUT.vtu) is converted, with its sets as far as the format keeps them. Geometry needs
gmsh: pip install "flexmbs[cad]". STEP and IGES files state their unit; the mesh is in metres. Physical
groups, or the names of faces and solids, become sets of the mesh; unnamed faces are face_1, face_2, ...
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_overwrite

UNITS = {"m": 1.0, "mm": 1e-3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "part", metavar="PART|IN", help="geometry: .step, .stp, .iges, .igs, .brep or .geo; or a mesh file"
    )
    parser.add_argument("-o", "--output", metavar="X.msh", required=True, help="the mesh")
    parser.add_argument("--size", metavar="H", help='largest element, "3 mm" or metres (default: part/20)')
    parser.add_argument(
        "--element",
        metavar="tet|hex|tri|quad|TYPE",
        default="tet",
        help="tet (default), hex; tri, quad for shells; or a cell type",
    )
    parser.add_argument("--order", type=int, choices=(1, 2), help="1 or 2 (default)")
    parser.add_argument("--unit-system", choices=tuple(UNITS), default="m", help="unit of a .geo or .brep")
    parser.add_argument("--time-limit", type=int, default=600, metavar="S", help="seconds (default 600)")
    parser.add_argument("--memory-limit", type=float, default=8.0, metavar="GIB", help="GiB (default 8)")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.fe.cad.convert import mesh_cad
    from flexmbs.fe.check.summary import mesh_summary, summary_text
    from flexmbs.fe.readers import is_mesh_file

    if is_mesh_file(args.part):
        return converted(args)
    made = mesh_cad(
        args.part,
        args.output,
        size=args.size,
        element=args.element,
        order=args.order,
        overwrite=args.overwrite,
        unit=UNITS[args.unit_system],
        seconds=max(args.time_limit, 1),
        memory=int(args.memory_limit * 1024**3),
        progress=Progress("mesh", quiet=args.quiet),
    )
    summary = mesh_summary(made.check)
    return Output(f"{made.path}\n{summary_text(summary)}", {"file": str(made.path), **summary})


def converted(args: argparse.Namespace) -> Output:
    """A mesh in another format."""
    from flexmbs.fe.check.summary import mesh_summary, summary_text
    from flexmbs.fe.convert import convert

    done = convert(args.part, args.output, unit=UNITS[args.unit_system], overwrite=args.overwrite)
    summary = mesh_summary(done.check)
    lost = f"\nthe format has no place for {', '.join(done.lost)}" if done.lost else ""
    data = {"file": str(done.path), "lost_sets": list(done.lost), **summary}
    return Output(f"{done.path}\n{summary_text(summary)}{lost}", data)
