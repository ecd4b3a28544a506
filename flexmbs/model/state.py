"""The state of a system: what a time loop carries, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Told

Array = NDArray[np.float64]


@dataclass
class State(Told):
    """Time [s], positions `pos`, speeds `vel`, own states of the case `aux`.

    `turns` (n_entries,) holds the angles of cut joints, integrated beside the motion by their rates: they
    tell whole turns apart. NaN: the angle of a screw is as its travel has it.
    """

    t: float
    pos: Array
    vel: Array
    aux: Array
    turns: Array

    def copy(self) -> State:
        return State(self.t, self.pos.copy(), self.vel.copy(), self.aux.copy(), self.turns.copy())
