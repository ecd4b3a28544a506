"""Reference problems of beams, shafts and bars, as beam elements and as solids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flexmbs.modaldata import ModalData
from flexmbs.reduce import reduce
from flexmbs.verify.reference import Reference
from flexmbs.verify.report import Line, compare, not_below
from flexmbs.verify.solids import LEAN, box_mesh, material

CLAMPED = "x y z rx ry rz"


def compliance(modal: ModalData, rows: Any) -> float:
    """Displacement along `rows` (nf,) under a unit load there: the sum over all modes."""
    return float(np.sum((rows / (2.0 * np.pi * modal.frequency_hz)) ** 2))


def in_direction(modal: ModalData, shapes: Any) -> Any:
    """Frequencies of the modes with a component in `shapes` (nf,), the others being of other motions."""
    size = np.abs(shapes)
    return modal.frequency_hz[size > 1e-3 * size.max()]


def cantilever(case: Reference, quick: bool) -> Iterator[Line]:
    """Beam elements against their own theory, and solids against Timoshenko."""
    p, known, (own, solid) = case.parameters, case.numbers, case.tolerances
    for theory in ("euler-bernoulli", "timoshenko"):
        yield from beam_elements(p, known, theory, own, quick)
    recipe = {"mesh": box_mesh((p["L"], p["b"], p["h"]), (20, 2, 2), "hex20"), "material": material(p)}
    found = reduce(recipe, fix={"x_min": "x y z"}, modes=4, **LEAN).frequency_hz
    planes = (known["bending_about_strong_axis_h"], known["bending_about_weak_axis_b"])
    exact = sorted(f for plane in planes for f in plane["timoshenko_hz"][:2])
    yield compare("solid, bending modes 1-2 of both planes [Hz]", found, exact, rtol=solid)


def beam_elements(p: Any, known: Any, theory: str, rtol: float, quick: bool) -> Iterator[Line]:
    """Bending in both planes, axial and torsional modes, and the static deflection."""
    key = theory.replace("-", "_")
    n, count, total = (80, 5, 18) if theory == "euler-bernoulli" else (800, 3, 8)
    held: dict[str, Any] = {"fix": {"x_min": CLAMPED}, "interfaces": {"tip": "x_max"}}
    section = {"rectangle": [p["b"], p["h"]]}

    mesh = {"shape": "beam", "length": p["L"], "divisions": n, "theory": theory, "section": section}
    options: dict[str, Any] = held | LEAN | {"method": "free-interface"}
    modal = reduce({"mesh": mesh, "material": material(p)}, modes=total, **options)
    tip = modal.interface("tip")
    for plane, row in (("bending_about_strong_axis_h", 2), ("bending_about_weak_axis_b", 1)):
        found = in_direction(modal, tip.Phi[row])[:count]
        yield compare(f"{theory}, {plane} [Hz]", found, known[plane][f"{key}_hz"][: len(found)], rtol=rtol)
    deflection = 1000.0 * compliance(modal, tip.Phi[2])
    static = known["static_tip_force_1kN_strong_axis"][key]
    yield compare(f"{theory}, deflection under 1 kN [m]", deflection, static, rtol=rtol)
    if theory == "timoshenko" and not quick:
        for name, shapes in (("axial_bar_hz", tip.Phi[0]), ("torsion_hz_st_venant", tip.Psi[0])):
            found = in_direction(modal, shapes)[:1]
            yield compare(f"beam, {name} [Hz]", found, known[name][:1], rtol=rtol)


def shaft(case: Reference, quick: bool) -> Iterator[Line]:
    """Torsion of a shaft: of solids, and of a bar of beam elements."""
    p = case.parameters
    solid, bar = case.tolerances
    end: dict[str, Any] = {"set": "z_max", "tie": "rbe2"}
    mesh: dict[str, Any] = {"shape": "cylinder", "radius": p["d"] / 2, "length": p["L"], "element": "hex20"}
    recipe = {"mesh": mesh | {"divisions": [1, 8, 16]}, "material": material(p), "interfaces": {"end": end}}
    yield from torsion("solid", case, recipe | LEAN, {"z_min": "x y z"}, (2, 16), solid)
    mesh = {"shape": "beam", "length": p["L"], "section": {"circle": p["d"]}, "divisions": 1600}
    recipe = {
        "mesh": mesh,
        "material": material(p),
        "interfaces": {"end": {"set": "x_max", "tie": "rbe3", "dofs": "rx"}},
    }
    # torsion alone: bending would crowd the band of a bar
    recipe |= {"sets": {"all": {"box": [[-9, -9, -9], [9, 9, 9]]}}}
    yield from torsion("bar", case, recipe | LEAN, {"all": "x y z ry rz", "x_min": CLAMPED}, (0, 3), bar)


def torsion(
    name: str, case: Reference, recipe: Any, fix: Any, along: tuple[int, int], rtol: float
) -> Iterator[Line]:
    """Two frequencies free and held, with and without a disc at the end, and the static twist."""
    p, known = case.parameters, case.numbers
    axis, modes = along
    recipe = recipe | {"method": "free-interface"}
    free = {key: value for key, value in fix.items() if key == "all"}

    def turning(modal: ModalData) -> Any:
        size = np.abs(modal.interface("end").Psi[axis])
        return modal.frequency_hz[size > 0.1 * size.max()][:2]

    found = turning(reduce(recipe, fix=free, modes=modes))
    yield compare(f"{name}, free-free [Hz]", found, known["free_free_hz"][:2], rtol=rtol)
    held = reduce(recipe, fix=fix, modes=modes)
    yield compare(f"{name}, fixed-free [Hz]", turning(held), known["fixed_free_hz"][:2], rtol=rtol)
    twist = compliance(held, held.interface("end").Psi[axis])
    yield compare(f"{name}, twist of 1 N m [rad]", twist, known["static_twist_per_Nm"], rtol=rtol)
    inertia = [p["J_disc"] if k == axis else 0.0 for k in range(3)]
    disc = [{"interface": "end", "mass": 0.0, "inertia": inertia}]
    found = turning(reduce(recipe, fix=fix, modes=modes, point_masses=disc))
    yield compare(f"{name}, with disc [Hz]", found, known["fixed_with_disc_hz"][:2], rtol=rtol)


def bar(case: Reference, quick: bool) -> Iterator[Line]:
    """Reduced matrices in closed form, and the reduction of a solid bar."""
    p, known, (exact_to, solid) = case.parameters, case.numbers, case.tolerances
    L, a = p["L"], 0.1
    recipe = {"material": {"young": p["EA"] / a**2, "poisson": 0.0, "density": p["rhoA"] / a**2}, **LEAN}
    low = [0.0, -a / 2, -a / 2]
    counts = [int(key.partition("_")[0]) for key in known["reduced_angular_frequencies"]]
    shapes = [[f"1-x/{L}", "0", "0"], [f"x/{L}", "0", "0"]]
    for n in counts:
        waves = [[f"sin({i}*pi*x/{L})", "0", "0"] for i in range(1, n + 1)]
        mesh = box_mesh((L, a, a), (max(12, 4 * n), 1, 1), "hex20", low)
        modal = reduce(recipe | {"mesh": mesh, "given": {"shapes": shapes + waves}})
        if n == 3:
            for name, found in (("M_3", modal.integrals.m_ff), ("K_3", modal.integrals.K_ff)):
                scale = np.abs(known[name]).max()
                yield compare(f"given shapes, {name}", found, known[name], atol=exact_to * scale)
        expected = known["reduced_angular_frequencies"][f"{n}_fixed_interface_modes"]
        found = 2.0 * np.pi * modal.frequency_hz[1 : 1 + len(expected)]  # the first one is the rigid motion
        yield compare(f"given shapes, n = {n} [rad/s]", found, expected[: len(found)], rtol=exact_to)
    yield from solid_bar(case, recipe, counts, solid)


def solid_bar(case: Reference, recipe: Any, counts: list[int], rtol: float) -> Iterator[Line]:
    """Craig-Bampton on solids that move along x only: converging from above, statically exact."""
    known, L, a = case.numbers, case.parameters["L"], 0.1
    ends = {
        name: {"set": nodes, "tie": "rbe3", "dofs": "x"}
        for name, nodes in (("left", "x_min"), ("right", "x_max"))
    }
    along: dict[str, Any] = {
        "interfaces": ends,
        "sets": {"all": {"box": [[-9, -9, -9], [9, 9, 9]]}},
        "fix": {"all": "y z"},
    }
    for n in counts:
        modal = reduce(recipe | along | {"mesh": box_mesh((L, a, a), (40, 1, 1), "hex20")}, modes=n)
        expected = known["reduced_angular_frequencies"][f"{n}_fixed_interface_modes"]
        omega = 2.0 * np.pi * modal.frequency_hz
        shared = min(len(expected), len(omega))
        yield compare(f"solid, n = {n} [rad/s]", omega[:shared], expected[:shared], rtol=rtol)
        exact = np.array(known["exact_angular_frequencies"][: len(omega)])
        yield not_below(
            f"solid, n = {n}, shortfall below exact", omega[: len(exact)], exact, rtol=1e-6
        )  # mesh
        if n:
            rows = modal.interface("right").Phi[0] - modal.interface("left").Phi[0]
            found, static = 1000.0 * compliance(modal, rows), known["static_elongation_under_1kN_tension"]
            yield compare(
                f"solid, n = {n}, elongation under 1 kN [m]", found, static, rtol=case.tolerances[0]
            )
