"""Stage 1 against NGSolve (assembly) and Exudyn (complete preprocessing of a flexible body)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.conrod import DENSITY, POISSON, YOUNG, conrod
from tests.benchmarks.runner import Clock, best_of, measurement, row, shown

MEMORY_CAUSE = "block Lanczos keeps all its vectors, some hundred, and ARPACK 41"


def rod_mesh(rod: dict[str, np.ndarray], bulge: float = 0.0) -> Any:
    """The rod as our mesh; `bulge` moves middle nodes off their edges, so that elements are curved."""
    from flexmbs.fe.mesh import Mesh

    points = rod["points"].copy()
    if bulge:
        n_corners = len(rod["corners"])
        rng = np.random.default_rng(0)
        points[n_corners:] += bulge * rng.uniform(-1.0, 1.0, size=points[n_corners:].shape)
    return Mesh(
        points=points,
        cells={"tet10": rod["tet10"].astype(np.int64)},
        node_sets={"big": rod["bore0"].astype(np.int64), "small": rod["bore1"].astype(np.int64)},
    )


def steel() -> Any:
    from flexmbs.fe.materials import isotropic

    return isotropic("steel", YOUNG, POISSON, DENSITY)


@measurement
def assembly_flexmbs(dof: str, bulge: str = "0") -> dict[str, Any]:
    from flexmbs.fe.assembly import assemble

    rod = conrod(int(dof))
    mesh = rod_mesh(rod, float(bulge))
    assemble(rod_mesh(conrod(3000), float(bulge)), {"": steel()})  # compiled kernels are loaded here
    seconds = []
    for _ in range(5):
        with Clock() as clock:
            model = assemble(mesh, {"": steel()})
        seconds.append(clock.seconds)
    return {"seconds": min(seconds), "dof": model.K_fe.shape[0]}


@measurement
def assembly_ngsolve(dof: str, bulge: str = "0") -> dict[str, Any]:
    import ngsolve as ng

    from tests.benchmarks.ngsolve_rod import assemble, netgen_mesh

    ng.SetNumThreads(1)
    rod = conrod(int(dof))
    seconds = []
    for _ in range(5):
        mesh = netgen_mesh(rod)
        if float(bulge):
            mesh.Curve(2)  # same cost as any curved mesh: every element takes the curved path
            space = ng.VectorH1(mesh, order=2)
            bend = ng.GridFunction(space)
            bend.Set(float(bulge) * ng.CoefficientFunction((ng.sin(300 * ng.y), 0, ng.sin(300 * ng.x))))
            mesh.SetDeformation(bend)
        with Clock() as clock:
            K, _ = assemble(mesh)
        seconds.append(clock.seconds)
    return {"seconds": min(seconds), "dof": K.mat.height}


def clamped_rod(dof: str) -> tuple[Any, Any]:
    """K and M of the rod whose bores are held, of whole nodes."""
    from flexmbs.fe.assembly import assemble

    rod = conrod(int(dof))
    model = assemble(rod_mesh(rod), {"": steel()})
    held = np.unique(np.concatenate([rod["bore0"], rod["bore1"]]))
    nodes = np.setdiff1d(np.arange(len(rod["points"])), held)
    free = (3 * nodes[:, None] + np.arange(3)).ravel()
    return model.K_fe.tocsc()[free][:, free], model.M_fe.tocsc()[free][:, free]


def modes_answer(K: Any, M: Any, omega2: np.ndarray, V: np.ndarray, seconds: float) -> dict[str, Any]:
    """Time, size and the largest relative residual of the modes."""
    residual = np.linalg.norm(K @ V - (M @ V) * omega2, axis=0) / np.linalg.norm(K @ V, axis=0)
    assert residual.max() < 1e-5
    frequency = np.sqrt(omega2) / (2 * np.pi)
    answer = {"seconds": seconds, "dof": K.shape[0], "residual": float(residual.max())}
    return {**answer, "f1": float(frequency.min()), "f20": float(frequency.max())}


@measurement
def mesh_of_rod(dof: str) -> dict[str, Any]:
    """Makes the mesh, so that gmsh's memory is in no other measurement."""
    return {"nodes": len(conrod(int(dof))["points"])}


@measurement
def modes_flexmbs(dof: str) -> dict[str, Any]:
    """Twenty fixed-interface modes: ordering, factor and eigenpairs."""
    from flexmbs.fe.solve.cholesky import SparseFactor
    from flexmbs.modal.eigen import lowest_modes

    for size in ("3000", dof):  # compiled kernels are loaded by the first
        K, M = clamped_rod(size)
        with Clock() as clock:
            modes = lowest_modes(SparseFactor(K, np.arange(K.shape[0]) // 3).solve, M, 20)
    return modes_answer(K, M, modes.omega2, modes.V, clock.seconds)


@measurement
def modes_cholmod(dof: str) -> dict[str, Any]:
    """The same by CHOLMOD (supernodal, METIS) and ARPACK, to the same residual of Ritz pairs."""
    from scipy.sparse.linalg import LinearOperator, eigsh
    from sksparse.cholmod import analyze

    K, M = clamped_rod(dof)
    with Clock() as clock:
        factor = analyze(K, mode="supernodal", ordering_method="metis")
        factor.cholesky_inplace(K)
        inverse = LinearOperator(K.shape, factor, dtype=float)
        omega2, V = eigsh(K, 20, M, sigma=0.0, which="LM", OPinv=inverse, tol=1e-7)
    return modes_answer(K, M, omega2, V, clock.seconds)


@measurement
def reduction_flexmbs(dof: str) -> dict[str, Any]:
    """Two rigid interfaces, 12 + 20 modes, consistent integrals, K_geo, stress modes, certificate, file."""
    import flexmbs as fm
    from tests.benchmarks.runner import DATA

    rod = conrod(int(dof))
    options = dict(material=steel(), interfaces=["big", "small"], modes=20)
    fm.reduce(rod_mesh(conrod(3000)), **options)  # compiled kernels are loaded here
    with Clock() as clock:
        modal = fm.reduce(rod_mesh(rod), **options)
        modal.save(DATA / "rod.modal.h5", overwrite=True)
    return {"seconds": clock.seconds, "dof": 3 * len(rod["points"]), "modes": len(modal.frequency_hz)}


@measurement
def reduction_exudyn(dof: str, path: str = "scipy") -> dict[str, Any]:
    """Two rigid interfaces, 6 static and 20 fixed-interface modes, integrals, file.

    Its path by SciPy is the faster one up to some 50k DOF, the one by NGSolve (PINVIT, 20 iterations) beyond.
    """
    import ngsolve as ng
    from exudyn.FEM import FEMinterface, HCBstaticModeSelection, ObjectFFRFreducedOrderInterface
    from scipy.spatial import cKDTree

    from tests.benchmarks.ngsolve_rod import netgen_mesh
    from tests.benchmarks.runner import DATA

    ng.SetNumThreads(1)
    rod = conrod(int(dof))
    with Clock() as clock:
        fem = FEMinterface()
        mass, stiffness, _ = fem.ImportMeshFromNGsolve(
            netgen_mesh(rod), density=DENSITY, youngsModulus=YOUNG, poissonsRatio=POISSON,
            meshOrder=2, createBoundaryNodeSets=False,
        )  # fmt: skip
        tree = cKDTree(fem.GetNodePositionsAsArray())
        bores = [tree.query(rod["points"][rod[f"bore{k}"]])[1].tolist() for k in (0, 1)]
        if path == "scipy":
            fem.ComputeHurtyCraigBamptonModes(
                bores, nEigenModes=20, computationMode=HCBstaticModeSelection.RBE2, timerTreshold=10**9
            )
        else:
            fem.ComputeHurtyCraigBamptonModesNGsolve(
                mass, stiffness, bores, nEigenModes=20, maxEigensolveIterations=20
            )
        body = ObjectFFRFreducedOrderInterface(fem)
        body.SaveToFile(str(DATA / "exudyn_rod.npy"))
    frequency = np.sqrt(np.abs(fem.eigenValues)) / (2 * np.pi)
    return {
        "seconds": clock.seconds, "dof": 3 * len(fem.GetNodePositionsAsArray()),
        "f1": float(frequency.min()), "f20": float(frequency.max()),
    }  # fmt: skip


@measurement
def stress_modes_flexmbs(dof: str, modes: str = "14") -> dict[str, Any]:
    from flexmbs.fe.stress import stress_modes

    rod = conrod(int(dof))
    mesh = rod_mesh(rod)
    U = np.random.default_rng(0).normal(size=(3 * len(rod["points"]), int(modes)))
    stress_modes(rod_mesh(conrod(3000)), {"": steel()}, U[: 3 * len(conrod(3000)["points"])], at="nodes")
    seconds = []
    for _ in range(3):
        with Clock() as clock:
            stress_modes(mesh, {"": steel()}, U, at="nodes")
        seconds.append(clock.seconds)
    return {"seconds": min(seconds), "nodes": len(rod["points"])}


def rows() -> list[dict[str, str]]:
    """All lines of this group; the programs take turns."""
    table = []
    for dof, bulge, target, what in (
        (49000, 0.0, 5.0, "straight tet10"),
        (49000, 1e-4, 2.0, "curved tet10"),
        (200000, 0.0, 5.0, "straight tet10"),
    ):
        best = best_of(
            3, {"ours": ("assembly_flexmbs", dof, bulge), "peer": ("assembly_ngsolve", dof, bulge)}
        )
        size = best["ours"].get("dof", dof)
        work = f"assemble K and M, {what}, {size} DOF"
        table.append(row(work, best["ours"], best["peer"], "NGSolve", target=target))
    table += mode_rows()
    best = best_of(3, {"ours": ("reduction_flexmbs", 49000), "peer": ("reduction_exudyn", 49000)})
    work = f"complete reduction, 2 interfaces, 12 + 20 modes, {best['ours'].get('dof')} DOF"
    note = "ours with K_geo, stress modes and certificate, Exudyn (its faster path) without"
    cause = "K_geo and certificate, which it leaves out, are more than a third of ours"
    table.append(row(work, best["ours"], best["peer"], "Exudyn", target=6.0, note=note, cause=cause))
    table.append(
        row("the same, peak memory", best["ours"], best["peer"], "Exudyn", target=1.0, key="peak_gb")
    )
    stress = best_of(3, {"ours": ("stress_modes_flexmbs", 45000)})["ours"]
    work = f"stress modes at {stress.get('nodes')} nodes, 14 modes"
    time = shown(stress["seconds"], "seconds")
    table.append({"work": work, "flexmbs": time, "target": "under 0.5 s"})
    return table


def mode_rows() -> list[dict[str, str]]:
    """Twenty modes against CHOLMOD, whose wrapper takes the BLAS of the system: OpenBLAS, one thread."""
    table = []
    for dof in (49000, 200000):
        best = best_of(3, {"ours": ("modes_flexmbs", dof), "peer": ("modes_cholmod", dof)})
        work = f"20 fixed-interface modes, {best['ours'].get('dof')} DOF"
        note = "to the same residual of Ritz pairs"
        table.append(row(work, best["ours"], best["peer"], "CHOLMOD + ARPACK", target=1.0, note=note))
        memory = "the same, peak memory, assembly included"
        line = row(
            memory, best["ours"], best["peer"], "CHOLMOD", target=0.83, key="peak_gb", cause=MEMORY_CAUSE
        )
        table.append(line)
    return table
