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


def plate(element, freedoms):
    """Shape of a square plate with about so many freedoms: of shells, or of one layer of bricks."""
    n = round((freedoms / PER_CELL[element]) ** 0.5)
    if element.startswith(("hex", "tet")):
        return {"shape": "box", "size": [1, 1, 0.02], "divisions": [n, n, 1], "element": element}
    return {"shape": "shell", "size": [1, 1], "divisions": [n, n], "thickness": 0.02, "element": element}


def microseconds(element, freedoms):
    """Least processor time per freedom of every part, and of a whole reduction."""
    mesh, item = build_shape(plate(element, freedoms))[0], material("steel")
    model, found = assemble(mesh, item), {}

    def timed(name, call, repeats=5):
        least = np.inf
        for _ in range(repeats):
            start = time.process_time()
            call()
            least = min(least, time.process_time() - start)
        found[name] = 1e6 * least / model.n_dof

    timed("assembly", lambda: assemble(mesh, item))
    tied = tie(model.K_fe, model.M_fe, mesh.points, model.n_per_node)
    timed("factor", lambda: Statics(tied))
    U = np.random.default_rng(0).normal(size=(2, model.n_dof, FIELDS))
    timed("K_geo", lambda: geometric_stiffness(mesh, item, *U))
    timed("stress modes", lambda: stress_modes(mesh, item, U[0]))
    recipe = {"mesh": plate(element, freedoms), "material": "steel", "modes": 10}
    recipe["interfaces"] = {"one": "x_min", "other": "x_max"}
    timed("reduction", lambda: fm.reduce(recipe), 2)
    return found


def main(freedoms):
    for pair in PAIRS:
        for element in pair:
            microseconds(element, 500)  # kernels
        shell, solid = (microseconds(element, freedoms) for element in pair)
        parts = ", ".join(f"{k} {shell[k] / solid[k]:.2f} ({shell[k]:.1f}, {solid[k]:.1f} us)" for k in shell)
        print(f"{pair[0]} by {pair[1]}: {parts}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
