"""Modal data of the flexible bodies of a result, wherever they lie now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.materials import Material, material
from flexmbs.modaldata import ModalData
from flexmbs.post.record import Record, table


def body_modal(
    record: Record, name: str, given: Mapping[str, str | Path | ModalData], notes: list[str]
) -> ModalData | None:
    """Modal data of a flexible body with the modes of the run; None and a note where it is lost.

    given : files, or modal data that are there with the modes of the run
    """
    source, there = table(record.case, "bodies", name), given.get(name)
    if isinstance(there, ModalData):
        return there
    path = there or record.find_file(str(source.get("modal") or ""))
    if path is None:
        notes.append(
            f'{name}: its modal data "{source.get("modal", "?")}" was not found; drawn without its skin'
        )
        return None
    data = ModalData.load(path)
    known = source.get("modal_sha256")
    if name not in given and known and data.source_sha256 and known != data.source_sha256:
        notes.append(
            f"{name}: {path} was made anew since the run, from other sources; drawn without its skin"
        )
        return None
    nf = record.require(f"bodies/{name}/q").shape[1]
    chosen = {key: value for key, value in table(source, "modes").items() if value is not None}
    if chosen and data.nf != nf:
        data = data.select(chosen.pop("list", None), **chosen)
    if data.nf != nf:
        what = f'body "{name}" has {nf} modes in the result, its modal data has {data.nf}'
        raise InputError(Diagnostic("animate.modes", str(path), what, "use the modal data of the run"))
    return data


def materials_of(modal: ModalData) -> Mapping[str, Material]:
    """Isotropic materials by cell set."""
    found = {}
    for name, values in modal.materials.items():
        if not {"E", "nu", "rho"} <= set(values):
            what = f'material "{name}" is not isotropic, or its numbers are not in the modal data'
            raise InputError(Diagnostic("export.material", modal.source, what, "reduce from a mesh"))
        spec = {"young": values["E"], "poisson": values["nu"], "density": values["rho"]}
        found[name] = material(spec)
    return {"": next(iter(found.values()))} if len(found) == 1 else found
