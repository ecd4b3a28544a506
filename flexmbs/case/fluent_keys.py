"""What methods of `fm.Model` take, as the tables of a case file have it: for editors and type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from flexmbs.case.fluent import Place

Number = float | str
Vector = Sequence[Number]


class FrameKeys(TypedDict, total=False):
    """Where a frame is: `pos` on rigid bodies and ground, `at`, `nearest` or `node` on flexible ones."""

    pos: Vector
    rot: Mapping[str, Any]
    at: Vector
    nearest: Vector
    node: int


class BodyKeys(TypedDict, total=False):
    """Keys of [bodies.NAME]."""

    mass: Number
    com: Vector
    inertia: Mapping[str, Number]
    pose: Mapping[str, Any]
    frames: Mapping[str, Mapping[str, Any]]
    initial: Mapping[str, Any]
    visual: Mapping[str, Any]
    kinetic_energy: Number
    potential_energy: Number
    recipe: Mapping[str, Any]
    modes: int | Sequence[int] | Mapping[str, Any]
    damping: Mapping[str, Any]
    inertia_terms: Literal["full", "first-order", "constant"]
    geometric_stiffening: bool


class ParticleKeys(TypedDict, total=False):
    """Keys of a mass point."""

    pose: Mapping[str, Any]
    initial: Mapping[str, Any]
    visual: Mapping[str, Any]
    kinetic_energy: Number
    potential_energy: Number


class JointKeys(TypedDict, total=False):
    """Keys of all joints."""

    axis: str | Vector
    point: Vector
    initial: Mapping[str, Any]
    cut: bool
    compliance: Vector
    spring: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    damper: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    friction: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    stop: Mapping[str, Any] | Sequence[Mapping[str, Any]]


class SpringKeys(TypedDict, total=False):
    """Keys of a joint spring."""

    free: Number
    force: Number
    coordinate: str


class DamperKeys(TypedDict, total=False):
    """Keys of a joint damper."""

    force: Number
    coordinate: str


class FrictionKeys(TypedDict, total=False):
    """Keys of friction in a joint."""

    effort: Number
    coefficient: Number
    radius: Number
    stiction_velocity: Number
    coordinate: str


class StopKeys(TypedDict, total=False):
    """Keys of stops."""

    lower: Number
    upper: Number
    stiffness: Number
    damping: Number
    coordinate: str


class DriveKeys(TypedDict, total=False):
    """Keys of a drive."""

    coordinate: str
    position: Any
    velocity: Any
    acceleration: Any


class GearKeys(TypedDict, total=False):
    """Keys of gear pairs."""

    carrier: Place
    internal: bool
    module: Number
    pressure_angle: Number


class CamKeys(TypedDict, total=False):
    """Keys of cams."""

    lift: Number
    table: str
    profile: Mapping[str, Any]
    roller: Number
    at: Place
    pushes: Literal["up", "down"]
    unilateral: bool


class PlacedKeys(TypedDict, total=False):
    """Keys of a force at one place."""

    at: Any
    in_: Place


class SpringDamperKeys(TypedDict, total=False):
    """Keys of a spring between two frames."""

    stiffness: Number
    damping: Number
    length: Number
    preload: Number
    force: Number


class SensorKeys(TypedDict, total=False):
    """Keys of a sensor."""

    on: Place
    at: Any
    relative_to: Place
    joint: Place
    value: str


class AnalysisKeys(TypedDict, total=False):
    """Keys of [analysis]."""

    type: Literal["assembly", "kinematics", "inverse_dynamics", "statics", "dynamics", "linearize"]
    formulation: Literal["recursive", "minimal", "descriptor"]
    t_end: Number
    until: str
    start: str
    method: Literal["auto", "generalized-alpha", "dopri5", "dop853", "rk4", "radau", "cvode", "ida"]
    rho_inf: float
    step: Number
    rtol: float
    atol: float
    band: Number
    redundant: Literal["least-norm", "error"]
    about: Literal["assembled", "equilibrium"]
    motion: str
    independent: Sequence[Place]
    stabilisation: Literal["projection", "baumgarte"]
    elastic: Literal["dynamic", "quasi-static"]
    inputs: Sequence[str]
    outputs: Sequence[str]
    frequencies: Any
    campbell: Mapping[str, Any]


class OutputKeys(TypedDict, total=False):
    """Keys of [output]."""

    file: str
    every: Number
    times: Sequence[Number]
    checkpoint_every: Number
