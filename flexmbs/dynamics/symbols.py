"""Arrays of the formulation by their symbols: what `system.explain(state)` gives.

`NOTATION` says of every name of the notation table how the notes print it, its equation, and what it is. Rows
and columns of an array have names, so that a table of it can be read without counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import unknown_name

Array = NDArray[np.float64]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Notation:
    """How a quantity is printed: as text and in LaTeX, its equation, and what it is."""

    text: str
    latex: str
    equation: str
    what: str


def _table(lines: str) -> dict[str, Notation]:
    found = {}
    for line in lines.strip().splitlines():
        name, text, latex, equation, what = (word.strip() for word in line.split("|"))
        found[name] = Notation(text, latex, equation, what)
    return found


#: name | as the notes print it | LaTeX | equation | what it is
NOTATION = _table(r"""
t           |t                |t                   |    |time [s]
r           |r                |r                   |F1  |origin of the body frame, ground axes
R_IB        |A                |A                   |F1  |axes of the body in ground
beta        |beta             |\beta               |F19 |joint coordinates
eta         |eta              |\eta                |F19 |joint speeds
eta_hat     |etahat           |\hat\eta            |F20 |joint and elastic speeds that are free
H_kin       |H                |H                   |F19 |rates of the joint coordinates: beta_dot = H eta
phi         |phi              |\varphi             |F19 |side conditions of the quaternions: e.e - 1
q           |q                |q                   |F1  |elastic coordinates
q_dot       |q_dot            |\dot q              |F1  |their rates
B           |B                |B                   |F20 |what the body gets of the twist of the preceding body
C           |C                |C                   |F20 |what it gets of its own speeds
J_tree      |J                |J                   |F27 |twist of the body by unit speeds of the tree
v_hat       |vhat             |\hat v              |F20 |velocity: linear, angular, elastic, body axes
v_rel       |vrel             |\bar v^{rel}        |F20 |the part of it that drives prescribe in the joint
v_bar       |vbar             |\bar v              |F27 |velocity with all free speeds at zero
a_rel       |arel             |\bar{\bar a}^{rel}  |F20 |relative acceleration with all free rates at zero
a_bar       |abar             |\bar{\bar a}        |F27 |acceleration with all free rates at zero
theta       |theta            |\theta              |F12 |rotation parameters
theta_dot   |theta_dot        |\dot\theta          |F12 |their rates
H_rot       |H^-1             |H^{-1}              |F12 |w = H^-1 theta_dot, body axes
M           |M                |M                   |F12 |mass matrix
Q_v         |f^c              |f^c                 |F13 |quadratic velocity forces
f_app       |f^t              |f^t                 |F16 |applied forces and weight; elastic ones are in tau
f           |f                |f^{tc}              |F21 |f^t + f^c
tau         |tau              |\tau                |F21 |forces on the own speeds: joint, elastic, damping
M_star      |M*               |M^*                 |F22 |mass matrix with all that the body carries
f_star      |f*               |f^{tc*}             |F22 |forces with all that the body carries
N           |N                |N                   |F22 |C^T M* C
GsT         |[G^sT]           |[G^{sT}]            |F26 |unit forces of the cuts on the body
GsT_star    |[G^sT]*          |[G^{sT}]^*          |F25 |the same with all that the body carries
G_s         |G^s              |[G^s]               |F26 |constraint matrix of the cuts on the twist
E           |E                |E                   |F26 |C^T [G^sT]* and what the rows put on the own speeds
tau_lam     |tau_lam          |\tau_\lambda        |F26 |what the rows put on the own speeds
a_hat0      |a0               |\hat a^\circ        |F25 |acceleration without forces of the cuts
eta_hat_dot0|eta_dot0         |\dot{\hat\eta}^\circ|F25 |rates of the speeds without them
f_p0        |f^p0             |f^{p\circ}          |F25 |wrench of the joint without them
A_lam       |A                |[A]                 |F25 |acceleration by unit forces of the cuts
L_lam       |L                |[L]                 |F25 |rates of the speeds by them
F_lam       |F                |[F]                 |F25 |wrench of the joint by them
a_hat       |ahat             |\hat a              |F25 |acceleration
eta_hat_dot |eta_dot          |\dot{\hat\eta}      |F25 |rates of the speeds
f_p         |f^p              |f^p                 |F24 |wrench of the joint on the body, at its origin
f_s         |f^s              |f^s                 |F26 |wrench of the cuts on the body
g_s         |g^s              |g^s                 |F26 |closure of the cuts
gbar_s      |gbar^s           |\bar\gamma^s        |F26 |its rate with all twists and free speeds at zero
gamma_s     |gamma^s          |\bar{\bar\gamma}^s  |F26 |its second rate with all accelerations at zero
GA          |G^s A            |G^s A               |F26 |matrix of the forces of the cuts
lam         |lambda^s         |\lambda^s           |F26 |forces of the cuts
G_loop      |G^l              |G^\ell              |F27 |constraint matrix on the speeds of the tree
gbar_loop   |gbar^l           |\bar\gamma^\ell     |F27 |rate of the closure with all free speeds at zero
gamma_loop  |gamma^l          |\bar{\bar\gamma}^\ell|F27 |its second rate with all free rates at zero
J_loop      |J^l              |J^\ell              |F29 |all speeds by the independent ones
eta_bar     |etabar           |\bar\eta            |F29 |speeds that drives alone cause
eta_bbar    |etabarbar        |\bar{\bar\eta}      |F29 |rates of the speeds with independent rates at zero
q_ind       |q                |q                   |F29 |independent coordinates
s           |s                |s                   |F29 |independent speeds
H_min       |Hbar             |\bar H              |F29 |q_dot = Hbar s + hbar
h_min       |hbar             |\bar h              |F29 |the part of q_dot that drives prescribe
M_hat       |Mhat             |\hat M              |F30 |mass matrix of the speeds of the tree
k_c         |k^c              |k^c                 |F30 |forces of velocity on the speeds of the tree
k_t         |k^t              |k^t                 |F30 |applied forces on them
M_min       |M                |M                   |F30 |mass matrix of the independent speeds: J^lT Mhat J^l
kbar_c      |kbar^c           |\bar k^c            |F30 |forces of velocity on the independent speeds
kbar_t      |kbar^t           |\bar k^t            |F30 |applied forces on them
k_min       |kbar             |\bar k              |F30 |kbar^c + kbar^t
s_dot       |ds/dt            |\dot s              |F30 |rates of the independent speeds
z           |z                |s                   |F32 |dependent coordinates
z_ddot      |z_ddot           |\ddot s             |F32 |their second rates
Phi_s       |Phi_s            |\Phi_s              |F32 |gradients of the constraints
p1          |p1               |p_1                 |F32 |applied, potential and velocity forces
p2          |p2               |p_2                 |F32 |minus the velocity terms of the constraints
lam_z       |lambda           |\lambda             |F32 |multipliers
mass        |m                |m                   |F2  |mass
S_O         |S_O              |S_O                 |F3  |first moment, undeformed
S_f         |S_f              |S_f                 |F4  |its slope by the elastic coordinates
Theta_kl    |Theta^kl         |\Theta^{kl}         |F5  |int rho u0_k u0_l
I_kl        |I^kl             |I^{kl}              |F6  |int rho u0_k S_l
S_kl        |S^kl             |S^{kl}              |F7  |int rho S_k^T S_l
K_ff        |K_ff             |K_{ff}              |F9  |stiffness
D_ff        |D_ff             |D_{ff}              |F14 |damping
S_t         |S_t              |S_t                 |F10 |first moment
C_kl        |C^kl             |C^{kl}              |F11 |int rho u_k S_l
P_kl        |P^kl             |P^{kl}              |F11 |int rho u_k u_l
E_kl        |E^kl             |E^{kl}              |F13 |C^kl q_dot
Theta       |Theta            |\Theta              |F12 |inertia tensor about the origin of the body
I_Rf        |I_Rf             |I_{Rf}              |F12 |coupling of turning and deformation
G_T         |G_T              |G_T                 |F17 |stiffening by translational accelerations: K_a q
G_R         |G_R              |G_R                 |F17 |stiffening by angular accelerations: K_alpha q
K_w         |K_w              |K_w                 |F17 |stiffening by turning
s2          |s2               |s_2                 |F17a|first moment of the second-order displacements
Theta2      |Theta2           |\Theta_2            |F17a|their part of the inertia tensor
m_TT        |m_TT             |m_{TT}              |F12 |block of M
m_TR        |m_TR             |m_{TR}              |F12 |block of M
m_Tf        |m_Tf             |m_{Tf}              |F12 |block of M
m_RR        |m_RR             |m_{RR}              |F12 |block of M
m_Rf        |m_Rf             |m_{Rf}              |F12 |block of M
m_ff        |m_ff             |m_{ff}              |F8  |block of M
Q_centrifugal|Q_v, centrifugal |Q^v_{\omega\omega}  |F13 |quadratic in the angular velocity
Q_coriolis  |Q_v, Coriolis    |Q^v_{\omega\dot q}  |F13 |by angular velocity and elastic rates
Q_stiffening|Q_v, stiffening  |Q^v_{\sigma}        |F17a|by the stresses of the moving body
Q_parameters|Q_v, parameters  |Q^v_{\theta}        |F12 |by the change of the rate matrix of the parameters
""")  # fmt: skip


@dataclass(frozen=True)
class Symbol:
    """An array with its name, the way it is printed, and names of its rows and columns, if it has such."""

    name: str
    value: Array
    rows: Names = ()
    columns: Names = ()

    @property
    def notation(self) -> Notation:
        return NOTATION[self.name]

    def latex(self, digits: int = 6) -> str:
        """The equation `symbol = numbers` in LaTeX, of amsmath."""
        return str(_pages().latex(self, digits))

    def _repr_html_(self) -> str:
        return str(_pages().html(self))

    def __str__(self) -> str:
        return "\n".join(_pages().lines(self))


class Symbols(Mapping[str, Array]):
    """Arrays by name: `found["M_star"]` or `found.M_star`; `found.symbol("M_star")` prints itself."""

    def __init__(self, title: str, items: Iterable[Symbol] = ()) -> None:
        self._title = title
        self._items = {item.name: item for item in items}

    @property
    def title(self) -> str:
        """What they belong to, for people."""
        return self._title

    def add(self, name: str, value: ArrayLike, rows: Iterable[str] = (), columns: Iterable[str] = ()) -> None:
        """Another array; a name without notation is a mistake of the program."""
        assert name in NOTATION, name
        self._items[name] = Symbol(name, np.asarray(value, dtype=float), tuple(rows), tuple(columns))

    def symbol(self, name: str) -> Symbol:
        """The array with all that is known of it."""
        if name not in self._items:
            raise unknown_name(self._title, name, list(self._items))
        return self._items[name]

    def symbols(self) -> list[Symbol]:
        """All of them, in the order of the derivation."""
        return list(self._items.values())

    def __getitem__(self, name: str) -> Array:
        return self.symbol(name).value

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.symbol(name).value

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._items]

    def __str__(self) -> str:
        return "\n".join(_pages().group_lines(self))

    def __repr__(self) -> str:
        return f"<{self._title}: {', '.join(self)}>"

    def latex(self, digits: int = 6) -> str:
        """All of them in LaTeX."""
        return "\n".join(item.latex(digits) for item in self.symbols())

    def _repr_html_(self) -> str:
        return str(_pages().group_html(self))


def _pages() -> Any:
    """What typesets them stands above this room."""
    return import_module("flexmbs.post.matrices")
