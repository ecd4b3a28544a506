"""One evaluation in the matrices of the formulation, body by body, dense and without kernels (F20-F29).

What `check --explain` prints. Positions, velocities and forces come from the kernels; the recursion is done
here once more, as it is written, with twists in body axes: a second opinion on the kernels as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.model.state import State
from flexmbs.spatial import skew

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def _none() -> Array:
    return np.zeros(0)


@dataclass
class Step:
    """Quantities of body `number`, body axes; `GsT`, `A_lam`, ... have a column for every constraint row.

    `speeds`: its free joint speeds, then its modes. `a_bar`: its acceleration where all speeds keep theirs.
    `extra`: what is added to the diagonal of N where a motion has no inertia (F26a).
    """

    name: str
    number: int
    parent: int
    speeds: Ints
    B: Array
    C: Array
    a_bar: Array
    v_hat: Array
    M: Array
    f: Array
    tau: Array
    extra: Array
    GsT: Array
    tau_lam: Array
    v_rel: Array = field(default_factory=_none)
    a_rel: Array = field(default_factory=_none)
    M_star: Array = field(default_factory=_none)
    f_star: Array = field(default_factory=_none)
    GsT_star: Array = field(default_factory=_none)
    N: Array = field(default_factory=_none)
    a_hat0: Array = field(default_factory=_none)
    eta_hat_dot0: Array = field(default_factory=_none)
    f_p0: Array = field(default_factory=_none)
    A_lam: Array = field(default_factory=_none)
    L_lam: Array = field(default_factory=_none)
    F_lam: Array = field(default_factory=_none)


@dataclass
class Explained:
    """All of a state. `rows` names the constraint rows, `lam` are their forces as reported (F25-F29).

    `gbar_loop`, `eta_bar`, `eta_bbar`: closure rates, speeds and rates that drives alone cause (F27, F29).
    """

    steps: list[Step]
    rows: list[str]
    g: Array
    gamma_s: Array
    GA: Array
    lam: Array
    G_loop: Array
    gamma_loop: Array
    J_loop: Array
    independent: Ints
    gbar_loop: Array
    eta_bar: Array
    eta_bbar: Array

    def __getitem__(self, body: str) -> Step:
        return next(step for step in self.steps if step.name == body)

    def solution(self, body: str) -> tuple[Array, Array, Array]:
        """a_hat, rates of the body's own speeds and f^p, with the constraint forces (F25)."""
        s, lam = self[body], self.lam
        return s.a_hat0 + s.A_lam @ lam, s.eta_hat_dot0 + s.L_lam @ lam, s.f_p0 + s.F_lam @ lam


def explained(system: Any, state: State) -> Explained:
    """The recursion at a state in matrices (F22-F29)."""
    evaluator = system.evaluator()
    evaluator.observe(state.copy())
    force = evaluator.ws.row.force.copy()
    minimal = Minimal(evaluator, state.copy())
    J_loop, G_loop = minimal.loop_jacobian(state.copy()), evaluator.jacobian(state.copy())
    driven = State(state.t, state.pos.copy(), np.zeros(system.n_vel), state.aux.copy(), state.turns.copy())
    evaluator.kinematics(driven)
    gbar, eta_bbar = (
        evaluator.ws.row.g_dot.copy(),
        minimal.close_rates(state.copy(), np.zeros(len(minimal.split.ind))),
    )
    minimal.close_speeds(driven)
    args = evaluator._args(state.copy(), np.zeros(system.n_vel))
    evaluate.kinematics(*args)
    evaluate.forces(*args)
    rows = np.array([r.number for g in system.groups if g.kind != "force" for r in g.rows], dtype=np.int64)
    steps = [_step(system, evaluator.ws, state, i, rows) for i in range(1, len(system.bodies))]
    by_number = {step.number: step for step in steps}
    for s in steps:
        carried = s.B @ by_number[s.parent].v_hat if s.parent else 0.0
        s.v_rel = s.v_hat - carried - s.C @ state.vel[s.speeds]
    _backward(steps, by_number)
    _forward(steps, by_number)
    gamma_loop = evaluator.ws.row.g_ddot[rows].copy()
    gamma_s = gamma_loop - sum((s.GsT.T @ s.a_bar for s in steps), np.zeros(len(rows)))
    GA = sum((s.GsT.T @ s.A_lam + s.tau_lam.T @ s.L_lam for s in steps), np.zeros((len(rows),) * 2))
    for k, r in enumerate(rows):
        if system.tables.row.massless[r] >= 0:  # the unknown of (F26a) stands in its own row
            GA[k, k] -= system.tables.tree.massless[system.tables.row.massless[r]]
    return Explained(
        steps, [row_names(system)[r] for r in rows], evaluator.ws.row.g[rows].copy(), gamma_s, GA,
        force[rows], G_loop[rows], gamma_loop, J_loop, minimal.split.ind, gbar[rows], driven.vel,
        eta_bbar,
    )  # fmt: skip


def _step(system: Any, ws: Any, state: State, i: int, rows: Ints) -> Step:
    """What the recursion starts from, in body axes (F12, F20, F21)."""
    t, name, p = system.tables, system.bodies[i], int(system.tables.tree.parent[i])
    nf, k0 = int(t.body.nf[i]), int(t.tree.o_qd[i])
    free = np.array([k for k in range(t.tree.o_eta[i], k0) if t.tree.driven[k] < 0], dtype=np.int64)
    speeds = np.concatenate([free, np.arange(k0, k0 + nf)])
    turn = np.kron(np.eye(2), ws.body.R[i].T)
    C = np.zeros((6 + nf, len(speeds)))
    C[:6] = turn @ ws.tree.H[speeds].T
    C[6:, len(free) :] = np.eye(nf)
    d = ws.body.r[i] - ws.body.r[p]
    shift = np.block([[np.eye(3), -skew(d)], [np.zeros((3, 3)), np.eye(3)]])
    elastic = ws.tree.B[t.tree.o_B[i] : t.tree.o_B[i] + 6 * t.body.nf[p]].reshape(-1, 6).T
    B = np.zeros((6 + nf, 6 + int(t.body.nf[p])))
    B[:6] = np.hstack([turn @ shift @ np.kron(np.eye(2), ws.body.R[p]), turn @ elastic])
    M = system.mass_matrix(state, name)
    a_bar = np.concatenate([turn @ ws.body.a[i], np.zeros(nf)])
    q, q_dot = state.pos[t.body.o_q[i] :][:nf], state.vel[k0 : k0 + nf]
    K, D = (t.body.K_data[t.body.o_K[i] + m * nf * nf :][: nf * nf].reshape(nf, nf) for m in (1, 2))
    tau = np.concatenate([ws.tree.tau[free], -K @ q - D @ q_dot])
    # the kernels hold what is missing, f - M a_bar, and the elastic tau together with it
    f = np.concatenate([turn @ ws.body.f_star[i], ws.tree.tau[k0 : k0 + nf] - tau[len(free) :]]) + M @ a_bar
    GsT, tau_lam = _columns(system, ws, i, speeds, rows)
    v_hat = np.concatenate([turn @ ws.body.v[i], q_dot])
    return Step(name, i, p, speeds, B, C, a_bar, v_hat, M, f, tau, t.tree.massless[speeds], GsT, tau_lam)


def _columns(system: Any, ws: Any, i: int, speeds: Ints, rows: Ints) -> tuple[Array, Array]:
    """[G^sT]_i in body axes, and what the rows put on the body's own speeds (F26)."""
    t, nf = system.tables, int(system.tables.body.nf[i])
    GsT, tau_lam = np.zeros((6 + nf, len(rows))), np.zeros((len(speeds), len(rows)))
    for column, r in enumerate(rows):
        for k in range(t.term.start[r], t.term.start[r + 1]):
            e, c = t.term.relation[k], ws.row.c_term[k]
            for marker, sign in ((t.relation.q[e], c), (t.relation.p[e], -c)):
                if t.marker.body[marker] == i:
                    GsT[:, column] += sign * _wrench(system, ws, i, marker, e)
        for k in range(t.speed.start[r], t.speed.start[r + 1]):
            tau_lam[:, column] += ws.row.c_speed[k] * (speeds == t.coord.vel[t.speed.coord[k]])
        v = t.row.massless[r]
        tau_lam[:, column] += t.tree.massless[v] * (speeds == v) if v >= 0 else 0.0
    return GsT, tau_lam


def _wrench(system: Any, ws: Any, i: int, marker: int, entry: int) -> Array:
    """Unit force of a relation, which acts at its marker Q, on body i through a marker of it (F16)."""
    t, nf = system.tables, int(system.tables.body.nf[i])
    force, moment, at = (
        ws.relation.at[entry, 3:6],
        ws.relation.at[entry, 6:9],
        ws.marker.x[t.relation.q[entry]],
    )
    turn = np.kron(np.eye(2), ws.body.R[i].T)
    rigid = turn @ np.concatenate([force, moment + np.cross(at - ws.body.r[i], force)])
    if t.marker.row[marker] < 0:
        return np.concatenate([rigid, np.zeros(nf)])
    L = ws.marker.L[t.marker.L[marker] : t.marker.L[marker] + 6 * nf].reshape(nf, 6)
    here = np.concatenate([force, moment + np.cross(at - ws.marker.x[marker], force)])
    return np.concatenate([rigid, L @ here])


def _backward(steps: list[Step], by_number: dict[int, Step]) -> None:
    """M*, f*, [G^sT]* and N, from the tips to the bases (F22)."""
    for s in steps:
        p = by_number.get(s.parent)
        s.a_rel = s.a_bar - (s.B @ p.a_bar if p is not None else 0.0)
        s.M_star, s.f_star, s.GsT_star = s.M.copy(), s.f.copy(), s.GsT.copy()
    for s in reversed(steps):
        s.N = s.C.T @ s.M_star @ s.C + np.diag(s.extra)
        p = by_number.get(s.parent)
        if p is None:
            continue
        MC = s.M_star @ s.C
        t = s.f_star - s.M_star @ s.a_rel
        p.M_star += s.B.T @ (s.M_star - MC @ np.linalg.solve(s.N, MC.T)) @ s.B
        p.f_star += s.B.T @ (t - MC @ np.linalg.solve(s.N, s.C.T @ t + s.tau))
        e = s.C.T @ s.GsT_star + s.tau_lam
        p.GsT_star += s.B.T @ (s.GsT_star - MC @ np.linalg.solve(s.N, e))


def _forward(steps: list[Step], by_number: dict[int, Step]) -> None:
    """Accelerations and joint wrenches without the cuts, and their responses A, L, F (F23-F25)."""
    for s in steps:
        p = by_number.get(s.parent)
        a, A = s.a_rel, np.zeros_like(s.GsT)
        if p is not None:
            a, A = a + s.B @ p.a_hat0, s.B @ p.A_lam
        right = np.column_stack([s.f_star - s.M_star @ a, s.GsT_star - s.M_star @ A])
        rates = np.linalg.solve(s.N, s.C.T @ right + np.column_stack([s.tau, s.tau_lam]))
        s.eta_hat_dot0, s.L_lam = np.asarray(rates[:, 0]), np.asarray(rates[:, 1:])
        s.a_hat0, s.A_lam = a + s.C @ s.eta_hat_dot0, A + s.C @ s.L_lam
        s.f_p0, s.F_lam = s.M_star @ s.a_hat0 - s.f_star, s.M_star @ s.A_lam - s.GsT_star


@dataclass
class MinimalForm:
    """The equations of motion of all speeds that are not driven, and of the independent ones (F30)."""

    M_hat: Array
    k_hat: Array
    M_min: Array
    k_min: Array
    s_dot: Array


def minimal_form(system: Any, state: State) -> MinimalForm:
    """Mhat and k of the tree, what drives cause included in k, and their projection (F30)."""
    evaluator = system.evaluator()
    minimal = Minimal(evaluator, state.copy())
    free = system.tables.tree.driven < 0
    k_hat = evaluator.tree_forces(state.copy(), np.zeros(system.n_vel))
    columns = [k_hat - evaluator.tree_forces(state.copy(), one) for one in np.eye(system.n_vel)[free]]
    k_min, _ = minimal.forces(state.copy(), np.zeros(len(minimal.split.ind)))
    J, M_hat = minimal.loop_jacobian(state.copy())[free], np.column_stack([x[free] for x in columns])
    M_min = J.T @ M_hat @ J
    return MinimalForm(M_hat, k_hat[free], M_min, k_min, np.linalg.solve(M_min, k_min))


@dataclass
class DependentForm:
    """Lagrange's equations of mixed type, with names of coordinates z and rows (F32)."""

    names: list[str]
    rows: list[str]
    z: Array
    M: Array
    Phi: Array
    p1: Array
    p2: Array
    z_ddot: Array
    lam: Array


def dependent_form(system: Any, state: State) -> DependentForm:
    """M, Phi_s, p1 and p2 of a system built with formulation = "descriptor" (F32)."""
    descriptor = Descriptor(system)
    descriptor.observe(state.copy())
    lam = descriptor.ws.row.force[descriptor.sums.rows].copy()
    here = descriptor.place(state.copy())
    evaluate.forces(*descriptor.evaluator._args(state.copy(), np.zeros(system.n_vel)))
    M, Phi = here.M.toarray(), here.Phi.toarray()
    p1, p2 = descriptor.force(here, descriptor.ws.coord.tau), -here.gamma
    kept = np.flatnonzero(np.concatenate([descriptor.active, np.ones(len(here.e))]) > 0.0)
    bodies = system.bodies[1:]
    coordinates = ["x", "y", "phi"] if system.topology.plane is not None else ["x", "y", "z"]
    names, turning = [], set(descriptor.at.turning)
    for i, name in enumerate(bodies, start=1):
        own = coordinates + ([f"e{k}" for k in range(4)] if i in turning else [])
        names += [f"{name}.{x}" for x in own + [f"q[{k}]" for k in range(system.tables.body.nf[i])]]
    rows = [row_names(system)[r] for r in descriptor.sums.rows]
    rows += [f"{bodies[i - 1]}: e.e = 1" for i in descriptor.at.turning]
    whole = np.block([[M, Phi.T], [Phi, np.zeros((len(Phi),) * 2)]])
    z_ddot = np.linalg.lstsq(whole, np.concatenate([p1, p2]), rcond=None)[0][: len(M)]
    n = len(lam)  # the multipliers of the normalisations take what is left
    left = M @ z_ddot - p1 - Phi[:n].T @ lam
    lam = np.concatenate([lam, np.linalg.lstsq(Phi[n:].T, left, rcond=None)[0]])
    return DependentForm(
        names, [rows[k] for k in kept], state.pos[: len(M)], M, Phi[kept], p1, p2[kept], z_ddot,
        lam[kept],
    )  # fmt: skip
