"""Derivatives in forces, inertia, expressions and cams against the complex step (see tests/complex_step.py).

Only the outline of a cam bears no complex numbers: `model/touching/cam_profile.py` computes with them as
points of the plane, and looks for the place of contact by comparing. There a difference quotient stands in,
extrapolated twice (Richardson); the law that follows from the outline is a table, which goes with the others.
"""

from __future__ import annotations

import numpy as np
import pytest

from flexmbs.dynamics import evaluate
from flexmbs.expressions import constant, machine, parse, table_loader
from flexmbs.expressions.table import STACK, compile_table
from flexmbs.ffrf import inertia as kernels
from flexmbs.ffrf.mass import quadratic_velocity_forces
from flexmbs.ffrf.table import INERTIA_TERMS, SYM, pack_body
from flexmbs.model.forces.bushing import Bushing
from flexmbs.model.laws import applied, pair_kernels, stiff
from flexmbs.model.laws.tables import (
    BUSHING,
    DAMPING,
    DISSIPATED,
    LENGTH,
    POTENTIAL,
    RATE,
    SPAN,
    STIFFNESS,
    VALUE,
    WORK,
)
from flexmbs.model.touching.cam_outline import PolarOutline
from flexmbs.model.touching.cam_profile import Contact, Follower
from flexmbs.spatial import skew
from tests.complex_step import by_name, complex_kernels, derivative, plain, pos_rates, twin
from tests.ffrf import reference
from tests.model.rig import Rig
from tests.model.test_forces import ALL, CONSERVATIVE, SIX, SPRINGS, mechanism
from tests.test_expressions import NAMES, SMOOTH, X_DDOT, X_DOT, X


def expression(text, load=None):
    """Value and both rates by the machine, at complex channels."""
    table = compile_table(
        [constant(1.0), parse(text, load_table=load)], {name: k for k, name in enumerate(NAMES)}
    )

    def at(x, x_dot, x_ddot):
        out = np.zeros(3, dtype=complex)
        with complex_kernels():
            machine.evaluate(table, 1, x, x_dot, x_ddot, np.zeros((STACK, 3), dtype=complex), out)
        return {"value": out[0], "rate": out[1], "second": out[2]}

    return at


@pytest.mark.parametrize("text", [*SMOOTH, "b**(a - 1.1*t)", "exp(sin(a*b))/(1 + t**2)", 'table("f.csv", a)'])
def test_rates_and_gradients_of_expressions(text, tmp_path):
    (tmp_path / "f.csv").write_text("".join(f"{x},{np.sin(3 * x)}\n" for x in np.linspace(0.0, 2.0, 9)))
    at, none = expression(text, table_loader(tmp_path)), np.zeros(3)
    found = at(X, X_DOT, X_DDOT)
    along = derivative(at, [X, X_DOT, X_DDOT], [X_DOT, X_DDOT, none])
    assert found["rate"].real == pytest.approx(along["value"], rel=1e-12, abs=1e-13)  # rounding
    assert found["second"].real == pytest.approx(along["rate"], rel=1e-11, abs=1e-12)
    for unit in np.eye(3):  # a channel alone: how coefficients of rows and slopes of laws are taken
        slope = derivative(at, [X, X_DOT, X_DDOT], [unit, none, none])
        assert at(X, unit, none)["rate"].real == pytest.approx(slope["value"], rel=1e-12, abs=1e-13)


class Inertia:
    """M(q) of a random body in the dtype of q."""

    def __init__(self, rng, geo, terms):
        _, self.body = reference.random_body(rng, 4, geo=geo)
        self.block = pack_body(self.body, inertia_terms=terms)

    def M(self, q):
        block, nf = self.block, self.block.nf
        body, rows = np.zeros(15, dtype=complex), np.zeros(7 * nf, dtype=complex)
        sizes, still = (nf, block.n_T, block.n_A, block.n_G), np.zeros(nf, dtype=complex)
        kernels.inertia(block.data, 0, sizes, (q, 0, still, 0), (0.0, 0.0, 0.0), (body, 0, rows, 0))
        M = np.zeros((6 + nf, 6 + nf), dtype=complex)
        M[:3, :3], M[6:, 6:] = self.body.mass * np.eye(3), self.body.m_ff
        S, rows = body[:3], rows.reshape(nf, 7)
        S_skew = np.array([[0.0, -S[2], S[1]], [S[2], 0.0, -S[0]], [-S[1], S[0], 0.0]])
        M[:3, 3:6], M[3:6, :3] = -S_skew, S_skew
        for c, (k, ell) in enumerate(SYM):
            M[3 + k, 3 + ell] = M[3 + ell, 3 + k] = body[3 + c]
        M[:6, 6:], M[6:, :6] = rows[:, :6].T, rows[:, :6]
        return {"M": M}


@pytest.mark.parametrize("terms", INERTIA_TERMS)
@pytest.mark.parametrize("geo", [False, True])
def test_velocity_forces_follow_from_the_mass_matrix_F13_F17a(geo, terms):
    """Lagrange's equations in body axes, T = v_hat^T M(q) v_hat / 2, with the derivatives of M by q."""
    rng = np.random.default_rng(11)
    inertia, (q, q_dot) = Inertia(rng, geo, terms), 0.3 * rng.normal(size=(2, 4))
    v, w = rng.normal(size=(2, 3))
    v *= terms == "full"  # truncated, Q_v is that of v = 0
    v_hat = np.concatenate([v, w, q_dot])
    with complex_kernels():
        M = inertia.M(q + 0j)["M"].real
    slopes = [derivative(inertia.M, [q], [unit])["M"] for unit in np.eye(4)]
    M_dot, p = np.einsum("a,aij->ij", q_dot, slopes), M @ v_hat
    Q = -M_dot @ v_hat
    Q[:3] -= np.cross(w, p[:3])
    Q[3:6] -= np.cross(w, p[3:6]) + np.cross(v, p[:3])
    Q[6:] += [0.5 * v_hat @ slope @ v_hat for slope in slopes]
    Q += M[:, :3] @ np.cross(w, v)  # a is the acceleration, not the rate of v in body axes
    found = quadratic_velocity_forces(inertia.body, q, q_dot, w, inertia_terms=terms)
    np.testing.assert_allclose(found, Q, rtol=0.0, atol=1e-12 * np.abs(p).max())  # rounding
    assert np.abs(slopes).max() > 0.1 or terms == "constant"
    assert np.abs(skew(w) @ p[:3]).max() > 0.1


class Forces:
    """All laws of a rig at complex states."""

    def __init__(self, rig, rng):
        self.rig, self.t = rig, 0.3
        self.pos, self.vel = rig.random_state(rng)
        self.acc = rng.normal(size=rig.n_vel)
        self.tables, self.laws = plain(rig.sys), plain(rig.laws)
        self.found = self.stage(*self.at())

    def at(self):
        return [self.t, self.pos, self.vel, self.acc]

    def stage(self, t, pos, vel, acc):
        ws, work, aux = twin(self.rig.ws), twin(self.rig.lw), np.zeros(self.rig.system.n_aux)
        pos, vel, acc = (np.array(x, dtype=complex) for x in (pos, vel, acc))
        with complex_kernels():
            evaluate.kinematics(self.tables, ws, self.laws, work, (t, pos, vel, aux, acc))
            applied.applied_forces(self.laws, work, self.tables, ws, t, pos, vel, aux)
            found = {**by_name(ws), "out": work.out, "number": work.value}
            for k in np.flatnonzero(self.laws.kind == BUSHING)[:1]:
                deflection = np.zeros(12, dtype=complex)
                pair_kernels.deflection(ws, self.laws.mark_p[k], self.laws.mark_q[k], deflection)
                found["deflection"] = deflection
            rows = range(len(self.laws.stiff_row))
            directions = np.zeros((len(rows), 10), dtype=complex)
            for s in rows:
                k, c = self.laws.stiff_law[s], self.laws.stiff_direction[s]
                stiff.direction(self.laws, work, ws, k, c, directions[s])
        return {**found, "directions": directions}

    def along(self, vel, acc, t_dot=1.0):
        """Derivative along a motion."""
        rates = pos_rates(self.tables, self.pos, vel)
        return derivative(self.stage, self.at(), [t_dot, rates, acc, np.zeros_like(acc)])


@pytest.mark.parametrize("law", CONSERVATIVE.values(), ids=CONSERVATIVE.keys())
def test_forces_are_the_gradient_of_their_potential_F16(law):
    rng = np.random.default_rng(12)
    forces = Forces(mechanism(rng, law), rng)
    rig, none = forces.rig, np.zeros(forces.rig.n_vel)
    for unit in np.eye(rig.n_vel):
        rig.evaluate(forces.pos, unit, forces.t)
        slope = forces.along(unit, none, 0.0)["out"][0, POTENTIAL]
        assert rig.power(unit) == pytest.approx(-slope, rel=1e-11, abs=1e-11)  # rounding


@pytest.mark.parametrize("law", ALL, ids=lambda law: law.name)
def test_power_of_a_law_is_what_its_energy_loses(law):
    rng = np.random.default_rng(13)
    forces = Forces(mechanism(rng, law), rng)
    forces.rig.evaluate(forces.pos, forces.vel, forces.t)
    out, rate = forces.found["out"][0].real, forces.along(forces.vel, forces.acc)["out"][0]
    power = forces.rig.power(forces.vel)
    assert power == pytest.approx(out[WORK] - out[DISSIPATED] - rate[POTENTIAL], rel=1e-11, abs=1e-11)
    if law.name in ("spring", "law", "moving"):
        assert rate[LENGTH] == pytest.approx(out[RATE], rel=1e-12)


def spring_slopes(forces, k):
    """d force = K d length + D d rate, along a motion at a fixed time."""
    out, rate = forces.found["out"][k].real, forces.along(forces.vel, forces.acc, 0.0)["out"][k]
    return out, rate, out[STIFFNESS] * rate[LENGTH] + out[DAMPING] * rate[RATE]


@pytest.mark.parametrize("law", ALL[:3], ids=lambda law: law.name)
def test_slopes_of_springs_between_points_F45(law):
    rng = np.random.default_rng(14)
    out, rate, change = spring_slopes(Forces(mechanism(rng, law), rng), 0)
    assert abs(out[STIFFNESS]) > 0.1 and rate[VALUE] == pytest.approx(change, rel=1e-12)


def test_slopes_of_laws_on_joint_coordinates_F45():
    rng = np.random.default_rng(16)
    rig = mechanism(rng)
    rig.system.model.joints["slide"].__dict__.update(SPRINGS)
    rig.system.model.joints["pivot"].spring = {"force": parse("=-5*x**3 - 0.2*v*abs(v)")}
    forces = Forces(Rig(rig.system.model), rng)
    seen = 0
    for k in range(len(forces.laws.kind)):
        out, rate, change = spring_slopes(forces, k)
        assert rate[LENGTH] == pytest.approx(out[RATE], rel=1e-12)
        assert rate[VALUE] == pytest.approx(-change, rel=1e-12, abs=1e-13)
        seen += abs(out[STIFFNESS]) + abs(out[DAMPING]) > 0.01
    assert seen == len(forces.laws.kind) == 5  # inside the stop, with friction that grows


def test_deflections_of_a_bushing_and_the_directions_of_its_rows_F45():
    rng = np.random.default_rng(16)
    law = Bushing(name="f", from_frame="box.tip", to_frame="beam.left", stiffness=SIX, damping=SIX)
    forces = Forces(mechanism(rng, law), rng)
    d, rate = forces.found["deflection"].real, forces.along(forces.vel, forces.acc)["deflection"]
    np.testing.assert_allclose(d[6:], rate[:6], rtol=1e-11, atol=1e-12)
    assert np.abs(d[3:6]).max() > 0.3  # a turn for which J differs from 1
    check_directions(forces, d[6:])


@pytest.mark.parametrize("law", ALL[:2], ids=lambda law: law.name)
def test_direction_of_the_row_of_a_spring_F45(law):
    rng = np.random.default_rng(17)
    forces = Forces(mechanism(rng, law), rng)
    assert forces.laws.kind[0] >= SPAN
    check_directions(forces, forces.found["out"][0, [RATE]].real)


def check_directions(forces, rates):
    """A unit multiplier does the work of its deflection: n.(v_Q - v_P at Q) + m.(w_Q - w_P)."""
    ws, p, q = forces.found, forces.laws.mark_p[0], forces.laws.mark_q[0]
    x, v = ws["marker.x"].real, ws["marker.v"].real
    linear = v[q, :3] - v[p, :3] - np.cross(v[p, 3:], x[q] - x[p])
    rows = ws["directions"].real
    assert len(rows) == len(rates)
    found = rows[:, 3:6] @ linear + rows[:, 6:9] @ (v[q, 3:] - v[p, 3:])
    np.testing.assert_allclose(found, rates, rtol=1e-11, atol=1e-12)


def richardson(f, x, h):
    """Derivative by central differences over h, h/2, h/4, extrapolated twice: error of order six."""
    D = [(f(x + s) - f(x - s)) / (2 * s) for s in (h, h / 2, h / 4)]
    D = [(4 * b - a) / 3 for a, b in zip(D[:-1], D[1:], strict=True)]
    return (16 * D[1] - D[0]) / 15


@pytest.mark.parametrize("kind", ["roller", "flat", "arm"])
def test_levers_and_normals_of_a_cam_profile(kind):
    """dy/dx of the contact is the normal velocity of the cam over the lever of the follower."""
    phi = np.linspace(0.0, 2 * np.pi, 400)[:-1]
    outline = PolarOutline(phi, 0.1 + 0.01 * np.cos(phi) + 0.002 * np.sin(2 * phi))
    u, h = np.array([0.3, 1.7, 4.0]), 1e-3
    for order in (0, 1):
        wanted = richardson(lambda u, order=order: outline.at(u, order), u, h)
        np.testing.assert_allclose(outline.at(u, order + 1), wanted, rtol=0.0, atol=1e-8)  # C2 spline
    follower = {
        "roller": Follower(at=0.01 + 0j, sense=1.0, direction=1j, radius=0.02),
        "flat": Follower(at=0j, sense=1.0, direction=1j, normal=1j),
        "arm": Follower(at=0.02 + 0.12j, sense=1.0, pivot=0.15 + 0.1j, turns=-1.0, radius=0.02),
    }[kind]
    contact, x = Contact("c", outline, follower, turns=-1.0), np.array([0.4, 2.0, 3.3])
    found = contact.touch(x)
    slope = richardson(lambda x: contact.touch(x).coordinate, x, 1e-2)
    wanted = (-1j * found.point * np.conj(found.normal)).real / found.lever
    np.testing.assert_allclose(slope, wanted, rtol=0.0, atol=1e-7)  # of 0.01: place of contact to 1e-8
