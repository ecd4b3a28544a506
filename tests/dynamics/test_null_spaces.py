"""Null spaces block by block against dense ones; what is left out says so."""

import numpy as np
import pytest
import scipy.linalg

from flexmbs.case import Case
from flexmbs.case.generate import four_bars
from flexmbs.case.runner import execute
from flexmbs.dynamics.loops import null_spaces
from flexmbs.dynamics.loops.change_point import change_point
from flexmbs.dynamics.loops.sparse import Sparse


def loops(rng, sizes):
    """Rows of loops that share nothing, shuffled; every third row of a loop follows from two others."""
    blocks = []
    for n in sizes:
        block = rng.normal(size=(n, n + 2))
        block[2::3] = block[0] - 0.5 * block[1]
        blocks.append(block)
    G = scipy.linalg.block_diag(*blocks, np.zeros((0, 2)))  # two columns without rows
    return G[rng.permutation(len(G))][:, rng.permutation(G.shape[1])]


@pytest.mark.parametrize("sizes", [(), (4,), (12, 9, 15, 6)])
def test_null_spaces_by_blocks_are_those_of_the_whole(sizes):
    G = loops(np.random.default_rng(5), sizes)
    kept, found, _ = null_spaces.left_null_space(Sparse.of(G))
    null = null_spaces.wide(found, len(G))
    rank = np.linalg.matrix_rank(G) if G.size else 0
    assert len(kept) == rank == (np.linalg.matrix_rank(G[kept]) if rank else 0)
    assert null.shape == (len(G), len(G) - rank)
    np.testing.assert_allclose(null.T @ G, 0.0, atol=1e-10)
    if null.size:
        assert np.linalg.matrix_rank(null) == null.shape[1]
    Z = null_spaces.null_space(G)
    assert Z.shape == (G.shape[1], G.shape[1] - rank)
    np.testing.assert_allclose(G @ Z, 0.0, atol=1e-10)
    np.testing.assert_allclose(Z.T @ Z, np.eye(Z.shape[1]), atol=1e-12)


def apart(n):
    """n parallelograms that share nothing but ground."""
    link = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}}
    data = {"bodies": {}, "joints": {}, "ground": {"frames": {"far": {"pos": [1.0, 0, 0]}}}}
    for k in range(n):
        for name, length in (("crank", 0.5), ("bar", 1.0), ("rocker", 0.5)):
            data["bodies"][f"{name}{k}"] = link | {"frames": {"end": {"pos": [length, 0, 0]}}}
        ends = {
            "a": ("ground", f"crank{k}", 1.0), "b": (f"crank{k}.end", f"bar{k}", -1.0),
            "c": ("ground.far", f"rocker{k}", 1.0), "d": (f"bar{k}.end", f"rocker{k}.end", 1.0),
        }  # fmt: skip
        for name, (start, end, angle) in ends.items():
            data["joints"][f"{name}{k}"] = {
                "type": "revolute", "from": start, "to": end, "initial": {"position": angle},
                "cut": name == "d",
            }  # fmt: skip
    return data | {"analysis": {"t_end": 0.001}}


def test_many_loops_are_many_blocks_and_one_loop_is_one(monkeypatch):
    """N four-bars cost N times one: the limit is on rows that are open together, not on rows."""
    system = Case.from_dict(apart(40)).system()
    G = system.evaluator().jacobian(system.initial_state())
    assert (
        len([rows for rows, columns in null_spaces.blocks(Sparse.of(G)) if len(rows) and len(columns)]) == 40
    )
    one = Case.from_dict(apart(1)).system()
    work = 40 * int((np.diff(one.tables.front.row) ** 3).sum())
    monkeypatch.setattr(null_spaces, "WORK", work)
    assert null_spaces.is_feasible(system)
    monkeypatch.setattr(null_spaces, "WORK", work - 1)
    assert not null_spaces.is_feasible(system)


@pytest.mark.slow
def test_a_run_says_that_its_counts_are_left_out(monkeypatch, tmp_path):
    data = apart(12)
    whole = execute(Case.from_dict(data), tmp_path / "a.h5").result
    assert int(whole["topology/mobility"]) == 12
    monkeypatch.setattr(null_spaces, "WORK", 1.0)
    said = []
    result = execute(Case.from_dict(data), tmp_path / "b.h5", say=said.append).result
    assert any(text.startswith("left out: rank") for text in said)
    assert "topology/mobility" not in result.paths and "left out: rank" in result["topology/report"][0]


def test_a_change_point_is_found_among_many_loops():
    """A parallelogram stretched out beside four-bars: the same rows are named as alone."""
    data = four_bars(20)  # a ladder, one block
    link = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}}
    ends = {"x_crank": 0.5, "x_bar": 1.0, "x_rocker": 0.5}
    for name, length in ends.items():
        data["bodies"][name] = link | {"frames": {"end": {"pos": [length, 0, 0]}}}
    data.setdefault("ground", {}).setdefault("frames", {})["x_far"] = {"pos": [1.0, 0, 0]}
    for name, (start, end) in {
        "x_a": ("ground", "x_crank"), "x_b": ("x_crank.end", "x_bar"), "x_c": ("x_bar.end", "x_rocker.end"),
        "x_d": ("ground.x_far", "x_rocker"),
    }.items():  # fmt: skip
        data["joints"][name] = {"type": "revolute", "from": start, "to": end}
    data["joints"]["x_c"]["cut"] = True
    system = Case.from_dict(data).system()
    found = change_point(system, system.initial_state())
    assert found is not None and found.rows and all("x_" in row for row in found.rows)
