"""Writes docs/verification.md: observed orders of elements, reduction and integrators on exact solutions.

python -m tests.orders_page
"""

from pathlib import Path

import numpy as np

import flexmbs as fm
from flexmbs.fe.elements import ELEMENTS
from flexmbs.verify.reference import read
from tests.fe.test_assembly import SOLIDS, shear_errors
from tests.integrate.problems import circle, oscillators, top
from tests.integrate.test_methods import COMPILED, ORDERS, TIGHT, integrate
from tests.integrate.test_orders_flexible import STIFF, Motion
from tests.test_reduction_order import lowest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "verification.md"

HEAD = """\
# Code verification

This page is made by `python -m tests.orders_page`; tests assert the same orders
(`tests/fe/test_assembly.py`, `tests/test_reduction_order.py`, `tests/integrate/test_methods.py`). Errors are
measured against exact solutions on refined meshes, bases and steps; the observed order is the slope between
neighbours. What the equations of motion are checked against is said in [formulation](formulation.md);
problems with known numbers are on the page [validation](validation.md), other programs in the last table.
"""

ELEMENTS_TEXT = """\
## Elements

A box with slipping walls has an exact shear mode, omega^2 = G/rho (pi^2/a^2 + pi^2/b^2), and under the
inertia forces of that mode an exact displacement. An element of order p gives omega^2 to 2 p and
displacements to p + 1 or better. Frequencies come from above. 12 and 24 cells along the box for p = 1, else
4 and 8.
"""

REDUCTION_TEXT = """\
## Reduction

Two constraint modes and n exact fixed-interface modes of a free bar: what is left out of the frequencies
falls as n^-3. Static compliances at interfaces are exact with any n (a test, to rounding).
"""

INTEGRATORS_TEXT = """\
## Integrators

Largest error over the samples at fixed steps, dense output included, on two oscillators (exact solution), on
a particle held on a circle, and on a free top in quaternions (converged solution). Methods without a fixed
step are compared at tolerances instead (`tests/integrate/test_methods.py`).
"""

STIFF_TEXT = """\
`generalized-alpha` on stiff flexible mechanisms that begin smoothly from rest, a four-bar with modes of
146 to 4679 Hz in its coupler and a robot arm with modes of 631 to 24965 Hz in its bracket, against `dop853`:
observed orders between steps of 20, 10 and 5 ms, and the largest error at the last over the size of the
quantity (`tests/integrate/test_orders_flexible.py`; there the explicit methods too, on a struck four-bar).
"""

PROGRAMS = """\
## Other programs

| program | same problem | agreement asked for | test |
| --- | --- | --- | --- |
| CalculiX | ten free frequencies and mass, hex20 and tet10 | 1e-6; tet10 1e-6 under its rule of the mass, 1 % under ours | `tests/test_calculix.py` |
| CalculiX | static displacements of a clamped block, averaged interface | 1e-6 | `tests/test_calculix.py` |
| CalculiX | recovered stresses of a body in motion, by an exported deck | 1 % two widths from the interfaces | `tests/post/test_deck.py`, `test_deck_rod.py` |
| Exudyn | four-bar under gravity | 2e-5 m, falling with the square of its step | `tests/test_exudyn.py` |
| Exudyn | slider-crank with flexible rod, same matrices of the same mesh | 0.2 % of the deflection | `tests/test_exudyn.py` |
| Pinocchio | accelerations of random trees with seven kinds of joints | 1e-10 | `tests/test_pinocchio.py` |
| Pinocchio | accelerations of random closed loops, redundant rows included | 1e-10 | `tests/test_pinocchio.py` |
| scikit-fem | element matrices | rounding | `tests/fe/test_assembly.py` |

Where models differ it is said in the test: CalculiX integrates the mass of tet10 with four points; Exudyn's reduced body has no
geometric stiffening, which is switched off for the comparison (it changes the deflection there by a tenth);
Pinocchio's `crba` and `constraintDynamics` (4.1) disagree with its own `rnea` and `aba` when joints are composite,
so that the loops are closed by its inverse dynamics and frame accelerations. They are test extras
(`pip install "flexmbs[peers]"`, `apt-get install calculix-ccx`); a missing one is named at the end of a test run, and fails
where `CI=true`.

The tests are in two parts: `python -m pytest` takes some minutes, `python -m pytest -m slow` runs those that take longer; `.ci/run` does both.
What takes minutes a test is in neither, they hold a sample of it: `python -m pytest -m soak` runs all shipped cases whole
in the minimal and the descriptor form, and a second opinion (`flexmbs run --verify`) on each.
"""  # noqa: E501


def orders(errors, ratios):
    """Slopes between neighbours."""
    return np.diff(np.log(errors), axis=0) / np.log(ratios)


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def shown(values):
    return ", ".join(f"{value:.2f}" for value in np.atleast_1d(values))


def elements():
    rows = []
    for name in SOLIDS:
        p = ELEMENTS[name].order
        cells = (12, 24) if p == 1 else (4, 8)  # linear cells are late to show their order
        errors = np.abs([shear_errors(name, k) for k in cells])
        slope = orders(errors, 0.5)[0]
        rows.append((name, f"{errors[-1, 0]:.1e}", shown(slope[0]), str(2 * p), shown(slope[1]), str(p + 1)))
    rows.append(beam())
    head = ("element", "error of omega^2, finest", "observed", "theory", "displacement, observed", "theory")
    return table(head, rows)


def beam():
    """Lowest frequency of a cantilever of cubic beam elements, which bends about its weak axis."""
    case = read("fe-beam-cantilever")
    p = case.parameters
    exact = case.numbers["bending_about_weak_axis_b"]["euler_bernoulli_hz"][0]
    errors = []
    for n in (1, 2, 4):
        mesh = {"shape": "beam", "length": p["L"], "divisions": n, "theory": "euler-bernoulli"}
        recipe = {
            "mesh": mesh | {"section": {"rectangle": [p["b"], p["h"]]}},
            "material": {"young": p["E"], "poisson": p["nu"], "density": p["rho"]},
            "fix": {"x_min": "x y z rx ry rz"},
            "interfaces": {"tip": "x_max"},
            "method": "free-interface",
        }
        modal = fm.reduce(recipe, modes=2, stress="none", geometric_stiffness=False)
        errors.append((modal.frequency_hz[0] / exact) ** 2 - 1.0)
    return ("beam (cubic)", f"{errors[-1]:.1e}", shown(orders(np.abs(errors), 0.5)), "4", "", "")


def reduction():
    case = read("fe-craig-bampton-bar")
    exact = case.numbers["exact_angular_frequencies"][0]
    counts = np.array([4, 8, 16])
    errors = np.array([lowest(int(n), case.parameters) for n in counts]) / exact - 1.0
    slope = [0.0, *(-np.diff(np.log(errors)) / np.diff(np.log(counts + 1.0)))]
    rows = [
        (str(n), f"{error:.2e}", shown(order) if order else "")
        for n, error, order in zip(counts, errors, slope, strict=True)
    ]
    return table(("n", "error of the first frequency", "observed (theory 3)"), rows)


def errors_of(problem, y0, t_end, name, steps, exact):
    return [np.abs(integrate(problem, y0, t_end, name, step=h, **TIGHT)[1] - exact).max() for h in steps]


def integrators():
    t = np.linspace(0.0, 4.0, 11)
    waves = np.stack([np.cos(t), np.cos(2 * t), -np.sin(t), -2 * np.sin(2 * t), t / 2 - np.sin(2 * t) / 4], 1)
    fine = {"rtol": 1e-13, "atol": 1e-14}
    start, turn = [1.0, 0.0, 0.0, 0.0], [1, 0, 0, 0, 0.1, 2.0, 0.3]
    systems = (
        (oscillators(1.0, 4.0), [1, 1, 0, 0, 0], 4.0, waves),
        (circle(1.0), start, 2.0, integrate(circle(1.0), start, 2.0, "dop853", **fine)[1]),
        (top(), turn, 2.0, integrate(top(), turn, 2.0, "dop853", **fine)[1]),
    )
    rows = []
    for name in COMPILED:
        order, steps = ORDERS[name]
        steps = (0.4, 0.2, 0.1) if name == "dop853" else steps
        found = [
            shown(orders(np.array(errors_of(p, y0, end, name, steps, exact)), 0.5))
            for p, y0, end, exact in systems
        ]
        rows.append((f"`{name}`", str(order), ", ".join(map(str, steps)), *found))
    return table(("method", "theory", "steps", "oscillators", "on a circle", "free top"), rows)


def stiff():
    """Orders and errors of all quantities, in a loop and in a tree."""
    found = {}
    for mechanism in STIFF.values():
        motion = Motion(*mechanism)
        errors = [motion.errors("generalized-alpha", h) for h in (0.02, 0.01, 0.005)]
        for quantity, last in errors[-1].items():
            slope = orders(np.array([e[quantity] for e in errors]), 0.5)
            found.setdefault(quantity, []).extend([shown(slope), f"{last:.1e}"])
    rows = [(quantity, *values) for quantity, values in found.items()]
    return table(("quantity", *(f"{name}, {what}" for name in STIFF for what in ("order", "error"))), rows)


if __name__ == "__main__":
    parts = (
        HEAD,
        ELEMENTS_TEXT,
        elements(),
        REDUCTION_TEXT,
        reduction(),
        INTEGRATORS_TEXT,
        integrators(),
        STIFF_TEXT,
        stiff(),
        PROGRAMS,
    )
    PAGE.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts))
