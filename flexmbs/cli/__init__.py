"""Command line: one file per command, `main.py` gathers them."""

import importlib.util
import sys

from flexmbs.errors import ExitCode

#: what an installation elsewhere is told, before anything is imported that is not there
OLDEST = (3, 11)


def unsupported() -> str:
    """Why flexmbs does not run here; "" where it does."""
    if sys.version_info < OLDEST:
        return "flexmbs needs Python 3.11 or newer; this is " + ".".join(map(str, sys.version_info[:3]))
    if importlib.util.find_spec("fcntl") is None:
        return f"flexmbs runs on Linux and macOS; this is {sys.platform}, where WSL runs it"
    return ""


if reason := unsupported():
    sys.stderr.write(reason + "\n")
    sys.exit(int(ExitCode.MISSING))
