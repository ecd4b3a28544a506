"""How fast a run comes on: one whose steps shrink without end is ended before it takes years."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Pace:
    """Looks at every `window` steps whether more than `most` were needed to the end at this pace."""

    t: float
    t_end: float
    window: int = 20_000
    most: float = 1e9
    steps: int = 0

    def left(self, steps: int) -> int:
        """Steps to the next look, which does not depend on when it is asked for."""
        return self.window - (steps - self.steps)

    def lost(self, steps: int, t: float) -> str:
        """Why the end is out of reach, after so many steps; "" while it is not."""
        if self.left(steps) > 0:
            return ""
        step = (t - self.t) / (steps - self.steps)
        self.steps, self.t = steps, t
        if step * self.most > self.t_end - t:
            return ""
        return f"the last {self.window} were {step:.1e} s each, too short to come to t = {self.t_end:.6g} s"
