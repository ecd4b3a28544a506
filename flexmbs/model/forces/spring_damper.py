"""Spring and damper along the line between two points (F16)."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.model.forces.base import Number, PairForce, force


@force("spring_damper")
@dataclass(kw_only=True)
class SpringDamper(PairForce):
    """Tension `stiffness*(x - length) + damping*v + preload`; x: distance [m], v: its rate (F16).

    `force` takes the place of the numbers: tension [N] as an expression of x, v, t and channels.
    """

    stiffness: Number = 0.0
    damping: Number = 0.0
    length: Number = 0.0
    preload: Number = 0.0
    force: Number | None = None
