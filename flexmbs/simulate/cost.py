"""What a run costs, told before it and in its first seconds: the time, what limits steps, and the remedy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.speeds import speed_paths
from flexmbs.model.band import above, band_of_recipe
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.system import System
from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]
#: wall time after which the cost is told, and the least that must be to go then [s]
PATIENCE, WORTH_SAYING = 3.0, 15.0
#: step times the highest angular frequency from which on an explicit method is held by it
HELD_BACK = 0.5
#: part of the time to go over which rates are seen to change
SMALL = 1e-7
#: wall time over which a motion is tried [s]
TRIAL = 0.5


class Mark(NamedTuple):
    """How far a run has come at a time of the wall clock."""

    wall: float
    t: float
    steps: int


@dataclass
class Cost:
    """Tells once, when a run has gone on for a while, how long it will take and why."""

    system: System
    settings: RunSettings
    say: Callable[[str], None]
    t_start: float
    begun: float = field(default_factory=time.monotonic)
    told: bool = False

    def look(self, run: Any) -> None:
        """Called between slices of a run."""
        spent = time.monotonic() - self.begun
        if self.told or spent < PATIENCE:
            return
        self.told = True
        done, left = run.t - self.t_start, self.settings.t_end - run.t
        to_go = spent * left / done if done > 0.0 else np.inf
        if to_go < WORTH_SAYING:
            return
        words = f"t = {run.t:.3g} of {self.settings.t_end:g} s after {spent:.0f} s: {duration(to_go)} to go"
        self.say("; ".join([words, *self._why(run)]))

    def tried(self, run: Any) -> dict[str, Any]:
        """Steps and wall time of the whole motion, by its first moments: `seconds`, `steps`, `text`."""
        if not run.finished:
            run.advance()  # what is loaded on the way is not the motion's
        begun = half = self._mark(run)
        while not run.finished and time.monotonic() - begun.wall < TRIAL:
            if time.monotonic() - begun.wall < 0.5 * TRIAL:  # the first steps are not those of the motion
                half = self._mark(run)
            run.advance()
        now = self._mark(run)
        since = half if now.t > half.t else begun
        ahead = (self.settings.t_end - now.t) / (now.t - since.t) if now.t > since.t else np.inf
        ahead = 0.0 if run.finished else ahead
        if not np.isfinite(ahead):
            text = "; ".join([f"no step in {now.wall - self.begun:.2g} s", *self._why(run)])
            return {"seconds": None, "steps": None, "text": text}
        seconds = now.wall - self.begun + ahead * (now.wall - since.wall)
        steps = now.steps + ahead * (now.steps - since.steps)
        about = steps if run.finished or steps <= 0.0 else round_down(steps)
        text = duration(seconds) + (f" for {about:.0f} steps" if steps > 0.0 else "")
        if not run.finished:
            most = "at most " if "until" in self.system.laws.free else ""
            by = f"by the first {now.t - self.t_start:.2g} s of the motion"
            text = "; ".join([f"{most}{text}, {by}", *self._why(run)])
        return {"seconds": seconds, "steps": int(steps), "text": text}

    def _mark(self, run: Any) -> Mark:
        return Mark(time.monotonic(), float(run.t), int(run.statistics()["steps"]))

    def _why(self, run: Any) -> list[str]:
        """What limits the step and what helps, where the run knows."""
        memory = getattr(run, "memory", None)
        if self.settings.step > 0.0:
            return [f'the step is fixed at {self.settings.step:g} s: step = "auto" chooses it']
        if not getattr(run, "compiled", True):
            return self._of_reference(run)
        if memory is None or not memory.h_last[0] > 0.0:
            return []
        speed = self._fastest(float(memory.h_last[0])) if run.options.explicit == 1 else None
        speed = limiting_speed(run) if speed is None else speed
        words = [f"steps of {memory.h_last[0]:.2g} s"]
        return words if speed is None else [*words, self._named(speed)]

    def _of_reference(self, run: Any) -> list[str]:
        """The same of methods of other libraries, which do not say what their steps heed."""
        if run.problem.form is not None and run.problem.form.name == "kinematics":  # own states alone matter
            return []
        count = run.statistics()["evaluations"]
        words = [f'{count} evaluations, through Python: "generalized-alpha" and "dop853" are compiled']
        speed = changing_speed(run)
        return words if speed is None else [*words, self._named(speed)]

    def _fastest(self, step: float) -> int | None:
        """The speed of the highest mode, where an explicit method can take no longer steps because of it."""
        t, found, highest = self.system.tables, None, HELD_BACK / (2.0 * np.pi * step)
        for i, name in enumerate(self.system.bodies):
            body = self.system.model.bodies.get(name)
            if isinstance(body, FlexibleBody) and t.body.nf[i]:
                frequency = np.asarray(body.modal.frequency_hz, dtype=float)
                frequency = np.nan_to_num(frequency if body.modes is None else frequency[list(body.modes)])
                if frequency.max() > highest:
                    highest = float(frequency.max())
                    found = int(t.tree.o_qd[i]) + int(np.argmax(frequency))
        return found

    def _named(self, speed: int) -> str:
        """The coordinate of a speed that limits the step, with a remedy."""
        t = self.system.tables
        name = speed_paths(self.system, np.array([speed]))[0]
        for i, part in enumerate(self.system.bodies):
            body, mode = self.system.model.bodies.get(part), speed - int(t.tree.o_qd[i])
            if isinstance(body, FlexibleBody) and 0 <= mode < int(t.body.nf[i]):
                return self._mode(name, body, mode)
        return (
            f"{name} limits them: look for stiff springs, bushings, stops or fast loads there, or raise rtol"
        )

    def _mode(self, name: str, body: FlexibleBody, mode: int) -> str:
        pick = np.arange(body.modal.nf) if body.modes is None else np.asarray(body.modes)
        frequency = float(np.asarray(body.modal.frequency_hz)[pick][mode])
        if above(body)[mode]:
            remedy = 'method = "generalized-alpha" is not held by it'
            return f"{name} ({frequency:.4g} Hz) limits them, though it does not vibrate: {remedy}"
        band = band_of_recipe(body)
        remedy = f'band = "{round_down(0.5 * frequency):g} Hz" lets it follow without vibrating'
        if np.isinf(body.band) and above(body, band)[mode]:
            remedy = (
                f'it lies above the band of its recipe: band = "{round_down(band):g} Hz", or a lower one, '
                "lets it follow without vibrating"
            )
        others = "or damp it, start in equilibrium, raise rtol"
        return f"{name} ({frequency:.4g} Hz) limits them: {remedy}; {others}"


def changing_speed(run: Any) -> int | None:
    """The speed whose rate changes fastest along the motion, in units of its tolerance."""
    problem, n = run.problem, run.problem.n_pos
    y, ahead, rates = run.y.copy(), np.zeros(problem.size), np.zeros(problem.size)
    if problem.rates(problem.data, run.t, y, rates) != 0 or not np.isfinite(rates).all():
        return None
    step = SMALL * (run.t_end - run.t)
    if problem.rates(problem.data, run.t + step, y + step * rates, ahead) != 0:
        return None
    bend = np.abs(ahead - rates)[n : n + problem.n_vel]
    size = run.settings.atol + run.settings.rtol * np.abs(y[n : n + problem.n_vel])
    return int(np.argmax(np.nan_to_num(bend / size)))


def limiting_speed(run: Any) -> int | None:
    """The speed whose coordinate has the largest error in the last step; None where it is none of these."""
    problem, memory, scratch = run.problem, run.memory, run.scratch
    n_pos, n_vel = problem.n_pos, problem.n_vel
    atol, rtol = run.settings.atol, run.settings.rtol
    if run.options.explicit == 0:
        if memory.history[0] < 2:
            return None
        twin = problem.twins
        scale = np.where(twin >= 0, np.nan_to_num(scratch.scale)[problem.groups[twin]], 1.0)
        error = np.abs(memory.a - memory.a_prev) * memory.h_last[0] ** 2
        return int(np.argmax(np.nan_to_num(error / (atol + rtol * scale))))
    count = run.options.n_control
    size = np.nan_to_num(scratch.scale)[problem.groups]
    worst = int(np.argmax(np.nan_to_num(np.abs(scratch.err[:count]) / (atol + rtol * size[:count]))))
    if worst >= n_pos + n_vel:
        return None
    if worst >= n_pos:
        return worst - n_pos
    found = np.flatnonzero(problem.twins == worst)
    return int(found[0]) if len(found) else None


def round_down(value: float) -> float:
    """To two digits."""
    if not value > 0.0:
        return 0.0
    digits = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return float(np.floor(value / digits) * digits)


def duration(seconds: float) -> str:
    """For people."""
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2.0 * size:
            return f"about {round_down(seconds / size):g} {unit}" if np.isfinite(seconds) else "no end"
    return f"about {round_down(seconds):g} s"
