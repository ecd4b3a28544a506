"""Small systems with known solutions, in the form that integrators see."""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import handle, kernel
from flexmbs.integrate.problem import Problem


class Data(NamedTuple):
    """`kind` (1,): 0 oscillators, 1 pendulum in x, y on a circle, 2 free top; `par` their numbers."""

    kind: np.ndarray
    par: np.ndarray
    n: np.ndarray


@kernel(lean=True)
def rates(data, t, y, y_dot):
    n = data.n[0]
    y_dot[:] = 0.0
    if data.kind[0] == 0:  # oscillators with stiffness par[i], coupling to a soft nonlinearity, drive cos(t)
        for i in range(n):
            y_dot[i] = y[n + i]
            y_dot[n + i] = -data.par[i] * y[i]
        for k in range(2 * n, y.size):
            y_dot[k] = y[n] * y[n]  # dissipation-like quadrature
    elif data.kind[0] == 1:  # unit pendulum as a particle with the constraint x^2 + y^2 = 1
        lam = -(y[2] ** 2 + y[3] ** 2 - data.par[0] * y[1]) / (y[0] ** 2 + y[1] ** 2)
        y_dot[0], y_dot[1] = y[2], y[3]
        y_dot[2] = lam * y[0]
        y_dot[3] = lam * y[1] - data.par[0]
    elif data.kind[0] == 2:  # free top: quaternion and angular velocity in the body
        w, x, yy, z = y[0], y[1], y[2], y[3]
        p, q, r = y[4], y[5], y[6]
        y_dot[0] = 0.5 * (-x * p - yy * q - z * r)
        y_dot[1] = 0.5 * (w * p + yy * r - z * q)
        y_dot[2] = 0.5 * (w * q + z * p - x * r)
        y_dot[3] = 0.5 * (w * r + x * q - yy * p)
        euler(data, p, q, r, y_dot[4:7])
    else:  # ball thrown against a floor of stiffness par[0]
        y_dot[0] = y[1]
        y_dot[1] = -10.0 - data.par[0] * min(y[0], 0.0)
    return 0


@kernel(lean=True)
def euler(data, p, q, r, out):
    A, B, C = data.par[0], data.par[1], data.par[2]
    out[0] = (B - C) * q * r / A
    out[1] = (C - A) * r * p / B
    out[2] = (A - B) * p * q / C


@kernel(lean=True)
def shifted(data, t, y, a, bh, gh, a_new, aux_dot):
    n = data.n[0]
    if data.kind[0] == 0:
        for i in range(n):
            a_new[i] = (-data.par[i] * y[i] + bh * data.par[i] * a[i]) / (1.0 + bh * data.par[i])
        for k in range(aux_dot.size):
            aux_dot[k] = y[n] * y[n]
    elif data.kind[0] == 1:  # position level: G bh (a_new - a) = -g
        g = 0.5 * (y[0] ** 2 + y[1] ** 2 - 1.0)
        ax, ay = 0.0, -data.par[0]
        lam = (-g / bh - y[0] * (ax - a[0]) - y[1] * (ay - a[1])) / (y[0] ** 2 + y[1] ** 2)
        a_new[0], a_new[1] = ax + lam * y[0], ay + lam * y[1]
    elif data.kind[0] == 2:
        euler(data, y[4], y[5], y[6], a_new)
    else:
        a_new[0] = -10.0 - data.par[0] * min(y[0], 0.0)
    return 0


@kernel(lean=True)
def increment(data, y, delta, y_new):
    if data.kind[0] != 2:
        for i in range(delta.size):
            y_new[i] = y[i] + delta[i]
        return 0
    angle = np.sqrt(delta[0] ** 2 + delta[1] ** 2 + delta[2] ** 2)
    s = 0.5 if angle < 1e-8 else np.sin(0.5 * angle) / angle
    c = np.cos(0.5 * angle)
    p, q, r = s * delta[0], s * delta[1], s * delta[2]
    w, x, yy, z = y[0], y[1], y[2], y[3]
    y_new[0] = w * c - x * p - yy * q - z * r
    y_new[1] = x * c + w * p + yy * r - z * q
    y_new[2] = yy * c + w * q + z * p - x * r
    y_new[3] = z * c + w * r + x * q - yy * p
    return 0


@kernel(lean=True)
def project(data, t, y, bh, gh, out):
    out[:] = 0.0
    if data.kind[0] == 1:
        size = np.sqrt(y[0] ** 2 + y[1] ** 2)
        rate = (y[0] * y[2] + y[1] * y[3]) / size
        if abs(size - 1.0) > 1e-15 or abs(rate) > 1e-15:
            y[2] -= rate * y[0] / size
            y[3] -= rate * y[1] / size
            y[0] /= size
            y[1] /= size
            out[2] = 1.0
        out[0] = abs(np.sqrt(y[0] ** 2 + y[1] ** 2) - 1.0)
        out[1] = abs(y[0] * y[2] + y[1] * y[3])
    elif data.kind[0] == 2:
        size = np.sqrt(y[0] ** 2 + y[1] ** 2 + y[2] ** 2 + y[3] ** 2)
        for i in range(4):
            y[i] /= size
    return 0


@kernel(lean=True)
def switches(data, t, y, s):
    for k in range(s.size):
        s[k] = y[0] - data.par[1 + k] if data.kind[0] == 3 else y[0]
    return 0


FUNCTIONS = dict(rates=rates, shifted=shifted, increment=increment, project=project, switches=switches)


def problem(kind, par, n, n_pos, n_vel, **more):
    data = handle(Data(np.array([kind]), np.array(par, dtype=float), np.array([n])))
    return Problem(data=data, n_pos=n_pos, n_vel=n_vel, n_aux=more.pop("n_aux", 0), **FUNCTIONS, **more)


def oscillators(*stiffness):
    n = len(stiffness)
    return problem(0, stiffness, n, n, n, n_aux=1, n_quad=1)


def circle(gravity=9.81):
    return problem(1, [gravity], 2, 2, 2, closed=True)


def top(A=1.0, B=2.0, C=3.0):
    return problem(2, [A, B, C], 3, 4, 3, group=np.array([0, 0, 0, 0, 1, 1, 1]), twin=np.full(3, -1))


def ball(stiffness=1e4, *levels):
    return problem(3, [stiffness, *levels], 1, 1, 1, n_switch=len(levels))
