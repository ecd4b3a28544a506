"""Which format a file name means, and the two ways through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexmbs.disk import check_target
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.exchange import extptfm, mbdyn, mbsim, pictures, sid, simscape
from flexmbs.modaldata import ModalData
from flexmbs.modaldata.validate import check


@dataclass(frozen=True)
class Format:
    """`write(modal, path, options)` and `read(path, options)`; both return what could not be carried."""

    program: str
    write: Callable[..., list[str]]
    read: Callable[..., tuple[ModalData, list[str]]]
    options: tuple[str, ...] = ()
    held: bool = False  # whether it holds bodies of which only motions against a frame at rest are known


#: by the end of the file name, lower case; `.mbsim.h5` before anything that ends in `.h5`
FORMATS = {
    ".fem": Format("MBDyn", mbdyn.write, mbdyn.read, ("invariants",)),
    ".sid_fem": Format("Simpack, Modelica (SID)", sid.write, sid.read, ("inertia_order",)),
    ".sid": Format("Simpack, Modelica (SID)", sid.write, sid.read, ("inertia_order",)),
    ".mbsim.h5": Format("MBSim", mbsim.write, mbsim.read),
    ".simscape.mat": Format("Simscape", simscape.write, simscape.read),
    ".extptfm": Format("OpenFAST", extptfm.write, extptfm.read, ("openfast",), held=True),
    ".vtu": Format("ParaView and others", pictures.write, pictures.read, held=True),
    ".xdmf": Format("ParaView and others", pictures.write, pictures.read, held=True),
}


def format_of(path: Path) -> Format:
    """The format that the end of a file name means."""
    for ending, found in FORMATS.items():
        if path.name.lower().endswith(ending):
            return found
    what = "no format of a body ends like this"
    raise UsageError(Diagnostic("exchange.format", path.name, what, f"choose one of {', '.join(FORMATS)}"))


def _chosen(found: Format, options: dict[str, Any]) -> dict[str, Any]:
    """Options that were given; one that the format does not know is an error."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in found.options:
            what = f'files of {found.program} know no "{name}"'
            raise UsageError(Diagnostic("exchange.option", "options", what, "leave it out"))
    return given


def export_body(
    modal: str | Path | ModalData, target: str | Path, *, overwrite: bool = False, **options: Any
) -> dict[str, Any]:
    """Write a reduced body for another program. Returns the file, the program, and notes on what it lacks."""
    target = Path(target)
    found = format_of(target)
    check_target(target, overwrite)
    body = modal if isinstance(modal, ModalData) else ModalData.load(modal)
    if body.held and not found.held:
        what = "mass, mass centre and inertia are not known, and files of " + found.program + " hold them"
        remedy = "write .extptfm, or the body of the recipe"
        raise UsageError(Diagnostic("exchange.held", body.source, what, remedy))
    notes = found.write(body, target, overwrite=overwrite, **_chosen(found, options))
    return {"file": str(target), "program": found.program, "modes": body.nf, "notes": notes}


def import_body(source: str | Path, **options: Any) -> tuple[ModalData, list[str]]:
    """Read a reduced body of another program as modal data, with notes on what is not known of it."""
    source = Path(source)
    found = format_of(source)
    if not source.is_file():
        raise InputError(Diagnostic("file.missing", str(source), "there is no such file"))
    modal, notes = found.read(source, **_chosen(found, options))
    try:
        check(modal)
    except InputError as error:
        remedy = "the file says so; motions of such a body would gain energy"
        raise InputError(
            *(
                Diagnostic("exchange.content", source.name, f"is that of no body: {item.what}", remedy)
                for item in error.diagnostics
            )
        ) from None
    return modal, notes
