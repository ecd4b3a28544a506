"""Stage 1: a recipe and a mesh become modal data.

modal = reduce("rod.msh", material="steel", interfaces=["bore_big", "bore_small:rbe3"], fmax=8e3)
modal = reduce("rod.reduce.toml", modes=30)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces.route import Limits
from flexmbs.modaldata import ModalData
from flexmbs.reduce.foreign import mesh_of, model_of_basis
from flexmbs.reduce.reading import make_recipe, read_recipe
from flexmbs.reduce.recipe import Recipe
from flexmbs.reduce.stage1 import run

__all__ = ["Recipe", "load_recipe", "reduce"]


def reduce(
    source: Any = None,
    *,
    basis: Any = None,
    K: Any = None,
    M: Any = None,
    progress: Callable[[float, str], None] | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> ModalData:
    """Reduce a mesh file, a recipe (TOML file, dictionary or `Recipe`) or a mesh to modal data.

    A mesh is a `Mesh` of ours or of scikit-fem, a `meshio.Mesh`, or an unstructured grid of VTK or PyVista.
    In its place, `basis`, `K` and `M`: a vector basis of scikit-fem and matrices assembled on it, in SI.
    `options` are the keys of a recipe (material, interfaces, method, modes, fmax, tol, frame, mass, stress,
    geometric_stiffness, ...) and override it; `interfaces` may be a list of names, `"bore:rbe3"`.
    `limits`: memory and disk of this machine, `fm.Limits(memory=8_000_000_000)`.
    """
    if isinstance(source, Recipe):
        return run(source, None, progress, limits)
    if basis is not None or K is not None or M is not None:
        return run(make_recipe({}, options, has_mesh=True), _model(source, basis, K, M), progress, limits)
    if not isinstance(source, str | Path | Mapping | Mesh):
        source = mesh_of(source)
    if isinstance(source, Mesh):
        return run(make_recipe({}, options, has_mesh=True), source, progress, limits)
    return run(load_recipe(source, options), None, progress, limits)


def _model(source: Any, basis: Any, K: Any, M: Any) -> FeModel:
    """Full model of a basis with its matrices; all three are needed, and nothing besides."""
    if source is not None or basis is None or K is None or M is None:
        what = "basis, K and M belong together, and take the place of a mesh"
        raise InputError(Diagnostic("matrices.basis", "reduce", what, "fm.reduce(basis=..., K=..., M=...)"))
    return model_of_basis(basis, K, M)


def load_recipe(
    source: str | Path | Mapping[str, Any], options: Mapping[str, Any], root: Path | None = None
) -> Recipe:
    """Recipe of a TOML file, a dictionary, or a mesh file with options; `root` confines what a file names."""
    if isinstance(source, Mapping):
        return make_recipe(source, options)
    path = Path(source)
    if path.suffix.lower() == ".toml":
        return read_recipe(path, options, root)
    return make_recipe({"mesh": str(path)}, options)
