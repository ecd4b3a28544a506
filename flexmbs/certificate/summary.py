"""What a modal data file or a mesh holds, on one screen and as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.certificate.text import certificate_text
from flexmbs.fe.check.mesh import check_mesh
from flexmbs.fe.check.summary import mesh_summary, summary_text
from flexmbs.fe.readers import read_mesh
from flexmbs.modaldata import ModalData

MODES_SHOWN = 12
UNITS = {"E": " Pa", "nu": "", "rho": " kg/m^3"}


def modal_data(modal: ModalData) -> dict[str, Any]:
    """Numbers of modal data for `--json`."""
    body = modal.integrals
    return {
        "format": "flexmbs-modal",
        "method": modal.method,
        "frame": modal.frame,
        "mass_formalism": modal.mass_formalism,
        "nodes": modal.mesh.n_nodes,
        "cells": {kind: len(rows) for kind, rows in modal.mesh.cells.items()},
        "modes": modal.nf,
        "mass": None if modal.held else body.mass,
        "com": None if modal.held else body.com.tolist(),
        "inertia": None if modal.held else body.inertia.tolist(),
        "frequency_hz": modal.frequency_hz.tolist(),
        "kind": list(modal.kind),
        "materials": {
            name: {key: float(value) for key, value in numbers.items()}
            for name, numbers in modal.materials.items()
        },
        "interfaces": {
            name: {
                "position": item.position.tolist(),
                "type": item.type,
                "nodes": len(item.nodes),
                "dofs": item.dofs,
            }
            for name, item in modal.interfaces.items()
        },
        "geometric_stiffness": list(body.loads),
        "stress": modal.stress_at,
        "rigid_modes": modal.rigid_modes,
        "quality": modal.quality,
        "warnings": list(modal.quality.get("warnings", [])),
        "source_sha256": modal.source_sha256,
    }


def modal_text(modal: ModalData) -> str:
    """One screen about modal data."""
    body = modal.integrals
    cells = ", ".join(f"{len(rows)} {kind}" for kind, rows in modal.mesh.cells.items()) or "no cells"
    lines = [
        f"modal data   {modal.method}, frame {modal.frame}, {modal.mass_formalism} mass, {modal.nf} modes",
        f"mesh         {modal.mesh.n_nodes} nodes, {cells}",
        *_mass_lines(modal),
    ]
    for name, numbers in modal.materials.items():
        listed = [f"{key} {float(numbers[key]):.6g}{unit}" for key, unit in UNITS.items() if key in numbers]
        lines.append(
            f"material     {name}: {', '.join(listed if 'E' in numbers else ['anisotropic', *listed])}"
        )
    lines += [f"note         {text}" for text in modal.quality.get("notes", [])]
    for name, item in modal.interfaces.items():
        lines.append(
            f"interface    {name}: {item.type}, {len(item.nodes)} nodes, "
            f"at [{_vector(item.position)}] m, {item.dofs}"
        )
    stiffening = f"{len(body.loads)} unit loads" if body.loads else "none"
    lines.append(f"stiffening   {stiffening};  stress modes: {modal.stress_at}")
    lines += [
        f"  mode {a + 1:>3}  {modal.frequency_hz[a]:>12.6g} Hz  {modal.kind[a]}"
        for a in range(min(modal.nf, MODES_SHOWN))
    ]
    if modal.nf > MODES_SHOWN:
        lines.append(f"  ... to mode {modal.nf}, {modal.frequency_hz[-1]:.6g} Hz")
    lines.append(certificate_text(modal))
    return "\n".join(lines)


def _mass_lines(modal: ModalData) -> list[str]:
    """Mass, centre and inertia; not those of a body that is held."""
    body = modal.integrals
    if modal.held:
        return ["mass         not known: the frame is held on ground, where it has no effect"]
    return [
        f"mass         {body.mass:.6g} kg, centre [{_vector(body.com)}] m",
        "inertia      "
        + "; ".join(f"[{_vector(row)}]" for row in body.inertia)
        + " kg m^2 about the body origin",
    ]


def mesh_info(path: Path, unit: float = 1.0) -> tuple[str, dict[str, Any]]:
    """Text and data about a mesh file, with its checks and table of quality."""
    data = mesh_summary(check_mesh(read_mesh(path, unit=unit)))
    return f"mesh         {path.name}\n{summary_text(data)}", {"format": "mesh", **data}


def modal_info(path: Path) -> tuple[str, dict[str, Any]]:
    """Text and data about a modal data file."""
    modal = ModalData.load(path)
    return modal_text(modal), modal_data(modal)


def _vector(values: Any) -> str:
    return ", ".join(f"{0.0 if abs(value) < 1e-15 else value:.6g}" for value in np.asarray(values))
