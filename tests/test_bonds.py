"""[ties] of recipes: blocks of meshes that do not match, as one."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.certificate.text import certificate_text
from flexmbs.errors import InputError
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box

STEEL = {"young": 210e9, "poisson": 0.3, "density": 7850.0}


def blocks(left, right, gap=0.0, element="hex20"):
    """Two blocks of 0.05 m end to end along x, their numbers of bricks across given."""
    a = box((0.05, 0.02, 0.02), (5, left, left), corner=(0.0, 0.0, 0.0), element=element)
    b = box((0.05, 0.02, 0.02), (5, right, right), corner=(0.05 + gap, 0.0, 0.0), element=element)
    cells = np.concatenate([a.cells[element], b.cells[element] + a.n_nodes])
    faces = {}
    for mesh, first, names in ((a, 0, ("x_min", "x_max")), (b, a.n_cells, ("x_min", "x_max"))):
        for name in names:
            rows = mesh.face_sets[name][element].copy()
            rows[:, 0] += first
            faces[("a_" if first == 0 else "b_") + name] = {element: rows}
    return Mesh(np.concatenate([a.points, b.points]), {element: cells}, face_sets=faces)


def reduced(mesh, **ties):
    recipe = {"modes": 6, "material": STEEL, "interfaces": {"end": "a_x_min", "tip": "b_x_max"}}
    return fm.reduce(mesh, **recipe, ties=ties)


def test_matching_meshes_are_the_one_block():
    modal = reduced(blocks(2, 2), seam={"surfaces": ["a_x_max", "b_x_min"]})
    whole = box((0.1, 0.02, 0.02), (10, 2, 2), corner=(0.0, 0.0, 0.0))
    one = fm.reduce(whole, modes=6, material=STEEL, interfaces={"end": "x_min", "tip": "x_max"})
    np.testing.assert_allclose(modal.frequency_hz, one.frequency_hz, rtol=1e-7)
    assert modal.quality["rigid_modes"] == 6 and modal.quality["tie_patch_error"] < 1e-9


def test_meshes_that_do_not_match_are_nearly_one():
    modal = reduced(blocks(3, 2), seam={"surfaces": ["a_x_max", "b_x_min"], "within": 1e-4})
    whole = box((0.1, 0.02, 0.02), (10, 3, 3), corner=(0.0, 0.0, 0.0))
    one = fm.reduce(whole, modes=6, material=STEEL, interfaces={"end": "x_min", "tip": "x_max"})
    np.testing.assert_allclose(modal.frequency_hz, one.frequency_hz, rtol=5e-3)
    assert 1e-6 < modal.quality["tie_patch_error"] < 0.1
    assert "patch test across ties" in certificate_text(modal)
    assert modal.integrals.mass == pytest.approx(7850 * 0.1 * 0.02**2)


def test_a_gap_is_closed_within_what_is_said():
    mesh = blocks(2, 2, gap=5e-4)
    modal = reduced(mesh, seam={"surfaces": ["a_x_max", "b_x_min"], "within": 1e-3})
    assert any("moved by up to 0.0005 m" in text for text in modal.quality["notes"])
    with pytest.raises(InputError, match="near enough"):
        reduced(mesh, seam={"surfaces": ["a_x_max", "b_x_min"], "within": 1e-4})


def test_what_a_tie_needs():
    mesh = blocks(2, 2)
    with pytest.raises(InputError, match="there is no set"):
        reduced(mesh, seam={"surfaces": ["a_x_max", "b_min"]})
    with pytest.raises(InputError, match="surfaces"):
        reduced(mesh, seam={"surfaces": ["a_x_max"]})
    with pytest.raises(InputError, match="not connected"):
        reduced(mesh)
