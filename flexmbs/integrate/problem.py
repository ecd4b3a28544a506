"""What an integrator sees of a system: a state vector and seven functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel

Array = NDArray[np.float64]
Function = Callable[..., int]
#: What a caller of `project` may write into out[2]: only held values are to change; the rates of this very
#: state were the last evaluation; neither, but a step ends here. All three are said of ends of steps alone.
HOLD, SEEN, END = -1.0, -2.0, -3.0
#: part of the bound of an error by which closing the loops may move the end of a step
DISPLACED = 0.1
#: so far may the pose of the end of a step be from where the rate of an angle leads to [rad]
TURN = 1.0
#: What a caller of `turn` passes as `chosen` just before the zero of function k: BEFORE - k
BEFORE = -2


@kernel(lean=True)
def regular(data, out):
    """Nearness of equations whose constraints keep their rank everywhere. Writes: out."""
    out[0], out[1], out[2] = 1e300, 0.0, 0.0
    return 0


@kernel(lean=True)
def none_turned(data, t, y, chosen, s, turned):
    """No switching function changes the equations. Writes: turned."""
    turned[:] = 0.0
    return 0


@dataclass(frozen=True)
class Problem:
    """State vector y = [pos, vel, aux, held] and the functions of its equations.

    `data` is handed to every function as first argument: a named tuple of arrays, whatever they need.
    All functions are kernels; they return 0, or a positive status when this state cannot be evaluated (the
    step is then tried again with half its size).

    rates(data, t, y, y_dot)
        y_dot = [H_kin eta; accelerations; aux_dot; 0], loops on acceleration level (F22-F26).
    shifted(data, t, y, a, bh, gh, a_new, aux_dot)
        One pass of (F43) with loops on position level (F44): accelerations `a` -> `a_new`.
    increment(data, y, delta, y_new)
        Positions of y_new = those of y (+) delta, with delta in the space of speeds.
    project(data, t, y, bh, gh, out)
        Positions and speeds of y onto the constraints, in place, in the metric of M + Sh; held values are
        brought up to date, followed angles corrected. out = [largest closure of positions, of speeds, 1
        if y was changed], after it.
        With out[2] = HOLD before it, positions and speeds stay: only those are brought up to date; SEEN
        spares an evaluation where `rates` has just been called for this state.
    switches(data, t, y, s)
        Switching functions; their zeros are located.
    nearness(data, out)
        Of the state that was evaluated last: out = [distance from a change point, about 1 far away; group of
        constraints concerned; closure of positions, over that which `project` refuses].

    turn(data, t, y, chosen, s, turned)
        At a zero of switching function `chosen` (-1: none, at the start): change the state where that
        changes the equations. s are the switching functions, then those of the new state; turned[k] = 1, -1
        or 2 where function k turned, else 0. Called before the zero too, with BEFORE - chosen, to take note
        of the state there. The last `n_sided` functions are positive before and after they turn.

    `jumps` (n_switch,) is 1 for functions at whose zeros speeds jump: they are passed from strictly before to
    strictly behind, a start on one of them too; 2 where positions say when, so that a motion may rest there.
    `aux` ends with `n_quad` quadratures, on which nothing depends (work, dissipation), and `n_follow` values
    that follow angles which positions have within a turn: `project` sets them to the nearest of the pose, and
    a step in which it moves one by more than TURN is rejected; without `turns` none is an angle. With
    `works` the quadratures take part in error control: where drives do work, no error of the motion tells
    that of their work. `held` are values that stay as they are during a step and are brought up to date by
    `project` (contacts).
    `closed`: there are constraints. `twin` (n_vel,) is the place in pos of the coordinate of a speed, -1 for
    rotations (whose scale is 1).
    `bound` (n_vel,) is the largest local error of the displacements in a step where constraints fix them:
    positions are then exact with any step, but speeds are not, and beyond a part of a turn another branch
    of a loop is as near. Infinite for modes, and where nothing is said.
    `reach` (n_vel,) is the largest displacement in a step under error control; infinite where nothing is
    said.
    `longest`: the longest step under error control. `energy`: size of the quadratures at the start.
    `form`: what is behind the functions where that is Python's (see simulate/motion/given.py), or None.
    `group` (n_pos + n_vel + n_aux,) gives components that share one scale in error control the same number.
    """

    data: Any
    n_pos: int
    n_vel: int
    n_aux: int
    rates: Function
    shifted: Function
    increment: Function
    project: Function
    switches: Function
    nearness: Function = regular
    turn: Function = none_turned
    n_sided: int = 0
    n_held: int = 0
    n_quad: int = 0
    works: bool = False
    n_follow: int = 0
    turns: bool = True
    n_switch: int = 0
    closed: bool = False
    group: NDArray[np.int64] | None = None
    twin: NDArray[np.int64] | None = None
    bound: Array | None = None
    reach: Array | None = None
    jumps: Array | None = None
    longest: float = np.inf
    energy: float = 0.0
    form: Any = None

    @property
    def size(self) -> int:
        return self.n_pos + self.n_vel + self.n_aux + self.n_held

    @property
    def followed(self) -> slice:
        """Places of the values that follow angles."""
        end = self.size - self.n_held
        return slice(end - self.n_follow, end)

    @property
    def n_control(self) -> int:
        """Components in error control."""
        return self.n_pos + self.n_vel + self.n_aux - self.n_follow - (0 if self.works else self.n_quad)

    @property
    def n_work(self) -> int:
        """Quadratures in error control, the last components of it."""
        return self.n_quad if self.works else 0

    @property
    def groups(self) -> NDArray[np.int64]:
        """Group of every controlled component; each is its own group where the problem names none."""
        count = self.n_control
        chosen = np.arange(count) if self.group is None else np.asarray(self.group)[:count]
        return np.ascontiguousarray(chosen, dtype=np.int64)

    @property
    def bounds(self) -> Array:
        """Largest local displacement error of every speed; none where the problem says nothing."""
        return np.full(self.n_vel, np.inf) if self.bound is None else np.array(self.bound, dtype=float)

    @property
    def reaches(self) -> Array:
        """Largest displacement of every speed in a step; infinite where the problem says nothing."""
        return np.full(self.n_vel, np.inf) if self.reach is None else np.array(self.reach, dtype=float)

    @property
    def jumping(self) -> Array:
        """1 or 2 where speeds jump at the zero of a switching function; 0 where the problem says nothing."""
        return np.zeros(self.n_switch) if self.jumps is None else np.array(self.jumps, dtype=float)

    @property
    def twins(self) -> NDArray[np.int64]:
        """Coordinate of every speed; in order where the problem says nothing."""
        if self.twin is None:
            return np.arange(self.n_vel, dtype=np.int64)
        return np.ascontiguousarray(self.twin, dtype=np.int64)
