"""The form of the notes: same kinetic energy and same accelerations for every rotation parametrisation."""

import json

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.ffrf.mass import mass_matrix, quadratic_velocity_forces
from flexmbs.ffrf.parametrisation import PARAMETRISATIONS, in_parameters, parametrisation, velocity_map
from flexmbs.resources import resource
from tests.ffrf import reference


def random_theta(rng, name):
    theta = rng.uniform(0.3, 0.8, PARAMETRISATIONS[name].size)
    return theta / np.linalg.norm(theta) if name == "euler_parameters" else theta


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_rate_matrix_is_the_derivative_of_the_rotation_F12(name):
    rng = np.random.default_rng(1)
    chosen, theta = parametrisation(name), random_theta(rng, name)
    theta_dot = rng.normal(size=chosen.size)
    if name == "euler_parameters":
        theta_dot -= theta * (theta @ theta_dot)
    step = 1e-30j
    R_dot = chosen.rotation(theta + step * theta_dot).imag / step.imag
    W = chosen.rotation(theta).T @ R_dot
    w = chosen.rate_matrix(theta) @ theta_dot
    np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], w, rtol=1e-12, atol=1e-14)
    bias = chosen.rate_matrix(theta + step * theta_dot).imag / step.imag @ theta_dot
    np.testing.assert_allclose(chosen.rate_bias(theta, theta_dot), bias, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_same_kinetic_energy_and_accelerations_in_every_parametrisation_F12(name):
    rng = np.random.default_rng(2)
    _, body = reference.random_body(rng, 3, geo=True)
    chosen, theta = parametrisation(name), random_theta(rng, name)
    q, q_dot = 0.3 * rng.normal(size=3), rng.normal(size=3)
    theta_dot = rng.normal(size=chosen.size)
    if name == "euler_parameters":
        theta_dot -= theta * (theta @ theta_dot)
    rates = np.concatenate([rng.normal(size=3), theta_dot, q_dot])
    v_hat = velocity_map(name, theta, 3) @ rates
    M = mass_matrix(body, q)
    Q = quadratic_velocity_forces(body, q, q_dot, v_hat[3:6]) + rng.normal(size=9)
    M_theta, Q_theta = in_parameters(name, theta, theta_dot, M, Q)
    assert rates @ M_theta @ rates == pytest.approx(v_hat @ M @ v_hat, rel=1e-12)
    a_hat = np.linalg.solve(M, Q)
    accelerations = np.linalg.lstsq(M_theta, Q_theta, rcond=1e-12)[0]
    bias = np.concatenate([np.zeros(3), chosen.rate_bias(theta, theta_dot), np.zeros(3)])
    found = velocity_map(name, theta, 3) @ accelerations + bias
    np.testing.assert_allclose(found, a_hat, rtol=1e-9, atol=1e-9)  # conditioning of M
    assert np.linalg.matrix_rank(M_theta[3 : 3 + chosen.size, 3 : 3 + chosen.size]) == 3


def test_unknown_parametrisation_is_refused():
    with pytest.raises(InputError, match="did you mean"):
        parametrisation("zyw")


def test_rate_matrix_of_the_reference_case():
    case = json.loads(resource("cases", "reference", "force-point-on-flexible-node.json").read_text())
    chosen, given = parametrisation("zyx"), case["parameters"]
    theta = np.array(given["euler_zyx"])
    H = chosen.rate_matrix(theta)
    # the case lists the columns for [a, b, c]; entries that vanish are compared absolutely
    np.testing.assert_allclose(H, case["reference"]["euler"]["H"], rtol=1e-12, atol=1e-15)
