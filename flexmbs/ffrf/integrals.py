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
    """What the integrals need of a discretised inertia; `fe/assembly.py` has the real one.

    A field U is (n_dof, m), node by node, `n_per_node` values at each.
    """

    n_per_node: int

    def inner(self, k: int, A: Array, ell: int, B: Array) -> Array:
        """`A_k^T Ms^kl B_l` (m_A, m_B): the inertia form of (F2a-F7a)."""


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
        return self.S_O / self.mass if self.mass > 0.0 else np.zeros(3)

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
    points = np.asarray(points, dtype=float)
    n_nodes, n_per_node = len(points), mass_form.n_per_node
    X = np.zeros((n_nodes, n_per_node))
    X[:, :3] = points
    X = X.reshape(-1, 1)
    ones = np.zeros((3, n_nodes, n_per_node))
    for k in range(3):
        ones[k, :, k] = 1.0
    ones = ones.reshape(3, -1, 1)
    nf = Phi.shape[1]

    mass = float(mass_form.inner(0, ones[0], 0, ones[0])[0, 0])
    S_O = np.array([mass_form.inner(k, X, k, ones[k])[0, 0] for k in range(3)])
    S_f = np.array([mass_form.inner(k, ones[k], k, Phi)[0] for k in range(3)]).reshape(3, nf)
    Theta_kl, I_kl, S_kl = np.zeros((3, 3)), np.zeros((3, 3, nf)), np.zeros((3, 3, nf, nf))
    for k in range(3):
        for ell in range(3):
            Theta_kl[k, ell] = mass_form.inner(k, X, ell, X)[0, 0]
            I_kl[k, ell] = mass_form.inner(k, X, ell, Phi)[0]
            if k <= ell:
                S_kl[k, ell] = mass_form.inner(k, Phi, ell, Phi)
                S_kl[ell, k] = S_kl[k, ell].T
    _add_nodal_inertias(mass_form, Phi, n_per_node, Theta_kl, I_kl, S_kl)
    K_ff = np.zeros((nf, nf)) if K_fe is None else _symmetric(Phi.T @ (K_fe @ Phi))
    return ShapeIntegrals(
        mass=mass,
        S_O=S_O,
        S_f=S_f,
        Theta_kl=_symmetric(Theta_kl),
        I_kl=I_kl,
        S_kl=S_kl,
        m_ff=_symmetric(S_kl[0, 0] + S_kl[1, 1] + S_kl[2, 2]),
        K_ff=K_ff,
        D_ff=np.zeros((nf, nf)) if D_ff is None else np.asarray(D_ff, dtype=float),
        K_geo=np.zeros((0, nf, nf)) if K_geo is None else np.asarray(K_geo, dtype=float),
        loads=tuple(loads),
    )


def _symmetric(A: Array) -> Array:
    """Remove the rounding between the two halves of a symmetric matrix."""
    return 0.5 * (A + A.T)


def _add_nodal_inertias(
    mass_form: MassForm, Phi: Array, n_per_node: int, Theta_kl: Array, I_kl: Array, S_kl: Array
) -> None:
    """Add inertias that turn with the rotation rows of their nodes (F7a). Writes: Theta_kl, I_kl, S_kl."""
    nodes, J = getattr(mass_form, "inertia_nodes", ()), getattr(mass_form, "inertias", ())
    if len(nodes) == 0:
        return
    P = euler_tensor(J)
    rows = n_per_node * np.asarray(nodes)[:, None] + np.arange(3, 6)
    Psi = Phi[rows]
    Theta_kl += P.sum(axis=0)
    I_kl += -np.einsum("lmn,jkm,jnb->klb", LEVI_CIVITA, P, Psi, optimize=True)
    S_kl += np.einsum("kmn,lpr,jmp,jna,jrb->klab", LEVI_CIVITA, LEVI_CIVITA, P, Psi, Psi, optimize=True)
