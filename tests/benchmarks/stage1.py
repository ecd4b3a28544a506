"""Stage 1 against NGSolve (assembly) and Exudyn (complete preprocessing of a flexible body)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.conrod import DENSITY, POISSON, YOUNG, conrod
from tests.benchmarks.runner import Clock, best_of, measurement, row, shown


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
def reduction_exudyn(dof: str) -> dict[str, Any]:
    """Two rigid interfaces, 6 static and 20 fixed-interface modes, integrals, file; its faster path."""
    import ngsolve as ng
    from exudyn.FEM import FEMinterface, HCBstaticModeSelection, ObjectFFRFreducedOrderInterface
    from scipy.spatial import cKDTree

    from tests.benchmarks.ngsolve_rod import netgen_mesh
    from tests.benchmarks.runner import DATA

    ng.SetNumThreads(1)
    rod = conrod(int(dof))
    with Clock() as clock:
        fem = FEMinterface()
        fem.ImportMeshFromNGsolve(
            netgen_mesh(rod), density=DENSITY, youngsModulus=YOUNG, poissonsRatio=POISSON,
            meshOrder=2, createBoundaryNodeSets=False,
        )  # fmt: skip
        tree = cKDTree(fem.GetNodePositionsAsArray())
        bores = [tree.query(rod["points"][rod[f"bore{k}"]])[1].tolist() for k in (0, 1)]
        fem.ComputeHurtyCraigBamptonModes(
            bores, nEigenModes=20, computationMode=HCBstaticModeSelection.RBE2, timerTreshold=10**9
        )
        body = ObjectFFRFreducedOrderInterface(fem)
        body.SaveToFile(str(DATA / "exudyn_rod.npy"))
    return {"seconds": clock.seconds, "dof": 3 * len(fem.GetNodePositionsAsArray())}


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
        (49000, 0.0, "5", "straight tet10"),
        (49000, 1e-4, "2", "curved tet10"),
        (200000, 0.0, "5", "straight tet10"),
    ):
        best = best_of(
            3, {"ours": ("assembly_flexmbs", dof, bulge), "peer": ("assembly_ngsolve", dof, bulge)}
        )
        size = best["ours"].get("dof", dof)
        work = f"assemble K and M, {what}, {size} DOF"
        table.append(row(work, best["ours"], best["peer"], "NGSolve", target=target))
    best = best_of(3, {"ours": ("reduction_flexmbs", 49000), "peer": ("reduction_exudyn", 49000)})
    work = f"complete reduction, 2 interfaces, 12 + 20 modes, {best['ours'].get('dof')} DOF"
    note = "ours with K_geo, stress modes and certificate, Exudyn (its faster path) without"
    table.append(row(work, best["ours"], best["peer"], "Exudyn", target="4", note=note))
    table.append(
        row("the same, peak memory", best["ours"], best["peer"], "Exudyn", target="above 1", key="peak_gb")
    )
    stress = best_of(3, {"ours": ("stress_modes_flexmbs", 45000)})["ours"]
    work = f"stress modes at {stress.get('nodes')} nodes, 14 modes"
    time = shown(stress["seconds"], "seconds")
    table.append({"work": work, "flexmbs": time, "target": "under 0.5 s"})
    return table
