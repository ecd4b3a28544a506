"""Time of the parts of a reduction per freedom: plates of shells by flat solids of the same size, in one
process.

python -m tests.benchmarks.shells [FREEDOMS]
"""

import sys
import time

import numpy as np

import flexmbs as fm
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import material
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.fe.stress import geometric_stiffness, stress_modes
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import tie

PAIRS = (
    ("tri3", "tet4"), ("quad4", "hex8"), ("tri6", "tet10"), ("quad8", "hex20"), ("quad9", "hex20")
)  # fmt: skip
#: freedoms of a square of the plate
PER_CELL = {"tri3": 6, "quad4": 6, "tri6": 24, "quad8": 18, "quad9": 24}
PER_CELL |= {"tet4": 6, "hex8": 6, "tet10": 27, "hex20": 21}
FIELDS = 16  # modes, and loads
REPEATS = {"assembly": 15, "factor": 5, "K_geo": 5, "stress modes": 15, "reduction": 2}


def plate(element, freedoms):
    """Shape of a square plate with about so many freedoms: of shells, or of one layer of bricks."""
    n = round((freedoms / PER_CELL[element]) ** 0.5)
    if element.startswith(("hex", "tet")):
        return {"shape": "box", "size": [1, 1, 0.02], "divisions": [n, n, 1], "element": element}
    return {"shape": "shell", "size": [1, 1], "divisions": [n, n], "thickness": 0.02, "element": element}


def parts(element, freedoms):
    """Freedoms of a model, and the calls that are timed: name -> call."""
    mesh, item = build_shape(plate(element, freedoms))[0], material("steel")
    model = assemble(mesh, item)
    tied = tie(model.K_fe, model.M_fe, mesh.points, model.n_per_node)
    U = np.random.default_rng(0).normal(size=(2, model.n_dof, FIELDS))
    recipe = {"mesh": plate(element, freedoms), "material": "steel", "modes": 10}
    recipe["interfaces"] = {"one": "x_min", "other": "x_max"}
    return model.n_dof, {
        "assembly": lambda: assemble(mesh, item),
        "factor": lambda: Statics(tied),
        "K_geo": lambda: geometric_stiffness(mesh, item, *U),
        "stress modes": lambda: stress_modes(mesh, item, U[0]),
        "reduction": lambda: fm.reduce(recipe),
    }


def microseconds(pair, freedoms):
    """Least processor time per freedom of every part, name -> that of both; they take turns, so that both
    find memory as the other leaves it."""
    calls, found = [parts(element, freedoms) for element in pair], {}
    for name, repeats in REPEATS.items():
        least = [np.inf, np.inf]
        for _ in range(repeats):
            for k, (n_dof, timed) in enumerate(calls):
                start = time.process_time()
                timed[name]()
                least[k] = min(least[k], 1e6 * (time.process_time() - start) / n_dof)
        found[name] = least
    return found


def main(freedoms):
    for pair in PAIRS:
        microseconds(pair, 500)  # kernels
        found = microseconds(pair, freedoms)
        text = ", ".join(f"{name} {a / b:.2f} ({a:.2f}, {b:.2f} us)" for name, (a, b) in found.items())
        print(f"{pair[0]} by {pair[1]}: {text}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
