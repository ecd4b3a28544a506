"""Recipes with anything in any place: the end is a result or an error of ours, never another exception."""

import copy
import random

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import FlexmbsError

BASES = [
    {
        "mesh": {"shape": "box", "size": [0.3, "40 mm", 0.03], "corner": [0, 0, 0], "divisions": [2, 1, 1]},
        "material": {"young": "210 GPa", "poisson": 0.3, "density": 7850},
        "modes": 2,
        "frame": "tangent:left",
        "interfaces": {
            "left": {"set": "x_min", "dofs": "x y z rx ry rz", "rot": {"axis": [0, 0, 1], "angle": "30 deg"}},
            "b": {"node": 60},
        },
        "sets": {"top": {"plane": {"point": [0, 0, 0.03], "normal": [0, 0, 1]}, "tolerance": 1e-6}},
        "point_masses": [{"node": 3, "mass": 0.2, "inertia": [0, 0, 0]}, {"interface": "left", "mass": 1}],
        "loads": {
            "q": {"set": "top", "force": [0, 0, 1]},
            "g": {"acceleration": [0, 0, -9.81]},
            "w": {"angular_velocity": [0, 0, "900 rpm"]},
        },
        "parameters": {"a": 1, "b": "=2*a"},
    },
    {
        "mesh": {"shape": "beam", "length": 1, "divisions": 3, "section": {"rectangle": [0.1, 0.2]}},
        "material": "steel",
        "given": {"shapes": [["0", "x**2", "0"], ["0", "0", "sin(pi*x)"]], "stiffness": [[1, 0], [0, 1]]},
        "fix": {"x_min": "x y z"},
        "interfaces": ["x_max"],
    },
    {
        "mesh": {"shape": "points", "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "masses": [1, 2, 3]},
        "given": {"values": [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], "stiffness": [[2]], "damping": [[1]]},
        "interfaces": {"t": {"node": 2}},
    },
    {
        "mesh": {
            "shape": "cylinder",
            "radius": 0.1,
            "inner_radius": 0.05,
            "length": 1,
            "divisions": [1, 4, 2],
        },
        "material": "steel",
        "fmax": "2 kHz",
        "tol": 0.5,
        "interfaces": {"a": "z_min", "c": {"set": "z_max", "tie": "rbe3"}},
        "method": "free-interface",
    },
]
JUNK = [
    None, 3, -1, 0, 1e308, float("nan"), float("inf"), "", "x", "=a", "=", "1 mm", "rbe2", [], [1], [1, 2, 3],
    [[1, 2], [3]], {}, {"a": 1}, True, "steel", [None], "x_min", 10**30, [{"a": 1}], -5.5, "=1/0", "x y z",
]  # fmt: skip


def paths(data, path=()):
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_mutated_recipes_end_in_a_result_or_an_error_of_ours(seed, tmp_path):
    random.seed(seed)
    for _ in range(60):
        recipe = copy.deepcopy(random.choice(BASES))
        path = random.choice(list(paths(recipe)))
        table = recipe
        for key in path[:-1]:
            table = table[key]
        if isinstance(table, dict) and random.random() < 0.2:
            table.pop(path[-1])
        else:
            table[path[-1]] = copy.deepcopy(random.choice(JUNK))
        try:
            with np.errstate(all="ignore"):
                fm.reduce(recipe).save(tmp_path / "a.modal.h5")
        except FlexmbsError as error:
            assert str(error)
