"""The flexible slider-crank of the benchmarks in flexmbs and Exudyn: crank 0.15 m, rod 0.3 m, 8 mm square."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

LENGTH, WIDTH, YOUNG, POISSON, DENSITY = 0.3, 0.008, 2e11, 0.3, 7870.0
SPEED, RADIUS = 150.0, 0.15
END_TIME = 0.05


def crank_case(modes: int, folder: Path) -> dict[str, Any]:
    """The case as a dictionary; the modal data are made once in `folder`."""
    import flexmbs as fm

    path = folder / f"bench_rod_{modes}.modal.h5"
    if not path.exists():
        recipe = {
            "method": "craig-bampton",
            "modes": modes,
            "material": {"young": YOUNG, "poisson": POISSON, "density": DENSITY},
            "frame": "tangent:left",
            "stress": "none",
            "mesh": {
                "shape": "box", "size": [LENGTH, WIDTH, WIDTH], "corner": [0.0, -WIDTH / 2, -WIDTH / 2],
                "divisions": [60, 2, 2], "element": "hex20",
            },
            "interfaces": {"left": {"set": "x_min"}, "right": {"set": "x_max"}},
        }  # fmt: skip
        fm.reduce(recipe).save(path)
    turn = {"position": 0.0, "velocity": SPEED}
    return {
        "bodies": {
            "crank": {"type": "rigid", "mass": 0.36, "inertia": {"ixx": 1.0, "iyy": 10.0, "izz": 10.0},
                      "frames": {"pin": {"pos": [RADIUS, 0, 0]}}},
            "rod": {"type": "flexible", "modal": str(path)},
            "slider": {"type": "rigid", "mass": 0.075552, "inertia": {"ixx": 1e-5, "iyy": 1e-5, "izz": 1e-5}},
        },
        "joints": {
            "main": {"type": "revolute", "from": "ground", "to": "crank", "initial": turn},
            "bigend": {"type": "revolute", "from": "crank.pin", "to": "rod.left"},
            "smallend": {"type": "spherical", "from": "rod.right", "to": "slider"},
            "guide": {"type": "prismatic", "from": "ground", "to": "slider", "axis": [1, 0, 0],
                      "initial": {"position": RADIUS + LENGTH}},
        },
        "analysis": {"t_end": END_TIME},
    }  # fmt: skip


def rod_mesh(folder: Path) -> dict[str, np.ndarray]:
    """Tetrahedra of the rod for Exudyn, which takes them through NGSolve."""
    path = folder / "bench_rod_tets.npz"
    if not path.exists():
        import gmsh

        gmsh.initialize()
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.model.occ.addBox(0, -WIDTH / 2, -WIDTH / 2, LENGTH, WIDTH, WIDTH)
        gmsh.model.occ.synchronize()
        gmsh.option.setNumber("Mesh.MeshSizeMax", 0.005)
        gmsh.option.setNumber("Mesh.MeshSizeMin", 0.005)
        gmsh.model.mesh.generate(3)
        tags, points, _ = gmsh.model.mesh.getNodes()
        number = np.zeros(int(tags.max()) + 1, int)
        number[tags.astype(int)] = np.arange(len(tags))
        points = points.reshape(-1, 3)
        tets = number[gmsh.model.mesh.getElementsByType(4)[1].astype(int)].reshape(-1, 4)
        triangles = number[gmsh.model.mesh.getElementsByType(2)[1].astype(int)].reshape(-1, 3)
        gmsh.finalize()
        turned = np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]]) < 0
        tets[turned] = tets[turned][:, [1, 0, 2, 3]]
        x = points[triangles].mean(axis=1)[:, 0]
        bore_of = np.where(np.abs(x) < 1e-9, 1, np.where(np.abs(x - LENGTH) < 1e-9, 2, 0))
        np.savez(path, corners=points, tets=tets, triangles=triangles, bore_of=bore_of)
    stored = np.load(path)
    return {key: stored[key] for key in stored.files}


def centred_weights(points: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Weights near 1/n whose mean lies exactly in the middle of the face: a gap would kick the rod."""
    weights = np.full(len(nodes), 1.0 / len(nodes))
    A = np.vstack([np.ones(len(nodes)), points[nodes, 1], points[nodes, 2]])
    return weights + np.linalg.pinv(A) @ (np.array([1.0, 0.0, 0.0]) - A @ weights)


def exudyn_body(modes: int, folder: Path) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    """Reduced rod, and few marker nodes with weights per face: the tuned form."""
    import ngsolve
    from exudyn.FEM import FEMinterface, HCBstaticModeSelection, ObjectFFRFreducedOrderInterface

    from tests.benchmarks.ngsolve_rod import netgen_mesh

    ngsolve.SetNumThreads(1)
    fem = FEMinterface()
    fem.ImportMeshFromNGsolve(
        netgen_mesh(rod_mesh(folder)), density=DENSITY, youngsModulus=YOUNG, poissonsRatio=POISSON,
        meshOrder=2, createBoundaryNodeSets=False,
    )  # fmt: skip
    points = fem.GetNodePositionsAsArray()
    faces = [np.flatnonzero(np.abs(points[:, 0] - x) < 1e-9) for x in (0.0, LENGTH)]
    weights = [centred_weights(points, face) for face in faces]
    fem.ComputeHurtyCraigBamptonModes(
        [face.tolist() for face in faces], nEigenModes=modes, computationMode=HCBstaticModeSelection.RBE2,
        boundaryNodesWeights=weights, timerTreshold=10**9,
    )  # fmt: skip
    few = []
    for face in faces:
        far = np.argsort(-np.hypot(points[face, 1], points[face, 2]))[:4]
        few.append(face[np.sort(far)])
    return ObjectFFRFreducedOrderInterface(fem), few, [centred_weights(points, nodes) for nodes in few]


def crank_exudyn(modes: int, step: float, folder: Path) -> dict[str, Any]:
    """CPU seconds per step of Exudyn's generalized-alpha with modified Newton, dense solver."""
    import exudyn as exu
    import exudyn.itemInterface as items
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    body, faces, weights = exudyn_body(modes, folder)

    def build() -> Any:
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        ground = mbs.AddObject(items.ObjectGround())

        def marker(number: int, place: list[float]) -> Any:
            return mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=number, localPosition=place))

        def joint(a: Any, b: Any, locked: list[int]) -> None:
            mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[a, b], constrainedAxes=locked))

        crank = mbs.CreateRigidBody(
            inertia=RigidBodyInertia(mass=0.36, inertiaTensor=np.diag([1.0, 10.0, 10.0])),
            referencePosition=[0, 0, 0], initialAngularVelocity=[0, 0, SPEED],
        )  # fmt: skip
        rod = body.AddObjectFFRFreducedOrder(
            mbs, positionRef=[RADIUS, 0, 0], initialVelocity=[0, SPEED * RADIUS, 0],
            initialAngularVelocity=[0, 0, -SPEED * RADIUS / LENGTH], gravity=[0, 0, 0],
        )["oFFRFreducedOrder"]  # fmt: skip
        ends = [
            mbs.AddMarker(
                items.MarkerSuperElementRigid(bodyNumber=rod, meshNodeNumbers=nodes, weightingFactors=w)
            )
            for nodes, w in zip(faces, weights, strict=True)
        ]
        slider = mbs.CreateRigidBody(
            inertia=RigidBodyInertia(mass=0.075552, inertiaTensor=np.eye(3) * 1e-5),
            referencePosition=[RADIUS + LENGTH, 0, 0],
        )
        joint(marker(ground, [0, 0, 0]), marker(crank, [0, 0, 0]), [1, 1, 1, 1, 1, 0])
        joint(marker(crank, [RADIUS, 0, 0]), ends[0], [1, 1, 1, 1, 1, 0])
        joint(marker(slider, [0, 0, 0]), ends[1], [1, 1, 1, 0, 0, 0])
        joint(marker(ground, [RADIUS + LENGTH, 0, 0]), marker(slider, [0, 0, 0]), [0, 1, 1, 1, 1, 1])
        mbs.Assemble()
        return container, mbs

    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(END_TIME / step)
    settings.timeIntegration.endTime = END_TIME
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.displayStatistics = False
    settings.linearSolverType = exu.LinearSolverType.EXUdense
    seconds = []
    for _ in range(2):
        container, mbs = build()
        started = time.process_time()
        mbs.SolveDynamic(settings)
        seconds.append(time.process_time() - started)
        del mbs, container
    return {"seconds": min(seconds) / settings.timeIntegration.numberOfSteps}
