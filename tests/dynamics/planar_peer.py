"""A four-bar by absolute coordinates of its own: nothing of flexmbs is used here.

Bodies have x, y, phi of their mass centres; joints are points that coincide, differentiated by complex steps.
"""

import numpy as np

GRAVITY, ROD = 9.81, 1  # the loaded body
GROUND, LENGTH = 1.0, (0.35, 0.9, 0.7)
MASS, INERTIA, CENTRE = (1.2, 2.0, 1.5), (0.03, 0.15, 0.07), (0.15, 0.5, 0.3)
ANCHOR, HOOK = np.array([0.2, -0.8]), np.array([0.45, 0.1])
SPRING, FREE, DAMPER, KNEE = 40.0, 0.2, 0.4, 0.7  # at the crank, between crank and rod
STRUT, STRUT_DAMPING, STRUT_LENGTH, COUPLE = 60.0, 2.0, 0.9, 2.5
M = np.diag(np.ravel([[m, m, i] for m, i in zip(MASS, INERTIA, strict=True)]))
START = np.array([0.1, 0.1, 0.6, 0.6, 0.5, 0.3, 0.9, 0.3, 1.9])


def turned(phi, x):
    return np.array([np.cos(phi) * x[0] - np.sin(phi) * x[1], np.sin(phi) * x[0] + np.cos(phi) * x[1]])


def point(z, i, x, y=0.0):
    """Place of a point of body i, from the joint at its beginning."""
    return z[3 * i : 3 * i + 2] + turned(z[3 * i + 2], np.array([x - CENTRE[i], y]))


def closure(z):
    """Crank on ground, rod on crank, rod on rocker, rocker on ground."""
    return np.concatenate([
        point(z, 0, 0.0),
        point(z, 0, LENGTH[0]) - point(z, 1, 0.0),
        point(z, 1, LENGTH[1]) - point(z, 2, LENGTH[2]),
        point(z, 2, 0.0) - np.array([GROUND, 0.0]),
    ])  # fmt: skip


def jacobian(z):
    return np.array([np.imag(closure(z + 1e-30j * e)) / 1e-30 for e in np.eye(9)]).T


def on_rod(z, F):
    """Generalised forces of a force at the hook."""
    r = turned(z[5], HOOK - [CENTRE[ROD], 0.0])
    return np.array([0, 0, 0, F[0], F[1], r[0] * F[1] - r[1] * F[0], 0, 0, 0])


def forces(z, v):
    f = np.array([0.0, -1.0, 0.0] * 3) * np.repeat(MASS, 3) * GRAVITY
    f[2] -= SPRING * (z[2] - FREE) + DAMPER * v[2]
    f[5] -= KNEE * (v[5] - v[2])
    f[2] += KNEE * (v[5] - v[2])
    arm = turned(z[5], HOOK - [CENTRE[ROD], 0.0])
    along = z[3:5] + arm - ANCHOR
    length = np.linalg.norm(along)
    rate = (v[3:5] + v[5] * np.array([-arm[1], arm[0]])) @ along / length
    f += on_rod(z, -along / length * (STRUT * (length - STRUT_LENGTH) + STRUT_DAMPING * rate))
    f[8] += COUPLE
    return f


def placed(z, row, value):
    """Closed position in which `row @ z` is a value."""
    z = z.copy()
    for _ in range(60):
        J = np.vstack([jacobian(z), row])
        change = np.linalg.solve(J, -np.append(closure(z), row @ z - value))
        z += change
        if np.abs(change).max() < 1e-15:
            break
    return z


def moved(z, row, rate):
    """Speeds in which `row @ v` is a rate."""
    return np.linalg.solve(np.vstack([jacobian(z), row]), np.append(np.zeros(8), rate))


def right_side(z, v):
    """- J_dot v."""
    f, h = (lambda e: jacobian(z + e * v) @ v), 1e-4
    return -(8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def accelerations(z, v, more=0.0):
    """Accelerations, and forces of the rows on the first body of each."""
    J = jacobian(z)
    whole = np.block([[M, J.T], [J, np.zeros((8, 8))]])
    x = np.linalg.solve(whole, np.append(forces(z, v) + more, right_side(z, v)))
    return x[:9], -x[9:]


def effort(z, v, row, rate_of_rate):
    """Effort on `row @ z` that gives it an acceleration, and the forces of the rows."""
    J = np.vstack([jacobian(z), row])
    whole = np.block([[M, J.T], [J, np.zeros((9, 9))]])
    x = np.linalg.solve(whole, np.append(np.append(forces(z, v), right_side(z, v)), rate_of_rate))
    return -x[-1], -x[9:-1]


def case(**analysis):
    """The same in the words of a case file."""
    ends = dict(zip(("crank", "rod", "rocker"), zip(MASS, INERTIA, CENTRE, LENGTH, strict=True), strict=True))
    turn = {"type": "revolute"}
    return {
        "gravity": [0, -GRAVITY, 0],
        "ground": {"frames": {"o": {"pos": [GROUND, 0, 0]}, "s": {"pos": [*ANCHOR.tolist(), 0]}}},
        "bodies": {
            name: {
                "type": "rigid", "mass": m, "com": [c, 0, 0], "inertia": {"ixx": 0.01, "iyy": i, "izz": i},
                "frames": {"e": {"pos": [x, 0, 0]}, "h": {"pos": [*HOOK.tolist(), 0]}},
            }
            for name, (m, i, c, x) in ends.items()
        },
        "joints": {
            "a": turn | {"from": "ground", "to": "crank", "spring": {"stiffness": SPRING, "free": FREE},
                         "damper": {"damping": DAMPER},
                         "initial": {"position": 0.6, "velocity": 2.5, "hold": True}},
            "b": turn | {"from": "crank.e", "to": "rod", "damper": {"damping": KNEE}},
            "c": turn | {"from": "rod.e", "to": "rocker.e"},
            "d": turn | {"from": "ground.o", "to": "rocker", "initial": {"position": 1.3}},
        },
        "forces": {
            "strut": {"type": "spring_damper", "from": "ground.s", "to": "rod.h", "stiffness": STRUT,
                      "damping": STRUT_DAMPING, "length": STRUT_LENGTH},
            "couple": {"type": "torque", "on": "rocker", "torque": [0, 0, COUPLE]},
        },
        "analysis": analysis,
    }  # fmt: skip
