"""Modal data of a flexible body: a file, or a recipe built when its result is missing or out of date."""

from __future__ import annotations

from pathlib import Path

from flexmbs import hdf5
from flexmbs.case.build.report import Report
from flexmbs.case.schema.bodies import FlexibleBodyTable
from flexmbs.errors import InputError
from flexmbs.input.source import Path_
from flexmbs.modaldata import ModalData


def modal_data(report: Report, path: Path_, table: FlexibleBodyTable) -> ModalData | None:
    """Read or build the modal data of a body; None when that fails (the report says why)."""
    key = "modal" if table.modal is not None else "reduce"
    text = table.modal if table.modal is not None else table.reduce
    assert text is not None
    file = report.folder_of((*path, key)) / text
    with report.at((*path, key)):
        if not _exists(file):
            what = f'there is no file "{text}"'
            remedy = f"make it with: flexmbs reduce ... -o {text}" if key == "modal" else ""
            report.fail((*path, key), what, remedy, code="case.file")
            return None
        resolved = file.resolve()
        if resolved not in report.modal:
            report.modal[resolved] = ModalData.load(file) if key == "modal" else _from_recipe(report, file)
        return report.modal[resolved]
    return None


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def _from_recipe(report: Report, file: Path) -> ModalData:
    """The result beside the recipe when it was made from the same recipe, mesh and version; else a new one.

    Where the folder cannot be written to, the new one is kept in memory only.
    """
    from flexmbs.reduce import load_recipe
    from flexmbs.reduce.stage1 import provenance, run, source_hash

    recipe = load_recipe(file, {})
    target = file.with_suffix(".modal.h5")
    if target.is_file():
        try:
            modal = ModalData.load(target)
            made_by = dict(modal.provenance.get("versions", {})).get("flexmbs")
            if (
                modal.source_sha256 == source_hash(recipe)
                and made_by == provenance(recipe)["versions"]["flexmbs"]
            ):
                return modal
        except InputError:
            if hdf5.file_format(target) not in (None, "", "flexmbs-modal"):
                raise
    modal = run(recipe, None, report.progress)
    try:
        modal.save(target, overwrite=True)
    except (OSError, InputError):
        pass
    return modal
