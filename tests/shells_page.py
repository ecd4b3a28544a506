"""Writes docs/shells.md: what shells make of problems with known answers.

python -m tests.shells_page
"""

from pathlib import Path

import numpy as np

from flexmbs.fe.elements import SHELLS
from tests.fe import test_shells as shells
from tests.fe.test_shell_evidence import NAFEMS, nafems
from tests.orders_page import shown, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "shells.md"

HEAD = """\
# How well shells do

This page is made by `python -m tests.shells_page`; tests assert the same (`tests/fe/test_shells.py`,
`test_shell_evidence.py`). How they are made is said in [elements](elements.md#shells).
"""

ORDERS = """\
## Orders of convergence

The first mode of a hinged square plate is known with shear and rotary inertia, and under its inertia
forces so is the deflection. Errors of omega^2 and of the deflection on the finest of three meshes
(linear cells 8, 16, 32 along a side, quadratic ones 4, 8, 16), and the observed orders; theory has 2 for
linear cells and 4 for quadratic ones. `quad8` are computed as they are here; thick ones stay at 2, with a
small error, as no inertia acts on what they have inside. A body that is made of them gets `quad9` in their
place.
"""

OBSTACLES = """\
## The problems of MacNeal and Harder

Deflections over the published ones (MacNeal and Harder 1985; Scordelis-Lo roof 0.3024, hemisphere
0.0935, pinched cylinder 1.8248e-5). Nodes along a side are the same for linear and quadratic cells: as
many cells as are said, or half as many.
"""

VIBRATIONS = """\
## Vibrations of NAFEMS

Frequencies in Hz on 16 linear or 8 quadratic cells along a side. FV12: free square of 10 m, 50 mm thick;
FV16: the same, held along one side; FV13: the same, hinged, in closed form.
"""


def ratios(values):
    return ", ".join(f"{value:.3f}" for value in np.atleast_1d(values))


def orders():
    rows = []
    for element in SHELLS:
        cells = (8, 16, 32) if shells.order(element) == 1 else (4, 8, 16)
        for t in (0.1, 0.001):
            errors = np.abs([shells.plate_errors(element, n, t) for n in cells])
            slopes = np.log2(errors[:-1] / errors[1:])
            last = [f"{value:.1e}" for value in errors[-1]]
            rows.append(
                (f"`{element}`", f"{t:g}", last[0], shown(slopes[:, 0]), last[1], shown(slopes[:, 1]))
            )
    head = ("cell", "thickness over side", "error of omega^2", "orders", "error of the deflection", "orders")
    return table(head, rows)


def obstacles():
    found = {
        "roof, 8": lambda e: shells.roof(e, 8),
        "roof, 16": shells.roof,
        "hemisphere, 8": lambda e: shells.hemisphere(e, 8)[0],
        "hemisphere, 16": lambda e: shells.hemisphere(e)[0],
        "pinched cylinder, 16": lambda e: shells.pinched_cylinder(e, 16),
        "pinched cylinder, 32": shells.pinched_cylinder,
        "twisted beam, 0.32 thick: across, along": lambda e: list(shells.twisted_beam(e, 0.32)),
        "twisted beam, 0.0032 thick": lambda e: list(shells.twisted_beam(e, 0.0032)),
        "quarter of a ring, 6: in the plane, across": lambda e: list(shells.ring(e, 6)),
        "quarter of a ring, 24": lambda e: list(shells.ring(e, 24)),
    }
    for shape in ("rectangles", "trapezoids", "parallelograms"):
        name = f"slender cantilever of {shape}: pulled, in the plane, across"
        found[name] = lambda e, shape=shape: list(shells.slender_cantilever(e, shape))
    rows = [(name, *(ratios(ratio(element)) for element in SHELLS)) for name, ratio in found.items()]
    return table(("problem", *(f"`{element}`" for element in SHELLS)), rows)


def vibrations():
    rows = []
    for name, known in NAFEMS.items():
        every = [nafems(name, element) for element in SHELLS]
        for k, value in enumerate(known):
            rows.append((f"{name}, {k + 1}", f"{value:.3f}", *(f"{found[k]:.3f}" for found in every)))
    return table(("mode", "published", *(f"`{element}`" for element in SHELLS)), rows)


if __name__ == "__main__":
    parts = (HEAD, ORDERS, orders(), OBSTACLES, obstacles(), VIBRATIONS, vibrations())
    PAGE.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts))
