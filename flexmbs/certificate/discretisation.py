"""How much too high the mesh makes the frequencies, by recovered stress (F52a)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostics
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import Material
from flexmbs.fe.mesh import Mesh
from flexmbs.modaldata import ModalData

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: an estimate beyond this is a warning; one that is larger than the last is only said to be so
BOUND, MOST = 0.02, 0.2
#: share of the energy of a mode that the error has at most: beyond it the estimate is of no use
LARGEST_SHARE = 0.75
LABEL = "frequencies by the mesh (estimate)"


def mesh_tests(reduction: Any, modal: ModalData, materials: Mapping[str, Material]) -> dict[str, Any]:
    """Estimated error of the frequencies (mode, 2): frequency, and how much too high it is; cells without."""
    mesh, omega2 = modal.mesh, reduction.basis.omega2
    other = [kind for kind in mesh.cells if ELEMENTS[kind].turns]
    result: dict[str, Any] = {"mesh_error_without": other} if other else {}
    own = reduction.source.own_elements and reduction.method != "given" and len(omega2)
    if not own or len(other) == len(mesh.cells):
        return result if own else {}
    from flexmbs.fe.recovery import jump_energy, recovery

    energy = jump_energy(recovery(mesh, materials, loaded_nodes(reduction)), reduction.Phi)
    share = np.minimum(energy / np.maximum(omega2, 1e-300), LARGEST_SHARE)
    error = 1.0 / np.sqrt(1.0 - share) - 1.0  # omega^2 is too high by the energy of the error
    return result | {"mesh_error": np.column_stack([modal.frequency_hz, error])}


def loaded_nodes(reduction: Any) -> Ints:
    """Nodes where more than solids may act: interfaces, supports, connections, masses, other cells."""
    source, mesh = reduction.source, reduction.source.mesh
    n = source.fe.n_per_node
    parts = [item.nodes for item in source.interfaces]
    parts += [np.asarray(source.fixed, dtype=np.int64) // n, np.flatnonzero(source.nodal_masses)]
    parts += [rows.ravel() for kind, rows in mesh.cells.items() if ELEMENTS[kind].turns]
    if source.links is not None:
        dependent = np.asarray(source.links.dependent, dtype=np.int64)
        parts += [dependent // n, source.links.E_u.tocsr()[dependent].indices // n]
    nodes = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
    return np.asarray(nodes[nodes < mesh.n_nodes], dtype=np.int64)


def of_interest(quality: Mapping[str, Any]) -> Floats:
    """The estimates (mode, 2) up to the end of the band, and of the first mode in any case."""
    table = np.asarray(quality.get("mesh_error", np.zeros((0, 2))), dtype=float)
    if not len(table):
        return table
    top = float(quality.get("reduction_band_hz", 0.5 * table[-1, 0]))
    return table[: max(1, int((table[:, 0] <= top).sum()))]


def percent(error: float) -> str:
    return f"{MOST:.0%} or more" if error >= MOST else f"{error:.1%}"


def judge_mesh(quality: Mapping[str, Any], mesh: Mesh, where: str, found: Diagnostics) -> None:
    """Warn where the mesh alone moves frequencies that matter."""
    table = of_interest(quality)
    beyond = np.flatnonzero(table[:, 1:] > BOUND)
    if not len(beyond):
        return
    first, worst = int(beyond[0]), int(np.argmax(table[:, 1]))
    what = f"the mesh is coarse: frequencies are too high, by an estimate that of mode {first + 1} "
    what += f"({table[first, 0]:.4g} Hz) by {percent(table[first, 1])}"
    if worst != first:
        what += f" and that of mode {worst + 1} ({table[worst, 0]:.4g} Hz) by {percent(table[worst, 1])}"
    linear = any(ELEMENTS[kind].order == 1 for kind in mesh.cells)
    remedy = "take a finer mesh, or quadratic elements" if linear else "take a finer mesh"
    found.warn("fe.coarse", where, what, remedy)


def mesh_row(quality: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """The largest estimate as a row of the certificate: what, value, bound, verdict, remark."""
    table = of_interest(quality)
    if not len(table):
        return []
    worst = float(table[:, 1].max())
    remark = f"about {percent(table[0, 1])} too high in the first mode, {percent(worst)} at most up to "
    verdict = "ok" if worst <= BOUND else "BEYOND"
    return [(LABEL, f"{worst:.1e}", f"{BOUND:.0e}", verdict, f"{remark}{table[-1, 0]:.4g} Hz")]


def mesh_told(quality: Mapping[str, Any]) -> str:
    """Which cells the estimate leaves out, in words; "" where it holds for all."""
    without = list(quality.get("mesh_error_without", []))
    return f"not estimated for {', '.join(without)}" if without else ""
