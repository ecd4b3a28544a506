"""any file of ours, or a mesh, on one screen"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from flexmbs.cli.output import Output

#: format attribute of a file -> module and function `(path) -> (text, data)`
READERS = {
    "flexmbs-modal": ("flexmbs.certificate.summary", "modal_info"),
    "flexmbs-result": ("flexmbs.cli.info", "result_info"),
}
PARTS = ("bodies", "joints", "couplings", "drives", "forces", "sensors", "metrics", "states")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="modal data, result, case, recipe or mesh")
    parser.add_argument("--unit-system", choices=("m", "mm"), default="m", help="unit of a mesh file")


def run(args: argparse.Namespace) -> Output:
    from flexmbs import hdf5
    from flexmbs.errors import Diagnostic, InputError

    path = Path(args.file)
    running = Path(f"{path}.parts").is_dir() or path.name.endswith(".parts")
    if not path.exists() and not running:
        raise InputError(Diagnostic("file.missing", str(path), "there is no such file"))
    kind = "flexmbs-result" if running else hdf5.file_format(path) if path.is_file() else ""
    if kind in READERS:
        module, function = READERS[kind]
        return Output(*getattr(import_module(module), function)(path))
    if path.suffix.lower() in (".h5", ".hdf5"):
        with hdf5.open_checked(path, format=tuple(READERS), max_version=1):
            raise InputError(Diagnostic("file.format", str(path), "is no file that info knows"))
    if path.suffix.lower() == ".toml":
        from flexmbs.case.summary import toml_info

        return Output(*toml_info(path))
    from flexmbs.certificate.summary import mesh_info

    return Output(*mesh_info(path, 1e-3 if args.unit_system == "mm" else 1.0))


def result_info(path: Path) -> tuple[str, dict[str, Any]]:
    """Text and data about a result, finished or not."""
    from flexmbs.results import Result

    result = Result.load(path)
    head = {key: value for key, value in result.attributes.items() if key != "content_sha256"}
    parts = {name: sorted(result[name]) for name in PARTS if name in result}
    lines = [f"{key:<14} {value}" for key, value in head.items()]
    lines += [f"{name:<14} {', '.join(items)}" for name, items in parts.items() if items]
    lines.append(
        f"{'samples':<14} {len(result['time'])}, from {result['time'][0]:g} to {result['time'][-1]:g} s"
    )
    return "\n".join(lines), {**head, **parts, "samples": len(result["time"])}
