"""A four-bar and a slider-crank with flexible rod in Exudyn, from the same matrices of the same mesh.

Both programs reduce the rod by two rigid faces and the same number of fixed-interface modes, and both body
frames follow the first face. They differ in geometric stiffening, which Exudyn's reduced body has not: it is
switched off here, and what it does is seen beside it.
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import isotropic
from flexmbs.fe.shapes.parametric import box

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("exudyn"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # old names of its settings
]
E, NU, RHO = 2e11, 0.3, 7870.0
LENGTH, WIDTH, RADIUS, SPEED, MODES = 0.3, 0.008, 0.15, 100.0, 4
END = 0.03


def settings(t_end, steps):
    import exudyn as exu

    found = exu.SimulationSettings()
    found.timeIntegration.numberOfSteps, found.timeIntegration.endTime = steps, t_end
    found.timeIntegration.verboseMode = 0
    found.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    found.solutionSettings.writeSolutionToFile = False
    found.solutionSettings.sensorsWritePeriod = t_end / 60
    found.displayStatistics = False
    return found


def marker(mbs, body, place):
    import exudyn.itemInterface as items

    return mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=list(place)))


def joint(mbs, a, b, locked):
    import exudyn.itemInterface as items

    return mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[a, b], constrainedAxes=locked))


def history(mbs, sensor):
    """Times and values that a sensor stored."""
    data = np.array(mbs.GetSensorStoredData(sensor))
    return data[:, 0], data[:, 1:]


# ---- four-bar ----

CRANK, COUPLER, ROCKER, BASE = 0.2, 0.5, 0.4, 0.55
THETA = 1.2


def four_bar_angles():
    """Directions of coupler and rocker that close the loop at THETA, coupler above."""
    B = CRANK * np.array([np.cos(THETA), np.sin(THETA)])
    d = np.array([BASE, 0.0]) - B
    L = np.linalg.norm(d)
    inner = np.arccos((COUPLER**2 + L**2 - ROCKER**2) / (2 * COUPLER * L))
    phi = np.arctan2(d[1], d[0]) + inner
    C = B + COUPLER * np.array([np.cos(phi), np.sin(phi)])
    return phi, np.arctan2(C[1], C[0] - BASE)


def bar(length):
    return {
        "type": "rigid", "mass": 2.0 * length, "com": [length / 2, 0, 0],
        "inertia": {"ixx": 1e-3, "iyy": length**3 / 6 + 1e-3, "izz": length**3 / 6 + 1e-3},
        "frames": {"end": {"pos": [length, 0, 0]}},
    }  # fmt: skip


def revolute(a, b, **initial):
    return {"type": "revolute", "from": a, "to": b} | ({"initial": initial} if initial else {})


def our_four_bar():
    phi, psi = four_bar_angles()
    return {
        "gravity": [0, -9.81, 0],
        "ground": {"frames": {"right": {"pos": [BASE, 0, 0]}}},
        "bodies": {"crank": bar(CRANK), "coupler": bar(COUPLER), "rocker": bar(ROCKER)},
        "joints": {
            "a": revolute("ground", "crank", position=THETA, hold=True),
            "b": revolute("crank.end", "coupler", position=phi - THETA),
            "d": revolute("ground.right", "rocker", position=psi),
            "c": revolute("coupler.end", "rocker.end"),
        },
        "analysis": {"t_end": 1.0, "rtol": 1e-10, "atol": 1e-12},
        "output": {"every": 1.0 / 60},
    }  # fmt: skip


def their_four_bar(steps):
    """Height of the end of the coupler."""
    import exudyn as exu
    import exudyn.itemInterface as items
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    phi, psi = four_bar_angles()
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    starts = {
        "crank": (CRANK, THETA, [0, 0]), "rocker": (ROCKER, psi, [BASE, 0]),
        "coupler": (COUPLER, phi, CRANK * np.array([np.cos(THETA), np.sin(THETA)])),
    }  # fmt: skip
    bodies = {}
    for name, (length, angle, origin) in starts.items():
        own = bar(length)
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        place = np.array([*origin, 0.0]) + R @ [length / 2, 0, 0]  # its frame is at the mass centre
        inertia = RigidBodyInertia(mass=own["mass"], inertiaTensor=np.diag(list(own["inertia"].values())))
        bodies[name] = mbs.CreateRigidBody(
            inertia=inertia,
            referencePosition=place.tolist(),
            referenceRotationMatrix=R,
            gravity=[0, -9.81, 0],
        )

    def at(name, x):
        return marker(mbs, bodies[name], [x - starts[name][0] / 2, 0, 0])

    turn, pin = [1, 1, 1, 1, 1, 0], [1, 1, 0, 0, 0, 0]  # a planar pin closes the loop without redundant rows
    joint(mbs, marker(mbs, ground, [0, 0, 0]), at("crank", 0), turn)
    joint(mbs, at("crank", CRANK), at("coupler", 0), turn)
    joint(mbs, marker(mbs, ground, [BASE, 0, 0]), at("rocker", 0), turn)
    joint(mbs, at("coupler", COUPLER), at("rocker", ROCKER), pin)
    sensor = mbs.AddSensor(
        items.SensorBody(
            bodyNumber=bodies["coupler"], localPosition=[COUPLER / 2, 0, 0], storeInternal=True,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )  # fmt: skip
    mbs.Assemble()
    mbs.SolveDynamic(settings(1.0, steps))
    return history(mbs, sensor)[1][:, 1]


def test_four_bar_moves_as_in_exudyn(tmp_path):
    """A rigid four-bar under gravity: the difference is Exudyn's step, and falls with its square."""
    result = fm.run(Case.from_dict(our_four_bar()), tmp_path / "a.h5")
    crank, coupler = (np.ravel(result.joints[name].position) for name in "ab")
    ours = CRANK * np.sin(crank) + COUPLER * np.sin(crank + coupler)
    errors = [np.abs(their_four_bar(steps) - ours).max() for steps in (600, 1200, 2400)]
    assert np.abs(ours - ours[0]).max() > 0.1
    assert errors[2] < 2e-5
    assert all(3.0 < a / b < 5.0 for a, b in zip(errors, errors[1:], strict=False))  # second order


# ---- slider-crank with flexible rod ----


def rod():
    """One mesh for both: nodes of the faces and of the middle, and the matrices."""
    corner = (0.0, -WIDTH / 2, -WIDTH / 2)
    mesh = box((LENGTH, WIDTH, WIDTH), (24, 2, 2), corner=corner, element="hex20")
    return mesh, assemble(mesh, isotropic("steel", E, NU, RHO))


def our_crank(tmp_path, stiffening):
    recipe = {
        "method": "craig-bampton", "modes": MODES, "frame": "tangent:left", "stress": "none",
        "material": {"young": E, "poisson": NU, "density": RHO},
        "mesh": {"shape": "box", "size": [LENGTH, WIDTH, WIDTH], "corner": [0.0, -WIDTH / 2, -WIDTH / 2],
                 "divisions": [24, 2, 2], "element": "hex20"},
        "interfaces": {"left": {"set": "x_min"}, "right": {"set": "x_max"}},
    }  # fmt: skip
    tmp_path.mkdir(exist_ok=True)
    fm.reduce(recipe).save(tmp_path / "rod.modal.h5")
    small = {"ixx": 1e-5, "iyy": 1e-5, "izz": 1e-5}
    turn = {"position": 0.0, "velocity": SPEED}
    case = {
        "bodies": {
            "crank": {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 1.0, "iyy": 10.0, "izz": 10.0},
                      "frames": {"pin": {"pos": [RADIUS, 0, 0]}}},
            "rod": {"type": "flexible", "modal": "rod.modal.h5", "geometric_stiffening": stiffening,
                    "frames": {"mid": {"at": [LENGTH / 2, 0, 0]}}},
            "slider": {"type": "rigid", "mass": 0.0755, "inertia": small},
        },
        "joints": {
            "main": {"type": "revolute", "from": "ground", "to": "crank", "initial": turn},
            "bigend": {"type": "revolute", "from": "crank.pin", "to": "rod.left"},
            "smallend": {"type": "spherical", "from": "rod.right", "to": "slider"},
            "guide": {"type": "prismatic", "from": "ground", "to": "slider", "axis": [1, 0, 0],
                      "initial": {"position": RADIUS + LENGTH}},
        },
        "sensors": {name: {"type": "position", "on": f"rod.{name}"} for name in ("left", "mid", "right")},
        "analysis": {"t_end": END, "band": "all", "rtol": 1e-8, "atol": 1e-11},
        "output": {"every": END / 60},
    }  # fmt: skip
    result = fm.run(Case.from_dict(case, folder=tmp_path), tmp_path / "ours.h5")
    return np.ravel(result.joints["main"].position), *(result.sensors[n] for n in ("left", "mid", "right"))


def their_crank(steps):
    import exudyn as exu
    import exudyn.itemInterface as items
    from exudyn.FEM import FEMinterface, HCBstaticModeSelection, ObjectFFRFreducedOrderInterface
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    mesh, model = rod()
    fem = FEMinterface()
    fem.nodes = {"Position": mesh.points}
    fem.massMatrix, fem.stiffnessMatrix = model.M_fe.tocsr(), model.K_fe.tocsr()
    faces = [np.flatnonzero(np.abs(mesh.points[:, 0] - x) < 1e-9).tolist() for x in (0.0, LENGTH)]
    fem.ComputeHurtyCraigBamptonModes(faces, nEigenModes=MODES, computationMode=HCBstaticModeSelection.RBE2)
    body = ObjectFFRFreducedOrderInterface(fem)
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    crank = mbs.CreateRigidBody(
        inertia=RigidBodyInertia(mass=1.0, inertiaTensor=np.diag([1.0, 10.0, 10.0])),
        referencePosition=[0, 0, 0], initialAngularVelocity=[0, 0, SPEED],
    )  # fmt: skip
    flexible = body.AddObjectFFRFreducedOrder(
        mbs, positionRef=[RADIUS, 0, 0], initialVelocity=[0, SPEED * RADIUS, 0],
        initialAngularVelocity=[0, 0, -SPEED * RADIUS / LENGTH], gravity=[0, 0, 0],
    )["oFFRFreducedOrder"]  # fmt: skip
    ends = [
        mbs.AddMarker(
            items.MarkerSuperElementRigid(
                bodyNumber=flexible, meshNodeNumbers=face, weightingFactors=[1.0 / len(face)] * len(face)
            )
        )
        for face in faces
    ]
    slider = mbs.CreateRigidBody(
        inertia=RigidBodyInertia(mass=0.0755, inertiaTensor=np.eye(3) * 1e-5),
        referencePosition=[RADIUS + LENGTH, 0, 0],
    )
    joint(mbs, marker(mbs, ground, [0, 0, 0]), marker(mbs, crank, [0, 0, 0]), [1, 1, 1, 1, 1, 0])
    joint(mbs, marker(mbs, crank, [RADIUS, 0, 0]), ends[0], [1, 1, 1, 1, 1, 0])
    joint(mbs, marker(mbs, slider, [0, 0, 0]), ends[1], [1, 1, 1, 0, 0, 0])
    joint(
        mbs, marker(mbs, ground, [RADIUS + LENGTH, 0, 0]), marker(mbs, slider, [0, 0, 0]), [0, 1, 1, 1, 1, 1]
    )
    middle = int(np.argmin(np.linalg.norm(mesh.points - [LENGTH / 2, 0, 0], axis=1)))
    stored = {"storeInternal": True, "outputVariableType": exu.OutputVariableType.Position}
    sensors = [
        mbs.AddSensor(items.SensorBody(bodyNumber=crank, localPosition=[RADIUS, 0, 0], **stored)),
        mbs.AddSensor(items.SensorSuperElement(bodyNumber=flexible, meshNodeNumber=middle, **stored)),
        mbs.AddSensor(items.SensorBody(bodyNumber=slider, localPosition=[0, 0, 0], **stored)),
    ]
    mbs.Assemble()
    mbs.SolveDynamic(settings(END, steps))
    return [history(mbs, sensor)[1] for sensor in sensors]


def deflection(left, mid, right):
    """Of the middle of the rod, square to the chord."""
    chord, arm = right - left, mid - left
    return (chord[:, 0] * arm[:, 1] - chord[:, 1] * arm[:, 0]) / np.linalg.norm(chord, axis=1)


def test_flexible_rod_bends_as_in_exudyn(tmp_path):
    angle, *places = our_crank(tmp_path, False)
    ours = deflection(*places)
    pin, *rest = their_crank(6000)
    theirs = deflection(pin, *rest)
    theirs_angle = np.unwrap(np.arctan2(pin[:, 1], pin[:, 0]))
    size = np.abs(ours).max()
    assert size > 2e-4 and angle[-1] > 2.0
    assert np.abs(theirs_angle - angle).max() < 1e-5
    assert np.abs(theirs - ours).max() < 0.002 * size  # its step, and second order in the deflection
    stiffened = deflection(*our_crank(tmp_path / "stiffened", True)[1:])
    assert np.abs(stiffened - ours).max() > 0.02 * size
