"""What a run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, UsageError
from flexmbs.integrate import Steps

Floats = NDArray[np.float64]
MAX_SAMPLES = 10_000_000
MAX_BYTES = 2**33


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Analysis, method and output times of a run, as in `[analysis]` and `[output]` of a case.

    `step` 0 is adaptive. `every` None is t_end/1000. `checkpoint_every` None commits about every ten seconds
    of wall time. `until`: whether the system has a free expression of that name that ends the run. `inputs`,
    `outputs`, `frequencies` [Hz]: those of a linear model and its frequency response. `steps`: those of
    another run, to be repeated, or empty, to be filled by this one.
    """

    type: str = "dynamics"
    t_end: float = 0.0
    method: str = "auto"
    rtol: float = 1e-6
    atol: float = 1e-9
    step: float = 0.0
    rho_inf: float = 0.8
    formulation: str = "recursive"
    stabilisation: str = "projection"
    start: str = "assembled"
    about: str = "equilibrium"
    elastic: str = "dynamic"
    redundant: str = "least-norm"
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    frequencies: tuple[float, ...] = ()
    every: float | None = None
    times: tuple[float, ...] = field(default_factory=tuple)
    checkpoint_every: float | None = None
    steps: Steps | None = None

    def check_size(self, t_start: float, sample_bytes: int) -> None:
        """Refuse a result that is too large before anything of it is computed."""
        wanted = len(self.output_times(t_start)) * sample_bytes
        if wanted > MAX_BYTES:
            size = f"{wanted / 2**30:.1f} GiB in samples of {sample_bytes} bytes are asked for"
            what = f"{size}, more than the limit of {MAX_BYTES / 2**30:g} GiB"
            raise UsageError(Diagnostic("output.samples", "output.every", what, "choose a longer interval"))

    def output_times(self, t_start: float = 0.0) -> Floats:
        """All output times: a grid from the start, the end, and the further times; sorted, each once."""
        if self.t_end <= t_start:
            return np.array([t_start])
        every = self.every or (self.t_end - t_start) / 1000.0
        wanted = (self.t_end - t_start) / every * (1.0 + 1e-12) if every > 0.0 else np.inf
        if not wanted <= MAX_SAMPLES:
            what = f"{wanted:.4g} samples are asked for, more than {MAX_SAMPLES}"
            raise UsageError(Diagnostic("output.samples", "output.every", what, "choose a longer interval"))
        return _grid(t_start, self.t_end, every, int(wanted), tuple(self.times)).copy()


@lru_cache(maxsize=1)
def _grid(t_start: float, t_end: float, every: float, count: int, further: tuple[float, ...]) -> Floats:
    """Times of a grid, the end, and further times; a run asks for them several times, as its designs do."""
    grid = t_start + every * np.arange(count + 1)
    grid[np.abs(grid - t_end) < 1e-9 * every] = t_end
    inside = [t for t in further if t_start <= t <= t_end]
    times = np.unique(np.concatenate([grid[grid <= t_end], [t_end], inside]))
    # a time that is asked for by name replaces its rounded neighbour of the grid
    named = np.isin(times, [*inside, t_end, t_start])
    close = np.diff(times) < 1e-9 * every
    drop = np.zeros(len(times), dtype=bool)
    drop[:-1] |= close & ~named[:-1]
    drop[1:] |= close & named[:-1] & ~named[1:]
    return times[~drop]
