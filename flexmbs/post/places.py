"""Places, axes and inertias out of the tables of a resolved case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.modaldata import ModalData
from flexmbs.post.record import Floats, Record, table
from flexmbs.spatial import axis_angle, quat_to_matrix


def up_axis(gravity: Any) -> Floats:
    """Direction against gravity, along the nearest axis; z without gravity."""
    g = np.asarray(gravity if gravity is not None else (0.0, 0.0, 0.0), dtype=float)
    up = np.zeros(3)
    k = int(np.argmax(np.abs(g))) if g.shape == (3,) and np.any(g) else 2
    up[k] = 1.0 if not np.any(g) or g[k] < 0.0 else -1.0
    return up


def inertia_matrix(given: Any) -> Floats:
    """Inertia (3, 3) of a case's table or matrix; zero when there is none."""
    if isinstance(given, Mapping):
        ixx, iyy, izz, ixy, ixz, iyz = (
            float(given.get(k) or 0.0) for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        )
        return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    matrix = np.asarray(given if given is not None else 0.0, dtype=float)
    return matrix if matrix.shape == (3, 3) else np.zeros((3, 3))


def frame_of(
    record: Record, body: str, frame: str, modal: ModalData | None = None
) -> tuple[Floats, Floats, Floats | None]:
    """Place and axes of a frame in its body, and on a flexible body its rows Phi."""
    if not frame:
        return np.zeros(3), np.eye(3), None
    if modal is not None and frame in modal.interfaces:
        found = modal.interfaces[frame]
        return found.position, found.rotation, found.Phi
    owner = ("ground",) if body == "ground" else ("bodies", body)
    data = table(record.case, *owner, "frames", frame)
    if modal is not None and any(key in data for key in ("at", "node", "nearest")):
        rows = {key: data[key] for key in ("at", "node", "nearest") if data.get(key) is not None}
        u0, Phi, _ = modal.marker_rows(**rows)
        return u0, rotation_of(data.get("rot")), Phi
    return numbers(data.get("pos") or data.get("at")), rotation_of(data.get("rot")), None


def numbers(values: Any) -> Floats:
    """Three numbers; entries that are expressions of time count as zero."""
    out = np.zeros(3)
    for k, value in enumerate(values or ()):
        out[k] = value if isinstance(value, int | float) else 0.0
    return out


def rotation_of(rot: Any) -> Floats:
    """Rotation of a resolved `rot` table: a matrix, axis and angle, or quaternion; 1 when absent."""
    if isinstance(rot, Mapping):
        if rot.get("matrix") is not None:
            return np.asarray(rot["matrix"], dtype=float)
        if rot.get("axis") is not None:
            return axis_angle(rot["axis"], float(rot.get("angle") or 0.0))
        if rot.get("quaternion") is not None:
            return quat_to_matrix(rot["quaternion"])
    matrix = np.asarray(rot if isinstance(rot, list) else np.eye(3), dtype=float)
    return matrix if matrix.shape == (3, 3) else np.eye(3)
