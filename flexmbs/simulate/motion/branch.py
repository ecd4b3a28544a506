"""Motion through change points, on the branch that the velocity chooses (F28).

Where constraints lose rank for a moment, branches of the motion cross: accelerations and projections follow
from a matrix that is nearly singular, and rounding would decide where the motion goes. On its branch it is
smooth all the same. So nothing is evaluated close to such a position: the state is moved along its velocity,
a little to both sides, brought onto the constraints there, and what was found is interpolated back. The
error is of order six in the distance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel, ready
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.loops import projection
from flexmbs.simulate.motion.powers import efforts, rates_of_aux

Floats = NDArray[np.float64]

#: near: a pivot below this part of its size elsewhere, the square of a distance of 0.005
NEAR = 2.5e-5
#: distance of the places on both sides, rad or of the length of the model; their weights, in pairs
REACH = 0.02
WEIGHTS = (0.75, -0.3, 0.05)
#: below this speed [rad/s] there is no direction to follow
STILL = 1e-8


class Branch(NamedTuple):
    """What is known of the constraints where they are regular, and scratch."""

    least: Floats  # (1,) least pivot there, over its natural size; 0 where constraints are not watched
    scale: Floats  # (n_vel,) a unit displacement: 1 for rotations, a length for travels, infinite for modes
    pos: Floats  # state at a place on the side
    vel: Floats
    acc: Floats
    aux_dot: Floats
    mean: Floats  # interpolated positions, speeds, accelerations, rates of aux, one after another
    turns: Floats  # coordinates of cut joints, kept
    copy: Floats  # a state as it was


def branch(system: Any, n_aux: int, scale: Floats) -> Branch:
    """Arrays for a system, with nothing watched yet."""
    n, m = system.n_pos, system.n_vel
    return Branch(
        np.zeros(1), scale, np.zeros(n), np.zeros(m), np.zeros(m), np.zeros(n_aux),
        np.zeros(n + 2 * m + n_aux), np.zeros(len(system.tables.relation.kind)), np.zeros(n + m),
    )  # fmt: skip


@kernel(lean=True)
def is_near(data):
    """Whether a factorisation since ws.loop.near was set stood close to a change point."""
    return data.ws.loop.near[0] < NEAR * data.branch.least[0]


@kernel(lean=True, apart=True)
def time_to_reach(scale, vel):
    """Time in which the fastest joint coordinate moves by REACH; 0 when the system stands."""
    speed = 0.0
    for j in range(vel.shape[0]):
        speed = max(speed, abs(vel[j]) / scale[j])
    return REACH / speed if speed > STILL else 0.0


@kernel(lean=True, apart=True)
def beside(data, t, pos, vel, aux, tau, gh, bh):
    """State on the branch about tau away, in branch.pos and branch.vel. Returns a status.

    Joints move along their speeds, modes stay; time goes on only where constraints depend on it.
    """
    b = data.branch
    for j in range(vel.shape[0]):
        b.acc[j] = tau * vel[j] if b.scale[j] < 1e300 else 0.0
        b.vel[j] = vel[j]
    projection.add_increment(data.sys, pos, b.acc, b.pos)
    time = t + tau if data.size[4] == 1 else t
    at, how = (time, b.pos, b.vel, aux, data.acc), (data.tolerance[0], 12, False)
    worst, worst_dot, _ = projection.project(data.sys, data.ws, data.laws, data.lw, at, gh, bh, how)
    return 0 if worst <= data.tolerance[1] and worst_dot < 1e300 else 1


@kernel(lean=True, apart=True)
def along(data, t, pos, vel, aux, gh, bh, with_rates):
    """Positions, speeds, accelerations and rates of aux at a state, from both sides of it (F28).

    Accelerations and rates of aux only with `with_rates`. Writes: branch.mean. Returns a status: 1 where the
    system stands, or a place on the side is not found.
    """
    b, n, m = data.branch, pos.shape[0], vel.shape[0]
    tau = time_to_reach(data.branch.scale, vel)
    if tau == 0.0:
        return 1
    b.mean[:] = 0.0
    for e in range(b.turns.shape[0]):
        b.turns[e] = data.ws.relation.turn[e]
    status = 0
    for k in range(6):
        side = (1.0 + k // 2) * (1.0 if k % 2 == 0 else -1.0) * tau
        status = beside(data, t, pos, vel, aux, side, gh, bh)
        if status == 0 and with_rates == 1:
            status = rates_beside(data, t + side if data.size[4] == 1 else t, aux)
        for e in range(b.turns.shape[0]):
            data.ws.relation.turn[e] = b.turns[e]
        if status != 0:
            return status
        weight = WEIGHTS[k // 2]
        for j in range(n):
            b.mean[j] += weight * b.pos[j]
        for j in range(m):
            b.mean[n + j] += weight * b.vel[j]
            b.mean[n + m + j] += weight * b.acc[j]
        for j in range(b.aux_dot.shape[0]):
            b.mean[n + 2 * m + j] += weight * b.aux_dot[j]
    return 0


@kernel(lean=True, apart=True)
def rates_beside(data, t, aux):
    """Accelerations and rates of aux at the place on the side. Writes: branch.acc, aux_dot; a status."""
    b = data.branch
    b.acc[:] = 0.0
    status = evaluate.accelerations(data.sys, data.ws, data.laws, data.lw, (t, b.pos, b.vel, aux, b.acc))
    if data.size[4] == 1 and status == 0:
        efforts(data, t, b.pos, b.vel, aux, b.acc)
    rates_of_aux(data, b.vel, aux, b.aux_dot)
    return status


@kernel(lean=True, later="int64")
def follow(data, t, pos, vel, aux, gh, bh):
    """Positions and speeds of a state near a change point onto its branch. Writes: pos, vel; a status."""
    b, n = data.branch, pos.shape[0]
    status = along(data, t, pos, vel, aux, gh, bh, 0)
    if status == 0:
        for j in range(vel.shape[0]):
            vel[j] = b.mean[n + j]
            b.acc[j] = 0.0
        projection.add_increment(data.sys, b.mean[:n], b.acc, pos)  # quaternions of unit length
    return status


def watch(problem: Any, t: float, y: Floats, t_end: float) -> None:
    """Learn what rank the constraints have and how large their pivots are, so that change points show (F28).

    Looks at the state and at some states around it, since the state may be a change point itself.
    Writes: branch.least, ws.loop.cap of the problem's data.
    """
    if not problem.closed:
        return
    data, rate = problem.data, ready(problem.rates, problem.data, t, y, y)
    places = [item for k in range(6) if (item := _moved(problem, t, y, t_end, k)) is not None]
    counts, least = np.zeros(len(data.ws.loop.cap), dtype=np.int64), 0.0
    for time, state in places:
        if rate(data, time, state, np.zeros_like(y)) == 0:
            held = data.sys.row.group[data.ws.row.redundant == 0]
            counts = np.maximum(counts, np.bincount(held, minlength=len(counts)))
    data.ws.loop.cap[:] = np.where(data.sys.group.soft == 1, data.ws.loop.cap, np.maximum(counts, 1))
    for time, state in places:
        if rate(data, time, state, np.zeros_like(y)) == 0 and data.ws.loop.near[0] < 1e300:
            least = max(least, float(data.ws.loop.near[0]))
    data.branch.least[0] = least


def leaves_nothing_free(problem: Any) -> bool:
    """Whether drives and constraints determine the motion, by the ranks that `watch` has learned."""
    data = problem.data
    held = int(data.ws.loop.cap[data.sys.group.soft == 0].sum())
    return held >= int(np.count_nonzero(data.sys.tree.driven < 0))


def _moved(problem: Any, t: float, y: Floats, t_end: float, trial: int) -> tuple[float, Floats] | None:
    """A state on the constraints near y and its time: itself, along its speeds, in any direction."""
    data, n, m = problem.data, problem.n_pos, problem.n_pos + problem.n_vel
    out, moved, scale = np.zeros(3), y.copy(), data.branch.scale
    project = ready(problem.project, data, t, moved, 0.0, 0.0, out)
    joints = np.isfinite(scale)
    if trial > 1:
        noise = np.random.default_rng(trial).standard_normal(m - n)
        moved[n:m] = noise * np.where(joints, scale, 0.0)
        if project(data, t, moved, 0.0, 0.0, out) != 0:
            return None
    speed = float(np.max(np.abs(moved[n:m]) / scale, initial=0.0))
    if trial and not speed > (STILL if trial == 1 else 1e-6):
        return None
    tau = 0.1 / speed if trial else 0.0
    time = t + min(tau, 0.5 * (t_end - t)) if data.size[4] == 1 else t
    step = tau * np.where(joints, moved[n:m], 0.0)
    ready(problem.increment, data, y, step, moved)(data, y, step, moved)
    return (time, moved) if project(data, time, moved, 0.0, 0.0, out) == 0 else None
