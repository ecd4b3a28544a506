"""Observed order of the reduction: frequencies of a bar by the number of fixed-interface modes (F51)."""

import numpy as np

import flexmbs as fm
from flexmbs.verify.reference import read


def lowest(n, p, a=0.1):
    """Lowest elastic angular frequency of the free bar by two constraint modes and n sine waves."""
    L = p["L"]
    shapes = [[f"1-x/{L}", "0", "0"], [f"x/{L}", "0", "0"]]
    shapes += [[f"sin({i}*pi*x/{L})", "0", "0"] for i in range(1, n + 1)]
    mesh = {"shape": "box", "size": [L, a, a], "corner": [0, 0, 0], "divisions": [4 * n, 1, 1]}
    recipe = {
        "mesh": mesh | {"element": "hex20"},
        "material": {"young": p["EA"] / a**2, "poisson": 0.0, "density": p["rhoA"] / a**2},
        "given": {"shapes": shapes},
    }
    modal = fm.reduce(recipe, stress="none", geometric_stiffness=False)
    return 2 * np.pi * modal.frequency_hz[1]


def test_frequencies_converge_from_above_at_third_order():
    """The part of mode i falls as i^-3, its energy as i^-4: the sum of what is left out as n^-3.

    Waves of even number take part only, so that what is left out starts at n + 2: as (n + 1)^-3.
    """
    case = read("fe-craig-bampton-bar")
    exact = case.numbers["exact_angular_frequencies"][0]
    counts = np.array([4, 8, 16])
    error = np.array([lowest(int(n), case.parameters) for n in counts]) / exact - 1.0
    assert (error > 0.0).all()
    order = -np.diff(np.log(error)) / np.diff(np.log(counts + 1.0))
    np.testing.assert_allclose(order, 3.0, atol=0.15)  # terms of higher order at n = 4
