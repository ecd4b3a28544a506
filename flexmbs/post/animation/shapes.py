"""Modes of the whole system, out of a `linearize` result, as motions of its bodies.

A result holds them as `/linear/motion/<body>` (mode, 6 + nf, re im): velocity of the origin and angular
velocity in ground axes, then elastic speeds, of every body in each mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.post.record import Floats, Record
from flexmbs.post.scene import Scene, SceneBody

SHARE = 0.06  # of the scene's radius: how far the largest displacement of a mode is drawn


def system_modes(record: Record, scene: Scene) -> list[dict[str, Any]]:
    """Per mode its text and frequency, and per body (6 + nf, re im): translation, rotation, modes."""
    frequency = record.get("linear/frequency_hz")
    motions = [record.get(f"linear/motion/{body.name}") for body in scene.bodies]
    if frequency is None or any(motion is None for motion in motions):
        return []
    damping = record.get("linear/damping_ratio")
    modes = []
    for k, hertz in enumerate(np.asarray(frequency, dtype=float)):
        shapes = [np.asarray(motion[k], dtype=float) for motion in motions]
        largest = max(_reach(body, shape) for body, shape in zip(scene.bodies, shapes, strict=True))
        modes.append(
            {
                "text": "" if damping is None else f"damping {100.0 * float(damping[k]):.3g} %",
                "frequency_hz": float(hertz),
                "amplitude": SHARE * scene.radius() / largest if largest > 0.0 else 0.0,
                "bodies": shapes,
            }
        )
    return modes


def _reach(body: SceneBody, shape: Floats) -> float:
    """Bound of the displacement of the body's points at unit amplitude."""
    size = np.linalg.norm(shape, axis=1)
    arm = float(np.linalg.norm(body.mesh.points, axis=1).max(initial=0.0))
    found = float(np.linalg.norm(size[:3])) + arm * float(np.linalg.norm(size[3:6]))
    if body.skin is not None and len(body.skin.Phi) == len(size) - 6:
        found += float(np.abs(size[6:]) @ np.linalg.norm(body.skin.Phi, axis=2).max(axis=1, initial=0.0))
    return found
