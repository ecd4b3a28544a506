"""Modal data of a flexible body: a file, or a recipe built where its result is missing or out of date."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flexmbs import __version__, hdf5
from flexmbs.case.build import cache
from flexmbs.case.build.report import Report
from flexmbs.case.schema.bodies import FlexibleBodyTable
from flexmbs.errors import InputError
from flexmbs.input.source import Path_
from flexmbs.modaldata import ModalData
from flexmbs.reduce import Recipe, load_recipe
from flexmbs.reduce.stage1 import run, source_hash


def modal_data(report: Report, path: Path_, table: FlexibleBodyTable) -> ModalData | None:
    """Read or build the modal data of a body; None when that fails (the report says why)."""
    key = "modal" if table.modal is not None else "reduce"
    text = table.modal if table.modal is not None else table.reduce
    assert text is not None
    with report.at((*path, key)):
        file = report.source.file((*path, key), text)
        if file.resolve() in report.modal:
            return report.modal[file.resolve()]
        if not _exists(file):
            what = f'there is no file "{text}"'
            remedy = f"make it with: flexmbs reduce ... -o {text}" if key == "modal" else ""
            report.fail((*path, key), what, remedy, code="case.file")
            return None
        resolved = file.resolve()
        report.modal[resolved] = ModalData.load(file) if key == "modal" else _from_recipe(report, file)
        return report.modal[resolved]
    return None


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def _from_recipe(report: Report, file: Path) -> ModalData:
    """What `flexmbs reduce` has written beside the recipe, or the cache has; else a new body, kept there."""
    recipe = load_recipe(file, {}, root=report.source.root)
    modal = up_to_date(file, recipe)
    if modal is None:
        modal = run(recipe, None, report.progress)
        kept = cache.keep(recipe, modal)
        modal = modal if kept is None else replace(modal, source=str(kept))
    return modal


def up_to_date(file: Path, recipe: Recipe) -> ModalData | None:
    """The body of a recipe where it is there, made from the same recipe and files by the same version."""
    beside = file.with_suffix(".modal.h5")
    if beside.is_file():
        try:
            modal = ModalData.load(beside)
        except InputError:
            if hdf5.file_format(beside) not in ("", "flexmbs-modal"):
                raise
        else:
            made_by = dict(modal.provenance.get("versions", {})).get("flexmbs")
            if modal.source_sha256 == source_hash(recipe) and made_by == __version__:
                return modal
    return cache.load(recipe)


def is_reduced(file: Path, root: Path | None) -> bool:
    """Whether the body of a recipe can be had without work."""
    try:
        return up_to_date(file, load_recipe(file, {}, root=root)) is not None
    except InputError:
        return False
