"""Modal data of a flexible body: a file, or a recipe built where its result is missing or out of date."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flexmbs import __version__, hdf5
from flexmbs.case.build import cache
from flexmbs.case.build.report import Report
from flexmbs.case.schema.bodies import FlexibleBodyTable
from flexmbs.errors import InputError
from flexmbs.expressions import parse
from flexmbs.input.source import Path_
from flexmbs.modaldata import ModalData
from flexmbs.reduce import Recipe, load_recipe
from flexmbs.reduce.stage1 import run, source_hash
from flexmbs.toml_file import read_toml

Progress = Callable[[float, str], None]


def modal_data(report: Report, path: Path_, table: FlexibleBodyTable) -> ModalData | None:
    """Read or build the modal data of a body; None when that fails (the report says why)."""
    key = "modal" if table.modal is not None else "reduce"
    text = table.modal if table.modal is not None else table.reduce
    assert text is not None
    with report.at((*path, key)):
        file = report.source.file((*path, key), text)
        resolved = place_of(file, table.recipe, report.spec.parameters)
        if resolved in report.modal:
            return report.modal[resolved]
        if not _exists(file):
            what = f'there is no file "{text}"'
            remedy = f"make it with: flexmbs reduce ... -o {text}" if key == "modal" else ""
            report.fail((*path, key), what, remedy, code="case.file")
            return None
        made = ModalData.load(file) if key == "modal" else _from_recipe(report, path, file, table.recipe)
        if made is None:
            return None
        report.modal[resolved] = made
        return made
    return None


def place_of(file: Path, changes: Mapping[str, Any], parameters: Mapping[str, float]) -> Path:
    """What tells bodies apart: the file, and what is other than in it."""
    given = numbers_of(changes, parameters)
    return file.resolve() / json.dumps(given, sort_keys=True, default=str) if given else file.resolve()


def recipe_with(
    file: Path, changes: Mapping[str, Any], parameters: Mapping[str, float], root: Path | None
) -> Recipe:
    """The recipe of a file with keys that a case changes, also within tables."""
    given = numbers_of(changes, parameters)
    data = read_toml(file).data if any(isinstance(item, dict) for item in given.values()) else {}
    return load_recipe(file, {key: _laid_over(data.get(key), item) for key, item in given.items()}, root=root)


def _laid_over(there: Any, new: Any) -> Any:
    if not (isinstance(there, dict) and isinstance(new, dict)):
        return new
    return there | {key: _laid_over(there.get(key), item) for key, item in new.items()}


def numbers_of(item: Any, parameters: Mapping[str, float]) -> Any:
    """Expressions of parameters of the case as numbers; the recipe knows its own."""
    if isinstance(item, dict):
        return {key: numbers_of(value, parameters) for key, value in item.items()}
    if isinstance(item, list):
        return [numbers_of(value, parameters) for value in item]
    if isinstance(item, str) and item.startswith("="):
        law = parse(item[1:])
        if not law.is_constant and law.names.keys() <= parameters.keys():
            return law.number(parameters)
    return item


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def _from_recipe(report: Report, path: Path_, file: Path, changes: Mapping[str, Any]) -> ModalData | None:
    """What `flexmbs reduce` has written beside the recipe, or the cache has; else a new body, kept there.

    None where the changes are wrong (the report says how).
    """
    try:
        recipe = recipe_with(file, changes, report.spec.parameters, report.source.root)
    except InputError as error:
        if not changes:
            raise
        for item in error.diagnostics:
            report.fail((*path, "recipe"), f"{item.where}: {item.what}", item.remedy, code=item.code)
        return None
    return body_of_recipe(file, recipe, report.progress)


def body_of_recipe(file: Path, recipe: Recipe, progress: Progress | None = None) -> ModalData:
    """The body of a recipe, reduced where it is not there yet."""
    modal = up_to_date(file, recipe)
    if modal is None:
        modal = run(recipe, None, progress)
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


def is_reduced(
    file: Path, changes: Mapping[str, Any], parameters: Mapping[str, float], root: Path | None
) -> bool:
    """Whether the body of a recipe can be had without work."""
    try:
        return up_to_date(file, recipe_with(file, changes, parameters, root)) is not None
    except InputError:
        return False
