"""see a part, a body, a mechanism or a result in the browser, and point instead of naming

flexmbs view rod.msh | rod.step | rod.reduce.toml   faces are clicked and become interfaces of the recipe
flexmbs view rod.modal.h5 | case.toml | result.h5
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a mesh, a recipe, X.modal.h5, a case, or a result")
    parser.add_argument("--port", type=int, default=0, help="of the loopback address (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="say the address, open no browser")


def run(args: argparse.Namespace) -> Output:
    import sys
    import time
    import webbrowser
    from pathlib import Path

    from flexmbs import interrupts
    from flexmbs.view.doors import door_of
    from flexmbs.view.server import ViewServer

    with interrupts.deferred() as stop, ViewServer(door_of(Path(args.file)), args.port) as server:
        print(server.url, file=sys.stderr, flush=True)
        if not args.no_open:
            webbrowser.open(server.url)
        while not stop.asked:
            time.sleep(0.2)
    return Output("", {"file": args.file})
