"""Compiled loops over shell cells against the same in words of NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from flexmbs._simd import LANES
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.materials import material
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.fe.shells import strains
from flexmbs.fe.shells.assembly import FACES, _face_law, shell_chunks
from flexmbs.fe.shells.loops import INNER, condense_loop, shell_stiffness_loop
from flexmbs.fe.stress import stress_modes
from tests.fe import shell_strains

CELLS = 3


def curved(kind):
    """Nodes of cells in general position, and directors near their normals."""
    random = np.random.default_rng(5)
    ref = ELEMENTS[kind].ref_coords
    X = ref @ np.array([[1.0, 0.2, 0.3], [-0.1, 0.8, 0.1], [0.0, 0.0, 1.0]]) + 0.06 * random.normal(
        size=(CELLS, len(ref), 3)
    )
    D = strains.normals(kind, X, ref[:, :2]) + 0.05 * random.normal(size=X.shape)
    return X, D / np.linalg.norm(D, axis=2, keepdims=True)


def points_of(kind, X, D, poisson, share):
    return strains.shell_points(kind, X, strains.geometry(kind, X), D, poisson, share, strains.Room())


def by_component(rows):
    """Columns node by node as those of the loops, component by component."""
    return rows.reshape(*rows.shape[:3], -1, 6).swapaxes(3, 4).reshape(rows.shape)


@pytest.mark.parametrize("kind", SHELLS)
def test_strains_are_those_of_numpy(kind):
    X, D = curved(kind)
    poisson, share = np.full(CELLS, 0.3), np.random.default_rng(1).uniform(0.1, 1.0, (CELLS, 3))
    found = points_of(kind, X, D, poisson, share)
    expected = shell_strains.shell_points(kind, X, D, poisson, share)
    expected = replace(expected, rows=by_component(expected.rows))
    m = strains.N_INNER.get(kind, 0)
    assert not found.inner[..., m:].any()
    found = replace(found, inner=found.inner[..., :m])
    for name in ("area", "axes", "rows", "inner", "slopes", "N", "directors"):
        a, b = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(a, b, atol=1e-12 * max(1.0, np.abs(b).max(initial=0.0)), err_msg=name)


@pytest.mark.parametrize("kind", ["tri6", "quad4", "quad8"])
def test_inner_functions_take_the_amounts_of_least_energy(kind):
    X, D = curved(kind)
    at = strains.shell_points(
        kind, X, strains.geometry(kind, X), D, np.full(CELLS, 0.3), None, strains.Room()
    )
    G = np.random.default_rng(2).normal(size=(*at.area.shape, 9, 9))
    S = G @ np.swapaxes(G, 2, 3)
    m, shape = strains.N_INNER[kind], at.inner.shape
    room = np.empty((9 * shape[1], LANES)), np.empty((INNER, LANES)), np.empty((INNER, LANES))
    coupling, follow = np.empty((2, CELLS, INNER, at.rows.shape[3]))
    condense_loop((at.inner, m), S, at.area, at.rows, room, coupling, follow)
    weight, inner = at.area[..., None, None] * S, at.inner[..., :m]
    ii = np.einsum("epra,eprs,epsb->eab", inner, weight, inner)
    iu = np.einsum("epra,eprs,epsb->eab", inner, weight, at.rows)
    np.testing.assert_allclose(coupling[:, :m], iu, atol=1e-12 * np.abs(iu).max())
    amounts = -np.linalg.solve(ii, iu)
    np.testing.assert_allclose(follow[:, :m], amounts, atol=1e-10 * np.abs(amounts).max())
    assert not follow[:, m:].any()


def test_stiffness_is_summed_block_by_block():
    """Pairs whose second node comes first in the pattern are turned; inner functions are condensed."""
    X, D = curved("tri3")
    share = np.ones((CELLS, 3))
    at = strains.shell_points(
        "tri3", X, strains.geometry("tri3", X), D, np.full(CELLS, 0.3), share, strains.Room()
    )
    G = np.random.default_rng(3).normal(size=(*at.area.shape, 9, 9))
    S = G @ np.swapaxes(G, 2, 3)
    nodes, which = np.array([[0, 1, 2], [2, 1, 3], [3, 4, 2]]), np.array([2, 0, 1])
    pairs = sorted({(min(a, b), max(a, b)) for row in nodes for a in row for b in row})
    loc = np.zeros((CELLS, 6), dtype=np.int64)
    for e, row in enumerate(nodes):
        both = [(row[a], row[b]) for a in range(3) for b in range(a, 3)]
        loc[which[e]] = [pairs.index((min(p), max(p))) for p in both]
    upper = np.zeros((len(pairs), 36))
    m, inner = 2, np.zeros((CELLS, 3, 9, LANES))
    inner[..., :m] = np.random.default_rng(4).normal(size=(CELLS, 3, 9, m))
    few = np.empty((27, LANES)), np.empty((INNER, LANES)), np.empty((INNER, LANES))
    size = 27 + m
    room = np.empty((size, 18)), np.empty((size, 18)), np.empty((18, 18)), few
    shell_stiffness_loop(at.rows, 18, (inner, m), S, at.area, (nodes, which, loc), room, upper)
    K = np.zeros((30, 30))
    for e, row in enumerate(nodes):
        dofs = (6 * row + np.arange(6)[:, None]).ravel()
        both = np.concatenate([at.rows[e], inner[e, ..., :m]], axis=2)
        own = np.einsum("pra,prs,psb->ab", both, at.area[e, :, None, None] * S[e], both)
        condensed = own[:18, :18] - own[:18, 18:] @ np.linalg.solve(own[18:, 18:], own[18:, :18])
        K[np.ix_(dofs, dofs)] += condensed
    for (a, b), block in zip(pairs, upper, strict=True):
        expected = K[6 * a : 6 * a + 6, 6 * b : 6 * b + 6]
        np.testing.assert_allclose(block.reshape(6, 6), expected, atol=1e-11 * np.abs(K).max())


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kind", SHELLS)
def test_stress_of_cells_is_the_mean_of_the_law_of_their_strains_F53(kind, face):
    """Of a bent surface, for fields that fill no whole vector of columns."""
    shape = {"shape": "shell", "radius": 0.7, "length": 1.1, "divisions": [3, 1], "thickness": 0.02}
    mesh, steel = build_shape(shape | {"element": kind})[0], material("steel")
    U = np.random.default_rng(1).normal(size=(6 * mesh.n_nodes, 3))
    (chunk,) = shell_chunks(mesh, {"": steel})
    local = _face_law(chunk, face) @ chunk.strains(U)[:, :, :8]
    xx, yy, xy, zx, zy = (local[:, :, k] for k in range(5))
    tensor = np.array([[xx, xy, zx], [xy, yy, zy], [zx, zy, 0.0 * xx]])
    R, share = chunk.points.axes, chunk.points.area / chunk.points.area.sum(axis=1, keepdims=True)
    mean = np.einsum("ep,epik,ijepm,epjl->mekl", share, R, tensor, R, optimize=True)
    expected = mean[..., [0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]]
    found = stress_modes(mesh, steel, U, "cells", face)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
