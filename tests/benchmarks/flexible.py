"""The flexible slider-crank of the benchmarks in flexmbs and Exudyn: crank 0.15 m, rod 0.3 m, 8 mm square."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

LENGTH, WIDTH, YOUNG, POISSON, DENSITY = 0.3, 0.008, 2e11, 0.3, 7870.0
SPEED, RADIUS = 150.0, 0.15
END_TIME = 0.05


def frame_of(modes: int) -> str:
    """Frame of the rod: a tangent one has too little inertia of its own left with many modes (F17a)."""
    return "tangent:left" if modes <= 10 else "mean-axis"


def rod_data(modes: int, folder: Path, frame: str = "") -> Path:
    """Modal data of the rod with 6 + `modes` modes, made once in `folder`."""
    import flexmbs as fm

    frame = frame or frame_of(modes)
    path = folder / f"bench_rod_{modes}_{frame.partition(':')[0]}.modal.h5"
    if not path.exists():
        recipe = {
            "method": "craig-bampton",
            "modes": modes,
            "material": {"young": YOUNG, "poisson": POISSON, "density": DENSITY},
            "frame": frame,
            "stress": "none",
            "mesh": {
                "shape": "box", "size": [LENGTH, WIDTH, WIDTH], "corner": [0.0, -WIDTH / 2, -WIDTH / 2],
                "divisions": [60, 2, 2], "element": "hex20",
            },
            "interfaces": {"left": {"set": "x_min"}, "right": {"set": "x_max"}},
        }  # fmt: skip
        fm.reduce(recipe).save(path)
    return path


def deflection_rows(modes: int, folder: Path) -> np.ndarray:
    """Deflection of the middle of the rod against its chord by the modal coordinates."""
    from flexmbs.modaldata.store import load

    data = load(rod_data(modes, folder))
    middle, end = (
        int(np.argmin(np.linalg.norm(data.mesh.points - [x, 0, 0], axis=1))) for x in (LENGTH / 2, LENGTH)
    )
    return np.array(data.Phi[:, middle, 1] - 0.5 * data.Phi[:, end, 1])


def chain_case(n: int, modes: int, folder: Path, frame: str = "") -> dict[str, Any]:
    """n rods with `modes` modes each, hanging in a row on revolute joints from the ground, level at rest."""
    path = rod_data(10 if modes <= 16 else modes - 6, folder, frame)
    rod = {"type": "flexible", "modal": str(path), "modes": {"count": modes}}
    bodies, joints = {}, {}
    for k in range(n):
        bodies[f"rod{k}"] = rod
        joints[f"j{k}"] = {
            "type": "revolute", "from": f"rod{k - 1}.right" if k else "ground", "to": f"rod{k}.left",
        }  # fmt: skip
    return {
        "gravity": [0.0, -9.81, 0.0], "bodies": bodies, "joints": joints, "analysis": {"t_end": END_TIME},
    }  # fmt: skip


def lift_case(n: int, modes: int, folder: Path) -> dict[str, Any]:
    """Scissor lift of n stages of such rods, which meet in their middles; loops close by in-line joints."""
    rod = {
        "type": "flexible", "modal": str(rod_data(10, folder, "mean-axis")), "modes": {"count": modes},
        "frames": {"middle": {"at": [LENGTH / 2, 0.0, 0.0]}},
    }  # fmt: skip
    bodies: dict[str, Any] = {}
    joints: dict[str, Any] = {
        "base": {"type": "revolute", "from": "ground", "to": "a0.left", "initial": {"position": 0.5}}
    }
    for k in range(n):
        bodies |= {f"a{k}": rod, f"b{k}": rod}
        for name, a, b, turn in (("centre", "middle", "middle", -1.0), ("left", "left", "left", 1.0)):
            if name == "centre" or k + 1 < n:
                ends = (f"a{k}", f"b{k}") if name == "centre" else (f"b{k}", f"a{k + 1}")
                joints[f"{name}{k}"] = {
                    "type": "revolute", "from": f"{ends[0]}.{a}", "to": f"{ends[1]}.{b}",
                    "initial": {"position": turn, "velocity": 0.0},
                }  # fmt: skip
        if k + 1 < n:
            joints[f"right{k}"] = {"type": "in_line", "from": f"a{k}.right", "to": f"b{k + 1}.right"}
    return {
        "gravity": [0.0, -9.81, 0.0], "bodies": bodies, "joints": joints, "analysis": {"t_end": END_TIME},
    }  # fmt: skip


def crank_case(modes: int, folder: Path, frame: str = "") -> dict[str, Any]:
    """The case as a dictionary; the modal data are made once in `folder`."""
    path = rod_data(modes, folder, frame)
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


def exudyn_body(modes: int, folder: Path) -> tuple[Any, list[np.ndarray], list[np.ndarray], list[int]]:
    """Reduced rod, few marker nodes with weights per face (the tuned form), nodes at its middle and end."""
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
    middle = int(np.argmin(np.linalg.norm(points - [LENGTH / 2, 0, 0], axis=1)))
    weights = [centred_weights(points, nodes) for nodes in few]
    return ObjectFFRFreducedOrderInterface(fem), few, weights, [middle, int(faces[1][0])]


def crank_exudyn(modes: int, step: float, folder: Path) -> dict[str, Any]:
    """CPU seconds per step of Exudyn's generalized-alpha with modified Newton, dense solver."""
    parts = exudyn_body(modes, folder)
    seconds = min(solved(slider_crank(parts), step, END_TIME)[0] for _ in range(2))
    return {"seconds": seconds / round(END_TIME / step)}


def deflection_exudyn(modes: int, step: float, folder: Path) -> tuple[float, np.ndarray]:
    """CPU seconds of a run, and the deflection of the rod's middle against its chord every millisecond."""
    parts = exudyn_body(modes, folder)
    seconds = solved(slider_crank(parts), step, END_TIME)[0]
    _, (_, mbs, sensors) = solved(slider_crank(parts, sensors=True), step, END_TIME)
    middle, end = (mbs.GetSensorStoredData(number)[1:, 2] for number in sensors)
    return seconds, middle - 0.5 * end


def chain_exudyn(n: int, modes: int, step: float, folder: Path) -> dict[str, Any]:
    """CPU seconds per step of Exudyn for a chain of n rods, sparse solver."""
    import exudyn as exu
    import exudyn.itemInterface as items

    body, faces, weights, _ = exudyn_body(modes, folder)
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    before = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
    for k in range(n):
        rod = body.AddObjectFFRFreducedOrder(
            mbs, positionRef=[k * LENGTH, 0, 0], initialVelocity=[0, 0, 0], initialAngularVelocity=[0, 0, 0],
            gravity=[0, -9.81, 0],
        )["oFFRFreducedOrder"]  # fmt: skip
        first, last = face_markers(mbs, rod, faces, weights)
        mbs.AddObject(
            items.ObjectJointGeneric(markerNumbers=[before, first], constrainedAxes=[1, 1, 1, 1, 1, 0])
        )
        before = last
    mbs.Assemble()
    n_steps = 100 if n > 4 else 500
    seconds, _ = solved((container, mbs, []), step, n_steps * step, sparse=True)
    return {"seconds": seconds / n_steps}


def face_markers(mbs: Any, rod: Any, faces: list[np.ndarray], weights: list[np.ndarray]) -> list[Any]:
    import exudyn.itemInterface as items

    return [
        mbs.AddMarker(
            items.MarkerSuperElementRigid(bodyNumber=rod, meshNodeNumbers=nodes, weightingFactors=w)
        )
        for nodes, w in zip(faces, weights, strict=True)
    ]


def slider_crank(parts: Any, sensors: bool = False) -> tuple[Any, Any, list[Any]]:
    """The assembled mechanism, and sensors of the rod's middle and end."""
    import exudyn as exu
    import exudyn.itemInterface as items
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    body, faces, weights, places = parts
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
    ends = face_markers(mbs, rod, faces, weights)
    slider = mbs.CreateRigidBody(
        inertia=RigidBodyInertia(mass=0.075552, inertiaTensor=np.eye(3) * 1e-5),
        referencePosition=[RADIUS + LENGTH, 0, 0],
    )
    joint(marker(ground, [0, 0, 0]), marker(crank, [0, 0, 0]), [1, 1, 1, 1, 1, 0])
    joint(marker(crank, [RADIUS, 0, 0]), ends[0], [1, 1, 1, 1, 1, 0])
    joint(marker(slider, [0, 0, 0]), ends[1], [1, 1, 1, 0, 0, 0])
    joint(marker(ground, [RADIUS + LENGTH, 0, 0]), marker(slider, [0, 0, 0]), [0, 1, 1, 1, 1, 1])
    kind = exu.OutputVariableType.DisplacementLocal
    found = [
        mbs.AddSensor(
            items.SensorSuperElement(
                bodyNumber=rod, meshNodeNumber=node, outputVariableType=kind, storeInternal=True
            )
        )
        for node in (places if sensors else [])
    ]
    mbs.Assemble()
    return container, mbs, found


def solved(system: Any, step: float, t_end: float, sparse: bool = False) -> tuple[float, Any]:
    """CPU seconds of a run, and the system after it."""
    import exudyn as exu

    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(t_end / step)
    settings.timeIntegration.endTime = t_end
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = 1e-3
    settings.displayStatistics = False
    kinds = exu.LinearSolverType
    settings.linearSolverType = kinds.EigenSparse if sparse else kinds.EXUdense
    started = time.process_time()
    system[1].SolveDynamic(settings)
    return time.process_time() - started, system
