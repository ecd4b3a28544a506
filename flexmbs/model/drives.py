"""Drives: joint coordinates prescribed as functions of time (F19, rheonomic)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions import Expression


@dataclass(kw_only=True)
class Drive:
    """Prescribes one coordinate of a joint: exactly one of `position`, `velocity`, `acceleration`.

    Each is a number or an expression of t alone, an acceleration also of inputs. `follows`: velocity, an
    expression of outputs of FMUs, that the acceleration leads to, from communication point to communication
    point. A velocity is integrated from the joint's initial
    position, an acceleration from its initial position and velocity. `coordinate` may be left out where the
    joint has only one. The rotation of a ball is one coordinate: its position is a `RotationLaw`, its
    velocity and acceleration are three numbers or expressions, the angular velocity of Q against P in the
    axes of Q and the rates of these components.
    """

    name: str
    joint: str
    coordinate: str | None = None
    position: Any = None
    velocity: Any = None
    acceleration: Any = None
    follows: Any = None


@dataclass(frozen=True)
class RotationLaw:
    """Rotation that takes axes of Q to P, over the time (F19a).

    `form` says what `laws` give: "angles" about the directions `axes` (n, 3), one after the other, each in
    the axes turned by those before; "quaternion" w, x, y, z of any length; "matrix" row by row.
    """

    form: str
    laws: tuple[Expression, ...]
    axes: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))

    def defect(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far the laws are from a rotation at the times t (n,); angles are none."""
        value = np.array([np.broadcast_to(law.evaluate(lambda node: t), t.shape) for law in self.laws])
        if self.form == "quaternion":
            return np.where(np.linalg.norm(value, axis=0) > 1e-6, 0.0, 1.0)
        if self.form == "matrix":
            R = value.T.reshape(-1, 3, 3)
            off = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2))
            return np.where(np.linalg.det(R) > 0.0, off, np.maximum(off, 1.0))
        return np.zeros(len(t))
