"""Time of a reduction per freedom: plates of shells by flat solids of the same size, in one process.

python -m tests.benchmarks.shells [FREEDOMS]
"""

import sys
import time

import flexmbs as fm

PAIRS = (("quad4", "hex8"), ("quad8", "hex20"))


def plate(element, freedoms):
    """Recipe of a square plate with about so many freedoms: of shells, or of one layer of bricks."""
    per_cell = {"quad4": 6, "quad8": 18, "hex8": 6, "hex20": 24}[element]
    n = round((freedoms / per_cell) ** 0.5)
    mesh = {"shape": "shell", "size": [1, 1], "divisions": [n, n], "thickness": 0.02}
    if element.startswith("hex"):
        mesh = {"shape": "box", "size": [1, 1, 0.02], "divisions": [n, n, 1]}
    interfaces = {"one": "x_min", "other": "x_max"}
    return {"mesh": mesh | {"element": element}, "material": "steel", "interfaces": interfaces, "modes": 10}


def seconds(element, freedoms):
    """Processor time of a reduction per freedom."""
    start = time.process_time()
    modal = fm.reduce(plate(element, freedoms))
    return (time.process_time() - start) / (modal.mesh.n_nodes * (6 if modal.mesh.turns else 3))


def main(freedoms):
    for pair in PAIRS:
        for element in pair:
            seconds(element, 500)  # kernels
        shell, solid = (seconds(element, freedoms) for element in pair)
        print(f"{pair[0]} by {pair[1]}: {shell / solid:.2f} ({1e6 * shell:.0f} and {1e6 * solid:.0f} us)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
