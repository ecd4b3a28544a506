"""The certificate of a reduced body: every test with its bound; beyond it a warning or an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.certificate import proofs
from flexmbs.certificate.discretisation import judge_mesh, mesh_tests
from flexmbs.certificate.geometry import surface_inertia
from flexmbs.errors import Diagnostics, SolverError
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import Material
from flexmbs.fe.pieces.mapped import symmetric_sum
from flexmbs.modaldata import ModalData

Floats = NDArray[np.float64]

#: test -> bound; the first group is an error beyond it, the second a warning
ERRORS = {
    "rigid_residual": 1e-8,
    "eigen_residual": 1e-5,
    "frequency_bound": 1e-5,
    "eigen_backward_error": 1e-6,
    "sylvester_missing": 0.5,
    "orthogonality": 1e-7,
}
WARNINGS = {
    "mass_error": 1e-6,
    "centre_error": 1e-6,
    "inertia_error": 1e-6,
    "mean_axis_residual": 1e-8,
    "static_error": 1e-5,
    "reduction_error": 0.3,
}
#: an error of the response from which on other modes are worth a note, and how much better they have to be
WORTH, BETTER = 0.01, 0.01
REMEDIES = {
    "rigid_residual": "the stiffness resists rigid motion; if it was imported, check the order of its nodes",
    "eigen_backward_error": "report this, with the mesh",
    "eigen_residual": "report this, with the mesh",
    "frequency_bound": "report this, with the mesh",
    "sylvester_missing": "an eigenvalue was missed; choose another number of modes, and report this",
    "orthogonality": "report this, with the mesh",
    "mass_error": "the mesh has gaps or overlaps, or very curved elements",
    "centre_error": "the mesh has gaps or overlaps, or very curved elements",
    "inertia_error": "the mesh has gaps or overlaps, or very curved elements",
    "mean_axis_residual": "use --mass consistent",
    "static_error": "the basis does not hold the static shapes of all interfaces",
    "reduction_error": "take more modes (--modes, --fmax), or --tol with --fmax",
}

#: linear cells that bend with false shear: how much, and what to take instead
STIFF = {
    "tet4": ("far too stiff in bending", "use tet10"),
    "hex8-plain": ("far too stiff in bending", "use hex8"),
    "wedge6": ("stiff in bending in the plane of their triangles", "use wedge15, or hex8"),
    "wedge6-plain": ("far too stiff in bending", "use wedge15, or hex8"),
    "pyramid5": ("stiff in bending", "use them between other cells only, or pyramid13"),
}


def certify(
    reduction: Any, modal: ModalData, where: str, materials: Mapping[str, Material], tol: float | None = None
) -> ModalData:
    """The modal data with their certificate; raises when a test says that they are wrong.

    `tol` is the error over the band that was asked for.
    """
    quality: dict[str, Any] = {"rigid_modes": int(reduction.model.rigid.shape[1])}
    quality |= inertia_tests(reduction, modal, materials)
    quality |= model_tests(reduction, modal)
    quality |= basis_tests(reduction)
    quality |= mesh_tests(reduction, modal, materials)
    if reduction.source.tie_error is not None:
        quality["tie_patch_error"] = reduction.source.tie_error
    if tol is not None:
        quality["reduction_tolerance"] = tol
    if reduction.band is not None:
        quality["reduction_good_hz"] = reduction.band.good_hz(
            WARNINGS["reduction_error"] if tol is None else tol
        )
    found = Diagnostics()
    found.extend(reduction.source.warnings)
    found.extend(reduction.warnings)
    judge(quality, where, found, imported=not reduction.source.own_elements)
    judge_mesh(quality, modal.mesh, where, found)
    sanity(reduction, modal, materials, where, found)
    found.raise_errors(SolverError)
    quality["element_quality"] = reduction.source.element_quality
    quality["notes"] = [*reduction.source.notes, *free_interface_note(reduction)]
    quality["warnings"] = [
        f"{item.what}; {item.remedy}" if item.remedy else item.what for item in found.warnings
    ]
    return replace(modal, quality=quality)


def free_interface_note(reduction: Any) -> list[str]:
    """Where free modes give the response at the interfaces far better than as many fixed ones."""
    band = reduction.band
    if (
        band is None
        or reduction.method != "craig-bampton"
        or band.error < WORTH
        or not band.free < BETTER * band.error
    ):
        return []
    return [
        f'method = "free-interface" would give the response at the interfaces to {band.free:.1g} in place of '
        f"{band.error:.1g} with as many modes (see how_to_modes.md)"
    ]


def inertia_tests(reduction: Any, modal: ModalData, materials: Mapping[str, Material]) -> dict[str, Any]:
    """Mass, centre and inertia of the meshed volume against its surface (attached masses left out)."""
    body, mesh = modal.integrals, modal.mesh
    result: dict[str, Any] = {"mass": body.mass, "com": body.com, "inertia": body.inertia}
    if not reduction.source.own_elements or mesh.turns or not mesh.n_cells:
        return result
    mass, S_O, Theta_kl = surface_inertia(mesh, materials)
    if mass <= 0.0:
        return result
    own = bare_moments(reduction, modal)
    length = np.sqrt(np.trace(Theta_kl) / mass)
    consistent = modal.mass_formalism == "consistent"
    result["mass_error"] = abs(own[0] - mass) / mass
    if consistent:  # lumped masses keep the mass only; centre and inertia differ by the mesh error
        result["centre_error"] = float(np.abs(own[1] - S_O).max() / (mass * length))
        result["inertia_error"] = float(np.abs(own[2] - Theta_kl).max() / np.abs(Theta_kl).max())
    result["lumped_difference"] = other_form_difference(reduction, modal, materials)
    return result


def bare_moments(reduction: Any, modal: ModalData) -> tuple[float, Floats, Floats]:
    """mass, S_O, Theta_kl of the elements alone: by the scalar mass matrix less nodal point masses."""
    form, X = reduction.source.fe.mass_form, modal.mesh.points
    nodal = reduction.source.nodal_masses
    one = np.ones(len(X))
    MX = form.Ms @ X
    mass = float(one @ (form.Ms @ one)) - nodal.sum()
    return mass, MX.sum(axis=0) - nodal @ X, X.T @ MX - X.T @ (nodal[:, None] * X)


def other_form_difference(
    reduction: Any, modal: ModalData, materials: Mapping[str, Material]
) -> dict[str, float]:
    """Relative difference between consistent and lumped form: inertia, and m_ff."""
    from flexmbs.fe.assembly import element_groups, lumped_masses
    from flexmbs.fe.materials import material_of_cells

    mesh, form = modal.mesh, reduction.source.fe.mass_form
    used, mat = material_of_cells(mesh, materials)
    rho = {kind: np.array([item.rho for item in used])[index] for kind, index in mat.items()}
    lumped = lumped_masses(mesh, element_groups(mesh), rho) + reduction.source.nodal_masses
    if modal.mass_formalism == "lumped":
        from flexmbs.fe.assembly import assemble

        form = assemble(mesh, materials).mass_form
    X, Phi = mesh.points, reduction.Phi
    Theta, Theta_lumped = X.T @ (form.Ms @ X), X.T @ (lumped[:, None] * X)
    result = {"Theta_kl": float(np.abs(Theta - Theta_lumped).max() / np.abs(Theta).max())}
    if Phi.shape[1]:
        parts = [np.ascontiguousarray(Phi[k::3]) for k in range(3)]
        m_ff = sum(part.T @ (form.Ms @ part) for part in parts)
        m_ff_lumped = sum(part.T @ (lumped[:, None] * part) for part in parts)
        result["m_ff"] = float(np.abs(m_ff - m_ff_lumped).max() / np.abs(m_ff).max())
    return result


def model_tests(reduction: Any, modal: ModalData) -> dict[str, Any]:
    """Tests of the full model and of the integrals."""
    fe, body = reduction.source.fe, modal.integrals
    result: dict[str, Any] = {}
    if fe.K_fe.nnz:
        bare = fe.K_fe if fe.K_pre is None else symmetric_sum(fe.K_fe, -fe.K_pre)
        result["rigid_residual"] = proofs.rigid_residual(bare, modal.mesh.points, fe.n_per_node)
    if modal.frame == "given":
        return result
    result["orthogonality"] = proofs.orthogonality(body.m_ff, body.K_ff)
    if modal.frame == "mean-axis" and reduction.model.rigid.shape[1] == 6:
        result["mean_axis_residual"] = proofs.mean_axis_residual(
            body.S_f, body.I_kl, body.mass, body.Theta_kl
        )
    return result


def basis_tests(reduction: Any) -> dict[str, Any]:
    """Eigenpairs, their count, static exactness and the error over the band (F52)."""
    statics, modes = reduction.statics, reduction.eigenpairs
    if statics is None or modes is None:
        return {}
    result: dict[str, Any] = {}
    model = statics.model
    C = model.boundary if reduction.method == "craig-bampton" else sp.csr_matrix((0, model.n))
    held = statics.holding(C)
    if len(modes.omega2):
        images = held.inverse_mass(modes.V)
        residual = proofs.eigen_residuals(held, modes, images)
        result["eigen_residuals"] = residual
        result["eigen_residual"] = float(residual.max())
        bounds = proofs.frequency_bounds(held, modes, images)
        result["frequency_bounds"] = bounds
        result["frequency_bound"] = float(bounds.max())
        result["eigen_backward_error"] = float(proofs.backward_errors(held, modes).max())
    static = proofs.static_error(statics, reduction.basis)
    if static is not None:
        result["static_error"] = static
    result |= count_tests(reduction, held)
    if reduction.band is not None:
        band = reduction.band
        result["reduction_error"] = band.error
        result["reduction_error_at_hz"] = band.frequency_hz
        result["reduction_band_hz"] = band.band_hz
        result["reduction_error_uncertainty"] = band.uncertainty
        result["band_is_given"] = int(reduction.band_is_given)
        result["frequency_error"] = band.modes
        result["free_interface_error"] = band.free
    if reduction.interest_hz is not None:
        result["interest_hz"] = reduction.interest_hz
    if reduction.basis.dropped:
        result["dropped"] = list(reduction.basis.dropped)
    return result


def count_tests(reduction: Any, held: Any) -> dict[str, Any]:
    """Sylvester's count below the last mode or the limit; the last test, as it gives up the factor of K."""
    omega2, limit_hz = reduction.eigenpairs.omega2, reduction.limit_hz
    if not len(omega2) and not limit_hz:
        return {}
    loose = held.loose.shape[1]
    below = (2.0 * np.pi * limit_hz) ** 2 if limit_hz else below_last(omega2)
    count = proofs.count_below(held, below)
    expected = int(np.sum(omega2 < below)) + loose
    return {"sylvester_count": count, "sylvester_missing": abs(count - expected)}


def below_last(omega2: Floats) -> float:
    """A shift just below the last eigenvalue and those that are equal to it but for `proofs.CLOSE`.

    Closer to an eigenvalue the count is of no use: the shifted matrix is singular to rounding.
    """
    before = np.concatenate([[0.0], omega2])[:-1]
    first = int(np.flatnonzero(omega2 - before > proofs.CLOSE * omega2)[-1])
    return float(omega2[first] - min(0.1 * (omega2[first] - before[first]), proofs.CLOSE * omega2[first]))


def enough(quality: Mapping[str, Any]) -> bool:
    """Whether a body whose recipe names no band is good to the bound up to its first frequency at least."""
    modes = np.asarray(quality.get("frequency_error", np.zeros((0, 2))))
    first = float(modes[0, 0]) if len(modes) else 0.0
    return not quality.get("band_is_given", 1) and bool(quality.get("reduction_good_hz", 0.0) >= first)


def judge(quality: Mapping[str, Any], where: str, found: Diagnostics, imported: bool = False) -> None:
    """Hold every number against its bound; NaN is beyond any. Imported stiffness was judged at the door."""
    for table, report in ((ERRORS, found.error), (WARNINGS, found.warn)):
        for name, bound in table.items():
            if name == "reduction_error" and enough(quality):
                continue
            if name in quality and not quality[name] <= bound:
                what = f"{name.replace('_', ' ')} is {quality[name]:.2g}, the bound is {bound:g}"
                told = found.warn if imported and name == "rigid_residual" else report
                told(f"certificate.{name}", where, what, REMEDIES[name])


def sanity(
    reduction: Any, modal: ModalData, materials: Mapping[str, Material], where: str, found: Diagnostics
) -> None:
    """Units, and elements that are known to lock."""
    for name, item in materials.items():
        label = name or item.name
        if not 1.0 <= item.rho <= 25000.0:
            found.warn(
                "units.density", where, f"density of {label} is {item.rho:g} kg/m^3", "is it in kg/m^3?"
            )
        if item.E is not None and not 1e5 <= item.E <= 2e12:
            found.warn("units.young", where, f"Young's modulus of {label} is {item.E:g} Pa", "is it in Pa?")
        if item.E is not None and item.rho > 0 and not 10.0 <= np.sqrt(item.E / item.rho) <= 2e4:
            what = f"sound travels at {np.sqrt(item.E / item.rho):.3g} m/s in {label}"
            found.warn("units.sound", where, what, "are E in Pa and the density in kg/m^3?")
        linear = [kind for kind in modal.mesh.cells if ELEMENTS[kind].order == 1 and ELEMENTS[kind].faces]
        if item.nu is not None and item.nu > 0.45 and linear:
            what = f"{label} is nearly incompressible (Poisson's ratio {item.nu:g}) in {', '.join(linear)}"
            found.warn("fe.locking", where, what, "use quadratic elements")
    for kind, (what, remedy) in STIFF.items():
        n = len(modal.mesh.cells.get(kind, ()))
        if n:
            found.warn("fe.stiff", where, f"{n} {kind} cells are {what}", remedy)
    first = modal.frequency_hz[0] if modal.nf else 1.0
    if not 1e-3 <= first <= 1e8:
        what = f"the first frequency is {first:.3g} Hz"
        found.warn("units.frequency", where, what, "check the units of mesh and material")
    for name in reduction.basis.dropped:
        found.warn("modal.dependent", where, f"{name} depends on the others and was left out")
