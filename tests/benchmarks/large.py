"""Stage 1 on large meshes: minutes and gigabytes each, so by name only and kept with their conditions."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from typing import Any

from tests.benchmarks.runner import best_of, row, run_alone, versions
from tests.benchmarks.stage1 import MEMORY_CAUSE

Measured = dict[str, Any]

SHAPES = "stress modes of all shapes are part of ours"
PATIENCE = 3600.0  # seconds by the wall, beside other work
PROGRAMS = ("numpy", "scipy", "numba", "pymetis", "ngsolve", "exudyn", "scikit-sparse")


def with_conditions(measure: Callable[[], list[dict[str, str]]]) -> Measured:
    """Lines with their conditions: they are measured seldom, so the page says when and by which versions."""
    load = os.getloadavg()[1]
    table = measure()
    conditions = (
        f"Measured together on {date.today().isoformat()}, once each, by {versions(PROGRAMS)}; "
        f"load of the {os.cpu_count()} processors {load:.1f} before and {os.getloadavg()[1]:.1f} after."
    )
    return {"rows": table, "conditions": conditions}


def mode_rows(dof: int = 1_043_500) -> list[dict[str, str]]:
    """Twenty fixed-interface modes of 940k free DOF against CHOLMOD and ARPACK."""
    run_alone("mesh_of_rod", dof)
    best = best_of(1, {"ours": ("modes_flexmbs", dof), "peer": ("modes_cholmod", dof)}, PATIENCE)
    ours, peer = best["ours"], best["peer"]
    work = f"20 fixed-interface modes, {ours.get('dof')} DOF"
    note = f"to the same residual of Ritz pairs; {agreement(ours, peer)}"
    return [
        row(work, ours, peer, "CHOLMOD + ARPACK", target=1.0, note=note),
        row("the same, peak memory, assembly included", ours, peer, "CHOLMOD", target=0.83, key="peak_gb",
            cause=MEMORY_CAUSE),
    ]  # fmt: skip


def reduction_rows(dof: int = 200_000) -> list[dict[str, str]]:
    """Complete Craig-Bampton and FFRF data against the path of Exudyn that is the faster one at this size."""
    run_alone("mesh_of_rod", dof)
    calls = {
        "ours": ("reduction_flexmbs", dof),
        "peer": ("reduction_exudyn", dof, "ngsolve"),
        "modes": ("modes_flexmbs", dof),
    }
    best = best_of(1, calls, PATIENCE)
    ours, peer = best["ours"], best["peer"]
    work = f"complete reduction, 2 interfaces, 12 + 20 modes, {ours.get('dof')} DOF"
    note = "ours with K_geo, stress modes and certificate, Exudyn (NGSolve path, 20 iterations) without; "
    note += agreement(best["modes"], peer)
    return [
        row(
            work, ours, peer, "Exudyn", target=6.0, note=note, cause="the factor, its solutions and integrals"
        ),
        row("the same, peak memory", ours, peer, "Exudyn", target=1.0, key="peak_gb", cause=SHAPES),
    ]


def agreement(ours: dict[str, Any], peer: dict[str, Any]) -> str:
    """By how much the twentieth frequencies differ."""
    if "f20" not in ours or "f20" not in peer:
        return "frequencies not compared"
    return f"20th frequency of the peer differs by {abs(peer['f20'] / ours['f20'] - 1):.0e}"
