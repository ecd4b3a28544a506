"""A state of a mechanism at any time of its result: to look into the equations there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.mechanism import Mechanism
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.model.state import State
from flexmbs.model.system import build_system
from flexmbs.simulate.record.items import own_texts
from flexmbs.spatial import quat_to_matrix

Floats = NDArray[np.float64]
#: a time is that of a sample when it is as near as this to it, in parts of the distance of samples
SAME = 1e-9


def state_at(system: Any, result: Any, t: float) -> State:
    """State at time t of a result of the same mechanism, by the poses and velocities of its bodies.

    At a sample it is the sample's. Between two, bodies follow cubics through both with their velocities, and
    joints take what is theirs of that: an error of the fourth order in the distance of the samples.
    """
    missing = [name for name in system.model.bodies if f"bodies/{name}/position" not in result.paths]
    if missing:
        what = f"has no body {missing[0]}: it is of another mechanism"
        raise InputError(Diagnostic("result.other", str(result.path), what, "take the result of this case"))
    at = Moment(result, float(t))
    # every body for itself: nothing has to be known of how the result's tree was chosen
    numbered = build_system(system.model, absolute=True)
    free = Mechanism(**vars(numbered), formulation="descriptor")
    state = free.state_like(system, system.initial_state())
    _bodies(free, at, state)
    for c in free.coordinates:
        if c.entry is not None and c.joint in system.model.joints:
            column = system.model.joints[c.joint].coordinates.index(c.name)
            state.turns[c.entry.number] = at.joint(c.joint, "position")[column]
    state.t = at.t
    state.aux = np.array([_own_value(system, at, name) for name in own_texts(system)])
    out: State = system.state_like(free, state)
    system.evaluator().kinematics(out)  # driven coordinates are at their law
    return out


class Moment:
    """Values of a result at a time."""

    def __init__(self, result: Any, t: float) -> None:
        self.result, self.t, time = result, t, np.atleast_1d(result["time"])
        step = float(np.diff(time).max(initial=0.0)) or 1.0
        if not time[0] - SAME * step <= t <= time[-1] + SAME * step:
            what = f"t = {t:g} s is not in it: it goes from {time[0]:g} to {time[-1]:g} s"
            raise UsageError(Diagnostic("result.time", str(result.path), what, "choose a time in between"))
        self.k = int(np.clip(np.searchsorted(time, t) - 1, 0, max(len(time) - 2, 0)))
        ends = time[self.k : self.k + 2]
        self.h = float(ends[-1] - ends[0])
        self.x = (t - float(ends[0])) / self.h if self.h else 0.0
        near = int(round(self.x))
        self.sample = self.k + near if abs(self.x - near) * (self.h or 1.0) <= SAME * step else -1

    def value(self, path: str, rate: Floats | str | None = None) -> Floats:
        """Value at the time; between samples by a cubic with the rates at `rate`, or linear without them."""
        history = self.result[path]
        if self.sample >= 0:
            return np.array(history[self.sample], dtype=float)
        y = np.asarray(history[self.k : self.k + 2], dtype=float)
        if rate is None:
            return np.asarray(y[0] + self.x * (y[1] - y[0]))
        rates = self.result[rate][self.k : self.k + 2] if isinstance(rate, str) else rate
        d, x = np.asarray(rates, dtype=float) * self.h, self.x
        curve = (1 + 2 * x) * (1 - x) ** 2 * y[0] + x * (1 - x) ** 2 * d[0]
        return np.asarray(curve + x * x * (3 - 2 * x) * y[1] - x * x * (1 - x) * d[1])

    def quaternion(self, body: str) -> Floats:
        """Orientation of a body, with its rate e_dot = (0, w) e / 2, w in ground axes."""
        path = f"bodies/{body}/quaternion"
        if self.sample >= 0:
            return self.value(path)
        ends = slice(self.k, self.k + 2)
        e = np.asarray(self.result[path][ends], dtype=float)
        w = np.asarray(self.result[f"bodies/{body}/angular_velocity"][ends], dtype=float)
        rate = 0.5 * np.column_stack(
            [-np.einsum("ni,ni->n", w, e[:, 1:]), e[:, :1] * w + np.cross(w, e[:, 1:])]
        )
        found = self.value(path, rate)
        return found / np.linalg.norm(found)

    def joint(self, name: str, quantity: str) -> Floats:
        """Coordinates of a joint, or their rates; of a ball between samples a unit quaternion."""
        path = f"joints/{name}/{quantity}"
        rate = {"position": "velocity", "velocity": "acceleration"}[quantity]
        same = self.result.shape_of(path) == self.result.shape_of(f"joints/{name}/{rate}")
        return np.atleast_1d(self.value(path, f"joints/{name}/{rate}" if same else None))


def _bodies(free: Any, at: Moment, state: State) -> None:
    """Poses and speeds of bodies that stand alone: [r, e, q] and [r_dot, w, q_dot], w in body axes."""
    t = free.tables
    for name, i in free.numbers.index.items():
        if not i:
            continue
        nf, path = int(t.body.nf[i]), f"bodies/{name}/"
        q, speed, end = int(t.body.o_q[i]), int(t.tree.o_eta[i]), int(t.tree.o_qd[i])
        first = q - (7 if end - speed == 6 else 3)
        state.pos[first : first + 3] = at.value(path + "position", path + "velocity")
        state.vel[speed : speed + 3] = at.value(path + "velocity", path + "acceleration")
        if end - speed == 6:
            state.pos[first + 3 : first + 7] = at.quaternion(name)
            w = at.value(path + "angular_velocity", path + "angular_acceleration")
            state.vel[speed + 3 : end] = quat_to_matrix(state.pos[first + 3 : first + 7]).T @ w
        if nf:
            state.pos[q : q + nf] = at.value(path + "q", path + "q_dot")
            state.vel[end : end + nf] = at.value(path + "q_dot", path + "q_ddot")


def _own_value(system: Any, at: Moment, text: str) -> float:
    """Value of an own state: of the case, or of a drive that is given by its rates."""
    kind, _, name = text.partition(".")
    if kind == "states":
        return float(np.ravel(at.value(f"states/{name}"))[0])
    name, _, number = name.rstrip("]").partition("[")
    drive, k = system.model.drives[name], int(number)
    joint = system.model.joints[drive.joint]
    position, velocity = at.joint(drive.joint, "position"), at.joint(drive.joint, "velocity")
    if drive.coordinate in joint.coordinates or (drive.coordinate is None and joint.coordinates):
        column = joint.coordinates.index(drive.coordinate) if drive.coordinate else 0
        return float((position, velocity)[k][column])
    return float(np.concatenate([position[-4:], velocity[-3:]])[k])
