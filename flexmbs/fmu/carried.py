"""What an FMU carries that runs without Python on its host: interpreter, libraries, compiled kernels.

Taken from this machine: what one step of the case imports, the libraries of shared objects beside those of
the C library, and the kernels that are compiled here. The C library of the host is to be as new.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from flexmbs._jit import PACKAGE_DIR, cache_root, sources_hash
from flexmbs.errors import Diagnostic, UsageError

#: parts of the standard library that nothing here asks for
NOT_NEEDED = {
    "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "turtledemo", "pydoc_data",
    "site-packages", "__pycache__", "dist-packages",
}  # fmt: skip
#: of every Linux: the C library itself
OF_THE_HOST = (
    "linux-vdso", "ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so",
)  # fmt: skip
TRIED = """
import json, struct, sys
before = set(sys.modules)
from pathlib import Path
from flexmbs.fmu.serve import Instance
case = Instance(Path(sys.argv[1]))
case.enter(struct.pack("3d", 0.0, 0.0, 0.0))
case.exit(b"")
case.step(struct.pack("2d", 0.0, float(sys.argv[2])))
for port in case.ports.metrics:
    case.value(port.reference)
found = [getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - before]
print(json.dumps(sorted(filter(None, found))))
"""
START = """#!/bin/sh
root=$(cd "$(dirname "$0")/.." && pwd)
chmod +x "$root/bin/python3.carried" 2>/dev/null
export PYTHONHOME="$root" PYTHONNOUSERSITE=1 PYTHONSAFEPATH=1 FLEXMBS_COMPILER=own
export LD_LIBRARY_PATH="$root/lib/carried"
export PYTHONPATH="$root/lib/VERSION/site-packages"
FLEXMBS_CACHE=$("$root/bin/python3.carried" -S "$root/kernels.py" "$root")
export FLEXMBS_CACHE
exec "$root/bin/python3.carried" "$@"
"""
#: numba finds kernels by the folder of their sources: links say where they are on this machine
LINKS = """
import hashlib, os, sys, tempfile
root = sys.argv[1]
place = os.path.join(root, "links")
try:
    os.makedirs(place, exist_ok=True)
except OSError:
    place = tempfile.mkdtemp(prefix="flexmbs-links-")
for line in open(os.path.join(root, "kernels", "list.txt")):
    number, sources, below = line.split()
    folder = os.path.join(root, "lib", "VERSION", "site-packages", below)
    name = os.path.basename(folder) + "_" + hashlib.sha1(os.path.abspath(folder).encode()).hexdigest()
    os.makedirs(os.path.join(place, sources), exist_ok=True)
    link = os.path.join(place, sources, name)
    if not os.path.lexists(link):
        os.symlink(os.path.join(root, "kernels", number), link)
print(place)
"""


def carried(resources: Path, step: float) -> Iterator[tuple[str, Path | bytes]]:
    """Names below resources/ and what they hold; the case in `resources` is stepped once to find them."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library = f"python/lib/{version}"
    yield "python/bin/python3", START.replace("VERSION", version).encode()
    yield "python/bin/python3.carried", Path(sys.executable).resolve()
    yield "python/kernels.py", LINKS.replace("VERSION", version).encode()
    files = {f"{library}/{name}": path for name, path in _standard()}
    packages = _imported(resources, step)
    for name, path in _packages(packages):
        files[f"{library}/site-packages/{name}"] = path
    yield from files.items()
    binaries = [Path(sys.executable).resolve(), *(p for p in files.values() if ".so" in p.name)]
    for path in _libraries(binaries):
        yield f"python/lib/carried/{path.name}", path.resolve()
    yield from _kernels()


def _imported(resources: Path, step: float) -> list[Path]:
    """Files of the modules that a step of the case needs."""
    command = [sys.executable, "-c", TRIED, str(resources), repr(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        what = f"the case cannot be stepped: {done.stderr.strip().splitlines()[-1:]}"
        raise UsageError(Diagnostic("fmu.case", "--carry", what, "run it first"))
    return [Path(name) for name in json.loads(done.stdout.splitlines()[-1])]


def _standard() -> Iterator[tuple[str, Path]]:
    """The standard library."""
    for key in ("stdlib", "platstdlib"):
        root = Path(sysconfig.get_path(key, vars={"base": sys.base_prefix, "platbase": sys.base_prefix}))
        yield from _below(root, root)


def _packages(files: list[Path]) -> Iterator[tuple[str, Path]]:
    """Packages whole, with the libraries that wheels put beside them, and their licences."""
    roots = {Path(sysconfig.get_path(key)) for key in ("purelib", "platlib")}
    names = set()
    for file in files:
        for root in roots:
            if file.is_relative_to(root):
                names.add((root, file.relative_to(root).parts[0]))
    listed = metadata.packages_distributions()
    for root, name in sorted(names):
        if name == "flexmbs":
            continue
        path = root / name
        if path.is_file():
            yield name, path
        else:
            yield from _below(path, root)
        for distribution in listed.get(name.removesuffix(".py"), []):
            for beside in (f"{distribution}.libs", f"{distribution.replace('-', '_')}-*.dist-info"):
                for folder in root.glob(beside):
                    yield from _below(folder, root)
    yield from _below(PACKAGE_DIR, PACKAGE_DIR.parent)


def _below(folder: Path, root: Path) -> Iterator[tuple[str, Path]]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in NOT_NEEDED and not name.startswith("config-")
        )
        for name in sorted(files):
            if not name.endswith((".pyc", ".a", ".pyi", ".pxd")):
                path = Path(at) / name
                yield path.relative_to(root).as_posix(), path


def _libraries(binaries: list[Path]) -> list[Path]:
    """Shared objects that these ask for and that neither wheels nor the C library bring."""
    done = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False)
    brought = {path.name for path in binaries}
    found: dict[str, Path] = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] == "=>" and words[2].startswith("/"):
            name = words[0]
            if not name.startswith(OF_THE_HOST) and name not in brought:
                found[name] = Path(words[2])
    return [path.parent / name for name, path in sorted(found.items())]


def _kernels() -> Iterator[tuple[str, Path | bytes]]:
    """Compiled kernels of these sources, numbered, with the folders of the sources that they belong to."""
    rows = []
    for source in sorted(PACKAGE_DIR.rglob("*.py")):
        if "@kernel" not in source.read_text("utf-8"):
            continue
        folder = source.parent
        name = f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"
        kept = cache_root() / sources_hash(source) / name
        below = folder.relative_to(PACKAGE_DIR.parent).as_posix()
        row = sources_hash(source), below
        if kept.is_dir() and row not in rows:
            rows.append(row)
            for path in sorted(kept.iterdir()):
                if path.suffix in (".nbi", ".nbc"):
                    yield f"python/kernels/{len(rows)}/{path.name}", path
    listed = "".join(f"{k} {sources} {below}\n" for k, (sources, below) in enumerate(rows, start=1))
    yield "python/kernels/list.txt", listed.encode()
