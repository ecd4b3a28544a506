"""The planar equations of the Czech notes, written out, against the suspension in every formulation (F32)."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.resources import resource

L0, L1, L2, L3, P, D, L = 0.3, 0.4, 0.28, 0.32, 0.12, 0.2, 0.3
M2, I1, I2T, I3, K, C = 30.0, 0.15, 0.8, 0.08, 30000.0, 600.0
BETA, A, B = np.arctan2(D, L), L**2 + 2 * D**2, D * np.sqrt(L**2 + D**2)


def notes(phi, rate):
    """Second derivatives of phi1, phi2, phi3 and the multipliers of both closing conditions."""
    (s1, s2, s3), (c1, c2, c3) = np.sin(phi), np.cos(phi)
    s, c = np.sin(phi[0] + phi[1]), np.cos(phi[0] + phi[1])
    xi = np.sqrt(A - 2 * B * np.cos(phi[0] - BETA)) - L
    lever = B / (L + xi) * np.sin(phi[0] - BETA)
    F = K * xi + C * lever * rate[0]
    r1, r2, r3 = rate**2
    whole = np.array(
        [
            [I1 + M2 * L1**2, -M2 * L1 * P * c, 0.0, L1 * c1, -L1 * s1],
            [-M2 * L1 * P * c, I2T + M2 * P**2, 0.0, -L2 * c2, -L2 * s2],
            [0.0, 0.0, I3, -L3 * c3, -L3 * s3],
            [L1 * c1, -L2 * c2, -L3 * c3, 0.0, 0.0],
            [-L1 * s1, -L2 * s2, -L3 * s3, 0.0, 0.0],
        ]
    )
    right = [
        -M2 * L1 * P * r2 * s - F * lever,
        -M2 * L1 * P * r1 * s,
        0.0,
        L1 * r1 * s1 - L2 * r2 * s2 - L3 * r3 * s3,
        L1 * r1 * c1 + L2 * r2 * c2 + L3 * r3 * c3,
    ]
    x = np.linalg.solve(whole, right)
    return x[:3], -x[3:]


@pytest.fixture(scope="module")
def motion():
    """phi and its rates over 0.2 s, tight; index 1, so the closing conditions drift by rounding only."""
    phi = np.array([np.pi / 2 - 0.2, 0.2741433968466514, 1.7245634991971677])
    times = np.linspace(0.0, 0.2, 21)
    right = lambda t, y: np.concatenate([y[3:], notes(y[:3], y[3:])[0]])  # noqa: E731
    y = solve_ivp(
        right, (0.0, 0.2), np.concatenate([phi, np.zeros(3)]), "DOP853", times, rtol=1e-12, atol=1e-13
    )
    s, c = np.sin(y.y[:3]), np.cos(y.y[:3])
    assert np.abs(L1 * s[0] - L2 * s[1] - L3 * s[2]).max() < 1e-10
    assert np.abs(L1 * c[0] + L2 * c[1] + L3 * c[2] - L0).max() < 1e-10
    return times, y.y[:3], y.y[3:]


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
def test_suspension_moves_as_the_equations_of_the_notes_say(motion, tmp_path, formulation):
    times, phi, rate = motion
    case = Case.load(
        resource("cases") / "double-wishbone.toml",
        **{"analysis.t_end": 0.2, "output.every": 0.01, "analysis.formulation": formulation},
    )
    result = fm.run(case, tmp_path / "r.h5")
    np.testing.assert_allclose(result.time, times, atol=1e-12)
    joints = result.joints
    np.testing.assert_allclose(np.pi / 2 - joints["lower"].position[:, 0], phi[0], atol=1e-7)
    np.testing.assert_allclose(joints["upper"].position[:, 0] + np.pi / 2, phi[2], atol=1e-7)
    np.testing.assert_allclose(joints["j12"].position[:, 0], phi[0] + phi[1], atol=1e-7)
    np.testing.assert_allclose(-joints["lower"].velocity[:, 0], rate[0], atol=1e-5)
    for n in range(0, len(times), 4):
        acceleration, lam = notes(phi[:, n], rate[:, n])
        assert -joints["lower"].acceleration[n, 0] == pytest.approx(acceleration[0], rel=1e-5, abs=1e-3)
        np.testing.assert_allclose(joints["j23"].reaction_force[n, :2], lam, rtol=1e-5, atol=1e-3)
