"""Show any file of ours, or a mesh, on one screen."""

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
    from flexmbs.post.record import Record
    from flexmbs.results import Result

    result = Result.load(path)
    head = {key: value for key, value in result.attributes.items() if key != "content_sha256"}
    parts = {name: sorted(result[name]) for name in PARTS if name in result}
    time = result["time"]
    facts, warnings = told(Record(result)) if len(time) else ({}, [])
    warnings = [*warnings, *later_run(path)]
    metrics = {name: float(result["metrics"][name]) for name in parts.pop("metrics", ())}
    lines = [f"{key:<22} {value}" for key, value in head.items() if value != ""]
    lines += [f"{name:<22} {', '.join(items)}" for name, items in parts.items() if items]
    span = f", from {time[0]:g} to {time[-1]:g} s" if len(time) else ""
    lines.append(f"{'samples':<22} {len(time)}{span}")
    lines += [f"{name:<22} {value:.4g}" for name, value in facts.items()]
    lines += [f"{name:<22} {value:.8g}" for name, value in metrics.items()]
    report = told_of(result, "report")
    tree, cuts = ([x for x in told_of(result, name) if x != "none"] for name in ("tree", "cuts"))
    own = set(parts.get("joints", ()))
    through = [text.rpartition(" by ") for text in tree]  # of what floats the name is that of its body
    tree = [f"{body} by joints.{name}" if name in own else f"{body}, free" for body, _, name in through]
    report = [
        *report,
        *(f"tree        {x}" for x in tree[:20]),
        *(f"cut         joints.{x}" for x in cuts[:20]),
    ]
    lines += ["mechanism", *(f"  {line}" for line in report)] if report else []
    lines += [f"warning: {text}" for text in warnings]
    data = {**head, **parts, "samples": len(time), "facts": facts, "metrics": metrics, "warnings": warnings}
    data |= {"topology": report, "tree": tree, "cuts": cuts}
    return "\n".join(lines), data


def told_of(result: Any, name: str) -> list[str]:
    """Texts that a result has about the mechanism, if it has any."""
    path = f"topology/{name}"
    return [str(text) for text in result[path]] if path in result.paths else []


def later_run(path: Path) -> list[str]:
    """What lies beside a whole result: a run that was to replace it and has not."""
    from flexmbs.results import Result, segments

    folder = segments.parts_folder(path)
    if not path.is_file() or not (folder / segments.HEADER).is_file():
        return []
    found = Result.load(path, unfinished=True).attributes
    return [f"a later run lies in {folder.name}: {found['status']}, up to t = {found['t_reached']:g} s"]


def told(record: Any) -> tuple[dict[str, Any], list[str]]:
    """Numbers that a report opens with, less those said already, and the warnings of the run."""
    from flexmbs.post.facts import WARNING, closing_lines, key_facts

    known = ("bodies", "joints", "samples", "computing time [s]")
    facts = {name: value for name, value in key_facts(record).items() if name not in known}
    return facts, [line.removeprefix(WARNING) for line in closing_lines(record, warning=True)]
