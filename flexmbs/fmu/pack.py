"""A case and all that it needs -> one `.fmu` file."""

from __future__ import annotations

import copy
import hashlib
import json
import platform
import re
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from flexmbs import disk
from flexmbs.case import Case, simulation
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.fmu.carried import carried
from flexmbs.fmu.compiled import loader
from flexmbs.fmu.description import description
from flexmbs.fmu.ports import ports
from flexmbs.fmu.variables import Ports
from flexmbs.model.bodies import FlexibleBody

#: tables of a case that say nothing of its motion
LEFT_OUT = ("include", "expected", "output", "sweep")
_QUOTED = re.compile(r"""(["'])([^"']+)\1""")


def export_fmu(
    case: Case | str | Path,
    path: str | Path,
    *,
    channels: tuple[str, ...] = (),
    carry: bool = False,
    overwrite: bool = False,
    **parameters: Any,
) -> dict[str, Any]:
    """Write a case as an FMU for co-simulation; returns what it has.

    Its host needs Python with flexmbs, unless the FMU is to `carry` them. `channels`: outputs beside sensors
    and metrics, by default the positions and velocities of the joints.
    """
    case = Case.load(case, **parameters) if not isinstance(case, Case) else case.with_values(**parameters)
    path = Path(path)
    if path.suffix != ".fmu":
        raise UsageError(Diagnostic("fmu.name", str(path), "is no name of an FMU", "call it NAME.fmu"))
    if sys.platform != "linux" or platform.machine() != "x86_64":
        what = f"FMUs are made on Linux x86-64, this is {sys.platform} {platform.machine()}"
        raise UsageError(Diagnostic("fmu.platform", str(path), what, "export there"))
    disk.check_target(path, overwrite)
    identifier = (
        re.sub(r"\W", "_", path.stem) if path.stem[:1].isalpha() else "m" + re.sub(r"\W", "_", path.stem)
    )
    brought: dict[str, Path | bytes] = {}
    analysis = case.spec.analysis
    end = float(analysis.t_end or 0.0) if analysis is not None else 0.0
    times = end, float(case.spec.output.every or end / 1000.0)
    with tempfile.TemporaryDirectory() as folder:
        files, shown = _resources(case, Path(folder), channels)
        if carry:
            (Path(folder) / "fmu.json").write_bytes(files["resources/fmu.json"])
            found = carried(Path(folder), times[1] or 1e-3)
            brought = {f"resources/{name}": item for name, item in found}
    files["resources/token.txt"] = token = _token(files)
    files["resources/python.txt"] = sys.executable.encode()
    files["modelDescription.xml"] = description(
        identifier, case.spec.title, token.decode(), shown, times, carry
    )
    files[f"binaries/x86_64-linux/{identifier}.so"] = loader()
    with disk.atomic_file(path, overwrite=overwrite) as raw, zipfile.ZipFile(cast(Any, raw), "w") as archive:
        for name, data in sorted(
            files.items(), key=lambda item: (item[0] != "modelDescription.xml", item[0])
        ):
            entry = zipfile.ZipInfo(name)  # of 1980: the same case gives the same file
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
        for name, item in brought.items():
            data = item.read_bytes() if isinstance(item, Path) else item
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if "/bin/" in name or ".so" in name else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=1)
    told = {kind: [port["name"] for port in items] for kind, items in shown.to_data().items()}
    return {"file": str(path), "bytes": path.stat().st_size, **told}


def _resources(case: Case, folder: Path, channels: tuple[str, ...]) -> tuple[dict[str, bytes], Ports]:
    """Files below resources/, and the variables of the case as it was loaded from these files alone."""
    if case.model().fmus:
        what = f"the case steps FMUs itself: {', '.join(case.model().fmus)}"
        raise InputError(Diagnostic("fmu.case", case.name, what, "couple them in the system model"))
    data = {key: item for key, item in copy.deepcopy(case.source.data).items() if key not in LEFT_OUT}
    _modal(case, data, folder)
    data = _with_files(case, data, (), folder)
    try:
        again = Case.from_dict(data, folder=folder)
        sim = simulation(again)
    except InputError as error:
        what = f"the case does not stand alone: {error.diagnostics[0].what}"
        raise InputError(
            Diagnostic("fmu.case", error.diagnostics[0].where, what, error.diagnostics[0].remedy)
        ) from None
    shown = ports(again, sim, channels)
    told = {"case": data, "ports": shown.to_data()}
    files = {
        f"resources/{item.relative_to(folder).as_posix()}": item.read_bytes()
        for item in sorted(folder.rglob("*"))
        if item.is_file()
    }
    return files | {"resources/fmu.json": json.dumps(told, sort_keys=True, default=float).encode()}, shown


def _modal(case: Case, data: dict[str, Any], folder: Path) -> None:
    """Bodies with their modal data as files, whatever they came from; pictures stay behind."""
    for name, body in case.model().bodies.items():
        table = data["bodies"][name]
        table.pop("visual", None)
        if isinstance(body, FlexibleBody):
            table.pop("reduce", None)
            table.pop("recipe", None)
            table["modal"] = f"{name}.modal.h5"
            body.modal.save(folder / table["modal"])


def _with_files(case: Case, item: Any, path: tuple[str | int, ...], folder: Path) -> Any:
    """The same data with every file that it names beside it, under a name of its own."""
    if isinstance(item, Mapping):
        if "function" in item:
            what = f"{'.'.join(map(str, path))} calls a function in Python, which an FMU does not carry"
            raise InputError(
                Diagnostic("fmu.python", case.source.where(path), what, "write it as an expression")
            )
        return {key: _with_files(case, value, (*path, key), folder) for key, value in item.items()}
    if isinstance(item, list):
        return [_with_files(case, value, (*path, k), folder) for k, value in enumerate(item)]
    if not isinstance(item, str):
        return item
    if item.startswith("="):
        return _QUOTED.sub(lambda m: f"{m[1]}{_taken(case, m[2], path, folder)}{m[1]}", item)
    return _taken(case, item, path, folder)


def _taken(case: Case, text: str, path: tuple[str | int, ...], folder: Path) -> str:
    """The name of a copy of a file; other texts as they are."""
    source = case.source.folder_of(path) / text
    if "." not in text or len(text) > 255 or (folder / text).is_file() or not source.is_file():
        return text
    data = source.read_bytes()
    name = f"{hashlib.sha256(data).hexdigest()[:12]}-{source.name}"
    (folder / name).write_bytes(data)
    return name


def _token(files: Mapping[str, bytes]) -> bytes:
    """The name of these resources."""
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name} {len(data)} ".encode() + data)
    found = digest.hexdigest()
    return f"{{{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:32]}}}".encode()
