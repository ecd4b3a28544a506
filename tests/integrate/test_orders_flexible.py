"""Order of the integrators on stiff flexible mechanisms of the recursion, trees and loops (F43-F44).

The motion begins smoothly from rest, so that what steps of the implicit method do not resolve is at rest as
well; explicit methods are held to steps that resolve a struck system.
"""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import prepare
from flexmbs.integrate import Settings, integrator
from flexmbs.resources import resource
from flexmbs.simulate.motion.branch import watch
from flexmbs.simulate.motion.equations import equations, problem, state_vector
from flexmbs.simulate.record.history import History
from tests.dynamics.awkward import four_bar

pytestmark = pytest.mark.slow

SMOOTH = {"drives.motor.position": "=start + 0.5*sin(4*t)**6"}
ARM = {"drives.yaw.position": "=0.5*sin(4*t)**6", "drives.shoulder.position": "=-0.5*sin(4*t)**6"}
PINS = ("left", "right", "bearing")
#: by mechanism: quantities and their channels
LOOP = {
    "positions": [f"joints/{pin}/position" for pin in PINS],
    "speeds": [f"joints/{pin}/velocity" for pin in PINS],
    "accelerations": [f"joints/{pin}/acceleration" for pin in PINS],
    "modes": ["bodies/coupler/q"],
    "speeds of modes": ["bodies/coupler/q_dot"],
    "accelerations of modes": ["bodies/coupler/q_ddot"],
    "forces": [*(f"joints/{pin}/reaction_force" for pin in PINS), "drives/motor/effort"],
}
TREE = {
    "positions": ["bodies/tool/position"],
    "speeds": ["bodies/tool/velocity"],
    "accelerations": ["bodies/tool/acceleration"],
    "modes": ["bodies/bracket/q"],
    "speeds of modes": ["bodies/bracket/q_dot"],
    "accelerations of modes": ["bodies/bracket/q_ddot"],
    "forces": [f"joints/{name}/reaction_moment" for name in ("yaw", "flange", "grip")],
}


def samples(system, times, method, **settings):
    """Everything that is reported at the samples of a run, by channel; the run."""
    p, y0 = problem(system), state_vector(system, system.initial_state())
    watch(p, 0.0, y0, times[-1])
    run = integrator(p, Settings(method=method, **settings), 0.0, y0, times, times[-1])
    chunks = []
    while not run.finished:
        chunks.append(run.advance())
    t, y, info = (np.concatenate([getattr(c, name) for c in chunks]) for name in ("t", "y", "info"))
    return History(system, equations(system, system.evaluator()), {}).samples(t, y, info), run


class Motion:
    """A mechanism that is run with fixed steps and by a tight reference."""

    def __init__(self, name, channels, values, t_end):
        self.channels = channels
        case = Case.load(resource("cases", name), **{"gravity": [0, 0, 0], "analysis.t_end": t_end, **values})
        self.system, self.times = prepare(case), np.linspace(0.0, t_end, 6)
        self.reference, _ = samples(self.system, self.times, "dop853", rtol=1e-12, atol=1e-15)

    def errors(self, method, step):
        """Largest error over the samples behind the start, over the size of the quantity, by quantity."""
        found, _ = samples(self.system, self.times, method, step=step, rtol=1e-13, atol=1e-16)
        result = {}
        for name, paths in self.channels.items():
            pairs = [(np.asarray(found[c])[1:], np.asarray(self.reference[c])[1:]) for c in paths]
            size = max(np.abs(exact).max(initial=0.0) for _, exact in pairs)
            result[name] = max(np.abs(own - exact).max(initial=0.0) for own, exact in pairs) / size
        return result


def slopes(motion, method, steps):
    """Observed order by quantity between the first and the last step, and the errors at the last."""
    errors = [motion.errors(method, h) for h in steps]
    span = np.log2(steps[0] / steps[-1])
    return {name: np.log2(errors[0][name] / errors[-1][name]) / span for name in errors[0]}, errors[-1]


#: stiff mechanisms: modes of 146 to 4679 Hz in a closed loop, of 631 to 24965 Hz in a tree
STIFF = {
    "loop": ("four-bar-flexible.toml", LOOP, SMOOTH, 0.3),
    "tree": ("robot-arm.toml", TREE, ARM, 0.3),
}


@pytest.mark.parametrize("name", STIFF)
def test_second_order_in_all_quantities_of_stiff_flexible_mechanisms_F44(name):
    """Steps of 20 to 5 ms beside periods of 7 to 0.04 ms; loops closed, their speeds projected."""
    orders, last = slopes(Motion(*STIFF[name]), "generalized-alpha", (0.02, 0.01, 0.005))
    assert all(order > 1.9 for order in orders.values()), orders
    left = {"positions": 1e-6, "speeds": 1e-5, "modes": 0.01, "speeds of modes": 0.01, "forces": 2e-3}
    assert all(last[quantity] < bound for quantity, bound in left.items()), last


@pytest.fixture(scope="module")
def struck():
    return Motion("four-bar-flexible.toml", LOOP, {"drives.motor.position": "=start + 10*t"}, 0.004)


ORDERS = {"dopri5": (5, (4e-5, 2e-5, 1e-5)), "dop853": (8, (8e-5, 4e-5)), "rk4": (4, (2e-5, 1e-5, 5e-6))}


@pytest.mark.parametrize("method", ORDERS)
def test_explicit_orders_on_a_struck_flexible_loop(struck, method):
    order, steps = ORDERS[method]
    found, last = slopes(struck, method, steps)
    assert all(value > order - 0.5 for value in found.values()), (found, last)


@pytest.mark.parametrize("method", ["dopri5", "generalized-alpha"])
def test_energy_of_a_conservative_loop_over_1e5_steps(method):
    """A four-bar swings under gravity; the drift is that of the mean over its last and first swings."""
    system = Case.from_dict(four_bar(0.3, 0.9, 0.7, 0.8, 0.5)).system()
    steps, h = 100_000, 5e-4
    times = np.linspace(0.0, steps * h, 2001)
    found, run = samples(system, times, method, step=h, rtol=1e-10, atol=1e-12, rho_inf=1.0)
    assert run.statistics()["steps"] >= steps
    energy, size = found["energy/kinetic"] + found["energy/gravity"], np.ptp(found["energy/kinetic"])
    assert np.abs(energy[-200:].mean() - energy[:200].mean()) < 1e-6 * size
    assert run.statistics()["largest_closure"] < 1e-10
    if method == "dopri5":
        assert np.ptp(energy) < 1e-6 * size
