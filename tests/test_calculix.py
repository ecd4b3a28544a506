"""The same meshes in CalculiX: frequencies, mass, static displacements; stresses in `post/test_deck.py`."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.assembly import assemble
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import isotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box
from flexmbs.modal.eigen import lowest_modes
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import tie

CCX = shutil.which("ccx")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("ccx"),
]

E, NU, RHO = 2.1e11, 0.3, 7850.0
#: node order of Abaqus from that of VTK
ORDER = {
    "hex8": ("C3D8I", list(range(8))),
    "hex8-plain": ("C3D8", list(range(8))),
    "tet10": ("C3D10", list(range(10))),
    "hex20": ("C3D20", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]),
}


def sheared(element="hex20"):
    """A skew block of parallelepipeds, whose mass three Gauss points per direction integrate exactly."""
    flat = box((0.3, 0.06, 0.04), (6, 2, 2), element=element)
    points = flat.points @ np.array([[1.0, 0.1, 0.05], [0.2, 1, 0.1], [0, 0.3, 1]])
    return Mesh(points, flat.cells, node_sets=flat.node_sets)


def bent(element):
    """A tapered block with straight edges: no symmetry hides an error."""
    flat = box((0.3, 0.06, 0.04), (6, 2, 2), element=element)
    x = flat.points[:, :1] / 0.3 + 0.5
    corners = flat.points * (1.0 - 0.3 * x) + np.array([0.0, 0.02, 0.01]) * x
    mesh = Mesh(corners, flat.cells)
    points = mesh.points.copy()
    for kind, rows in mesh.cells.items():  # mid-nodes back to the middle: edges stay straight
        for edge in ELEMENTS[kind].edges if ELEMENTS[kind].order == 2 else ():
            a, b, mid = (rows[:, k] for k in edge)
            points[mid] = 0.5 * (points[a] + points[b])
    return Mesh(points, flat.cells, node_sets=flat.node_sets)


def part(mesh):
    """Nodes, elements, material and section."""
    ((kind, rows),) = mesh.cells.items()
    name, order = ORDER[kind]
    lines = ["*NODE, NSET=NALL"]
    lines += [f"{k + 1}, {x:.12e}, {y:.12e}, {z:.12e}" for k, (x, y, z) in enumerate(mesh.points)]
    lines.append(f"*ELEMENT, TYPE={name}, ELSET=EALL")
    for number, nodes in enumerate(rows):
        words = [str(number + 1), *(str(nodes[k] + 1) for k in order)]
        lines += [
            ", ".join(words[:11]) + ("," if len(words) > 11 else ""),
            *([", ".join(words[11:])] if len(words) > 11 else []),
        ]
    lines += ["*MATERIAL, NAME=M", "*ELASTIC", f"{E:.8e}, {NU}", "*DENSITY", f"{RHO}"]
    return [*lines, "*SOLID SECTION, ELSET=EALL, MATERIAL=M"]


def deck(mesh, modes):
    lines = [*part(mesh), "*STEP", "*FREQUENCY", str(modes), "*NODE FILE", "U", "*END STEP", ""]
    return "\n".join(lines)


def static_displacements(mesh, held, loads, folder):
    """Displacements (node, xyz) of CalculiX with nodes held and forces at nodes (node, xyz)."""
    lines = [*part(mesh), "*BOUNDARY", *(f"{k + 1}, 1, 3" for k in held), "*STEP", "*STATIC", "*CLOAD"]
    lines += [f"{k + 1}, {a + 1}, {loads[k, a]:.12e}" for k, a in zip(*np.nonzero(loads), strict=True)]
    lines += ["*NODE PRINT, NSET=NALL", "U", "*END STEP", ""]
    (folder / "job.inp").write_text("\n".join(lines))
    subprocess.run([CCX, "job"], cwd=folder, check=True, capture_output=True, timeout=300)
    rows = [line.split() for line in (folder / "job.dat").read_text().splitlines()]
    table = np.array([[float(x) for x in row] for row in rows if len(row) == 4 and row[0].isdigit()])
    return table[np.argsort(table[:, 0]), 1:]


def run_calculix(mesh, folder):
    """Frequencies [Hz] and effective masses (mode, 6) of the first 16 modes of the free body."""
    (folder / "job.inp").write_text(deck(mesh, 16))
    subprocess.run([CCX, "job"], cwd=folder, check=True, capture_output=True, timeout=300)
    text = (folder / "job.dat").read_text()
    table = re.split(r"E I G E N V A L U E   O U T P U T", text)[1]
    rows = [line.split() for line in table.splitlines() if re.match(r"\s+\d+\s+\S+E", line)]
    return np.array([float(row[3]) for row in rows[:16]]), text


def total_mass(text):
    """The sum of all effective masses that CalculiX prints as the mass of the body."""
    part = text.split("T O T A L   E F F E C T I V E   M A S S")[1]
    row = next(line.split() for line in part.splitlines() if re.match(r"\s+\d?\.\d+E", line))
    return float(row[0])


def four_point_mass(mesh):
    """M_fe of tet10 with the rule of CalculiX: four points, not exact for products of quadratics."""
    import scipy.sparse as sp

    a, b = 0.58541020, 0.13819660
    xi = np.array([[b, b, b], [a, b, b], [b, a, b], [b, b, a]])
    element, rows = ELEMENTS["tet10"], mesh.cells["tet10"]
    N = element.shape(xi)
    J = np.einsum("cni,pnj->cpij", mesh.points[rows], element.dshape(xi))
    weight = RHO * np.linalg.det(J) / 24.0
    Me = np.einsum("cp,pa,pb->cab", weight, N, N)
    i = np.repeat(rows, 10, axis=1).ravel()
    j = np.tile(rows, (1, 10)).ravel()
    Ms = sp.csc_matrix((Me.ravel(), (i, j)), shape=(mesh.n_nodes, mesh.n_nodes))
    return sp.csc_matrix(sp.kron(Ms, sp.identity(3)))


def test_hex20_agrees_with_calculix(tmp_path):
    mesh = sheared()
    frequency, text = run_calculix(mesh, tmp_path)
    modal = fm.reduce(
        mesh,
        material={"young": E, "poisson": NU, "density": RHO},
        modes=10,
        stress="none",
        geometric_stiffness=False,
    )
    assert np.allclose(modal.frequency_hz, frequency[6:16], rtol=1e-6)
    assert modal.integrals.mass == pytest.approx(total_mass(text), rel=1e-6)


def test_tet10_agrees_with_calculix_under_its_rule(tmp_path):
    mesh = bent("tet10")
    frequency, text = run_calculix(mesh, tmp_path)
    fe = assemble(mesh, isotropic("steel", E, NU, RHO))
    model = tie(fe.K_fe, four_point_mass(mesh), mesh.points, 3)
    modes = lowest_modes(Statics(model).holding().respond, model.M, n=10)
    assert np.allclose(modes.frequency_hz, frequency[6:16], rtol=1e-6)
    exact = fm.reduce(
        mesh,
        material={"young": E, "poisson": NU, "density": RHO},
        modes=10,
        stress="none",
        geometric_stiffness=False,
    )
    assert np.allclose(exact.frequency_hz, frequency[6:16], rtol=0.01)  # 0.3 % by its rule of the mass
    assert exact.integrals.mass == pytest.approx(total_mass(text), rel=1e-6)


@pytest.mark.parametrize("element", ["hex8", "hex8-plain", "hex20", "tet10"])
def test_static_displacements_agree_with_calculix(element, tmp_path):
    """A clamped block, a skew force at an averaged interface, where a reduced body is statically exact.

    Inner functions of bricks that are not parallelepipeds are weighted otherwise there: 0.7 % apart.
    """
    mesh = sheared(element) if element == "hex8" else bent(element)
    modal = fm.reduce(
        mesh, material={"young": E, "poisson": NU, "density": RHO}, fix={"x_min": "x y z"}, modes=4,
        interfaces={"tip": {"set": "x_max", "tie": "rbe3"}}, stress="none", geometric_stiffness=False,
    )  # fmt: skip
    force = np.array([300.0, -200.0, 500.0])
    tip = modal.interface("tip")
    u = np.tensordot(np.linalg.solve(modal.integrals.K_ff, tip.Phi.T @ force), modal.Phi, axes=1)
    loads = np.zeros((mesh.n_nodes, 3))
    loads[tip.nodes] = tip.weights[:, None] / tip.weights.sum() * force
    held = mesh.node_sets["x_min"]
    known = static_displacements(mesh, held, loads, tmp_path)
    assert np.abs(u - known).max() < 1e-6 * np.abs(known).max()  # six digits are printed
