"""Parts of a reduction: choice of the basis, loads, stiffening, stress modes, rows of the interfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe import stress
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import Material
from flexmbs.fe.pieces.mapped import kept
from flexmbs.fe.solve.solvers import factorise
from flexmbs.fe.stress import geometric_stiffness
from flexmbs.ffrf.integrals import BODY_LOADS, ShapeIntegrals, interface_loads
from flexmbs.modal.basis import Basis, Columns
from flexmbs.modal.eigen import Modes
from flexmbs.modal.frame import support_of
from flexmbs.modal.place import rows_at_node
from flexmbs.modal.receptance import BandError, FullResponse, reduced
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import TiedModel, nodal_marker_rows, tie
from flexmbs.modal.unit_loads import (
    body_loads,
    missed_shapes,
    turning_stiffness,
    unit_responses,
    wrench_loads,
)
from flexmbs.modaldata import InterfaceData, StaticStress
from flexmbs.reduce.recipe import Recipe
from flexmbs.reduce.source import DEFAULTED, Source

if TYPE_CHECKING:
    from flexmbs.reduce.stage1 import Reduction

Floats = NDArray[np.float64]

#: with --tol: modes are computed up to this multiple of the band, then twice as many, and so on
REACH = 1.5
FEW, MAX_FOR_TOL = 8, 400
#: a basis with all modes up to a limit is meant for this part of it
LIMIT_TO_BAND = 0.5


@dataclass
class Choice:
    """The columns of the basis, the eigenpairs behind its dynamic part, and the error over the band."""

    columns: Columns
    modes: Modes
    band: BandError | None = None
    interest_hz: float | None = None  # up to here vibrations were asked for
    basis: Basis | None = None  # in the mean-axis frame, where it has been formed
    warnings: list[Diagnostic] = field(default_factory=list)


def choose(
    method: Callable[..., Any],
    statics: Statics,
    recipe: Recipe,
    extra: Columns,
    progress: Callable[[float, str], None] | None = None,
) -> Choice:
    """Columns by number, by limit frequency, or the fewest below an error (F52)."""
    if recipe.tol is not None:
        return _by_tolerance(method, statics, recipe, extra)
    static, dynamic, modes = method(
        statics, recipe.modes, None if recipe.modes is not None else recipe.fmax, progress
    )
    columns = Candidates(statics.model, static, extra, dynamic).first(dynamic.U.shape[1])
    choice = Choice(columns, modes, interest_hz=_interest(recipe, modes))
    if statics.model.boundary.shape[0] and columns.U.shape[1]:
        full = FullResponse(statics, columns, _band_end(recipe, statics, columns, modes))
        choice.basis, choice.band = full.basis, full.error_of_basis(full.basis)
    return choice


def _interest(recipe: Recipe, modes: Modes) -> float | None:
    """Up to where a recipe asks for vibrations, None where it says nothing of them.

    `fmax` with `tol` or a number of modes is that frequency; all modes up to a limit are meant for half of
    it; a number of modes asks for these, and what lies above the highest are shapes at rest.
    """
    if recipe.fmax is not None:
        return (
            recipe.fmax if recipe.modes is not None or recipe.tol is not None else LIMIT_TO_BAND * recipe.fmax
        )
    return float(modes.frequency_hz[-1]) if len(modes.omega2) else None


def _band_end(recipe: Recipe, statics: Statics, columns: Columns, modes: Modes) -> float:
    """End of the band of the error: fmax with a number of modes, else half of the limit of the modes.

    Without a limit that is the highest fixed or free mode, or the lowest frequency of static shapes alone.
    """
    if recipe.fmax is not None:
        return recipe.fmax if recipe.modes is not None else LIMIT_TO_BAND * recipe.fmax
    if len(modes.omega2):
        return LIMIT_TO_BAND * float(modes.frequency_hz[-1])
    basis = reduced(columns, statics.model)
    return LIMIT_TO_BAND * float(basis.frequency_hz[0]) if len(basis.omega2) else 1.0


def _by_tolerance(method: Callable[..., Any], statics: Statics, recipe: Recipe, extra: Columns) -> Choice:
    """The fewest modes whose error up to fmax is below tol; halving the number that is known to do."""
    assert recipe.fmax is not None and recipe.tol is not None
    n = None
    while True:
        static, dynamic, modes = method(statics, n, REACH * recipe.fmax if n is None else None)
        candidates = Candidates(statics.model, static, extra, dynamic)
        full = FullResponse(statics, candidates.first(dynamic.U.shape[1]), recipe.fmax)

        def error(n: int, full: FullResponse = full, candidates: Candidates = candidates) -> BandError:
            return full.error_of_basis(reduced(candidates.first(n), statics.model))

        count = dynamic.U.shape[1]
        if error(count).error > recipe.tol and count < MAX_FOR_TOL and (n is None or count == n):
            n = min(max(2 * count, FEW), MAX_FOR_TOL)
            continue
        low, high = -1, count  # error(high) is below, error(low) is not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if error(middle).error <= recipe.tol else (middle, high)
        choice = Choice(candidates.first(high), modes.first(high), error(high), recipe.fmax)
        if choice.band is not None and choice.band.error > recipe.tol:
            what = f"{count} modes leave an error of {choice.band.error:.2g}, tol is {recipe.tol:g}"
            raise InputError(
                Diagnostic("recipe.tol", "tol", what, "raise tol, lower fmax, or refine the mesh")
            )
        return choice


class Candidates:
    """Static and dynamic columns, and the basis with the first n of the latter.

    Attachment modes become residual ones, less what the n modes carry: the same space, far from dependent.
    """

    def __init__(self, model: TiedModel, static: Columns, extra: Columns, dynamic: Columns) -> None:
        self.static, self.dynamic = Columns.join([static, extra]), dynamic
        self.attached = [k for k, name in enumerate(self.static.names) if name.startswith("attachment ")]
        self.carried = dynamic.U.T @ (model.M @ self.static.U[:, self.attached])

    def first(self, n: int) -> Columns:
        U = self.static.U.copy()
        U[:, self.attached] -= self.dynamic.U[:, :n] @ self.carried[:n]
        return Columns.join(
            [Columns(U, self.static.names), Columns(self.dynamic.U[:, :n], self.dynamic.names[:n])]
        )


@dataclass(frozen=True)
class UnitLoads:
    """The complete set of unit loads (F17): tied forces F and static responses U, both (n_t, load)."""

    names: tuple[str, ...]
    model: TiedModel
    F: Floats
    U: Floats


def unit_loads(
    recipe: Recipe, reduction: Reduction, factorise: Callable[..., Any] = factorise
) -> UnitLoads | None:
    """Unit loads and their responses, or nothing where there are no stresses to speak of."""
    source = reduction.source
    if not (
        recipe.geometric_stiffness and recipe.materials and source.mesh.n_cells and reduction.Phi.shape[1]
        and source.fe.exact
    ):  # fmt: skip
        return None
    statics, support = reduction.statics, support_of(reduction.frame, reduction.model)
    if statics is None:
        try:
            statics, support = given_support(reduction, factorise)
        except InputError as error:
            what = f"no geometric stiffness: {error.diagnostics[0].what}"
            reduction.warnings.append(
                Diagnostic("modal.stiffening", recipe.name, what, error.diagnostics[0].remedy, "warn")
            )
            return None
    model = statics.model
    loads = np.asarray(model.G.T @ body_loads(source.fe.mass_form, source.mesh.points, source.fe.n_dof))
    F = kept(np.concatenate([loads, wrench_loads(model)], axis=1))
    names = [*BODY_LOADS]
    for name in model.interfaces:
        names += interface_loads(name)
    return UnitLoads(tuple(names), model, F, unit_responses(statics, F, support))


def stiffening(
    recipe: Recipe, reduction: Reduction, loads: UnitLoads | None
) -> tuple[Floats | None, tuple[str, ...]]:
    """K_geo of the unit loads and their names (F17, F17b)."""
    if loads is None:
        return None, ()
    U = kept(np.asarray(loads.model.G @ loads.U))
    K_geo = geometric_stiffness(reduction.source.mesh, recipe.materials, U, reduction.Phi)
    K_geo[: len(BODY_LOADS)] += turning_stiffness(reduction.source.fe.mass_form, reduction.Phi)
    return 0.5 * (K_geo + np.swapaxes(K_geo, 1, 2)), loads.names


def given_support(reduction: Reduction, factorise: Callable[..., Any] = factorise) -> tuple[Statics, Any]:
    """Statics of a body with given shapes, supported where the shapes vanish.

    Such shapes are seen from a frame that is clamped there, and joints may hold it without an interface;
    so the unit loads are carried by those nodes. Shapes that vanish nowhere get inertia relief.
    """
    source, Phi = reduction.source, reduction.Phi
    fe, points = source.fe, source.mesh.points
    ties = [replace(item, tie="rbe3") for item in source.interfaces]  # given shapes obey no rigid tie
    size = np.abs(Phi).max(axis=0)
    still = (np.abs(Phi) <= 1e-12 * np.where(size > 0, size, 1.0)).all(axis=1)
    nodes = np.flatnonzero(still.reshape(-1, fe.n_per_node).all(axis=1))
    held = fe.dofs(nodes) if len(nodes) else np.zeros(0, dtype=np.int64)
    model = tie(fe.K_fe, fe.M_fe, points, fe.n_per_node, ties, np.union1d(source.fixed, held), source.links)
    if model.rigid.shape[1] and len(nodes):  # a few nodes on a nodal line carry nothing
        model = tie(fe.K_fe, fe.M_fe, points, fe.n_per_node, ties, source.fixed, source.links)
    return Statics(model, factorise), None


def material_damping(source: Source, Phi: Floats, omega: Floats) -> Floats:
    """D_ff of the loss factors of the materials (F14): 1/sqrt(omega_a) (sum loss K)_ab 1/sqrt(omega_b).

    At resonance a mode loses what its material does: of one material, ratios are half its loss factor.
    """
    items = source.materials
    D = np.zeros((Phi.shape[1], Phi.shape[1]))
    for loss in {item.loss_factor for item in items.values()} - {0.0}:
        doubled = {
            name: replace(item, C_mat=2 * item.C_mat, E=item.E and 2 * item.E)
            if item.loss_factor == loss
            else item
            for name, item in items.items()
        }
        forces = assemble(source.mesh, doubled).K_fe @ Phi - assemble(source.mesh, items).K_fe @ Phi
        D += loss * np.asarray(Phi.T @ forces)
    moving = omega > 0.0
    scale = np.where(moving, 1.0 / np.sqrt(np.where(moving, omega, 1.0)), 0.0)
    return 0.5 * (D + D.T) * np.outer(scale, scale)


def stress_modes(
    recipe: Recipe, reduction: Reduction, loads: UnitLoads | None
) -> tuple[Floats | None, str, StaticStress | None]:
    """Stress modes (mode, node or cell, 6), where they are, and what they miss of the unit loads (F53).

    Of beams and shells in the middle of the section. Given shapes stay alone.
    """
    source, Phi = reduction.source, reduction.Phi
    if recipe.stress == "none" or not (recipe.materials and source.mesh.n_cells and Phi.shape[1]):
        return None, "none", None
    if loads is None or recipe.method == "given":
        return stress.stress_modes(source.mesh, recipe.materials, Phi, at=recipe.stress), recipe.stress, None
    W, share, q = missed_shapes(loads.model.K, reduction.basis, loads.F, loads.U)
    fields = kept(np.hstack([Phi, np.asarray(loads.model.G @ W)]))
    found = stress.stress_modes(source.mesh, recipe.materials, fields, at=recipe.stress)
    nf, n = Phi.shape[1], source.mesh.n_nodes
    field = fields[: 6 * n, nf:].T.reshape(-1, n, 6) if source.turns else None
    return found[:nf], recipe.stress, StaticStress(found[nf:], share, q, field)


def interface_rows(model: TiedModel, source: Source, reduction: Reduction) -> dict[str, InterfaceData]:
    """Rows Phi, Psi of all interfaces in body axes (F18)."""
    result = {}
    points, n_per_node = source.mesh.points, source.fe.n_per_node
    for name, item in model.interfaces.items():
        if reduction.basis.U.any():
            rows = item.axes @ (model.rows[name] @ reduction.basis.U)
        else:
            mean = nodal_marker_rows(points, item, n_per_node)
            rows = item.axes @ (mean @ reduction.Phi[: mean.shape[1]])
        if len(item.free) == 3 and source.mesh.n_cells:  # a single node of a solid: half the curl there
            place = rows_at_node(source.mesh, int(item.nodes[0]), turns=False)
            U = reduction.Phi.reshape(len(points), n_per_node, reduction.Phi.shape[1])[place.nodes]
            rows[3:] = np.einsum("kna,nam->km", place.rotation, U)
        if reduction.frame == f"tangent:{name}":
            rows[:] = 0.0  # zero but for rounding
        result[name] = InterfaceData(
            item.position,
            item.rotation,
            rows[:3],
            rows[3:],
            item.nodes,
            item.weights,
            item.tie,
            item.dof_names,
        )
    return result


def frequencies(integrals: ShapeIntegrals) -> Floats:
    """Frequencies [Hz] of (K_ff, m_ff) of given shapes; shapes that depend on each other are an error."""
    if not integrals.nf:
        return np.zeros(0)
    size = np.sqrt(np.maximum(np.diag(integrals.m_ff), 0.0))
    bad = np.flatnonzero(size <= 1e-14 * max(size.max(), 1e-300))
    if not len(bad):
        scaled = integrals.m_ff / np.outer(size, size)
        value, vector = np.linalg.eigh(scaled)
        if value[0] < 1e-13:
            bad = np.array([int(np.argmax(np.abs(vector[:, 0])))])
    if len(bad):
        what = f"shape {bad[0] + 1} has no inertia of its own (zero, or a combination of the others)"
        raise InputError(Diagnostic("recipe.given", "given.shapes", what, "leave it out"))
    omega2 = eigh(integrals.K_ff, integrals.m_ff, eigvals_only=True)
    return np.sqrt(np.maximum(omega2, 0.0)) / (2.0 * np.pi)


def material_numbers(item: Material) -> dict[str, float]:
    """E, nu and rho of a material, as far as it has one of each."""
    numbers = {"E": item.E, "nu": item.nu, "rho": item.rho}
    return {key: float(value) for key, value in numbers.items() if value is not None and np.ndim(value) == 0}


def defaulted(source: Source, mass: float, where: str) -> list[Diagnostic]:
    """That a material was taken which nobody named, and what it makes of the body."""
    if DEFAULTED not in source.notes:
        return []
    item = source.materials[""]
    what = f"no material is given: {item.name} is taken, E = {item.E:g} Pa, density {item.rho:g} kg/m^3, "
    what += f"which makes {mass:.4g} kg"
    return [Diagnostic("material.default", where, what, f"--material {item.name} says so", "warn")]
