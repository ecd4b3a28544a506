"""Slow twins of `flexmbs/ffrf`: direct nodal sums and the equations as they stand in the formulation."""

from types import SimpleNamespace

import numpy as np

from flexmbs.ffrf.integrals import BODY_LOADS, shape_integrals
from flexmbs.spatial import LEVI_CIVITA, skew


class Cloud:
    """A point cloud with lumped masses, attached masses, and inertias at some points: sums are the oracle."""

    def __init__(self, rng, n_nodes=7, nf=4, inertias=False):
        self.n_per_node = 6 if inertias else 3
        self.points = rng.normal(size=(n_nodes, 3))
        self.masses = rng.uniform(0.5, 2.0, n_nodes)
        self.Phi = rng.normal(size=(n_nodes * self.n_per_node, nf))
        A = rng.normal(size=(n_nodes, 3, 3))
        self.inertias = np.einsum("nij,nkj->nik", A, A) if inertias else np.zeros((0, 3, 3))
        # one mass that follows the mean of all nodes, with an offset
        self.attached = SimpleNamespace(mass=np.array([1.5]), position=np.array([[0.3, -0.4, 0.2]]))

    def inner(self, k, A, ell, B):
        n = self.n_per_node
        return (A[k::n] * self.masses[:, None]).T @ B[ell::n]

    def moves(self, U):
        return U.reshape(len(self.points), self.n_per_node, U.shape[1])[:, :3].mean(axis=0)[None]

    def turns(self, U):
        rows = U.reshape(len(self.points), self.n_per_node, U.shape[1])[: len(self.inertias), 3:]
        return rows if len(self.inertias) else np.zeros((0, 3, U.shape[1]))

    def parts(self):
        """(mass, place, rows) of all masses."""
        yield from zip(self.masses, self.points, self.shapes[0], strict=True)
        yield from zip(self.attached.mass, self.attached.position, self.moves(self.Phi), strict=True)

    @property
    def shapes(self):
        """Translation and rotation rows (node, 3, nf)."""
        rows = self.Phi.reshape(len(self.points), self.n_per_node, self.Phi.shape[1])
        return rows[:, :3], rows[:, 3:]


def random_body(rng, nf=4, n_nodes=7, inertias=False, geo=False, interfaces=()):
    """Consistent integrals of a random cloud; `geo` adds random symmetric matrices of all unit loads."""
    from flexmbs.ffrf.integrals import interface_loads

    cloud = Cloud(rng, n_nodes, nf, inertias)
    loads = BODY_LOADS + sum((interface_loads(name) for name in interfaces), ()) if geo else ()
    K_geo = rng.normal(size=(len(loads), nf, nf))
    A = rng.normal(size=(nf, nf))
    integrals = shape_integrals(
        cloud, cloud.points, cloud.Phi, K_geo=K_geo + K_geo.transpose(0, 2, 1), loads=loads, D_ff=A @ A.T
    )
    return cloud, integrals


def mass_matrix_by_nodal_sum(cloud, q):
    """M of (F12) as the sum over the masses of (velocity map)^T (velocity map)."""
    Phi, Psi = cloud.shapes
    nf = Phi.shape[2]
    M = np.zeros((6 + nf, 6 + nf), dtype=np.result_type(q, float))
    for mass, point, rows in cloud.parts():
        L = np.hstack([np.eye(3), -skew(point + rows @ q), rows])
        M = M + mass * L.T @ L
    for J, rows in zip(cloud.inertias, Psi, strict=False):
        L = np.hstack([np.zeros((3, 3)), np.eye(3), rows])
        # of the nodal inertia (F12) keeps what its Euler tensor gives at q = 0
        M = M + L.T @ J @ L
    return M


def velocity_forces_by_nodal_sum(cloud, q, q_dot, w):
    """Q_v of (F13): minus the nodal inertia forces of the velocity terms."""
    Phi, _ = cloud.shapes
    Q = np.zeros(6 + Phi.shape[2])
    W = skew(w)
    for mass, point, rows in cloud.parts():
        u = point + rows @ q
        L = np.hstack([np.eye(3), -skew(u), rows])
        Q -= mass * L.T @ (W @ W @ u + 2.0 * W @ rows @ q_dot)
    return Q


def mass_matrix(integrals, q, geo=None):
    """M as (F10-F12) and (F17a) print it."""
    i, nf = integrals, integrals.nf
    C = i.I_kl + np.einsum("a,klab->klb", q, i.S_kl)
    Iq = i.I_kl @ q
    P = i.Theta_kl + Iq + Iq.T + np.einsum("a,klab,b->kl", q, i.S_kl, q)
    Theta = np.trace(P) * np.eye(3) - P
    I_Rf = np.einsum("ijk,jka->ia", LEVI_CIVITA, C)
    S_t, S_f = i.S_O + i.S_f @ q, i.S_f
    if geo is not None:
        G_T, G_R = (geo[:3] @ q).T, (geo[3:6] @ q).T
        S_t = S_t - 0.5 * G_T.T @ q
        S_f = S_f - G_T.T
        I_Rf = I_Rf - G_R.T
        Theta = Theta + theta2(geo, q, q)
    M = np.zeros((6 + nf, 6 + nf), dtype=np.result_type(q, float))
    M[:3, :3] = i.mass * np.eye(3)
    M[:3, 3:6], M[3:6, :3] = -skew(S_t), skew(S_t)
    M[3:6, 3:6] = Theta
    M[:3, 6:], M[6:, :3] = S_f, S_f.T
    M[3:6, 6:], M[6:, 3:6] = I_Rf, I_Rf.T
    M[6:, 6:] = i.m_ff
    return M


def theta2(geo, p, q):
    """Theta2 of (F17a) as a bilinear form."""
    xx, xy, xz, yy, yz, zz = np.einsum("a,cab,b->c", p, geo[6:12], q)
    return np.array([[xx, xy / 2, xz / 2], [xy / 2, yy, yz / 2], [xz / 2, yz / 2, zz]])


def velocity_forces(integrals, q, q_dot, w, geo=None):
    """Q_v as (F13) and (F17a) print it."""
    i = integrals
    C = i.I_kl + np.einsum("a,klab->klb", q, i.S_kl)
    E = C @ q_dot
    Iq = i.I_kl @ q
    P = i.Theta_kl + Iq + Iq.T + np.einsum("a,klab,b->kl", q, i.S_kl, q)
    Theta = np.trace(P) * np.eye(3) - P
    S_t, S_f = i.S_O + i.S_f @ q, i.S_f
    Q_R = -2.0 * (np.trace(E) * w - E.T @ w)
    Q_f = -(np.einsum("k,l,kla->a", w, w, C) - w @ w * np.einsum("kka->a", C))
    Q_f = Q_f - 2.0 * np.einsum("lmk,m,lkab,b->a", LEVI_CIVITA, w, i.S_kl, q_dot)
    Q_T = np.zeros(3)
    if geo is not None:
        G_T, G_R = (geo[:3] @ q).T, (geo[3:6] @ q).T
        S_t = S_t - 0.5 * G_T.T @ q
        S_f = S_f - G_T.T
        Theta = Theta + theta2(geo, q, q)
        quadratic = np.einsum("a,cab,b->c", q_dot, geo, q_dot)
        Q_T = quadratic[:3]
        Q_R = Q_R + quadratic[3:6] + np.cross(w, G_R.T @ q_dot) - 2.0 * theta2(geo, q, q_dot) @ w
        products = np.array([w[0] ** 2, w[0] * w[1], w[0] * w[2], w[1] ** 2, w[1] * w[2], w[2] ** 2])
        Q_f = Q_f + np.einsum("c,cab,b->a", products, geo[6:12], q)
    Q_T = Q_T - np.cross(w, np.cross(w, S_t)) - 2.0 * np.cross(w, S_f @ q_dot)
    Q_R = Q_R - np.cross(w, Theta @ w)
    return np.concatenate([Q_T, Q_R, Q_f])
