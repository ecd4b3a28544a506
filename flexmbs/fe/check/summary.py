"""One screen about a mesh: sizes, sets, quality, findings."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.fe.check.mesh import MeshCheck
from flexmbs.fe.check.quality import chunks, det3, jacobians, quality_text
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import mass_rule

SETS_SHOWN = 30


def volume(mesh: Mesh) -> float:
    """Volume of the solid cells [m^3], curved ones as curved."""
    total = 0.0
    for kind, rows in mesh.cells.items():
        if ELEMENTS[kind].faces:
            rule = mass_rule(kind, False)
            for part in chunks(kind, len(rows)):
                J = jacobians(kind, mesh.points[rows[part]], rule.points)
                total += float((det3(J) @ rule.weights).sum())
    return total


def set_rows(mesh: Mesh) -> list[dict[str, Any]]:
    """Name, kinds, number of nodes, and box of every set."""
    rows = []
    for name in mesh.set_names:
        nodes = mesh.node_set_of(name)
        row: dict[str, Any] = {"name": name, "kinds": mesh.set_kinds(name), "nodes": len(nodes)}
        if len(nodes):
            X = mesh.points[nodes]
            row["min"], row["max"] = X.min(axis=0).tolist(), X.max(axis=0).tolist()
        rows.append(row)
    return rows


def mesh_summary(check: MeshCheck) -> dict[str, Any]:
    """Plain data of a checked mesh."""
    mesh = check.mesh
    X = mesh.points if mesh.n_nodes else np.zeros((1, 3))
    return {
        "nodes": mesh.n_nodes,
        "cells": {kind: len(rows) for kind, rows in mesh.cells.items()},
        "min": X.min(axis=0).tolist(),
        "max": X.max(axis=0).tolist(),
        "volume": volume(mesh),
        "sets": set_rows(mesh),
        "quality": check.quality,
        "errors": [str(item) for item in check.errors],
        "warnings": [str(item) for item in check.warnings],
    }


def summary_text(summary: dict[str, Any]) -> str:
    cells = ", ".join(f"{count} {kind}" for kind, count in summary["cells"].items())
    size = " x ".join(f"{b - a:.4g}" for a, b in zip(summary["min"], summary["max"], strict=True))
    lines = [f"{summary['nodes']} nodes, {cells}; {size} m, volume {summary['volume']:.6g} m^3"]
    for row in summary["sets"][:SETS_SHOWN]:
        lines.append(set_line(row))
    if len(summary["sets"]) > SETS_SHOWN:
        lines.append(f"  ... and {len(summary['sets']) - SETS_SHOWN} more sets")
    lines.append(quality_text(summary["quality"]))
    return "\n".join([*lines, *summary["errors"], *summary["warnings"]])


def set_line(row: dict[str, Any]) -> str:
    place = ""
    if "min" in row:
        spans = (
            f"{axis} {a:.4g} ... {b:.4g}" for axis, a, b in zip("xyz", row["min"], row["max"], strict=True)
        )
        place = ", ".join(spans)
    return f"  {row['name']:<20} {'+'.join(row['kinds']):<5} {row['nodes']:>7} nodes  {place}"
