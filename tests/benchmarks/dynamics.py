"""Rigid chains and closed loops against Pinocchio and Exudyn: measurements."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tests.benchmarks.runner import measurement

GRAVITY = 9.81


def smallest(call: Any, slices: int = 40, slice_seconds: float = 0.003) -> float:
    """Seconds per call: the least over many short slices, which other processes disturb least."""
    call()
    started = time.process_time()
    call()
    count = max(1, int(slice_seconds / max(time.process_time() - started, 1e-8)))
    best = np.inf
    for _ in range(slices):
        started = time.process_time()
        for _ in range(count):
            call()
        best = min(best, (time.process_time() - started) / count)
    return float(best)


def stepper(
    data: dict[str, Any],
    method: str,
    step: float,
    t_end: float,
    times: Any = None,
    *,
    all_rows: bool = False,
    **options: Any,
) -> tuple[Any, Any]:
    """System and running integrator of a case given as a dictionary; output at the ends or at `times`.

    `all_rows`: also those constraint rows that follow from the others, which runs leave out (F28).
    """
    from flexmbs.case import Case
    from flexmbs.integrate import Settings, integrator
    from flexmbs.simulate.motion.equations import problem, state_vector

    system = Case.from_dict(data).system()
    state = system.initial_state()
    settings = Settings(method=method, step=step, **options)
    start = state_vector(system, state)
    times = np.array([0.0, t_end]) if times is None else times
    kept = np.ones(system.n_rows, dtype=bool) if all_rows else None
    return system, integrator(problem(system, kept), settings, 0.0, start, times, t_end)


def per_step(run: Any, slices: int = 40, slice_seconds: float = 0.003) -> tuple[float, float]:
    """Seconds per step and evaluations per step: the least over short slices, as for the peers."""
    run.advance(n_steps=1)  # kernels are loaded where they are first reached
    count, spent = 1, 0.0
    while spent < slice_seconds:  # long enough that the call from Python does not count
        count *= 2
        started = time.process_time()
        run.advance(n_steps=count)
        spent = time.process_time() - started
    best, before = np.inf, run.statistics()
    for _ in range(slices):
        first, started = run.statistics()["steps"], time.process_time()
        run.advance(n_steps=count)
        spent = time.process_time() - started
        if run.statistics()["steps"] - first == count:  # some slices end early, to be written
            best = min(best, spent / count)
    after = run.statistics()
    evaluations = after["evaluations"] - before["evaluations"]
    return float(best), evaluations / (after["steps"] - before["steps"])


def per_evaluation(data: dict[str, Any], step: float, *, all_rows: bool = False) -> dict[str, float]:
    """Seconds per evaluation of a fixed-step Runge-Kutta run, projections included."""
    system, run = stepper(data, "rk4", step, 1e8 * step, all_rows=all_rows)
    seconds, evaluations = per_step(run, slices=10 if len(system.bodies) > 1000 else 40)
    return {"seconds": seconds / evaluations, "n_bodies": len(system.model.bodies)}


@measurement
def chain_flexmbs(n: str, joint: str = "revolute") -> dict[str, Any]:
    from flexmbs.case.generate import chain

    data = chain(int(n))
    if joint != "revolute":
        for item in data["joints"].values():
            item["type"] = joint
            item.pop("initial")
    return per_evaluation(data, 1e-6)


@measurement
def chain_pinocchio(n: str) -> dict[str, Any]:
    import pinocchio as pin

    model, parent = pin.Model(), 0
    for k in range(int(n)):
        place = pin.SE3(np.eye(3), np.array([0.0, -1.0 if k else 0.0, 0.0]))
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"j{k}")
        inertia = pin.Inertia(1.0, np.array([0.0, -0.5, 0.0]), np.diag([1 / 12, 1e-3, 1 / 12]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    data = model.createData()
    q, v = np.full(int(n), 0.1), np.zeros(int(n))
    return {"seconds": smallest(lambda: pin.aba(model, data, q, v, v))}


@measurement
def loops_flexmbs(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import four_bars

    return per_evaluation(four_bars(int(n)), 1e-5)


@measurement
def all_rows_flexmbs(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import four_bars

    return per_evaluation(four_bars(int(n)), 1e-5, all_rows=True)


def pinocchio_loops(n: int) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Model, constraints and a call for the accelerations of n four-bars, all with point contacts."""
    import pinocchio as pin

    model, cranks, couplers = pin.Model(), [], []
    for k in range(n + 1):
        crank = model.addJoint(0, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([k, 0.0, 0.0])), f"c{k}")
        bar = pin.Inertia(1.0, np.array([0, 0.5, 0]), np.diag([1 / 12, 1e-3, 1 / 12]))
        model.appendBodyToJoint(crank, bar, pin.SE3.Identity())
        cranks.append(crank)
        if k < n:
            place = pin.SE3(np.eye(3), np.array([0.0, 1.0, 0.0]))
            coupler = model.addJoint(crank, pin.JointModelRZ(), place, f"k{k}")
            bar = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([1e-3, 1 / 12, 1 / 12]))
            model.appendBodyToJoint(coupler, bar, pin.SE3.Identity())
            couplers.append(coupler)
    model.gravity.linear = np.array([0, -GRAVITY, 0])
    data, cuts, cut_data = (
        model.createData(),
        pin.StdVec_RigidConstraintModel(),
        pin.StdVec_RigidConstraintData(),
    )
    tip = pin.SE3(np.eye(3), np.array([0.0, 1.0, 0.0]))
    end = pin.SE3(np.eye(3), np.array([1.0, 0.0, 0.0]))
    for k in range(n):
        cut = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, couplers[k], end, cranks[k + 1], tip, pin.LOCAL
        )
        cut.m_baumgarte_parameters = pin.BaumgarteCorrectorParameters(100.0, 20.0)
        cuts.append(cut)
    for cut in cuts:
        cut_data.append(cut.createData())
    pin.initConstraintDynamics(model, data, cuts, cut_data)
    settings, tau = pin.ProximalSettings(1e-12, 1e-10, 10), np.zeros(model.nv)
    v0 = np.zeros(model.nv)
    v0[[model.joints[j].idx_v for j in cranks]] = -1.0
    v0[[model.joints[j].idx_v for j in couplers]] = 1.0

    def accelerations(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array(pin.constraintDynamics(model, data, q, v, tau, cuts, cut_data, settings))

    return model, accelerations, pin.neutral(model), v0, model.joints[cranks[0]].idx_q, cuts


@measurement
def loops_pinocchio(n: str) -> dict[str, Any]:
    """The faster of its two algorithms."""
    model, accelerations, q0, v0, _, cuts = pinocchio_loops(int(n))
    dense = smallest(lambda: accelerations(q0, v0))
    linear = smallest(lcaba(model, cuts, q0, v0))
    return {"seconds": min(dense, linear), "algorithm": "lcaba" if linear < dense else "constraintDynamics"}


def lcaba(model: Any, contacts: Any, q: np.ndarray, v: np.ndarray) -> Any:
    """A call of Pinocchio's algorithm for loops, linear where a good order is found."""
    import pinocchio as pin

    data, found = model.createData(), pin.StdVec_RigidConstraintData()
    for contact in contacts:
        found.append(contact.createData())
    settings, tau = pin.ProximalSettings(1e-12, 1e-8, 10), np.zeros(model.nv)
    pin.computeJointMinimalOrdering(model, data, contacts)
    return lambda: pin.lcaba(model, data, q, v, tau, contacts, found, settings)


@measurement
def scissor_flexmbs(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import scissor_lift

    return per_evaluation(scissor_lift(int(n)), 1e-6)


@measurement
def platforms_flexmbs(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import stacked_platforms

    return per_evaluation(stacked_platforms(int(n)), 1e-6)


@measurement
def mast_flexmbs(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import mast

    return per_evaluation(mast(int(n)), 1e-6)


@measurement
def legs_flexmbs(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import platform

    return per_evaluation(platform(int(n)), 1e-6)


@measurement
def legs_pinocchio(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import legs_of_platform

    return platforms_of_pinocchio([legs_of_platform(int(n))])


@measurement
def platforms_pinocchio(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import hexapod_legs

    return platforms_of_pinocchio([hexapod_legs(k) for k in range(int(n))])


def platforms_of_pinocchio(storeys: list[Any]) -> dict[str, Any]:
    """The same platforms: every plate stands on its first leg, the heads of the others are cut."""
    import pinocchio as pin

    from flexmbs.spatial import shortest_rotation

    def inertia(mass: float, x: float, z: float) -> Any:
        return pin.Inertia(mass, np.zeros(3), np.diag([x, x, z]))

    model, contacts = pin.Model(), pin.StdVec_RigidConstraintModel()
    model.gravity.linear = np.array([0, 0, -GRAVITY])
    plate, base = 0, np.zeros(3)
    for k, legs in enumerate(storeys):
        heads, start = [], plate
        for foot, head in legs:
            R = shortest_rotation((np.array(head) - foot) / np.linalg.norm(np.array(head) - foot))
            j = model.addJoint(start, pin.JointModelRX(), pin.SE3(R, foot - base), f"x{model.njoints}")
            j = model.addJoint(j, pin.JointModelRY(), pin.SE3.Identity(), f"y{model.njoints}")
            model.appendBodyToJoint(j, inertia(0.2, 0.01, 0.002), pin.SE3.Identity())
            length = pin.SE3(np.eye(3), np.array([0, 0, np.linalg.norm(np.array(head) - foot)]))
            j = model.addJoint(j, pin.JointModelPZ(), length, f"z{model.njoints}")
            model.appendBodyToJoint(j, inertia(0.2, 0.01, 0.002), pin.SE3.Identity())
            if not heads:
                plate = model.addJoint(j, pin.JointModelSpherical(), pin.SE3(R.T, np.zeros(3)), f"s{k}")
                own = pin.SE3(np.eye(3), np.array([0, 0, k + 1.0]) - head)
                model.appendBodyToJoint(plate, inertia(2.0, 0.1, 0.2), own)
                base = np.array(head)
            heads.append((j, np.array(head)))
        for j, head in heads[1:]:
            at = pin.SE3(np.eye(3), head - base)
            kind = pin.ContactType.CONTACT_3D
            contacts.append(pin.RigidConstraintModel(kind, model, j, pin.SE3.Identity(), plate, at))
    q0, v0 = pin.neutral(model), np.zeros(model.nv)
    return {"seconds": smallest(lcaba(model, contacts, q0, v0))}


@measurement
def scissor_pinocchio(n: str, algorithm: str = "lcaba") -> dict[str, Any]:
    """The same lift, on the tree that it is best on."""
    import pinocchio as pin

    model, half = pin.Model(), 0.5
    model.gravity.linear = np.array([0, -GRAVITY, 0])
    bar = pin.Inertia(1.0, np.zeros(3), np.diag([1e-3, 1 / 12, 1 / 12]))

    def at(x: float) -> Any:
        return pin.SE3(np.eye(3), np.array([x, 0.0, 0.0]))

    parent, place, ends = 0, 0.0, []
    q = []
    for k in range(int(n)):
        a = model.addJoint(parent, pin.JointModelRZ(), at(place), f"a{k}")
        model.appendBodyToJoint(a, bar, at(half))
        b = model.addJoint(a, pin.JointModelRZ(), at(half), f"b{k}")
        model.appendBodyToJoint(b, bar, pin.SE3.Identity())
        ends.append((a, b))
        q += [1.0 if k else 0.5, -1.0]
        parent, place = b, -half
    contacts = pin.StdVec_RigidConstraintModel()
    for (a, _), (_, b) in zip(ends, ends[1:], strict=False):
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, a, at(1.0), b, at(half)))
    q0, v0 = np.array(q), np.zeros(model.nv)
    if algorithm == "lcaba":
        return {"seconds": smallest(lcaba(model, contacts, q0, v0))}
    data, found = model.createData(), pin.StdVec_RigidConstraintData()
    for contact in contacts:
        found.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, found)
    settings, tau = pin.ProximalSettings(1e-10, 1e-8, 10), np.zeros(model.nv)
    return {
        "seconds": smallest(
            lambda: pin.constraintDynamics(model, data, q0, v0, tau, contacts, found, settings)
        )
    }


def exact_angle(n: int, t_end: float) -> float:
    """Angle of the cranks from x: the loops stay parallelograms, one freedom."""
    from scipy.integrate import solve_ivp

    k = ((n + 1) / 2 + n) * GRAVITY / ((n + 1) / 3 + n)
    found = solve_ivp(
        lambda t, y: [y[1], -k * np.cos(y[0])], (0, t_end), [np.pi / 2, -1.0], rtol=1e-12, atol=1e-12,
        method="DOP853",
    )  # fmt: skip
    return float(found.y[0, -1])


@measurement
def equal_error_flexmbs(n: str, t_end: str) -> dict[str, Any]:
    """CPU seconds per simulated second, tolerance chosen so that the angle errs by 1.5e-5 rad or less.

    The first coordinate is the angle of a crank, and all cranks stay parallel.
    """
    from flexmbs.case.generate import four_bars

    exact, answer = exact_angle(int(n), float(t_end)), {}
    for rtol in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        best = np.inf
        for _ in range(5):
            _, run = stepper(four_bars(int(n)), "dopri5", 0.0, float(t_end), rtol=rtol, atol=1e-2 * rtol)
            started = time.process_time()
            while not run.finished:
                y = run.advance().y
            best = min(best, time.process_time() - started)
        error = abs((y[-1, 0] - exact + np.pi) % (2 * np.pi) - np.pi)
        answer = {"seconds": best / float(t_end), "error": float(error), "rtol": rtol}
        if error < 1.5e-5:
            break
    return answer


@measurement
def equal_error_pinocchio(n: str, t_end: str) -> dict[str, Any]:
    """Evaluations of a fixed-step RK4 run times the cost of one: no Python in the figure."""
    _, f, q0, v0, index, _ = pinocchio_loops(int(n))
    exact, answer = exact_angle(int(n), float(t_end)), {}
    per_call = smallest(lambda: f(q0, v0))
    for h in (2e-2, 1e-2, 5e-3, 2e-3, 1e-3):
        q, v = q0.copy(), v0.copy()
        for _ in range(int(round(float(t_end) / h))):
            a1 = f(q, v)
            v2 = v + h / 2 * a1
            a2 = f(q + h / 2 * v, v2)
            v3 = v + h / 2 * a2
            a3 = f(q + h / 2 * v2, v3)
            v4 = v + h * a3
            a4 = f(q + h * v3, v4)
            q = q + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        error = abs((q[index] + np.pi / 2 - exact + np.pi) % (2 * np.pi) - np.pi)
        answer = {"seconds": 4 * per_call / h, "error": float(error), "step": h}
        if error < 1.5e-5:
            break
    return answer


@measurement
def equal_error_exudyn(n: str, t_end: str) -> dict[str, Any]:
    """CPU seconds per simulated second of Exudyn's index-3 generalized-alpha with modified Newton.

    Loops are closed by two equations each, so that nothing is redundant. The step shrinks until the angle
    errs by 1e-4 rad or less.
    """
    exact, answer = exact_angle(int(n), float(t_end)), {}
    for h in (1e-2, 5e-3, 2e-3, 1e-3, 8e-4, 5e-4):
        try:
            seconds, angle = four_bars_exudyn(int(n), float(t_end), h)
        except Exception as error:  # its solver gives up with this step
            answer = answer or {"failed": str(error)}
            continue
        error = abs((angle - exact + np.pi) % (2 * np.pi) - np.pi)
        answer = {"seconds": seconds / float(t_end), "error": float(error), "step": h}
        if error < 1e-4:
            break
    return answer


@measurement
def scissor_exudyn(n: str) -> dict[str, Any]:
    """Seconds per implicit step of the lift of rigid bars, planar ones: what is least work for it."""
    import exudyn as exu
    import exudyn.itemInterface as items

    mbs, rise = exu.SystemContainer().AddSystem(), 0.5
    ground, ends = mbs.AddObject(items.ObjectGround()), {}
    for k in range(int(n)):
        for side, angle in (("a", rise), ("b", -rise)):
            place = [0.5 * np.cos(rise), (k + 0.5) * np.sin(rise), angle]
            node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=place))
            bar = mbs.AddObject(
                items.ObjectRigidBody2D(physicsMass=1, physicsInertia=1 / 12, nodeNumber=node)
            )
            for x in (-0.5, 0.0, 0.5):
                marker = items.MarkerBodyPosition(bodyNumber=bar, localPosition=[x, 0, 0])
                ends[side, k, x] = mbs.AddMarker(marker)
            mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=bar))
            mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=[0, -GRAVITY, 0]))
    base = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=[0, 0, 0]))
    pairs = [(base, ends["a", 0, -0.5])]
    for k in range(int(n)):
        pairs.append((ends["a", k, 0.0], ends["b", k, 0.0]))
        if k + 1 < int(n):
            pairs.append((ends["b", k, -0.5], ends["a", k + 1, -0.5]))
            pairs.append((ends["a", k, 0.5], ends["b", k + 1, 0.5]))
    for pair in pairs:
        mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=list(pair)))
    mbs.Assemble()
    settings, steps = exu.SimulationSettings(), max(20, 4000 // int(n))
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, 1e-3 * steps
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.linearSolverType, best = exu.LinearSolverType.EigenSparse, np.inf
    for _ in range(10):
        started = time.process_time()
        mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha)
        best = min(best, time.process_time() - started)
    return {"seconds": best / steps}


def four_bars_exudyn(n: int, t_end: float, step: float) -> tuple[float, float]:
    """CPU seconds of a run, and the angle of the first crank at its end."""
    import exudyn as exu
    import exudyn.itemInterface as items
    from exudyn.rigidBodyUtilities import RigidBodyInertia, RotationMatrixZ

    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    bar = RigidBodyInertia(mass=1.0, inertiaTensor=np.diag([1e-3, 1 / 12, 1 / 12]))

    def body(x: float, y: float, angle: float, speed: float, turning: float) -> Any:
        return mbs.CreateRigidBody(
            inertia=bar, nodeType=exu.NodeType.RotationEulerParameters, referencePosition=[x, y, 0],
            referenceRotationMatrix=RotationMatrixZ(angle), initialVelocity=[speed, 0, 0],
            initialAngularVelocity=[0, 0, turning], gravity=[0, -GRAVITY, 0],
        )  # fmt: skip

    def joint(a: Any, at_a: list[float], b: Any, at_b: list[float], locked: list[int]) -> None:
        markers = [
            mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=number, localPosition=place))
            for number, place in ((a, at_a), (b, at_b))
        ]
        mbs.AddObject(items.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=locked))

    cranks = [body(k, 0.5, np.pi / 2, 0.5, -1.0) for k in range(n + 1)]
    couplers = [body(k + 0.5, 1.0, 0.0, 1.0, 0.0) for k in range(n)]
    for k, crank in enumerate(cranks):
        joint(ground, [k, 0, 0], crank, [-0.5, 0, 0], [1, 1, 1, 1, 1, 0])
    for k, coupler in enumerate(couplers):
        joint(cranks[k], [0.5, 0, 0], coupler, [-0.5, 0, 0], [1, 1, 1, 1, 1, 0])
        joint(cranks[k + 1], [0.5, 0, 0], coupler, [0.5, 0, 0], [1, 1, 0, 0, 0, 0])
    place = exu.OutputVariableType.Position
    tip = mbs.AddSensor(
        items.SensorBody(
            bodyNumber=cranks[0], localPosition=[0.5, 0, 0], outputVariableType=place, storeInternal=True
        )
    )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(t_end / step)
    settings.timeIntegration.endTime = t_end
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = t_end
    settings.displayStatistics = False
    sparse, dense = exu.LinearSolverType.EigenSparse, exu.LinearSolverType.EXUdense
    settings.linearSolverType = sparse if n > 1 else dense
    started = time.process_time()
    mbs.SolveDynamic(settings)
    seconds = time.process_time() - started
    x, y = mbs.GetSensorStoredData(tip)[-1, 1:3]
    return seconds, float(np.arctan2(y, x))
