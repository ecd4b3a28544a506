"""The inertia shape integrals of a flexible body: Phi, Ms, K_fe, u0 -> ShapeIntegrals (F2-F9).

They are all that the equations of motion know about a body: its mesh is gone after this file. A rigid
body is the same object with no modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.spatial import LEVI_CIVITA, inertia_about

Array = NDArray[np.float64]

#: Unit loads of a moving body, in the order of `K_geo` (F17): translational accelerations, angular
#: accelerations, products of angular velocities.
BODY_LOADS = (
    "a.x", "a.y", "a.z", "alpha.x", "alpha.y", "alpha.z",
    "w.xx", "w.xy", "w.xz", "w.yy", "w.yz", "w.zz",
)  # fmt: skip


def interface_loads(interface: str) -> tuple[str, ...]:
    """Names of the six unit wrench components at an interface, body axes (F17)."""
    return tuple(f"{interface}.{kind}.{axis}" for kind in ("force", "moment") for axis in "xyz")


class MassForm(Protocol):
    """What the integrals need of a discretised inertia; `fe/massform.py` has the real one.

    A field U is (n_dof, m), node by node, `n_per_node` values at each. `attached` are point masses that
    follow the mesh by rows of their own; `inertias` (n_j, 3, 3) turn with `turns(U)` (n_j, 3, m).
    """

    @property
    def n_per_node(self) -> int:
        """Dofs at each node: 3, or 6 with rotations."""

    def inner(self, k: int, A: Array, ell: int, B: Array) -> Array:
        """`A_k^T Ms^kl B_l` (m_A, m_B) without what is attached: the inertia form of (F2a-F7a)."""

    @property
    def attached(self) -> Any:
        """Point masses: `mass` (n_p,), `position` (n_p, 3)."""

    @property
    def inertias(self) -> Array:
        """Rotary inertias, body axes."""

    def turns(self, U: Array) -> Array:
        """Rotations of the inertias in a field."""

    def moves(self, U: Array) -> Array:
        """Displacements (n_p, 3, m) of the attached point masses in a field."""


@dataclass(frozen=True)
class ShapeIntegrals:
    """Constants of one body, about the origin of its body frame and in its axes (F2-F9).

    `K_geo` (n_load, nf, nf) belongs to the unit loads named in `loads`: `BODY_LOADS` first, then
    `interface_loads(name)` of every interface; both are empty without geometric stiffening.
    """

    mass: float
    S_O: Array  # (3,) [kg m]
    S_f: Array  # (3, nf)
    Theta_kl: Array  # (3, 3), int rho u0_k u0_l: not the inertia tensor
    I_kl: Array  # (3, 3, nf)
    S_kl: Array  # (3, 3, nf, nf)
    m_ff: Array  # (nf, nf)
    K_ff: Array  # (nf, nf)
    D_ff: Array  # (nf, nf)
    K_geo: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    loads: tuple[str, ...] = ()

    @property
    def nf(self) -> int:
        """Number of elastic coordinates."""
        return self.S_f.shape[1]

    @property
    def com(self) -> Array:
        """Mass centre of the undeformed body; the origin for a body without mass."""
        return np.zeros(3) if self.mass <= 0.0 else self.S_O / self.mass  # NaN where it is not known

    @property
    def held(self) -> bool:
        """Whether only motions against a frame at rest are known."""
        return bool(np.isnan(self.mass))

    @property
    def inertia(self) -> Array:
        """Inertia tensor of the undeformed body about the body origin (F12)."""
        return np.trace(self.Theta_kl) * np.eye(3) - self.Theta_kl

    def select(self, modes: ArrayLike) -> ShapeIntegrals:
        """The same body with only these modes (indices from 0), in this order."""
        pick = np.asarray(modes, dtype=np.int64)
        both = np.ix_(pick, pick)
        return replace(
            self,
            S_f=self.S_f[:, pick],
            I_kl=self.I_kl[:, :, pick],
            S_kl=np.ascontiguousarray(self.S_kl[:, :, pick][:, :, :, pick]),
            m_ff=self.m_ff[both],
            K_ff=self.K_ff[both],
            D_ff=self.D_ff[both],
            K_geo=np.ascontiguousarray(self.K_geo[:, pick][:, :, pick]) if self.loads else self.K_geo,
        )

    def with_damping(self, D_ff: ArrayLike) -> ShapeIntegrals:
        """The same body with another damping matrix (F14)."""
        D_ff = np.asarray(D_ff, dtype=float)
        if D_ff.shape != self.K_ff.shape:
            raise InputError(
                Diagnostic(
                    "body.damping",
                    "damping.matrix",
                    f"a matrix {D_ff.shape} for {self.nf} modes",
                    f"give {self.nf} rows of {self.nf} numbers",
                )
            )
        return replace(self, D_ff=D_ff)

    def load_matrices(self, names: Sequence[str]) -> Array | None:
        """K_geo of these unit loads, or None when the body does not have them all."""
        if not all(name in self.loads for name in names):
            return None
        return self.K_geo[[self.loads.index(name) for name in names]]


def rigid_integrals(mass: float, com: ArrayLike, inertia: ArrayLike) -> ShapeIntegrals:
    """Integrals of a rigid body: nf = 0 (F2, F3, F5). `inertia` is about the mass centre, body axes."""
    com = np.asarray(com, dtype=float)
    J = inertia_about(mass, com, inertia)
    none = np.zeros((0, 0))
    return ShapeIntegrals(
        mass=float(mass),
        S_O=mass * com,
        S_f=np.zeros((3, 0)),
        Theta_kl=euler_tensor(J),
        I_kl=np.zeros((3, 3, 0)),
        S_kl=np.zeros((3, 3, 0, 0)),
        m_ff=none,
        K_ff=none,
        D_ff=none,
    )


#: what matters only where the frame of a body moves, or where it has a weight
RIGID_TERMS = ("mass", "S_O", "S_f", "Theta_kl", "I_kl", "S_kl")


def held_integrals(m_ff: Array, K_ff: Array, D_ff: Array) -> ShapeIntegrals:
    """Integrals of a body of which only motions against its frame are known: the rest is NaN."""
    nf = len(m_ff)

    def unknown(*shape: int) -> Array:
        return np.full(shape, np.nan)

    return ShapeIntegrals(
        mass=np.nan,
        S_O=unknown(3),
        S_f=unknown(3, nf),
        Theta_kl=unknown(3, 3),
        I_kl=unknown(3, 3, nf),
        S_kl=unknown(3, 3, nf, nf),
        m_ff=m_ff,
        K_ff=K_ff,
        D_ff=D_ff,
    )


def standing(integrals: ShapeIntegrals) -> ShapeIntegrals:
    """The same for a frame at rest without gravity: unknown terms, which have no effect there, are zero."""
    zero = {name: np.zeros_like(getattr(integrals, name)) for name in RIGID_TERMS if name != "S_kl"}
    S_kl = np.einsum("kl,ab->klab", np.eye(3) / 3.0, integrals.m_ff)
    return replace(integrals, **(zero | {"mass": 0.0, "S_kl": S_kl}))


def euler_tensor(J: ArrayLike) -> Array:
    """`int rho xi xi^T` of a rigid part with inertia tensor J; (..., 3, 3) -> (..., 3, 3) (F7a)."""
    J = np.asarray(J, dtype=float)
    trace = np.einsum("...ii->...", J)[..., None, None]
    return 0.5 * trace * np.eye(3) - J


def shape_integrals(
    mass_form: MassForm,
    points: ArrayLike,
    Phi: Array,
    K_fe: Any = None,
    *,
    K_geo: ArrayLike | None = None,
    loads: Sequence[str] = (),
    D_ff: ArrayLike | None = None,
) -> ShapeIntegrals:
    """Integrate the shapes Phi (n_dof, nf) over a discretised body (F2a-F7a, F8, F9).

    `points` (n_nodes, 3); `K_fe` may be a sparse matrix, or None for a body whose stiffness is given
    later. Nodal inertias of the mass form enter by their Euler tensors.
    """
    fields = _Fields(mass_form, np.asarray(points, dtype=float), Phi)
    moments = _point_masses(mass_form, Phi)
    for part in (fields.moments(), _inertias(mass_form, Phi)):
        moments = tuple(one + other for one, other in zip(moments, part, strict=True))
    mass, S_O, S_f, Theta_kl, I_kl, S_kl = moments
    nf = Phi.shape[1]
    return ShapeIntegrals(
        mass=float(mass),
        S_O=S_O,
        S_f=S_f,
        Theta_kl=_symmetric(Theta_kl),
        I_kl=I_kl,
        S_kl=S_kl,
        m_ff=_symmetric(S_kl[0, 0] + S_kl[1, 1] + S_kl[2, 2]),
        K_ff=np.zeros((nf, nf)) if K_fe is None else _symmetric(Phi.T @ (K_fe @ Phi)),
        D_ff=np.zeros((nf, nf)) if D_ff is None else np.asarray(D_ff, dtype=float),
        K_geo=np.zeros((0, nf, nf)) if K_geo is None else np.asarray(K_geo, dtype=float),
        loads=tuple(loads),
    )


def integrals_by_matrix(
    M: Any,
    mass_form: MassForm,
    affine: Array,
    Phi: Array,
    K_fe: Any = None,
    *,
    K_geo: ArrayLike | None = None,
    loads: Sequence[str] = (),
    D_ff: ArrayLike | None = None,
) -> ShapeIntegrals:
    """Integrals of a body of which only the mass matrix M (n_dof, n_dof) is known (F2a-F7a, F8, F9).

    affine (3, 3, n_dof): the fields x_k e_l, whose turning parts are rigid.
    Products of M with rigid motions and shapes are exact: mass, S_O, S_f, the inertia tensor, the turning
    part of I^kl, m_ff. The rest of I^kl is as good as the affine fields. S^kl is that of the mean `mass_form`
    of the nodes, up to m_ff; what it lacks of this is spread evenly over x, y and z.
    """
    p, (n_dof, nf), n = mass_form.n_per_node, Phi.shape, mass_form.attached.rows.shape[1]
    ones = np.zeros((3, n_dof))
    for k in range(3):
        ones[k, k:n:p] = 1.0
    turns = np.stack([affine[1, 2] - affine[2, 1], affine[2, 0] - affine[0, 2], affine[0, 1] - affine[1, 0]])
    M_turns, M_Phi = M @ turns.T, M @ Phi
    arm = ones @ M_turns  # of rotations with translations: -m c~
    m_ff, nodal = _symmetric(Phi.T @ M_Phi), Phi[:n]
    S_kl = np.array([[mass_form.inner(k, nodal, ell, nodal) for ell in range(3)] for k in range(3)])
    own, seen = np.diag(m_ff), np.einsum("kkaa->a", S_kl)
    scale = np.sqrt(np.divide(own, seen, out=np.ones(nf), where=seen > own))
    S_kl = S_kl * np.outer(scale, scale)
    lacking = (m_ff - np.einsum("kkab->ab", S_kl)) / 3.0
    return ShapeIntegrals(
        mass=float(np.trace(ones @ (M @ ones.T))) / 3.0,
        S_O=0.5 * np.array([arm[1, 2] - arm[2, 1], arm[2, 0] - arm[0, 2], arm[0, 1] - arm[1, 0]]),
        S_f=ones @ M_Phi,
        Theta_kl=euler_tensor(_symmetric(turns @ M_turns)),
        I_kl=affine @ M_Phi,
        S_kl=S_kl + np.eye(3)[:, :, None, None] * lacking,
        m_ff=m_ff,
        K_ff=np.zeros((nf, nf)) if K_fe is None else _symmetric(Phi.T @ (K_fe @ Phi)),
        D_ff=np.zeros((nf, nf)) if D_ff is None else np.asarray(D_ff, dtype=float),
        K_geo=np.zeros((0, nf, nf)) if K_geo is None else np.asarray(K_geo, dtype=float),
        loads=tuple(loads),
    )


def _symmetric(A: Array) -> Array:
    """Remove the rounding between the two halves of a symmetric matrix."""
    return 0.5 * (A + A.T)


class _Fields:
    """The fields 1, u0 and Phi on all degrees of freedom, and their products (F2a-F7a)."""

    def __init__(self, mass_form: MassForm, points: Array, Phi: Array) -> None:
        n_nodes, n_per_node = len(points), mass_form.n_per_node
        X = np.zeros((n_nodes, n_per_node, 1))
        X[:, :3, 0] = points
        ones = np.zeros((3, n_nodes, n_per_node, 1))
        for k in range(3):
            ones[k, :, k] = 1.0
        self.form, self.Phi = mass_form, Phi
        self.X, self.ones = X.reshape(-1, 1), ones.reshape(3, -1, 1)

    def moments(self) -> tuple[Any, ...]:
        """mass, S_O, S_f, Theta^kl, I^kl, S^kl of the mesh."""
        inner, X, ones, Phi = self.form.inner, self.X, self.ones, self.Phi
        nf = Phi.shape[1]
        S_O = np.array([inner(k, X, k, ones[k])[0, 0] for k in range(3)])
        S_f = np.array([inner(k, ones[k], k, Phi)[0] for k in range(3)]).reshape(3, nf)
        Theta_kl, I_kl, S_kl = np.zeros((3, 3)), np.zeros((3, 3, nf)), np.zeros((3, 3, nf, nf))
        for k in range(3):
            for ell in range(3):
                Theta_kl[k, ell] = inner(k, X, ell, X)[0, 0]
                I_kl[k, ell] = inner(k, X, ell, Phi)[0]
                if k <= ell:
                    S_kl[k, ell] = inner(k, Phi, ell, Phi)
                    S_kl[ell, k] = S_kl[k, ell].T
        return inner(0, ones[0], 0, ones[0])[0, 0], S_O, S_f, Theta_kl, I_kl, S_kl


def _point_masses(mass_form: MassForm, Phi: Array) -> tuple[Any, ...]:
    """The same moments of the attached point masses (F2a-F7a)."""
    mass, x, rows = mass_form.attached.mass, mass_form.attached.position, mass_form.moves(Phi)
    return (
        mass.sum(),
        mass @ x,
        np.einsum("j,jka->ka", mass, rows),
        np.einsum("j,jk,jl->kl", mass, x, x),
        np.einsum("j,jk,jla->kla", mass, x, rows, optimize=True),
        np.einsum("j,jka,jlb->klab", mass, rows, rows, optimize=True),
    )


def _inertias(mass_form: MassForm, Phi: Array) -> tuple[Any, ...]:
    """The same moments of inertias that turn with rows of their own: by their Euler tensors (F7a)."""
    P, Psi, nf = euler_tensor(mass_form.inertias), mass_form.turns(Phi), Phi.shape[1]
    n = len(P)
    # eps_kmn Psi_n as (k, 3 j + m, mode): products of tall matrices
    turned = np.stack([np.einsum("mn,jna->jma", eps, Psi) for eps in LEVI_CIVITA]).reshape(3, 3 * n, nf)
    carried = [(P @ part.reshape(n, 3, nf)).reshape(3 * n, nf) for part in turned]
    rows = -P.transpose(1, 0, 2).reshape(3, 3 * n)
    I_kl = np.stack([rows @ part for part in turned], axis=1)
    S_kl = np.stack([np.stack([one.T @ part for part in carried]) for one in turned])
    return 0.0, np.zeros(3), np.zeros((3, nf)), P.sum(axis=0), I_kl, S_kl
