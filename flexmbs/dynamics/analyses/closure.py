"""How near to closed is closed: by the size of the mechanism and of the elements of its parts (F34)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.bodies import Body, FlexibleBody

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.system import System

Array = NDArray[np.float64]

#: what may be left of a closed row, of the size of the model; of the length of an element, by an interface
CLOSED, MESHED = 1e-9, 1e-5
#: cells that tell the size of elements; what is rounding of a row; what a coarse mesh may make of a centroid
LOOKED_AT, ROW_NOISE, OF_MESH = 200, 1e-11, 1e-3


def model_size(system: System) -> float:
    """A length of the model: its largest marker distance, at least a millimetre."""
    return max(float(np.abs(system.tables.marker.u0).max(initial=0.0)), 1e-3)


def closure_limits(system: System) -> Array:
    """What may be left open of every row: rounding, and what the mesh of a part makes of its interfaces.

    Lengths follow the size of the model and of the elements, angles what these make of it.
    """
    size, limits = model_size(system), []
    edge = {name: element_size(body) for name, body in system.model.bodies.items()}
    for group in system.groups:
        for row in group.rows:
            ends = [m.body for _, entry in row.entries for m in (entry.P, entry.Q)]
            mesh = MESHED * max((edge.get(name, 0.0) for name in ends), default=0.0)
            if group.kind != "joint":
                limits.append(CLOSED * max(size, 1.0))
            elif row.text.startswith("rotation"):
                limits.append(CLOSED + mesh / size)
            else:
                limits.append(CLOSED * size + mesh)
    return np.array(limits)


def element_size(body: Body) -> float:
    """Typical length of an edge of the mesh behind a body; zero where there is none."""
    mesh = getattr(body.modal, "mesh", None) if isinstance(body, FlexibleBody) else None
    if mesh is None:
        return 0.0
    edges = [mesh.points[nodes[:LOOKED_AT, 1]] - mesh.points[nodes[:LOOKED_AT, 0]]
             for nodes in mesh.cells.values() if nodes.ndim == 2 and nodes.shape[1] > 1]  # fmt: skip
    return float(np.median(np.linalg.norm(np.concatenate(edges), axis=1))) if edges else 0.0


def keep_apart(system: System, evaluator: Evaluator) -> None:
    """Rows of joints that nothing can close keep what they are open by: the motion then keeps it too."""
    rows = np.array([group.kind == "joint" for group in system.groups for _ in group.rows], dtype=bool)
    open_by = np.where(rows & (system.tables.row.side == 0.0), evaluator.ws.row.g, 0.0)
    system.tables.row.const[:] += np.where(np.abs(open_by) > ROW_NOISE * model_size(system), open_by, 0.0)


def cause(system: System, where: str, left: float) -> str:
    """What to look at: what is driven or held does not give way, interfaces stand where the mesh has them."""
    fixed = [f"drives.{name}" for name in system.model.drives]
    fixed += [f"joints.{name} (hold)" for name, joint in system.model.joints.items() if joint.hold]
    kept = f", and whether {', '.join(fixed[:6])} leave it room" if fixed else ""
    joint = system.model.joints.get(where.partition(".")[2])
    faces = (
        [path for path in (joint.from_frame, joint.to_frame) if _is_interface(system, path)]
        if joint is not None
        else []
    )
    if faces and left <= OF_MESH * model_size(system):
        centre = "; the centroid of a mesh is not exact: give `pos` of these interfaces in the recipe"
        return f"check where {' and '.join(faces)} stand{centre}{kept}"
    return f"check lengths, poses and initial values{kept}"


def _is_interface(system: System, path: str) -> bool:
    name, _, face = path.partition(".")
    body = system.model.bodies.get(name)
    return isinstance(body, FlexibleBody) and face in body.modal.interfaces
