"""curves of channels, of one result or of several for comparison

flexmbs plot RESULT.h5 rod.q slider.position.x -o out.svg
flexmbs plot A.h5 "energy.*" --compare B.h5 -o out.pdf
flexmbs plot MODES.h5 linear.campbell -o campbell.svg        or linear.response, linear.response.OUTPUT
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output, add_overwrite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.h5", help="a result, finished or not")
    parser.add_argument("channels", metavar="CHANNEL", nargs="+", help="rod.q, slider.position.x, energy.*")
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="plot.svg", help="svg, pdf or png (plot.svg)"
    )
    parser.add_argument("--compare", action="append", default=[], metavar="B.h5", help="draw this result too")
    parser.add_argument(
        "--unit", action="append", default=[], help="mm, deg, rpm, MPa, ... for channels of its kind"
    )
    parser.add_argument("--derivative", type=int, default=0, metavar="N", help="differentiate N times")
    parser.add_argument("--fft", action="store_true", help="amplitude over frequency")
    parser.add_argument("--spectrogram", action="store_true", help="amplitude over frequency and time")
    parser.add_argument("--against", metavar="CHANNEL", help="horizontal axis, instead of time")
    parser.add_argument("--from", dest="start", type=float, metavar="T", help="first time [s]")
    parser.add_argument("--to", dest="end", type=float, metavar="T", help="last time [s]")
    parser.add_argument("--title")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> Output:
    from flexmbs.post.linear_plots import is_linear, plot_linear
    from flexmbs.post.plots import PlotOptions, plot

    kind = "spectrogram" if args.spectrogram else "fft" if args.fft else "time"
    options = PlotOptions(
        tuple(args.unit), args.derivative, kind, args.against, args.start, args.end, args.title
    )
    if is_linear(args.channels):
        done = plot_linear(args.result, args.channels, args.output, options, overwrite=args.overwrite)
    else:
        sources = [args.result, *args.compare]
        done = plot(sources, args.channels, args.output, options, overwrite=args.overwrite)
    lines = [f"{done['file']}: {len(done['curves'])} curves"]
    for c in done["curves"]:
        source = f"  ({c['source']})" if args.compare else ""
        lines.append(
            f"  {c['name']:<32} {c['min']:>12.5g} ... {c['max']:<12.5g} {c['unit']}{source}".rstrip()
        )
    return Output("\n".join(lines), done)
