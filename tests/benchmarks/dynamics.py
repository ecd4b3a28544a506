"""Stage 2 against Pinocchio (rigid chains, closed loops) and Exudyn (flexible slider-crank)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tests.benchmarks.flexible import crank_case, crank_exudyn
from tests.benchmarks.runner import DATA, best_of, measurement, row, run_alone, shown

GRAVITY = 9.81


def smallest(call: Any, slices: int = 40, slice_seconds: float = 0.003) -> float:
    """Seconds per call: the least over many short slices, which other processes disturb least."""
    call()
    started = time.perf_counter()
    call()
    count = max(1, int(slice_seconds / max(time.perf_counter() - started, 1e-8)))
    best = np.inf
    for _ in range(slices):
        started = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - started) / count)
    return float(best)


def stepper(data: dict[str, Any], method: str, step: float, t_end: float, **options: Any) -> tuple[Any, Any]:
    """System and running integrator of a case given as a dictionary, no output between the ends."""
    from flexmbs.case import Case
    from flexmbs.integrate import Settings, integrator
    from flexmbs.simulate.equations import problem, state_vector

    system = Case.from_dict(data).system()
    state = system.initial_state()
    settings = Settings(method=method, step=step, **options)
    start = state_vector(system, state)
    return system, integrator(problem(system), settings, 0.0, start, np.array([0.0, t_end]), t_end)


def per_evaluation(data: dict[str, Any], step: float, n_steps: int) -> dict[str, float]:
    """CPU seconds per evaluation of a fixed-step Runge-Kutta run, projections included."""
    system, run = stepper(data, "rk4", step, 1e6)
    run.advance(n_steps=2)
    best, evaluations = np.inf, 0
    for _ in range(5):
        before = run.statistics()["evaluations"]
        started = time.process_time()
        run.advance(n_steps=n_steps)
        seconds = time.process_time() - started
        evaluations = run.statistics()["evaluations"] - before
        best = min(best, seconds / max(evaluations, 1))
    return {"seconds": best, "n_bodies": len(system.model.bodies)}


@measurement
def chain_flexmbs(n: str) -> dict[str, Any]:
    from flexmbs.case.generate import chain

    return per_evaluation(chain(int(n)), 1e-6, max(20, 200000 // (int(n) + 20) // 4))


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

    return per_evaluation(four_bars(int(n)), 1e-5, max(10, 4000 // int(n) // 4))


def pinocchio_loops(n: int) -> tuple[Any, Any, Any, Any, Any]:
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

    return model, accelerations, pin.neutral(model), v0, model.joints[cranks[0]].idx_q


@measurement
def loops_pinocchio(n: str) -> dict[str, Any]:
    _, accelerations, q0, v0, _ = pinocchio_loops(int(n))
    return {"seconds": smallest(lambda: accelerations(q0, v0))}


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
        _, run = stepper(four_bars(int(n)), "dopri5", 0.0, float(t_end), rtol=rtol, atol=1e-2 * rtol)
        started = time.process_time()
        y = [chunk.y for chunk in iter(lambda run=run: None if run.finished else run.advance(), None)][-1]
        seconds = time.process_time() - started
        error = abs((y[-1, 0] - exact + np.pi) % (2 * np.pi) - np.pi)
        answer = {"seconds": seconds / float(t_end), "error": float(error), "rtol": rtol}
        if error < 1.5e-5:
            break
    return answer


@measurement
def equal_error_pinocchio(n: str, t_end: str) -> dict[str, Any]:
    """Evaluations of a fixed-step RK4 run times the cost of one: no Python in the figure."""
    _, f, q0, v0, index = pinocchio_loops(int(n))
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
def crank_flexmbs(modes: str, step: str) -> dict[str, Any]:
    """CPU seconds per step of the implicit method on the flexible slider-crank."""
    DATA.mkdir(parents=True, exist_ok=True)
    system, run = stepper(crank_case(int(modes), DATA), "generalized-alpha", float(step), 1.0, rho_inf=0.8)
    run.advance(n_steps=5)
    best = np.inf
    for _ in range(3):
        started = time.process_time()
        run.advance(n_steps=300)
        best = min(best, (time.process_time() - started) / 300)
    counted = run.statistics()
    return {
        "seconds": best,
        "passes": counted["evaluations"] / counted["steps"],
        "nf": int(system.tables.nf.max()),
    }


@measurement
def crank_exudyn_tuned(modes: str, step: str) -> dict[str, Any]:
    return crank_exudyn(int(modes), float(step), DATA)


def rows() -> list[dict[str, str]]:
    """All lines of this group; the programs take turns."""
    table = []
    for n in (5, 50, 400):
        best = best_of(3, {"ours": ("chain_flexmbs", n), "peer": ("chain_pinocchio", n)})
        work = f"rigid chain of {n}, one evaluation"
        table.append(row(work, best["ours"], best["peer"], "Pinocchio", note="Pinocchio called from Python"))
    big = run_alone("chain_flexmbs", 5000)
    if "seconds" in big:
        table.append(
            {"work": "rigid chain of 5000, one evaluation", "flexmbs": shown(big["seconds"], "seconds")}
        )
    for n, target in ((1, "2"), (10, "3"), (40, "13")):
        best = best_of(3, {"ours": ("loops_flexmbs", n), "peer": ("loops_pinocchio", n)})
        note = "ours keeps the redundant rows and includes the projection of every step"
        work = f"{n} four-bars, one evaluation"
        table.append(row(work, best["ours"], best["peer"], "Pinocchio", target=target, note=note))
    for n, target in ((1, "2"), (40, "10")):
        best = best_of(2, {"ours": ("equal_error_flexmbs", n, 5), "peer": ("equal_error_pinocchio", n, 5)})
        errors = f"errors {best['ours'].get('error', 0):.1e} and {best['peer'].get('error', 0):.1e} rad"
        work = f"{n} four-bars, CPU s per simulated s at an error below 1.5e-5 rad"
        table.append(row(work, best["ours"], best["peer"], "Pinocchio + RK4", target=target, note=errors))
    for modes in (10, 58):
        best = best_of(
            2, {"ours": ("crank_flexmbs", modes, 1e-4), "peer": ("crank_exudyn_tuned", modes, 1e-4)}
        )
        note = f"ours with stiffening, {best['ours'].get('passes', 0):.1f} passes per step"
        work = f"flexible slider-crank, {6 + modes} modes, per step of 1e-4 s"
        table.append(
            row(
                work,
                best["ours"],
                best["peer"],
                "Exudyn, tuned",
                target="13" if modes == 10 else "",
                note=note,
            )
        )
    return table
