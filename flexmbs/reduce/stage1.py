"""Stage 1 in one page: source -> tied model -> basis -> modal data."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from flexmbs import __version__
from flexmbs.certificate import certify
from flexmbs.errors import Diagnostic, FlexmbsError, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces.mapped import kept
from flexmbs.fe.pieces.route import Limits, Route
from flexmbs.modal.basis import Basis, Columns, effective_mass, orthonormalise, signs, turned
from flexmbs.modal.craig_bampton import craig_bampton
from flexmbs.modal.eigen import Modes
from flexmbs.modal.frame import apply_frame, parse_frame
from flexmbs.modal.free_interface import free_interface
from flexmbs.modal.receptance import BandError
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import TiedModel, held_directions, tie
from flexmbs.modaldata import ModalData
from flexmbs.reduce import parts
from flexmbs.reduce.loads import load_columns, preloaded
from flexmbs.reduce.matrices import all_coordinates, integrals_of
from flexmbs.reduce.recipe import Recipe
from flexmbs.reduce.source import Source, read_source

logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Progress = Callable[[float, str], None] | None

METHODS = {"craig-bampton": craig_bampton, "free-interface": free_interface}


@dataclass
class Reduction:
    """What the steps of a reduction produce, kept for the certificate."""

    source: Source
    model: TiedModel
    method: str
    frame: str
    basis: Basis
    Phi: Floats  # (n_dof, nf)
    statics: Statics | None = None
    columns: Columns | None = None
    eigenpairs: Modes | None = None
    band: BandError | None = None
    limit_hz: float | None = None  # all modes up to here were asked for
    interest_hz: float | None = None  # up to here vibrations were asked for
    band_is_given: bool = True  # by a frequency in the recipe
    warnings: list[Diagnostic] = field(default_factory=list)


def run(
    recipe: Recipe,
    mesh: Mesh | FeModel | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> ModalData:
    """Reduce a body as the recipe says, on one thread: spinning pools of threads cost more than they give.

    limits : what this machine has for it; the result is the same, but for rounding
    """
    tell = progress or (lambda fraction, text: None)
    with threadpool_limits(1), Route(limits, recipe.solver, _part(tell, 0.2, 0.25)) as route:
        return _run(recipe, mesh, tell, route)


def _held_in_deck(problem: FlexmbsError, recipe: Recipe, source: Source) -> list[Diagnostic]:
    """What a deck holds and the body does not, where something moves freely."""
    deck = source.mesh.deck
    free = any(item.code == "fe.mechanism" for item in problem.diagnostics)
    if not free or recipe.supports == "fix" or deck is None or not deck.supports:
        return []
    what = "the deck holds parts of the body, which moves freely here"
    return [Diagnostic("deck.held", source.mesh.source or "deck", what, "--supports fix", severity="warn")]


def _run(
    recipe: Recipe, mesh: Mesh | FeModel | None, tell: Callable[[float, str], None], route: Route
) -> ModalData:
    started = time.perf_counter()
    tell(0.0, "reading the mesh")
    static = 6 * len(recipe.interfaces) + len(recipe.loads)
    decide = partial(route.decide, modes=recipe.modes, static=static)
    source = read_source(recipe, mesh, _part(tell, 0.05, 0.2), decide)
    recipe = replace(recipe, materials=source.materials)
    try:
        modal = _reduce(recipe, source, tell, route)
    except FlexmbsError as problem:  # what the mesh check had to say may be the cause
        raise type(problem)(
            *problem.diagnostics, *_held_in_deck(problem, recipe, source), *source.warnings
        ) from problem
    logger.info("%s: %d modes in %.2f s", recipe.name, modal.nf, time.perf_counter() - started)
    tell(1.0, "done")
    return modal


def _reduce(recipe: Recipe, source: Source, tell: Callable[[float, str], None], route: Route) -> ModalData:
    route.keep(source.fe.K_fe, source.fe.M_fe, *source.fe.mass_form.operators)
    source = preloaded(recipe, source, route.factorise)
    route.keep(source.fe.K_fe)
    if not {recipe.modes, recipe.fmax, recipe.tol} - {None} and recipe.method != "given":
        recipe = replace(recipe, modes=all_coordinates(source.fe, recipe.name))
    model = tie(
        source.fe.K_fe,
        source.fe.M_fe,
        source.mesh.points,
        source.fe.n_per_node,
        source.interfaces,
        source.fixed,
        source.links,
    )
    route.keep(model.K, model.M)
    tell(0.2, "computing modes")
    if recipe.method == "given":
        reduction = _given(recipe, source, model)
    else:
        reduction = _computed(recipe, source, model, route, _part(tell, 0.25, 0.6))
    reduction.warnings.extend(held_directions(model, recipe.name))
    tell(0.7, "integrating")
    modal = _modal_data(recipe, reduction, route)
    reduction.warnings.extend(parts.defaulted(source, modal.integrals.mass, recipe.name))
    tell(0.9, "checking")
    return certify(reduction, modal, recipe.name, recipe.materials, recipe.tol)


def _part(tell: Callable[[float, str], None], low: float, high: float) -> Callable[[float, str], None]:
    return lambda fraction, text: tell(low + fraction * (high - low), text)


def _computed(
    recipe: Recipe, source: Source, model: TiedModel, route: Route, progress: Progress
) -> Reduction:
    """Modes of the chosen method in the chosen frame (F50, F51)."""
    frame = parse_frame(recipe.frame, model)
    nothing = recipe.modes == 0 and not model.interfaces and not recipe.loads
    if nothing:
        basis = Basis(np.zeros((model.n, 0)), np.zeros(0), ())
        return Reduction(source, model, recipe.method, frame, basis, np.zeros((source.fe.n_dof, 0)))
    statics = _statics(recipe, source, model, route)
    chosen = parts.choose(
        METHODS[recipe.method], statics, recipe, load_columns(recipe, source, statics), progress
    )
    if chosen.basis is not None and not frame.startswith("tangent"):
        basis = chosen.basis
    else:
        moved, expected = apply_frame(chosen.columns, frame, model)
        basis = orthonormalise(moved, model.K, model.M, expected)
    Phi = kept(np.asarray(model.G @ basis.U))
    W, omega2 = turned(_translations(source.fe, Phi), source.mesh.points, basis.omega2)
    Phi = kept(Phi @ W)
    sign = signs(_translations(source.fe, Phi))
    Phi *= sign
    basis = Basis(kept(basis.U @ (W * sign)), omega2, basis.kind, basis.dropped)
    return Reduction(
        source,
        model,
        recipe.method,
        frame,
        basis,
        Phi,
        statics,
        chosen.columns,
        chosen.modes,
        chosen.band,
        recipe.fmax if recipe.modes is None and recipe.tol is None else None,
        chosen.interest_hz,
        recipe.fmax is not None,
        chosen.warnings,
    )


def _statics(recipe: Recipe, source: Source, model: TiedModel, route: Route) -> Statics:
    """The factorised stiffness; under a preload it may have turned soft."""
    try:
        return Statics(model, route.factorise)
    except FlexmbsError as error:
        if source.fe.K_pre is None or any(item.code.startswith("pieces.") for item in error.diagnostics):
            raise
        what, remedy = "the preload is beyond buckling: the body is not stable under it", "lower it"
        raise InputError(Diagnostic("recipe.preload", recipe.name, what, remedy)) from None


def _given(recipe: Recipe, source: Source, model: TiedModel) -> Reduction:
    """Shapes of the user as they are."""
    from flexmbs.reduce.given import nodal_shapes

    assert recipe.given is not None
    Phi = nodal_shapes(recipe.given, source)
    n = Phi.shape[1]
    basis = Basis(np.zeros((model.n, n)), np.zeros(n), tuple(f"given {k + 1}" for k in range(n)))
    return Reduction(source, model, "given", "given", basis, Phi)


def _by_node(fe: FeModel, Phi: Floats) -> Floats:
    """(mode, node, n_per_node) of fields (n_dof, nf)."""
    nodal = Phi[: len(Phi) - fe.n_modal]
    return nodal.reshape(fe.mesh.n_nodes, fe.n_per_node, Phi.shape[1]).transpose(2, 0, 1)


def _translations(fe: FeModel, Phi: Floats) -> Floats:
    """(mode, node, xyz) of fields (n_dof, nf)."""
    return kept(np.ascontiguousarray(_by_node(fe, Phi)[:, :, :3]))


def _rotations(fe: FeModel, Phi: Floats) -> Floats | None:
    return None if fe.n_per_node == 3 else np.ascontiguousarray(_by_node(fe, Phi)[:, :, 3:])


def _modal_data(recipe: Recipe, reduction: Reduction, route: Route) -> ModalData:
    """Integrals, interface rows, stiffening and stress modes of the basis."""
    source, fe, Phi = reduction.source, reduction.source.fe, reduction.Phi
    unit_loads = parts.unit_loads(recipe, reduction, route.factorise)
    K_geo, loads = parts.stiffening(recipe, reduction, unit_loads)
    if recipe.method == "given":
        from flexmbs.reduce.given import given_integrals

        assert recipe.given is not None
        integrals = given_integrals(recipe, recipe.given, source, Phi, K_geo, loads)
        frequency_hz = parts.frequencies(integrals)
    else:
        integrals = integrals_of(
            fe,
            Phi,
            K_geo=K_geo,
            loads=loads,
            D_ff=parts.material_damping(source, Phi, 2.0 * np.pi * reduction.basis.frequency_hz),
        )
        frequency_hz = reduction.basis.frequency_hz
    stress, stress_at, static_stress = parts.stress_modes(recipe, reduction, unit_loads)
    return ModalData(
        mesh=source.mesh,
        integrals=integrals,
        Phi=_translations(fe, Phi),
        Psi=_rotations(fe, Phi),
        frequency_hz=frequency_hz,
        kind=reduction.basis.kind,
        interfaces=parts.interface_rows(reduction.model, source, reduction),
        stress=stress,
        stress_at=stress_at,
        static_stress=static_stress,
        preload_stress=source.preload_stress if stress is not None else None,
        preload_field=source.preload_field if stress is not None else None,
        preload_strain=source.preload_strain if stress is not None else None,
        effective_mass=effective_mass(integrals.S_f, integrals.I_kl, integrals.m_ff),
        materials={
            name or "default": parts.material_numbers(item) for name, item in recipe.materials.items()
        },
        method=recipe.method,
        frame=reduction.frame,
        mass_formalism=recipe.mass,
        provenance=provenance(recipe),
        source_sha256=source_hash(recipe),
        source=recipe.name,
    )


def provenance(recipe: Recipe) -> dict[str, Any]:
    """Recipe and versions, but no machine and no time: the same input gives the same file."""
    import scipy

    return {
        "recipe": recipe.text,
        "recipe_name": Path(recipe.name).name,
        "versions": {"flexmbs": __version__, "numpy": np.__version__, "scipy": scipy.__version__},
    }


def source_hash(recipe: Recipe) -> str:
    """SHA-256 of the recipe and of the files that it names."""
    digest = hashlib.sha256(recipe.text.encode())
    files = [recipe.mesh] if isinstance(recipe.mesh, Path) else []
    for path in (*files, *(recipe.matrices or ()), *recipe.files):
        try:
            digest.update(Path(path).read_bytes())
        except OSError as error:
            raise InputError(
                Diagnostic("file.missing", str(path), f"cannot be read: {error.strerror}")
            ) from None
    return digest.hexdigest()
