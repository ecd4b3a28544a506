"""Stage 1: a recipe and a mesh become modal data.

modal = reduce("rod.msh", material="steel", interfaces=["bore_big", "bore_small:rbe3"], fmax=8e3)
modal = reduce("rod.reduce.toml", modes=30)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flexmbs.fe.mesh import Mesh
from flexmbs.modaldata import ModalData
from flexmbs.reduce.reading import make_recipe, read_recipe
from flexmbs.reduce.recipe import Recipe
from flexmbs.reduce.stage1 import run

__all__ = ["Recipe", "load_recipe", "reduce"]


def reduce(
    source: str | Path | Mapping[str, Any] | Mesh | Recipe,
    *,
    progress: Callable[[float, str], None] | None = None,
    **options: Any,
) -> ModalData:
    """Reduce a mesh file, a recipe (TOML file, dictionary or `Recipe`) or a `Mesh` to modal data.

    `options` are the keys of a recipe (material, interfaces, method, modes, fmax, tol, frame, mass, stress,
    geometric_stiffness, ...) and override it; `interfaces` may be a list of names, `"bore:rbe3"`.
    """
    if isinstance(source, Recipe):
        return run(source, None, progress)
    if isinstance(source, Mesh):
        return run(make_recipe({}, options, has_mesh=True), source, progress)
    return run(load_recipe(source, options), None, progress)


def load_recipe(source: str | Path | Mapping[str, Any], options: Mapping[str, Any]) -> Recipe:
    """Recipe of a TOML file, a dictionary, or a mesh file with options."""
    if isinstance(source, Mapping):
        return make_recipe(source, options)
    path = Path(source)
    if path.suffix.lower() == ".toml":
        return read_recipe(path, options)
    return make_recipe({"mesh": str(path)}, options)
