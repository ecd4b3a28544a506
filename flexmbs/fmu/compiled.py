"""The loader of an FMU as machine code: as the package brought it, else by the C compiler of the machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from flexmbs.errors import Diagnostic, UsageError

SOURCE = Path(__file__).with_name("loader.c")
#: what a wheel brings: a fresh machine has Python and no compiler
BROUGHT = Path(__file__).with_name("x86_64-linux.so")
OPTIONS = ("-O2", "-Wall", "-fvisibility=hidden", "-shared", "-fPIC")


def compile_loader(target: Path) -> None:
    """`loader.c` by `cc`, for Linux x86-64."""
    program = shutil.which("cc") or shutil.which("gcc")
    if program is None:
        what = "the loader of FMUs is not compiled here, and there is no C compiler"
        remedy = (
            "install flexmbs from its wheel, which brings it, or a compiler: apt-get install gcc libc6-dev"
        )
        raise UsageError(Diagnostic("fmu.compiler", "cc", what, remedy))
    done = subprocess.run([program, *OPTIONS, "-o", str(target), str(SOURCE)], capture_output=True, text=True)
    if done.returncode:
        what = f"{program} does not compile the loader: {done.stderr.strip()[-300:]}"
        raise UsageError(Diagnostic("fmu.compiler", str(SOURCE), what, "install flexmbs from its wheel"))


def loader() -> bytes:
    """The shared library."""
    if BROUGHT.is_file():
        return BROUGHT.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "loader.so"
        compile_loader(target)
        return target.read_bytes()
