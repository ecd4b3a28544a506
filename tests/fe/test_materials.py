"""Materials: named, isotropic, orthotropic, turned, and wrong ones."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.materials import NAMED, anisotropic, isotropic, material, orthotropic, rotated, tensor


def test_uniaxial_stress_gives_young_and_poisson():
    steel = material("steel")
    strain = np.linalg.solve(steel.C_mat, [1.0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(strain * steel.E, [1, -0.3, -0.3, 0, 0, 0], atol=1e-15)
    assert steel.C_mat[3, 3] == pytest.approx(steel.G)
    assert sorted(NAMED) == ["aluminium", "steel", "titanium"]
    assert material({"young": 1e9, "poisson": 0.2, "density": 5}).rho == 5.0
    assert material(steel) is steel


def test_an_orthotropic_material_with_equal_axes_is_isotropic():
    one = isotropic("m", 70e9, 0.33, 2700.0)
    same = orthotropic(
        "m", [70e9] * 3, [0.33] * 3, [one.G] * 3, 2700.0, rotation=np.linalg.qr(np.eye(3) + 0.3)[0]
    )
    np.testing.assert_allclose(same.C_mat, one.C_mat, atol=1e-4)


def test_poissons_ratios_of_an_orthotropic_material_belong_to_their_pulls():
    E, nu = [40e9, 9e9, 11e9], [0.28, 0.3, 0.07]
    fibre = orthotropic("fibre", E, nu, [4e9, 3e9, 5e9], 1600.0)
    for pull, across, ratio in ((0, 1, nu[0]), (1, 2, nu[1]), (2, 0, nu[2])):
        strain = np.linalg.solve(fibre.C_mat, np.eye(6)[pull] * E[pull])
        assert strain[pull] == pytest.approx(1.0) and strain[across] == pytest.approx(-ratio)


def test_turning_a_material_turns_its_tensor():
    fibre = material(
        {"young": [40e9, 9e9, 11e9], "poisson": [0.28, 0.3, 0.07], "shear": [4e9, 3e9, 5e9], "density": 1}
    )
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # about z: x becomes y
    C = rotated(fibre.C_mat, quarter)
    expected = fibre.C_mat[np.ix_([1, 0, 2, 3, 5, 4], [1, 0, 2, 3, 5, 4])]
    np.testing.assert_allclose(C, expected, atol=1e-5)
    full = tensor(fibre.C_mat)
    assert full[0, 1, 1, 0] == fibre.C_mat[3, 3] and full[1, 2, 2, 2] == 0.0
    with pytest.raises(InputError, match="is not isotropic"):
        _ = fibre.G


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: material("stel"), 'did you mean "steel"'),
        (lambda: material({"young": 1e9}), "lacks poisson, density"),
        (lambda: material({"young": 1e9, "poisson": 0.3, "density": 1, "colour": 1}), "unknown key"),
        (lambda: isotropic("m", -1.0, 0.3, 1.0), "young = -1"),
        (lambda: isotropic("m", 1.0, 0.5, 1.0), "poisson = 0.5"),
        (lambda: isotropic("m", 1.0, 0.3, -1.0), "density"),
        (lambda: isotropic("m", float("nan"), 0.3, 1.0), "young"),
        (lambda: isotropic("m", "soft", 0.3, 1.0), "young"),
        (lambda: orthotropic("m", [1, 1, 1], [0.9, 0.9, 0.9], [1, 1, 1], 1.0), "elastic energy"),
        (lambda: orthotropic("m", [1, 1], [0.3] * 3, [1] * 3, 1.0), "three numbers"),
        (lambda: orthotropic("m", [1, 1, 1], [0.3] * 3, [1] * 3, 1.0, rotation=[1, 2]), "rotation matrix"),
        (
            lambda: orthotropic("m", [1, 1, 1], [0.3] * 3, [1] * 3, 1.0, rotation=np.ones((3, 3))),
            "rotation matrix",
        ),
        (lambda: anisotropic("m", np.eye(5), 1.0), "6 x 6"),
        (lambda: anisotropic("m", -np.eye(6), 1.0), "positive definite"),
    ],
)
def test_a_wrong_material_is_told_what_is_wrong(make, told):
    with pytest.raises(InputError, match=told):
        make()
