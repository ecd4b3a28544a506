"""Rows of cut joints that a motion leaves out, because they follow from the others everywhere (F28)."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.independent_rows import independent_rows, spanning
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError
from flexmbs.integrate import Settings, integrator
from flexmbs.model.fewer_rows import with_rows
from flexmbs.resources import resource
from flexmbs.simulate.motion.equations import equations, problem, state_vector
from flexmbs.simulate.record.history import History
from tests.dynamics.awkward import crossed_hinges, door, driven, four_bar, rails, sarrus, slider_crank
from tests.dynamics.mechanisms import moving_state, random_mechanism

PLANAR = four_bar(0.3, 0.9, 0.7, 0.8, 0.5)


def case(name):
    return Case.load(resource("cases", name)).system()


def kept(system):
    """Rows that are kept, by joint."""
    flags = independent_rows(system)
    return {g.name: [r.text for r in g.rows if flags[r.number]] for g in system.groups}


def tilted(data, joint, angle):
    """The case with the axes of a joint turned about x, on both sides."""
    data = copy.deepcopy(data)
    axis = [0.0, -np.sin(angle), np.cos(angle)]
    data["joints"][joint]["axis"] = axis
    return data


def test_planar_loops_keep_two_rows():
    assert kept(case("four-bars.toml")) == {f"right{k}": ["translation x", "translation y"] for k in range(5)}
    found = kept(case("slider-crank.toml"))
    assert len(found["guide"]) == 2


def test_a_spherical_loop_keeps_its_rotation():
    assert kept(case("cardan.toml")) == {"cross": ["rotation z"]}


def test_what_holds_in_all_keeps_one_row():
    assert [len(rows) for rows in kept(Case.from_dict(door()).system()).values()] == [1]
    assert sum(len(rows) for rows in kept(Case.from_dict(rails()).system()).values()) == 1


@pytest.mark.parametrize("name", ["bennett.toml", "rssr.toml", "four-bar-flexible.toml"])
def test_rows_that_depend_on_others_only_on_the_loop_are_kept(name):
    assert independent_rows(case(name)).all()


@pytest.mark.parametrize("data", [sarrus(), crossed_hinges()])
def test_spatial_overconstrained_loops_are_kept_as_far_as_they_close(data):
    """What is left out is implied at every position, so the rank of the rest is that of all."""
    system = Case.from_dict(data).system()
    flags, rng = independent_rows(system), np.random.default_rng(5)
    state = system.initial_state()
    for _ in range(5):
        state.pos[:] = rng.uniform(-2.0, 2.0, system.n_pos)
        G = Evaluator(system).jacobian(state)
        assert np.linalg.matrix_rank(G, tol=1e-9) == np.linalg.matrix_rank(G[flags], tol=1e-9)


@pytest.mark.parametrize("angle", [1e-9, 1e-6, 1e-3])
def test_axes_that_are_not_parallel_keep_all_rows(angle):
    """However little they are off: there all rows say something, and what they say stays as it was."""
    data = tilted(PLANAR, "c", angle)
    assert independent_rows(Case.from_dict(data).system()).all()


def test_a_drive_that_keeps_a_loop_planar_for_now_keeps_all_rows():
    data = copy.deepcopy(PLANAR)
    data["bodies"]["table"] = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 1, "iyy": 1, "izz": 1}}
    data["joints"]["a"]["from"], data["joints"]["c"]["cut"] = "table", True
    data["joints"]["tilt"] = {"type": "revolute", "from": "ground", "to": "table", "axis": [1.0, 0.0, 0.0]}
    system = Case.from_dict(driven(data, tilt="0.0")).system()
    assert independent_rows(system).all()


def test_combinations_of_rows_are_left_out():
    """Both offsets of a guide with axes turned about its way see the plane: one follows from the other."""
    plain, turned = slider_crank(), slider_crank()
    rot = {"pos": [0, 0, 0], "rot": {"axis": [1, 0, 0], "angle": 0.7}}
    turned["ground"], turned["bodies"]["slider"]["frames"] = {"frames": {"turned": rot}}, {"turned": rot}
    turned["joints"]["guide"] |= {"from": "ground.turned", "to": "slider.turned"}
    assert independent_rows(Case.from_dict(plain).system()).sum() == 2
    system = Case.from_dict(turned).system()
    assert independent_rows(system).sum() == 2
    assert Evaluator(system).jacobian(system.initial_state()).any(axis=1).sum() > 2
    assert motion(system) == pytest.approx(motion(system, everything=True), rel=1e-9, abs=1e-10)


def test_spanning_rows():
    rows = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    assert spanning(rows, 1e-12).tolist() == [False, True, False, True]
    assert spanning(rows * 0.0, 1e-12).tolist() == [True, False, False, False]
    rows[2] = 1e-5, 0.0, 0.0  # neither nothing nor clear
    assert spanning(rows, 1e-12).all()


@pytest.mark.parametrize("seed", range(12))
def test_tables_with_fewer_rows_are_those_rows_of_all(seed):
    system = build(random_mechanism(seed, n_bodies=6, n_loops=3))
    (_, state), rng = moving_state(system, seed), np.random.default_rng(seed)
    flags = rng.random(system.n_rows) < 0.5
    for g in range(len(system.groups)):  # every group keeps one
        flags[system.tables.group.start[g]] = True
    fewer = replace(system, tables=with_rows(system.tables, flags))
    everything, some = Evaluator(system), Evaluator(fewer)
    acc = rng.standard_normal(system.n_vel)
    everything.kinematics(state, acc.copy())
    some.kinematics(state, acc.copy())
    for name in ("g", "g_dot", "g_ddot"):
        np.testing.assert_array_equal(getattr(everything.ws.row, name)[flags], getattr(some.ws.row, name))
    np.testing.assert_array_equal(everything.jacobian(state)[flags], some.jacobian(state))
    slot = fewer.tables.slot
    assert (np.sort(slot.row[slot.up < 0]) == np.arange(fewer.n_rows)).all()  # each row closes in one place


def motion(system, everything=False, method="dopri5", t_end=0.6, **settings):
    """Last state of a run with the rows that it needs, or with all."""
    flags = np.ones(system.n_rows, dtype=bool) if everything else None
    y0 = state_vector(system, system.initial_state())
    options = {"rtol": 1e-9, "atol": 1e-11, **settings}
    run = integrator(
        problem(system, flags), Settings(method=method, **options), 0.0, y0, np.array([t_end]), t_end
    )
    while not run.finished:
        chunk = run.advance()
    return chunk.y[-1][: system.n_pos + system.n_vel]


@pytest.mark.parametrize("method", ["dopri5", "generalized-alpha"])
@pytest.mark.parametrize(
    "name", ["four-bars.toml", "slider-crank.toml", "cardan.toml", "andrews-squeezer.toml"]
)
def test_the_motion_is_that_of_all_rows(name, method):
    system = case(name)
    assert not independent_rows(system).all()
    t_end = 0.01 if "andrews" in name else 0.3
    some, everything = (motion(system, flag, method, t_end, rtol=1e-7, atol=1e-9) for flag in (False, True))
    np.testing.assert_allclose(some, everything, rtol=1e-9, atol=1e-9 * np.abs(everything).max())


def test_accelerations_are_those_of_all_rows_off_the_constraints_too():
    system = Case.from_dict(PLANAR).system()
    state, rng = system.initial_state(), np.random.default_rng(2)
    state.pos += 0.05 * rng.standard_normal(system.n_pos)
    state.vel += rng.standard_normal(system.n_vel)
    y = state_vector(system, state)
    found = []
    for flags in (None, np.ones(system.n_rows, dtype=bool)):
        p, rates = problem(system, flags), np.zeros_like(y)
        assert p.rates(p.data, 0.0, y, rates) == 0
        found.append(rates)
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12 * np.abs(found[0]).max())  # rounding


def test_constants_from_the_start_keep_all_rows():
    """Tables with fewer rows are a copy, which would not see what a coupling takes from the start."""
    gear = {"type": "gear", "wheels": ["crank", "rocker"], "teeth": [20, 40]}
    data = {**copy.deepcopy(PLANAR), "couplings": {"pair": gear}}
    assert independent_rows(Case.from_dict(data).system()).all()


def test_rows_that_are_left_out_are_watched_at_outputs():
    """They cannot open; so the watch is turned to all rows, which can."""
    system = case("four-bars.toml")
    history = History(system, equations(system, system.evaluator()))
    history.sampler.same_branch(problem(system).data)
    np.testing.assert_array_equal(history.sampler.left_out, np.flatnonzero(~independent_rows(system)))
    y, info = state_vector(system, system.initial_state()), np.zeros((1, 5))
    y[1] += 1e-3
    found = history.samples(np.zeros(1), y[None, :], info)
    assert found["solver/constraint_position"][0] < 1e-13
    history.sampler.left_out = np.arange(system.n_rows)
    with pytest.raises(SolverError, match=r"joints\.right\d \(translation .\) does not close"):
        history.samples(np.zeros(1), y[None, :], info)
    y[1] -= 1e-3 - 1e-9
    found = history.samples(np.zeros(1), y[None, :], info)
    assert 1e-10 < found["solver/constraint_position"][0] < 1e-8 and not info.any()
