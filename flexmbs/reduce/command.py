"""`flexmbs reduce` without its terminal: where the output goes, and everything that is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flexmbs import disk, hdf5
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.fe.pieces.route import Limits
from flexmbs.modaldata import ModalData
from flexmbs.modaldata.store import FORMAT
from flexmbs.reduce.matrices import save_matrices
from flexmbs.reduce.options import recipe_text
from flexmbs.reduce.reading import make_recipe, merge, read_recipe
from flexmbs.reduce.recipe import Recipe
from flexmbs.reduce.stage1 import run
from flexmbs.toml_file import read_toml


def output_path(
    source: str | None, output: str | None, matrices: Sequence[str] | None, *, overwrite: bool
) -> Path:
    """Where the modal data go: `-o`, else beside the source, `X.toml -> X.modal.h5`.

    Older modal data are replaced with `overwrite`; any other file never is.
    """
    if not source and not matrices:
        raise UsageError(
            Diagnostic(
                "usage.source", "reduce", "no mesh and no recipe", "give one, or --from-matrices K M NODES"
            )
        )
    if output:
        path = Path(output)
    else:
        origin = Path(source or (matrices or [""])[0])
        stem = origin.name[: -len(origin.suffix)] if origin.suffix else origin.name
        path = origin.with_name(stem + ".modal.h5")
    disk.check_target(path, overwrite, hdf5.of_format(FORMAT))
    return path


def reduce_files(
    source: str | None,
    options: Mapping[str, Any],
    target: Path,
    matrices_out: Sequence[str] | None = None,
    progress: Callable[[float, str], None] | None = None,
    *,
    overwrite: bool = False,
    root: str | None = None,
    limits: Limits | None = None,
) -> ModalData:
    """Reduce and write the modal data, and the full matrices where asked for.

    Files among the options are relative to the current folder, those of a recipe to the recipe.
    """
    if source is not None and Path(source).suffix.lower() == ".toml":
        recipe = read_recipe(
            Path(source), _beside(options, Path(source).parent), Path(root) if root else None
        )
    else:
        recipe = _recipe_of_options({"mesh": source} if source else {}, options)
    for path in matrices_out or ():
        disk.check_target(path, overwrite)
    if matrices_out:
        from flexmbs.reduce.source import read_source

        fe = read_source(recipe).fe
        save_matrices(fe, Path(matrices_out[0]), Path(matrices_out[1]), overwrite=overwrite)
    modal = run(recipe, None, progress, limits)
    modal.save(target, overwrite=overwrite)
    return modal


def write_recipe(
    source: str | None, options: Mapping[str, Any], target: Path, *, overwrite: bool = False
) -> Path:
    """The recipe that stands for a mesh, or a recipe, and options; it is checked, and not carried out.

    Files are named as seen from its folder.
    """
    disk.check_target(target, overwrite)
    if source is not None and Path(source).suffix.lower() == ".toml":
        data, folder = read_toml(Path(source)).data, Path(source).parent
        read_recipe(Path(source), _beside(options, folder))
        if target.resolve().parent != folder.resolve():
            what = "files of a recipe are named as seen from its folder"
            raise UsageError(Diagnostic("usage.recipe", str(target), what, f"write it to {folder}"))
        merged = merge(data, _beside(options, folder))
    else:
        mesh = {} if source is None else {"mesh": os.path.relpath(source, target.parent)}
        _recipe_of_options({"mesh": source} if source else {}, options)
        merged = merge(mesh, _beside(options, target.parent))
    with disk.atomic_file(target, overwrite) as file:
        file.write(recipe_text(merged).encode())
    return target


def _beside(options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Files among the options, seen from the folder of the recipe, so that the result names no other."""
    result = dict(options)
    material, matrices = options.get("material"), options.get("matrices")
    if isinstance(material, str) and material.endswith(".toml"):
        result["material"] = os.path.relpath(material, folder)
    if matrices:
        result["matrices"] = [os.path.relpath(item, folder) for item in matrices]
    return result


def _recipe_of_options(data: Mapping[str, Any], options: Mapping[str, Any]) -> Recipe:
    """Recipe of a command line; what is wrong with an option, and not in a file, is wrong usage."""
    try:
        return make_recipe(data, options)
    except InputError as error:
        if any(item.where != "recipe" for item in error.diagnostics):
            raise
        raise UsageError(*(replace(item, where="reduce") for item in error.diagnostics)) from None
