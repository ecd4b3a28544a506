"""`system.explain(state)`: every quantity of the formulation at a state, by its name and body (F12-F32).

The recursion of `as_written.py`, one body at a time; closure; minimal form; descriptor form; the equations of
each body in all its forms. What needs another numbering of the system is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.as_written import (
    DependentForm,
    Step,
    dependent_form,
    explained,
    minimal_form,
)
from flexmbs.dynamics.descriptor.own_energies import bodies_with_energies
from flexmbs.dynamics.loops.projection import position_rates
from flexmbs.dynamics.mechanism import Mechanism, build
from flexmbs.dynamics.speeds import speed_names
from flexmbs.dynamics.symbols import NOTATION, Symbols
from flexmbs.errors import Diagnostic, Known, SolverError, unknown_name
from flexmbs.ffrf.parametrisation import parametrisation
from flexmbs.ffrf.written import BodyState, has_stiffening, in_rotation_parameters, written

if TYPE_CHECKING:
    from flexmbs.model.state import State

Array = NDArray[np.float64]

XYZ = ("x", "y", "z")
#: names of forms of the equations of one body
QUASI = "quasi_velocities"
UNSTIFFENED = "_unstiffened"
HEAD = (
    "Quantities of a body in its own axes at its origin; twists and wrenches linear first, then angular, "
    "then elastic. p: the preceding body; ground is body 0"
)


class Matrices:
    """The arrays of a state.

    `bodies["rod"].M_star`, `loops.lam`, `minimal.M_hat`, `descriptor.Phi_s`, `forms("rod")["zyx"].m_RR`; or
    by name and body, `found["M_star", "rod"]`, or `found["lam"]` of the whole. Where bodies have energies as
    expressions there is the descriptor form alone.
    """

    def __init__(
        self, system: Mechanism, state: State, *, rotations: Iterable[str] = (), rows: str = "notes"
    ) -> None:
        if rows not in ("notes", "body"):
            raise unknown_name("rows", rows, ["notes", "body"])
        self.system, self.state, self.rotations = system, state.copy(), tuple(rotations)
        for name in self.rotations:
            parametrisation(name)
        self._rows = rows
        self.bodies: dict[str, Symbols] = Known("bodies", {})
        self.loops = Symbols("closure of the loops")
        self._without = bodies_with_energies(system.model)
        if not self._without:
            self._explain()

    def _explain(self) -> None:
        """All that the recursion has."""
        system = self.system
        self._found = explained(system, self.state)
        self._names = speed_names(system, np.arange(system.n_vel))
        self._free = np.flatnonzero(system.tables.tree.driven < 0)
        self._tree: dict[int, tuple[Array, Array]] = {0: (np.zeros((6, len(self._free))), np.zeros(6))}
        self.bodies = Known("bodies", {step.name: self._body(step) for step in self._found.steps})
        self.loops = self._loops()

    def _repr_html_(self) -> str:
        """All of them typeset, body by body, for notebooks."""
        return str(import_module("flexmbs.post.matrices").page(self, ("minimal",)))

    @property
    def t(self) -> float:
        """Time of the state [s]."""
        return self.state.t

    def __getitem__(self, key: str | tuple[str, str]) -> Array:
        """`found["M_star", "rod"]` of a body, `found["lam"]` of the closure or of the minimal form."""
        if isinstance(key, tuple):
            name, body = key
            return self.bodies[body][name]
        for group in (self.loops, self.minimal):
            if key in group:
                return group[key]
        raise unknown_name("matrices", key, [*self.loops, *self.minimal])

    def groups(self, bodies: Iterable[str] | None = None) -> Iterator[tuple[str, Symbols]]:
        """Path and arrays of all that the recursion has; of these bodies alone, where some are named."""
        for name in self._chosen(bodies):
            yield f"bodies/{name}", self.bodies[name]
        for name in self._chosen(bodies):
            for form, symbols in self.forms(name).items():
                yield f"bodies/{name}/{form}", symbols
        if bodies is None and len(self.loops):
            yield "loops", self.loops

    def _chosen(self, bodies: Iterable[str] | None) -> list[str]:
        chosen = list(self.bodies) if bodies is None else list(bodies)
        for name in chosen:
            self.bodies[name]
        return chosen

    def _body(self, s: Step) -> Symbols:
        """All of one body, in the order of the derivation."""
        system, state, i = self.system, self.state, s.number
        t, x = system.tables, self._found
        branch = system.topology.branches[i - 1]
        through = f"joint {branch.joint.name} ({branch.joint.type_name})"
        if system.model.joints.get(branch.joint.name) is not branch.joint:
            through = "free, no joint"
        out = Symbols(f"body {i} {s.name}, p = {s.parent} {branch.parent}, {through}")
        evaluator = system.evaluator()
        evaluator.kinematics(state.copy())
        twist, above = self._twist(s.name), self._twist(system.bodies[s.parent])
        own = [self._names[k] for k in s.speeds]
        cuts = x.rows
        out.add("r", evaluator.ws.body.r[i], XYZ)
        out.add("R_IB", evaluator.ws.body.R[i], XYZ, XYZ)
        self._coordinates(out, i)
        out.add("eta_hat", state.vel[s.speeds], own)
        out.add("v_hat", s.v_hat, twist)
        out.add("B", s.B, twist, above)
        out.add("C", s.C, twist, own)
        J, v_bar = self._tree_of(s)
        out.add("J_tree", J, twist, [self._names[k] for k in self._free])
        out.add("v_rel", s.v_rel, twist)
        out.add("v_bar", v_bar, twist)
        out.add("a_rel", s.a_rel, twist)
        out.add("a_bar", s.a_bar, twist)
        out.add("M", s.M, twist, twist)
        Q_v = system.quadratic_velocity_forces(state, s.name)
        out.add("Q_v", Q_v, twist)
        out.add("f_app", s.f - Q_v, twist)
        out.add("f", s.f, twist)
        out.add("tau", s.tau, own)
        out.add("M_star", s.M_star, twist, twist)
        out.add("f_star", s.f_star, twist)
        out.add("N", s.N, own, own)
        if cuts:
            for name, value, rows in (
                ("G_s", s.GsT.T, None), ("GsT", s.GsT, twist), ("GsT_star", s.GsT_star, twist),
                ("tau_lam", s.tau_lam, own), ("E", s.C.T @ s.GsT_star + s.tau_lam, own),
            ):  # fmt: skip
                out.add(name, value, *((cuts, twist) if rows is None else (rows, cuts)))
        out.add("a_hat0", s.a_hat0, twist)
        out.add("eta_hat_dot0", s.eta_hat_dot0, own)
        out.add("f_p0", s.f_p0, twist)
        if cuts:
            out.add("A_lam", s.A_lam, twist, cuts)
            out.add("L_lam", s.L_lam, own, cuts)
            out.add("F_lam", s.F_lam, twist, cuts)
            out.add("f_s", s.GsT @ x.lam, twist)
        a_hat, rates, f_p = x.solution(s.name)
        out.add("a_hat", a_hat, twist)
        out.add("eta_hat_dot", rates, own)
        out.add("f_p", f_p, twist)
        if t.body.nf[i]:
            out.add("q", state.pos[t.body.o_q[i] :][: t.body.nf[i]], twist[6:])
            out.add("q_dot", s.v_hat[6:], twist[6:])
        return out

    def _twist(self, body: str) -> list[str]:
        """Names of the rows of a twist or wrench."""
        nf = int(self.system.tables.body.nf[self.system.bodies.index(body)])
        names = [f"{kind}.{axis}" for kind in ("linear", "angular") for axis in XYZ]
        return names + [f"q[{a}]" for a in range(nf)]

    def _places(self, i: int) -> tuple[int, int]:
        """First and last place of the joint coordinates of body i in the positions."""
        t = self.system.tables
        before = int(t.body.o_q[i - 1] + t.body.nf[i - 1]) if i > 1 else 0
        return before, int(t.body.o_q[i])

    def _coordinates(self, out: Symbols, i: int) -> None:
        """beta, eta, the matrix H between them, and the side conditions (F19)."""
        t, state = self.system.tables, self.state
        low, high = self._places(i)
        eta = np.arange(t.tree.o_eta[i], t.tree.o_qd[i])
        speeds = [self._names[k] for k in eta]
        names = position_names(self.system)[low:high]
        out.add("beta", state.pos[low:high], names)
        out.add("eta", state.vel[eta], speeds)
        out.add("H_kin", kinematic_matrix(self.system, state.pos)[low:high, eta], names, speeds)
        balls = [b for b in t.prim.ball_beta if low <= b < high]
        if balls:
            out.add("phi", [state.pos[b : b + 4] @ state.pos[b : b + 4] - 1.0 for b in balls])

    def _tree_of(self, s: Step) -> tuple[Array, Array]:
        """J and vbar of a body from those of the preceding one (F27)."""
        J, v_bar = self._tree[s.parent]
        J = s.B @ J
        J[:, np.searchsorted(self._free, s.speeds)] += s.C
        self._tree[s.number] = J, s.B @ v_bar + s.v_rel
        return self._tree[s.number]

    def _loops(self) -> Symbols:
        """Closure, its responses and the constraint forces (F26-F29)."""
        x, free, names = self._found, self._free, [self._names[k] for k in self._free]
        out = Symbols("closure of the loops")
        if not x.rows:
            return out
        g_dot = x.gbar_loop + x.G_loop[:, free] @ self.state.vel[free]
        own = [s.GsT.T @ s.v_hat + s.tau_lam.T @ self.state.vel[s.speeds] for s in x.steps]
        s_names = [self._names[k] for k in x.independent]
        for name, value, columns in (
            ("g_s", x.g, ()), ("gbar_s", g_dot - sum(own), ()), ("gamma_s", x.gamma_s, ()),
            ("GA", x.GA, x.rows), ("lam", x.lam, ()), ("G_loop", x.G_loop[:, free], names),
            ("gbar_loop", x.gbar_loop, ()), ("gamma_loop", x.gamma_loop, ()),
        ):  # fmt: skip
            out.add(name, value, x.rows, columns)
        out.add("J_loop", x.J_loop[free], names, s_names)
        out.add("eta_bar", x.eta_bar[free], names)
        out.add("eta_bbar", x.eta_bbar[free], names)
        return out

    @cached_property
    def minimal(self) -> Symbols:
        """Joint space and minimal form (F29, F30)."""
        if self._without:
            what = f"not there: bodies.{self._without[0]} has an energy of its own"
            raise SolverError(
                Diagnostic("analysis.energies", "minimal form", what, "ask for the descriptor form")
            )
        x, free, state = self._found, self._free, self.state
        form = minimal_form(self.system, state)
        tree, s_names = [self._names[k] for k in free], [self._names[k] for k in x.independent]
        k_c = sum(
            (self._tree[s.number][0].T @ self._velocity_forces(s) for s in x.steps), np.zeros(len(free))
        )
        k_t = form.k_hat - k_c
        J, eta_bbar = x.J_loop[free], x.eta_bbar[free]
        places, H = self._independent_places(), kinematic_matrix(self.system, state.pos)[:, free]
        names = [position_names(self.system)[k] for k in places]
        out = Symbols("minimal form")
        out.add("q_ind", state.pos[places], names)
        out.add("s", state.vel[x.independent], s_names)
        out.add("H_min", H[places] @ J, names, s_names)
        driven = np.setdiff1d(np.arange(self.system.n_vel), free)
        given = kinematic_matrix(self.system, state.pos)[places][:, driven] @ state.vel[driven]
        out.add("h_min", H[places] @ x.eta_bar[free] + given, names)
        out.add("M_hat", form.M_hat, tree, tree)
        out.add("k_c", k_c, tree)
        out.add("k_t", k_t, tree)
        out.add("M_min", form.M_min, s_names, s_names)
        out.add("kbar_c", J.T @ (k_c - form.M_hat @ eta_bbar), s_names)
        out.add("kbar_t", J.T @ k_t, s_names)
        out.add("k_min", form.k_min, s_names)
        out.add("s_dot", form.s_dot, s_names)
        return out

    def _velocity_forces(self, s: Step) -> Array:
        """Q_v - M abar of a body: what velocities put on it (F30)."""
        return self.bodies[s.name]["Q_v"] - s.M @ s.a_bar

    def _independent_places(self) -> list[int]:
        """Places of the independent coordinates in the positions; of a ball all four parameters."""
        t, independent = self.system.tables, set(self._found.independent.tolist())
        scalar = {int(p) for p, v in enumerate(t.tree.vel_of_pos) if v in independent}
        balls = zip(t.prim.ball_beta, t.prim.ball_eta, strict=True)
        whole = {int(b) + k for b, e in balls if independent & {e, e + 1, e + 2} for k in range(4)}
        return sorted(scalar | whole)

    @cached_property
    def descriptor(self) -> Symbols:
        """Lagrange's equations of mixed type (F32); rows that hold nothing in the plane are left out.

        In the plane the rows of joints are scaled as the notes scale them, `rows = "notes"`: places in ground
        axes, turns as differences of angles; with `rows = "body"` they are in the axes of the joint.
        """
        system = build(self.system.model, formulation="descriptor")
        form = dependent_form(system, system.state_like(self.system, self.state))
        if self._rows == "notes" and system.topology.plane is not None:
            form = rows_of_the_notes(system, form)
        out = Symbols("Lagrange's equations of mixed type")
        out.add("z", form.z, form.names)
        out.add("M", form.M, form.names, form.names)
        out.add("Phi_s", form.Phi, form.rows, form.names)
        out.add("p1", form.p1, form.names)
        out.add("p2", form.p2, form.rows)
        out.add("z_ddot", form.z_ddot, form.names)
        out.add("lam_z", form.lam, form.rows)
        return out

    def forms(self, body: str) -> dict[str, Symbols]:
        """The equations of one body alone, form by form (F10-F13, F17a).

        In quasi-velocities [v; w; q_dot], and for [r_dot; theta_dot; q_dot] in the rotation parameters asked
        for; of a stiffened body each also without the stiffening, under a name that says so.
        """
        at_body = self.bodies[body]
        integrals, options, i = self.system._of_body(self.state, body)
        at_rest = np.zeros(0)
        nf = integrals.nf
        at = BodyState(
            at_body["q"] if nf else at_rest, at_body["q_dot"] if nf else at_rest,
            at_body["v_hat"][3:6], at_body["R_IB"],
        )  # fmt: skip
        stiffened = bool(options.get("stiffening")) and has_stiffening(integrals)
        terms = options.get("inertia_terms", "full")
        found = {}
        for stiffening in (True, False) if stiffened else (False,):
            quasi = written(integrals, at, inertia_terms=terms, stiffening=stiffening)
            suffix, said = "", ""
            if stiffened:
                suffix = "" if stiffening else UNSTIFFENED
                said = ", with stiffening" if stiffening else ", without stiffening"
            said += "" if terms == "full" else f", inertia terms {terms}"
            found[QUASI + suffix] = self._form(f"{body} in quasi-velocities [v; w; q_dot]{said}", quasi, None)
            for name in self.rotations:
                title = f"{body} in {name.replace('_', ' ')}, [r_dot; theta_dot; q_dot]{said}"
                found[name + suffix] = self._form(title, in_rotation_parameters(name, quasi, at), name)
        return Known("forms", found)

    def _form(self, title: str, found: dict[str, Array], rotation: str | None) -> Symbols:
        """Named rows and columns of the quantities of one form."""
        out, nf = Symbols(title), len(found["m_ff"])
        modes = [f"q[{a}]" for a in range(nf)]
        turns = (
            list(XYZ) if rotation is None else [f"theta[{k}]" for k in range(parametrisation(rotation).size)]
        )
        first = "linear" if rotation is None else "r"
        T, R = [f"{first}.{x}" for x in XYZ], [f"angular.{x}" for x in XYZ] if rotation is None else turns
        names: dict[str, tuple[Sequence[str], Sequence[str]]]
        names = {"m_TT": (T, T), "m_TR": (T, R), "m_Tf": (T, modes), "m_RR": (R, R), "m_Rf": (R, modes)}
        names |= {key: (modes, modes) for key in ("m_ff", "K_ff", "D_ff", "K_w")}
        names |= {key: ([*T, *R, *modes], []) for key in found if key.startswith("Q_")}
        names |= {"M": ([*T, *R, *modes], [*T, *R, *modes]), "H_rot": (XYZ, turns)}
        names |= {key: (XYZ, modes) for key in ("S_f", "I_Rf")} | {
            key: (modes, XYZ) for key in ("G_T", "G_R")
        }
        names |= {key: (XYZ, ()) for key in ("S_O", "S_t", "s2")} | {
            key: (turns, ()) for key in ("theta", "theta_dot")
        }
        names |= {key: (XYZ, XYZ) for key in ("Theta", "Theta_kl", "P_kl", "E_kl", "Theta2")}
        for key in NOTATION:  # in the order of the derivation
            if key in found:
                out.add(key, found[key], *names.get(key, ((), ())))
        return out

    def save(
        self, path: str | Path, *, bodies: Iterable[str] | None = None, overwrite: bool = False
    ) -> list[str]:
        """Write all arrays to `.h5`, with names of rows and columns, or `.npz`; returns what there is not.

        A group per body and form: `bodies/rod/M_star`, `bodies/rod/zyx/m_RR`, `loops/lam`, `minimal/M_hat`,
        `descriptor/Phi_s`. Forms that a singular state does not have are left out.
        """
        from flexmbs.dynamics.symbol_files import save

        return save(self, Path(path), bodies, overwrite)


def position_names(system: Mechanism) -> list[str]:
    """Names of all positions: joint coordinates, components of quaternions, modes."""
    t = system.tables
    speeds = speed_names(system, np.arange(system.n_vel))
    names = [speeds[v] if v >= 0 else "" for v in t.tree.vel_of_pos]
    for b, e in zip(t.prim.ball_beta, t.prim.ball_eta, strict=True):
        stem = speeds[e].removesuffix(".x")
        for k, axis in enumerate("wxyz"):
            names[b + k] = f"{stem.removesuffix('.rotation')}.quaternion.{axis}"
    return names


def kinematic_matrix(system: Mechanism, pos: Array) -> Array:
    """H of beta_dot = H eta for the whole tree, modes included, (n_pos, n_vel) (F19)."""
    H = np.zeros((system.n_pos, system.n_vel))
    rates = np.zeros(system.n_pos)
    for k, unit in enumerate(np.eye(system.n_vel)):
        position_rates(system.constants[0], pos, unit, rates)
        H[:, k] = rates
    return H


def rows_of_the_notes(system: Mechanism, form: DependentForm) -> DependentForm:
    """Rows of planar joints as the notes have them: places in ground axes, turns as differences of angles.

    On the constraints these are other combinations of the same rows: T Phi, T p2, and T^-T lambda.
    """
    T = np.eye(len(form.rows))
    for name, place in system.joints.items():
        rows = [k for k, text in enumerate(form.rows) if text.startswith(f"joints.{name} (")]
        body, sign = (place.Q.body, 1.0) if place.Q.body in system.model.bodies else (place.P.body, -1.0)
        x, y, turn = (form.names.index(f"{body}.{c}") for c in ("x", "y", "phi"))
        D = sign * form.Phi[np.ix_(rows, [x, y])]
        size = np.abs(D).max(axis=1, initial=0.0)
        places = [r for r, d in zip(rows, size, strict=True) if d > 1e-9]
        for r, d in zip(rows, size, strict=True):
            if d <= 1e-9:
                T[r, r] = 1.0 / (sign * form.Phi[r, turn])
        if len(places) == 2 and not place.joint.type_name == "distance":
            T[np.ix_(places, places)] = np.linalg.inv(D[[rows.index(r) for r in places]])
    lam = np.asarray(np.linalg.solve(T.T, form.lam), dtype=float)
    return DependentForm(
        form.names, form.rows, form.z, form.M, T @ form.Phi, form.p1, T @ form.p2, form.z_ddot, lam
    )
