"""Bodies and their frames, as plain data: what a case file says, in SI units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flexmbs.modaldata import ModalData

Array = NDArray[np.float64]

#: Name of the inertial body; its body frame is the inertial frame.
GROUND = "ground"


def _zeros() -> Array:
    return np.zeros(3)


def _eye() -> Array:
    return np.eye(3)


@dataclass(kw_only=True)
class Frame:
    """A marker on a body.

    On ground, rigid bodies and particles: origin `pos` (3,) and axes `rot` (3, 3), body <- frame.
    On flexible bodies a frame is an interface (made from the modal data) or one of: `at` undeformed body
    coordinates (3,), `nearest` the node nearest to them, `node` a node number of the mesh file.
    Entries of `pos` and `at` may be expressions of `t` (`flexmbs.expressions.Expression`): the frame travels.
    """

    pos: Sequence[Any] | Array = field(default_factory=_zeros)
    rot: Array = field(default_factory=_eye)
    at: Sequence[Any] | Array | None = None
    nearest: Sequence[float] | None = None
    node: int | None = None


@dataclass(kw_only=True)
class FreeStart:
    """Start of a body without joints: pose in ground (default: the body's `pose`) and velocities.

    `velocity` of the origin of the body frame and `angular_velocity`, both with components in
    `frame` = "ground" or "body".
    """

    pos: Sequence[float] | None = None
    rot: Array | None = None
    velocity: Sequence[float] = (0.0, 0.0, 0.0)
    angular_velocity: Sequence[float] = (0.0, 0.0, 0.0)
    frame: str = "ground"


@dataclass(kw_only=True)
class Body:
    """What all bodies have: a name, frames, the pose where they are drawn and assembly starts.

    `pose_pos`, `pose_rot`: place and orientation (ground <- body) of the body frame.
    `visual` is carried along for drawing and means nothing to the dynamics. `kinetic_energy` and
    `potential_energy`: expressions of joint coordinates, their rates and t, beside what its mass has (F32).
    """

    name: str
    frames: dict[str, Frame] = field(default_factory=dict)
    pose_pos: Sequence[float] | Array = field(default_factory=_zeros)
    pose_rot: Array = field(default_factory=_eye)
    pose_given: bool = False
    initial: FreeStart | None = None
    visual: dict[str, Any] | None = None
    kinetic_energy: Any = None
    potential_energy: Any = None


@dataclass(kw_only=True)
class RigidBody(Body):
    """Rigid body: `mass`, mass centre `com` (3,) in the body frame, `inertia` (3, 3) about it, body axes."""

    mass: float = 0.0
    com: Sequence[float] | Array = field(default_factory=_zeros)
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(kw_only=True)
class Particle(Body):
    """Mass point with three translations; it has no orientation, so joints on it hold its place only."""

    mass: float = 0.0


@dataclass(kw_only=True)
class FlexibleBody(Body):
    """Body with elastic coordinates, from modal data.

    `modes`: indices (from 0) of the modes kept, all when None. `D_ff` (nf, nf): damping matrix of the kept
    modes, made by the caller from ratios, Rayleigh constants or a matrix (F14); None keeps that of the data.
    `inertia_terms`: "full", "first-order" or "constant". `geometric_stiffening`: None: when data are there.
    `band` [Hz]: modes above it follow their loads without vibrating (`band.py`).
    `q`, `q_dot`: initial elastic coordinates; shorter sequences are filled with zeros.
    """

    modal: ModalData
    modes: Sequence[int] | None = None
    D_ff: Array | None = None
    inertia_terms: str = "full"
    geometric_stiffening: bool | None = None
    band: float = np.inf
    q: Sequence[float] | Array = ()
    q_dot: Sequence[float] | Array = ()
