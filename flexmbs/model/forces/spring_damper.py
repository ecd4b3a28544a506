"""Spring and damper along the line between two points (F16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flexmbs.model.forces.base import Number, PairForce, PythonNumber, force
from flexmbs.model.laws.tables import SPAN, SPAN_LAW


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

    def laws(self, build: Any) -> None:
        ends = {"p": build.marker(self.from_frame), "q": build.marker(self.to_frame)}
        if isinstance(self.force, PythonNumber):
            # a function of channels is a tension that does not follow length and rate by itself
            build.row(SPAN, (0.0, 0.0, 0.0, self.force), **ends)
        elif self.force is not None:
            build.row(SPAN_LAW, local=self.force, stiff=True, **ends)
        else:
            numbers = (self.stiffness, self.damping, self.length, self.preload)
            build.row(SPAN, numbers, stiff=True, **ends)
