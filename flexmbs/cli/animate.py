"""moving pictures of a result, or of the modes of a body

flexmbs animate RESULT.h5 -o a.html      one page that holds everything: mail it, open it from a file
flexmbs animate rod.modal.h5 -o rod.html  the modes of a body
flexmbs animate RESULT.h5 -o a.glb|mp4|gif|png
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, Progress, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RESULT.h5", help="a result, finished or not, or X.modal.h5")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="a.html, a.glb, a.mp4, a.gif, a.png"
    )
    parser.add_argument(
        "--modal", action="append", default=[], metavar="BODY=FILE", help="modal data that moved"
    )
    parser.add_argument("--max-vertices", type=int, default=20000, metavar="N", help="coarsen larger skins")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="scale of the deformation; a page opens with it"
    )
    parser.add_argument("--undeformed", action="store_true", help="outlines without deformation too")
    parser.add_argument(
        "--time", type=float, help="time of a png [s] (default: the last); a page opens there"
    )
    parser.add_argument(
        "--mode", type=int, default=1, help="mode of modal data or of a linearisation in mp4, gif, png"
    )
    parser.add_argument(
        "--view", metavar="iso|front|back|left|right|top", default="iso", help="of films and pictures"
    )
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.post.animation import animate
    from flexmbs.post.animation.frames import View
    from flexmbs.post.options import pairs

    done = animate(
        args.source,
        args.output,
        modal=pairs(args.modal, "--modal", "BODY=FILE"),
        limit=args.max_vertices,
        overwrite=args.overwrite,
        view=View(
            scale=args.scale, time=args.time, mode=args.mode, view=args.view, undeformed=args.undeformed
        ),
        progress=Progress("animate", quiet=args.quiet),
    )
    return Output("\n".join([f"{done['file']}: {done['bytes'] / 1e6:.2f} MB", *done["notes"]]), done)
