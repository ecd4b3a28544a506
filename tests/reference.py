"""Slow twins: the equations of motion in absolute coordinates, dense, in NumPy, from the formulation alone.

Every body has its own v_hat = [v; w; q_dot] in body axes, every joint of the mechanism is its list of locked
relations, whether the program takes it as a branch or as a cut. Second derivatives of the relations come from
truncated Taylor arithmetic, not from any formula for a bias, so nothing here is shared with the recursion.
The twin of the time loop is in `plain_loop.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexmbs.ffrf.integrals import BODY_LOADS
from flexmbs.model.bodies import GROUND, FlexibleBody, Particle
from flexmbs.model.markers import integrals_of
from flexmbs.spatial import skew
from tests.ffrf.reference import mass_matrix, velocity_forces


@dataclass
class Jet:
    """A quantity with its first and second time derivative."""

    x: np.ndarray
    d: np.ndarray
    dd: np.ndarray

    def __add__(self, other):
        return Jet(self.x + other.x, self.d + other.d, self.dd + other.dd)

    def __sub__(self, other):
        return self + other.times(-1.0)

    def times(self, c):
        return Jet(c * self.x, c * self.d, c * self.dd)

    def __matmul__(self, other):
        return Jet(
            self.x @ other.x,
            self.d @ other.x + self.x @ other.d,
            self.dd @ other.x + 2.0 * self.d @ other.d + self.x @ other.dd,
        )

    @property
    def T(self):
        return Jet(self.x.T, self.d.T, self.dd.T)

    def map(self, f):
        """A linear map of the quantity."""
        return Jet(f(self.x), f(self.d), f(self.dd))


def still(x):
    x = np.asarray(x, dtype=float)
    return Jet(x, np.zeros_like(x), np.zeros_like(x))


def exp_jet(theta):
    """Rotation matrix of a rotation vector by the power series of the exponential."""
    X = theta.map(skew)
    term = total = still(np.eye(3))
    for k in range(1, 40):
        term = (term @ X).times(1.0 / k)
        total = total + term
    return total


def body_jet(r, R, v, w, a, alpha):
    """Place and orientation along a motion; v, w, a, alpha in body axes, a = v_dot + w~ v."""
    W = skew(w)
    return Jet(r, R @ v, R @ a), Jet(R, R @ W, R @ (W @ W + skew(alpha)))


def marker_jet(place, turn, q, marker):
    """Place and axes of a marker (F18, F17a)."""
    u, R = still(marker.u0), still(marker.R0)
    if marker.rows is not None:
        rows = np.asarray(marker.rows).reshape(-1, 6).T
        move = q.map(lambda x: rows @ x)
        if marker.K_P is not None:
            quadratic = [(q.T @ q.map(lambda x, K=K: K @ x)).times(-0.5) for K in marker.K_P]
            move = move + Jet(*(np.array([getattr(s, k) for s in quadratic]) for k in ("x", "d", "dd")))
        u = u + move.map(lambda x: x[:3])
        R = exp_jet(move.map(lambda x: x[3:])) @ R
    return place + turn @ u, turn @ R


def relation_jet(kind, a, b, value, P, Q):
    """Value of a locked relation of Q in P."""
    (x_P, R_P), (x_Q, R_Q) = P, Q
    d, R = R_P.T @ (x_Q - x_P), R_P.T @ R_Q
    if kind == 0:
        return d.map(lambda x: x[a])
    if kind == 1:
        return R.map(lambda x: x[a, b])
    if kind == 2:
        return R.map(lambda x: x[a, b] - x[b, a])
    if kind == 3:
        return (d.T @ d).times(0.5 / value)
    # screw: travel less pitch times the angle, whose rate is that of the turn about z
    c, s = R.map(lambda x: x[0, 0]), R.map(lambda x: x[1, 0])
    n2 = c.x**2 + s.x**2
    rate = (c.x * s.d - s.x * c.d) / n2
    second = (c.x * s.dd - s.x * c.dd) / n2 - rate * 2.0 * (c.x * c.d + s.x * s.d) / n2
    return d.map(lambda x: x[2]) - Jet(np.arctan2(s.x, c.x), rate, second).times(value)


def mass_and_forces(body, q, q_dot, w):
    """M and Q_v of one body straight from its integrals, elastic forces in Q_v (F10-F14, F17a)."""
    B = integrals_of(body)
    loads = B.load_matrices(BODY_LOADS) if B.nf else None
    geo = None if getattr(body, "geometric_stiffening", None) is False else loads
    Q = velocity_forces(B, q, q_dot, w, geo)
    Q[6:] -= B.K_ff @ q + B.D_ff @ q_dot
    return mass_matrix(B, q, geo), Q


@dataclass
class Solution:
    """Accelerations by body (body axes, [a; alpha; q_ddot]), wrench of every joint on its `to` side.

    g, g_dot: constraint values of all joints in the order of the model. rank: of all rows.
    """

    a_hat: dict
    wrench: dict
    g: np.ndarray
    g_dot: np.ndarray
    rank: int
    n_rows: int


def solve(system, evaluator, state):
    """Dense solution of the whole mechanism at the state that `evaluator` has been given."""
    ws, t, model = evaluator.ws, system.tables, system.model
    names = [n for n in system.bodies if n != GROUND]
    pose, sizes, M, f = {}, {}, {}, {}
    for name in names:
        i = system.numbers.index[name]
        R, nf = ws.body.R[i], int(t.body.nf[i])
        q, q_dot = state.pos[t.body.o_q[i] :][:nf], state.vel[t.tree.o_qd[i] :][:nf]
        v, w = R.T @ ws.body.v[i, :3], R.T @ ws.body.v[i, 3:]
        M[name], Q = mass_and_forces(model.bodies[name], q, q_dot, w)
        weight = np.concatenate([R.T @ np.asarray(model.gravity), np.zeros(3 + nf)])
        f[name] = Q + M[name] @ weight
        pose[name], sizes[name] = (ws.body.r[i], R, v, w, q, q_dot), 6 + nf
    start = dict(zip(names, np.cumsum([0, *(sizes[n] for n in names)])[:-1], strict=True))
    total = sum(sizes.values())

    def relations(z):
        found, owner = [], []
        jets = {GROUND: (still(np.zeros(3)), still(np.eye(3)), still(np.zeros(0)))}
        for name in names:
            r, R, v, w, q, q_dot = pose[name]
            a = z[start[name] : start[name] + sizes[name]]
            jets[name] = (*body_jet(r, R, v, w, a[:3], a[3:6]), Jet(q, q_dot, a[6:]))
        for joint_name, joint in model.joints.items():
            place = system.joints[joint_name]
            P, Q = (marker_jet(*jets[m.body], m) for m in (place.P, place.Q))
            particle = any(isinstance(model.bodies.get(m.body), Particle) for m in (place.P, place.Q))
            for kind, a, b, value in joint.locked:
                if particle and kind not in (0, 3):
                    continue
                jet = relation_jet(kind, a, b, value, P, Q)
                found.append(jet if kind != 3 else jet - still(value / 2.0))
                owner.append(joint_name)
        for name in names:  # a particle does not turn
            if isinstance(model.bodies[name], Particle):
                for k in range(3):
                    a = z[start[name] + 3 + k]
                    found.append(Jet(np.array(0.0), np.array(0.0), np.array(a)))
                    owner.append("")
        return found, owner

    rows, owner = relations(np.zeros(total))
    gamma = np.array([float(j.dd) for j in rows])
    G = np.zeros((len(rows), total))
    for k in range(total):
        unit = np.zeros(total)
        unit[k] = 1.0
        G[:, k] = [float(j.dd) for j in relations(unit)[0]]
    G -= gamma[:, None]
    big = np.zeros((total, total))
    for name in names:
        s = slice(start[name], start[name] + sizes[name])
        big[s, s] = M[name]
    force = np.concatenate([f[n] for n in names]) if names else np.zeros(0)
    # null-space form: exact for redundant rows and massless bodies alike
    U, s, Vt = np.linalg.svd(G)
    rank = int(np.sum(s > 1e-9 * max(s.max(initial=0.0), 1.0)))
    Z = Vt[rank:].T
    z0 = -Vt[:rank].T @ ((U[:, :rank].T @ gamma) / s[:rank])
    z = z0 + Z @ np.linalg.solve(Z.T @ big @ Z, Z.T @ (force - big @ z0))
    lam = np.linalg.lstsq(G.T, big @ z - force, rcond=1e-10)[0]
    wrench = {}
    for joint_name in model.joints:
        place = system.joints[joint_name]
        pick = np.array([o == joint_name for o in owner])
        side, sign = (place.Q.body, 1.0) if place.Q.body != GROUND else (place.P.body, -1.0)
        force6 = sign * (G[pick].T @ lam[pick])[start[side] : start[side] + 6] if pick.any() else np.zeros(6)
        r, R = pose[side][0], pose[side][1]
        F, T = R @ force6[:3], R @ force6[3:]
        wrench[joint_name] = np.concatenate([F, T + np.cross(r - ws.marker.x[place.Q.number], F)])
    return Solution(
        {n: z[start[n] : start[n] + sizes[n]] for n in names},
        wrench,
        np.array([float(j.x) for j in rows]),
        np.array([float(j.d) for j in rows]),
        rank,
        len(rows),
    )


__all__ = ["FlexibleBody", "Jet", "Solution", "solve"]
