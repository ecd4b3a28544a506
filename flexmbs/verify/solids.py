"""Reference problems of solid elements: element matrices, block, membrane, thick plate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flexmbs.fe.assembly import assemble
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import isotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box
from flexmbs.reduce import reduce
from flexmbs.verify.reference import Reference
from flexmbs.verify.report import Line, compare, not_below

#: only frequencies are asked for
LEAN: dict[str, Any] = {"stress": "none", "geometric_stiffness": False}


def material(p: dict[str, Any]) -> dict[str, float]:
    """The material of a problem as a recipe writes it."""
    return {"young": p["E"], "poisson": p["nu"], "density": p["rho"]}


def box_mesh(size: Any, divisions: Any, element: str, corner: Any = None) -> dict[str, Any]:
    """The table [mesh] of a box."""
    mesh = {"shape": "box", "size": list(size), "divisions": list(divisions), "element": element}
    return mesh if corner is None else mesh | {"corner": list(corner)}


def hex8_element(case: Reference, quick: bool) -> Iterator[Line]:
    """Matrices and frequencies of one brick, consistent and lumped."""
    p, known, (rtol,) = case.parameters, case.numbers, case.tolerances
    size = np.array([p["a"], p["b"], p["c"]])
    mesh = Mesh(0.5 * size * ELEMENTS["hex8"].ref_coords, {"hex8-plain": np.arange(8)[None]})
    model = assemble(mesh, isotropic("steel", p["E"], p["nu"], p["rho"]))
    K, M = model.K_fe.toarray(), model.M_fe.toarray()
    yield compare("K, first row", K[0], known["K_first_row"], rtol=rtol)
    found = np.linalg.eigvalsh(K)[6:]
    yield compare("eigenvalues of K", found, known["stiffness_eigenvalues_nonzero"], rtol=rtol)
    yield compare("mass", M[::3, ::3].sum(), known["element_mass"], rtol=rtol)
    names = ("diagonal", "edge_neighbour", "face_diagonal", "space_diagonal")
    entries = [known["M_entries"][name] for name in names]
    yield compare("entries of M", M[0, [0, 3, 6, 18]], entries, rtol=rtol)
    lumped = assemble(mesh, isotropic("steel", p["E"], p["nu"], p["rho"]), mass="lumped")
    yield compare("lumped mass of a node", lumped.M_fe.diagonal(), known["lumped_nodal_mass"], rtol=rtol)
    for mass in ("consistent", "lumped"):
        recipe = {"mesh": box_mesh(size, (1, 1, 1), "hex8-plain"), "material": material(p), "mass": mass}
        found = reduce(recipe, modes=18, **LEAN).frequency_hz
        expected = known[f"free_element_frequencies_hz_{mass}"]
        yield compare(f"free frequencies, {mass} mass [Hz]", found, expected, rtol=rtol)


def free_block(case: Reference, quick: bool) -> Iterator[Line]:
    """Fourteen elastic frequencies, from above."""
    p, known, (rtol,) = case.parameters, case.numbers["frequencies_hz"], case.tolerances
    meshes = (
        {"hex20": (12, 8, 4)} if quick else {"hex20": (12, 8, 4), "hex27": (9, 7, 5), "tet10": (12, 9, 6)}
    )
    for element, divisions in meshes.items():
        recipe = {"mesh": box_mesh(p["dimensions"], divisions, element), "material": material(p)}
        found = reduce(recipe, modes=len(known), **LEAN).frequency_hz
        yield compare(f"frequencies, {element} [Hz]", found, known, rtol=rtol)
        yield not_below(f"shortfall below exact, {element}", found, known, rtol=1e-9)  # rounding


def tapered_membrane(case: Reference, quick: bool) -> Iterator[Line]:
    """Six frequencies in the plane, one layer of solids."""
    p, known, (rtol,) = case.parameters, case.numbers, case.tolerances
    for element in ("hex20",) if quick else ("hex20", "tet10"):
        low = [0.0, -0.5, -0.5 * p["thickness"]]
        flat = box([p["L"], 1.0, p["thickness"]], [16, 8, 1], corner=low, element=element)
        x = flat.points.copy()
        x[:, 1] *= p["H_root"] + (p["H_tip"] - p["H_root"]) * x[:, 0] / p["L"]
        mesh = Mesh(x, flat.cells, node_sets=flat.node_sets, source="tapered membrane")
        supports: dict[str, Any] = {
            "sets": {"middle": {"plane": {"z": 0.0}}},
            "fix": {"x_min": "x y", "middle": "z"},
        }
        modal = reduce(mesh, material=material(p), modes=9, **supports, **LEAN)
        size = np.abs(modal.Phi).max(axis=1)
        in_plane = size[:, 2] < 0.1 * size.max(axis=1)  # the nodes between the held ones may move across
        found = modal.frequency_hz[in_plane][:6]
        exact = known["recomputed_plane_stress_hz"]
        yield compare(
            f"published frequencies, {element} [Hz]", found, known["nafems_published_hz"], rtol=rtol
        )
        yield compare(f"plane stress, {element} [Hz]", found, exact, rtol=rtol)


def thick_plate(case: Reference, quick: bool) -> Iterator[Line]:
    """Flexural frequencies of each pair of half waves, the first in-plane shear mode, from above."""
    p, (rtol,) = case.parameters, case.tolerances
    supports = {"x_min": "y z", "x_max": "y z", "y_min": "x z", "y_max": "x z"}
    for element in ("hex20",) if quick else ("hex20", "hex27"):
        recipe = {"mesh": box_mesh((p["a"], p["a"], p["h"]), (12, 12, 2), element), "material": material(p)}
        all_found = reduce(recipe, fix=supports, fmax=2700.0, **LEAN).frequency_hz
        first = case.numbers["m=1,n=1"]["first_three_hz"]
        exact = [first[1], *(e["first_three_hz"][0] for k, e in case.numbers.items() if k.startswith("m="))]
        found = [all_found[np.abs(all_found / value - 1.0).argmin()] for value in exact]
        yield compare(f"frequencies, {element} [Hz]", found, exact, rtol=rtol)
        yield not_below(f"shortfall below exact, {element}", found, exact, rtol=1e-9)  # rounding
