"""Modes of the whole system, out of a `linearize` result, as motions of its bodies.

A result holds them as `/linear/motion/<body>` (mode, 6 + nf, re im): velocity of the origin and angular
velocity in ground axes, then elastic speeds, of every body in each mode.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flexmbs.post.record import Floats, Record
from flexmbs.post.scene import Scene, SceneBody
from flexmbs.spatial import exp_so3, quat_from_matrix, quat_multiply

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
        modes.append(
            {
                "text": "" if damping is None else _damped(float(damping[k])),
                "frequency_hz": float(hertz),
                "amplitude": drawn_amplitude(scene, shapes),
                "bodies": shapes,
            }
        )
    return modes


def drawn_amplitude(scene: Scene, shapes: list[Floats]) -> float:
    """By what the shapes of all bodies are multiplied to be seen well."""
    largest = max(_reach(body, shape) for body, shape in zip(scene.bodies, shapes, strict=True))
    return SHARE * scene.radius() / largest if largest > 0.0 else 0.0


def _damped(ratio: float) -> str:
    """The damping in words; rounding is none."""
    return "undamped" if abs(ratio) < 1e-9 else f"{100.0 * ratio:.3g} % damped"


def mode_title(modes: list[dict[str, Any]], k: int) -> str:
    """`mode 3 of the system, 65.7 Hz, 0.85 % damped`."""
    mode = modes[k]
    words = [f"mode {k + 1} of the system", f"{mode['frequency_hz']:.4g} Hz", mode["text"]]
    return ", ".join(word for word in words if word)


def swinging(scene: Scene, mode: dict[str, Any], phases: Floats) -> Scene:
    """The bodies at `phases` of a system mode: real part of shape * exp(i phase) added to where they are."""
    turn = np.stack([np.cos(phases), -np.sin(phases)])
    bodies = []
    for body, shape in zip(scene.bodies, mode["bodies"], strict=True):
        moved = mode["amplitude"] * (np.asarray(shape, dtype=float) @ turn).T  # (phase, 6 + nf)
        quaternion = np.array(
            [quat_multiply(quat_from_matrix(exp_so3(row[3:6])), body.quaternion[0]) for row in moved]
        )
        position, q = body.position[0] + moved[:, :3], np.zeros((len(moved), 0))
        if body.q.shape[1]:
            q = body.q[0] + moved[:, 6:]
        bodies.append(replace(body, position=position, quaternion=quaternion, q=q, static=None))
    return replace(scene, time=np.asarray(phases), bodies=bodies)


def _reach(body: SceneBody, shape: Floats) -> float:
    """Bound of the displacement of the body's points at unit amplitude."""
    size = np.linalg.norm(shape, axis=1)
    arm = float(np.linalg.norm(body.mesh.points, axis=1).max(initial=0.0))
    found = float(np.linalg.norm(size[:3])) + arm * float(np.linalg.norm(size[3:6]))
    if body.skin is not None and len(body.skin.Phi) == len(size) - 6:
        found += float(np.abs(size[6:]) @ np.linalg.norm(body.skin.Phi, axis=2).max(axis=1, initial=0.0))
    return found
