"""One output sample: everything that is reported at a state, in one row of numbers (interface, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import handle, kernel, ready
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.dynamics.dead_points import dead_point, diverges
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.energy import energies
from flexmbs.model.held import held_bodies, holding_joints
from flexmbs.model.laws.tables import N_OUT, REL_W
from flexmbs.model.laws.values import (
    fill_slots,
    free_expressions,
    relative_component,
)
from flexmbs.model.measure import SensorTables, measure
from flexmbs.model.quaternions import relative_quaternion
from flexmbs.model.vectors import cross, from_axes, to_axes
from flexmbs.simulate.motion.branch import NEAR, WEIGHTS, beside, time_to_reach
from flexmbs.simulate.motion.powers import take_held

if TYPE_CHECKING:
    from flexmbs.model.system import System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BODY = (
    32  # numbers per body: r 3, quaternion 4, v 6, a 6, energies 4, momentum 3, angular momentum 3, m r_com 3
)
BALL = 10  # numbers per ball of a cut joint: quaternion 4, angular velocity 3, acceleration 3


class SampleTables(NamedTuple):
    """What is sampled beside the workspace itself."""

    sensors: SensorTables
    balls: Ints  # (n, 2) markers P, Q of cut joints with a ball
    frames: Ints  # markers whose axes are needed
    energy: Floats  # (n_bodies + 1, 4) scratch
    places: Floats  # (3 n_sensors,) scratch
    acc: Floats  # (n_vel,) scratch


@kernel(lean=True, apart=True)
def sample(data, more, t, y, row):
    """Evaluate the state and write all that is reported. Writes: row. Returns a status."""
    n, m = data.size[0], data.size[0] + data.size[1]
    take_held(data, y)
    at = t, y[:n], y[n:m], y[m:], more.acc
    status = evaluate.observe(data.sys, data.ws, data.laws, data.lw, at)
    if status == 0:
        report(data, more, t, y, row)
    return status


@kernel(lean=True)
def sample_on(data, more, k, at, left_out, out):
    """Sample states from k to one near a change point or without value: its number + status (n + 1)."""
    (t, y, place, least), (rows, g), near, row = at, out, data.ws.loop.near, data.ws.row
    for j in range(k, t.shape[0]):
        near[0] = 1e300
        put(place, 0, y[j])
        status = sample(data, more, t[j], place, rows[j])
        if near[0] < least or status != 0:
            return j + status * (t.shape[0] + 1)
        for r in range(left_out.shape[0]):
            g[0, j, r], g[1, j, r] = row.g[left_out[r]], row.g_dot[left_out[r]]
    return t.shape[0]


@kernel(lean=True, apart=True)
def report(data, more, t, y, row):
    """Write all that is reported at the evaluated state with its accelerations more.acc. Writes: row."""
    sys, ws, lw = data.sys, data.ws, data.lw
    n, m = data.size[0], data.size[0] + data.size[1]
    pos, vel, aux = y[:n], y[n:m], y[m:]
    energies(sys, ws, pos, vel, more.energy)
    for i in range(1, sys.tree.parent.shape[0]):
        body_row(sys, ws, vel, more.energy, i, BODY * (i - 1), row)
    p = put(row, BODY * (sys.tree.parent.shape[0] - 1), y)
    p = put(row, p, more.acc)
    p = put(row, p, ws.body.f_app)
    for e in range(ws.relation.at.shape[0]):
        p = put(row, p, ws.relation.at[e, :3])
    for j in range(ws.joint.reaction.shape[0]):
        p = put(row, p, ws.joint.reaction[j])
    p = put(row, p, ws.row.force)
    p = put(row, p, ws.joint.effort)
    for k in range(lw.out.shape[0]):
        p = put(row, p, lw.out[k])
    measure(more.sensors, sys, ws, more.places)
    p = put(row, p, more.places)
    fill_slots(data.laws, lw, sys, ws, t, pos, vel, aux)
    free_expressions(data.laws, lw, data.values)
    p = put(row, p, data.values)
    for k in range(more.balls.shape[0]):
        ball_row(ws, more.balls[k, 0], more.balls[k, 1], p, row)
        p += BALL
    for k in range(more.frames.shape[0]):
        for c in range(3):
            p = put(row, p, ws.marker.R[more.frames[k], c])
    row[p] = t


@kernel(lean=True)
def put(row, p, values):
    """Copy values into row from place p on; returns the place behind them. Writes: row."""
    for k in range(values.shape[0]):
        row[p + k] = values[k]
    return p + values.shape[0]


@kernel(lean=True)
def body_row(sys, ws, vel, energy, i, p, row):
    """Pose, twist, acceleration, energies and momenta of body i, ground axes. Writes: row."""
    row[p + 3], row[p + 4], row[p + 5], row[p + 6] = relative_quaternion(ws.body.R, i, -1)
    put(row, p, ws.body.r[i])
    put(row, p + 7, ws.body.v[i])
    put(row, p + 13, ws.body.a[i])
    put(row, p + 19, energy[i])
    momenta(sys, ws, vel, i, p + 23, row)


@kernel(lean=True)
def momenta(sys, ws, vel, i, p, row):
    """Momentum, angular momentum about the origin of ground, m r_com: from M v_hat (F12). Writes: row."""
    R, r, u, o, b = ws.body.R, ws.body.r[i], ws.body.v[i], ws.body.out, 15 * i
    mass, s = sys.body.block_data[sys.body.o_block[i]], (o[b], o[b + 1], o[b + 2])
    v, w = to_axes(R, i, u[0], u[1], u[2]), to_axes(R, i, u[3], u[4], u[5])
    px, py, pz = cross(w, s)
    hx, hy, hz = cross(s, v)
    px, py, pz = px + mass * v[0], py + mass * v[1], pz + mass * v[2]
    hx += o[b + 3] * w[0] + o[b + 4] * w[1] + o[b + 5] * w[2]
    hy += o[b + 4] * w[0] + o[b + 6] * w[1] + o[b + 7] * w[2]
    hz += o[b + 5] * w[0] + o[b + 7] * w[1] + o[b + 8] * w[2]
    for a in range(sys.body.nf[i]):
        k, rate = sys.body.o_rows[i] + 7 * a, vel[sys.tree.o_qd[i] + a]
        px, hx = px + ws.body.rows[k] * rate, hx + ws.body.rows[k + 3] * rate
        py, hy = py + ws.body.rows[k + 1] * rate, hy + ws.body.rows[k + 4] * rate
        pz, hz = pz + ws.body.rows[k + 2] * rate, hz + ws.body.rows[k + 5] * rate
    p_0, h_0 = from_axes(R, i, px, py, pz), from_axes(R, i, hx, hy, hz)
    s_0 = from_axes(R, i, s[0], s[1], s[2])
    arm = cross(r, p_0)
    for c in range(3):
        row[p + c], row[p + 3 + c], row[p + 6 + c] = p_0[c], h_0[c] + arm[c], mass * r[c] + s_0[c]


@kernel(lean=True, later="void")
def ball_row(ws, P, Q, p, row):
    """Rotation in a cut joint with a ball: quaternion, angular velocity in Q, its rate. Writes: row."""
    row[p], row[p + 1], row[p + 2], row[p + 3] = relative_quaternion(ws.marker.R, Q, P)
    R, wP, wQ, aP, aQ = ws.marker.R[Q], ws.marker.v[P], ws.marker.v[Q], ws.marker.a[P], ws.marker.a[Q]
    ax = aQ[3] - aP[3] + wQ[4] * wP[5] - wQ[5] * wP[4]
    ay = aQ[4] - aP[4] + wQ[5] * wP[3] - wQ[3] * wP[5]
    az = aQ[5] - aP[5] + wQ[3] * wP[4] - wQ[4] * wP[3]
    for c in range(3):
        row[p + 4 + c] = relative_component(ws, REL_W, Q, P, c)
        row[p + 7 + c] = R[0, c] * ax + R[1, c] * ay + R[2, c] * az


class Sampler:
    """Rows of samples of one system; `places` says where in a row everything stands.

    `dead_points`: constraints whose forces grew without bound while the motion was led over, and when.
    """

    def __init__(self, system: System, data: Any, balls: Ints, frames: Ints) -> None:
        sensors = system.sensors.tables
        self.data, self.row_names = data, row_names(system)
        self.closure, self.left_out = np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
        self.dead_points: dict[str, float] = {}
        self.start = np.inf
        self.more = handle(
            SampleTables(
                sensors,
                balls,
                frames,
                np.zeros((len(system.bodies), 4)),
                np.zeros(3 * len(sensors.kind)),
                np.zeros(system.n_vel),
            )
        )
        self.places, self.width = self._places(system, len(balls), len(frames))
        self.unknown = self._unknown(system)
        self._sample = ready(sample, data, self.more, 0.0, np.zeros(1), np.zeros(1))
        line, flat = np.zeros(1), np.zeros((1, 1))
        out = flat, np.zeros((2, 1, 1))
        self._on = ready(sample_on, data, self.more, 0, (line, flat, line, 0.0), self.left_out, out)

    def _places(self, system: System, n_balls: int, n_frames: int) -> tuple[dict[str, int], int]:
        d = self.data
        sizes = {
            "body": BODY * (len(system.bodies) - 1),
            "pos": system.n_pos,
            "vel": system.n_vel,
            "aux": system.n_aux,
            "work": 1,
            "dissipated": 1,
            "held": int(d.size[3]) + len(d.contact.row),
            "acc": system.n_vel,
            "f_app": len(d.ws.body.f_app),
            "ent": 3 * len(d.ws.relation.at),
            "reaction": d.ws.joint.reaction.size,
            "row_force": len(d.ws.row.force),
            "effort": len(d.ws.joint.effort),
            "law": N_OUT * len(d.lw.out),
            "sensor": len(self.more.places),
            "free": len(d.values),
            "ball": BALL * n_balls,
            "frame": 9 * n_frames,
            "time": 1,
        }
        ends = np.cumsum(list(sizes.values()))
        return dict(zip(sizes, (ends - list(sizes.values())).tolist(), strict=True)), int(ends[-1])

    def _unknown(self, system: System) -> Ints:
        """Columns of what is not known of bodies that are held: momenta, m r_com, what holds them."""
        names, joints = held_bodies(system.model), list(system.joints)
        first = [self.places["body"] + BODY * (system.bodies.index(name) - 1) + 23 for name in names]
        columns = [range(start, start + 9) for start in first]
        force = [self.places["reaction"] + 6 * joints.index(name) for name in holding_joints(system.model)]
        columns += [range(start, start + 6) for start in force]
        return np.array([x for part in columns for x in part], dtype=np.int64)

    def rows(self, t: Floats, y: Floats) -> Floats:
        """Samples of the states y (n, size) at the times t."""
        rows = np.full((len(t), self.width), np.nan)
        g, row = np.zeros((2, len(t), len(self.left_out))), self.data.ws.row
        least, k = float(NEAR * self.data.branch.least[0]), 0
        at = np.ascontiguousarray(t), np.ascontiguousarray(y), np.zeros(y.shape[1]), least
        while k < len(t):
            found = self._on(self.data, self.more, k, at, self.left_out, (rows, g))
            status, k = divmod(found, len(t) + 1)
            if k == len(t):
                break
            if self.data.ws.loop.near[0] < least:
                status = self._between(float(t[k]), y[k], rows[k], status)
            if status != 0:
                self._check_closed(t[:k], g[0, :k])
                what = "accelerations and reactions cannot be found at this output"
                remedy = "check masses, forces and joints near this position"
                raise SolverError(
                    Diagnostic("solver.not_evaluated", f"t = {float(t[k]):.6g} s", what, remedy)
                )
            g[0, k], g[1, k] = row.g[self.left_out], row.g_dot[self.left_out]
            k += 1
        self._check_closed(t, g[0])
        self.closure = np.abs(g).max(axis=2, initial=0.0).T
        rows[:, self.unknown] = np.nan
        return rows

    def _check_closed(self, t: Floats, g: Floats) -> None:
        """Rows that the motion leaves out, since they hold everywhere; an open one (sample, row) ends it."""
        bad = np.argwhere(~(np.abs(g) <= self.data.tolerance[1]))
        if len(bad):
            k, r = bad[0]
            name = self.row_names[int(self.left_out[r])]
            what = f"{name} does not close, though its loop implies it: {abs(g[k, r]):.2e} is left"
            remedy = "report this as a defect"
            raise SolverError(Diagnostic("solver.open", f"t = {float(t[k]):.6g} s", what, remedy))

    def _between(self, t: float, y: Floats, row: Floats, status: int) -> int:
        """Sample close to a change point, from samples on both sides of it (F28). Writes: row; a status."""
        data, n, m = self.data, self.data.size[0], self.data.size[0] + self.data.size[1]
        tau = time_to_reach(data.branch.scale, y[n:m])
        if tau == 0.0:
            return status
        mean, one, place = np.zeros(self.width), np.full(self.width, np.nan), y.copy()
        forces, found = slice(self.places["reaction"], self.places["law"]), {}
        for k, weight in enumerate(WEIGHTS):
            for number in (k + 1, -k - 1):
                side = number * tau
                first = m + data.size[2] + 2
                data.ws.relation.turn[:] = y[first : first + data.size[3]]
                if beside(data, t, y[:n], y[n:m], y[m:], side, 0.0, 0.0) != 0:
                    return status
                place[:n], place[n:m] = data.branch.pos, data.branch.vel
                time = t + side if data.size[4] == 1 else t
                if self._sample(data, self.more, time, place, one) != 0:
                    return status
                mean += weight * one
                found[number] = one[forces].copy()
        if t > self.start and diverges(found):
            return self._at_dead_point(t, y, row)
        row[:] = mean
        self.put_state(row, y)
        return 0

    def _at_dead_point(self, t: float, y: Floats, row: Floats) -> int:
        """Sample where forces have no limit: those of the place; in the point itself there are none.

        Writes: row; a status.
        """
        data = self.data
        name = self.row_names[int(np.argmax(np.abs(data.ws.row.force)))]
        status = int(self._sample(data, self.more, t, y.copy(), row))
        if np.count_nonzero(data.ws.row.redundant == 0) < np.sum(data.ws.loop.cap):
            raise dead_point(name, t)
        self.dead_points.setdefault(name, t)
        return status

    @property
    def warnings(self) -> list[str]:
        """Dead points that the motion was led over."""
        return [
            f"{name} passes a dead point near t = {t:.6g} s: forces grow without bound there"
            for name, t in self.dead_points.items()
        ]

    def put_state(self, row: Floats, y: Floats) -> None:
        """State of a sample. Writes: row."""
        first = self.places["pos"]
        row[first : first + y.size] = y

    def same_branch(self, data: Any, start: float = np.inf) -> None:
        """Take over what is known of the constraints of the same system, and which of them it leaves out.

        Behind `start` dead points are told, and their forces are not the mean of both sides.
        """
        self.start = start
        own, n_rows = self.data.sys, len(self.data.ws.row.g)
        rows = np.repeat(np.arange(n_rows), np.diff(own.term.start))
        self.left_out = rows[~np.isin(own.term.relation, data.sys.term.relation)]
        self.data.ws.loop.cap[:] = data.ws.loop.cap
        self.data.branch.least[:] = data.branch.least

    def row(self, t: float, y: Floats, acc: Floats) -> Floats:
        """Sample of a state that has been evaluated with given accelerations (F35)."""
        row = np.full(self.width, np.nan)
        self.more.acc[:] = acc
        report(self.data, self.more, float(t), y, row)
        row[self.unknown] = np.nan
        return row
