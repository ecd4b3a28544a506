"""Spring and damper along the line between two points (F16)."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import model_validator

from flexmbs import units
from flexmbs.input.laws import ForceLaw, force_law
from flexmbs.input.values import fail, not_negative
from flexmbs.model.forces.base import Number, PairForce, PairKeys, PythonNumber, force
from flexmbs.model.laws.tables import SPAN, SPAN_LAW


@force("spring_damper")
@dataclass(kw_only=True)
class SpringDamper(PairForce):
    """Tension `stiffness*(x - length) + damping*v + preload`; x: distance [m], v: its rate (F16).

    `force` takes the place of the numbers: tension [N] as an expression of x, v, t and channels.
    """

    class Keys(PairKeys):
        """Spring and damper between two frames, or `force` of x (length), v (its rate); tension positive."""

        stiffness: force_law(units.STIFFNESS) | None = None
        damping: not_negative(force_law(units.DAMPING)) | None = None
        length: force_law(units.LENGTH) | None = None
        preload: ForceLaw | None = None
        force: ForceLaw | None = None

        @model_validator(mode="after")
        def _check(self) -> SpringDamper.Keys:
            numbers = (self.stiffness, self.damping, self.preload)
            if self.force is not None and (self.stiffness is not None or self.damping is not None):
                raise fail("a spring_damper has either force, or stiffness and damping")
            if self.force is None and all(number is None for number in numbers):
                raise fail("a spring_damper needs stiffness, damping, preload or force")
            if self.stiffness is not None and self.length is None:
                raise fail('a spring_damper with stiffness needs its free "length"')
            return self

    variables: ClassVar[tuple[str, ...]] = ("x", "v")
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
