"""Everything that can be known of a case before its run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.case.body_warnings import warn_bodies
from flexmbs.case.outcome import check_channels, result_paths
from flexmbs.case.start import warn_start
from flexmbs.dynamics.analyses.mobility import Mobility, mobility
from flexmbs.dynamics.descriptor.own_energies import bodies_with_energies
from flexmbs.dynamics.loops.change_point import choose_branch
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import Diagnostic, Diagnostics, InputError, merged
from flexmbs.model.band import bands, told
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.fronts import width
from flexmbs.simulate.analyses import bends
from flexmbs.simulate.motion.jumps import check_jumps
from flexmbs.simulate.sudden import sudden

if TYPE_CHECKING:
    from flexmbs.case.case import Case, Progress
    from flexmbs.dynamics.mechanism import Mechanism, Motion
    from flexmbs.model.state import State

#: loops open at once up to which their cost is that of their number
FEW = 8


@dataclass
class Check:
    """Findings about a case; `facts` are further numbers and texts for the screen and for `--json`.

    `at`: the assembled mechanism; `lines`: the same for people.
    """

    title: str
    at: Assembled
    lines: list[str] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> Mobility:
        return self.at.counts

    def data(self) -> dict[str, Any]:
        """What `check --json` prints; the first keys are promises."""
        counts = self.counts
        return {
            "errors": [],
            "warnings": [str(item) for item in self.warnings],
            **counted(counts),
            "title": self.title,
            **self.facts,
        }


def counted(counts: Mobility) -> dict[str, Any]:
    """The counts as `check --json` and `info --json` print them."""
    return {
        "mobility": counts.mobility,
        "gruebler": counts.gruebler,
        "body_freedoms": counts.body_freedoms,
        "conditions": counts.conditions,
        "determinacy": counts.determinacy,
        "closure_rows": counts.closure_rows,
        "closure_rank": counts.closure_rank,
        "redundant": counts.redundant,
        "redundant_rows": counts.redundant_rows,
        "indeterminate_joints": counts.indeterminate_joints,
        "stiffness_decides": counts.stiffness_decides,
        "not_known": counts.not_known,
        "kinematic_class": counts.kind,
        "topology_class": counts.structure,
        "loops": counts.n_loops,
        "hidden": counts.hidden,
        "difference": counts.difference,
    }


@dataclass
class Assembled:
    """A mechanism in its assembled state, with its counts; `residual`: what the loops are open by."""

    system: Mechanism
    state: State
    counts: Mobility
    residual: float

    def lines(self) -> list[str]:
        """Counts, tree and cuts, for people."""
        topology = _topology(self.system)
        tree = [f"tree        {item}" for item in topology["tree"][:20]]
        cuts = [f"cut         {item}" for item in topology["cuts"][:20]]
        return [*self.counts.lines(), *tree, *cuts, *_width(topology["loops_open"], self.system)]


def _width(most: int, system: Mechanism) -> list[str]:
    """What loops cost that share joints (F54)."""
    loops = len(system.groups)
    if loops < 2:
        return []
    cost = "linear in their number" if most <= FEW else "that of the cube of those open together"
    return [f"width       at most {most} of {loops} loops open at once: cost {cost}"]


def assembled(case: Case) -> Assembled:
    """Build and assemble a case, and count its freedoms (F28, F34)."""
    system = case.system()
    state = system.initial_state()
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    residual = float(np.abs(evaluator.ws.row.g).max(initial=0.0))
    settings = case.spec.analysis
    counts = mobility(system, evaluator, state, bends=settings is None or bends(system, settings))
    return Assembled(system, state, counts, residual)


def check(case: Case, progress: Progress | None = None) -> Check:
    """Build and assemble a case, and report; raises `InputError` or `SolverError` when it cannot run."""
    model = case.model(progress)
    channel_errors = check_channels(case, model)
    if channel_errors:
        raise InputError(*channel_errors)
    found = assembled(case)
    system, state, counts = found.system, found.state, found.counts
    report = Check(case.spec.title or case.name, found)
    report.lines = found.lines()
    report.facts = {
        **_topology(system),
        "assembly_residual": found.residual,
        "kinetic_energy": kinetic_energy(system, state),
        "initial": _initial(system, state),
        **_frequencies(case, system),
        **_sizes(case, system),
    }
    problems = Diagnostics()
    analysis = case.spec.analysis
    if counts.redundant and analysis is not None and analysis.start == "assembled":
        chosen = choose_branch(system, state.copy(), analysis.type)
        if chosen is not None:
            problems.warn("model.change_point", "model", chosen.what)
    if analysis is not None and analysis.t_end:
        check_jumps(system, state.t, analysis.t_end)
    if analysis is not None and analysis.type == "dynamics":
        motion = _accelerations(system, state)  # a motion that cannot start is an error, by name
        if analysis.start == "assembled":
            report.facts["sudden"] = sudden(system, state, motion)
    _warn_redundancy(counts, case, len(system.tables.drive.coord), problems)
    warn_start(case, system, state, problems)
    warn_bodies(system, state, problems)
    for name, part in system.model.couplings.items():
        for text in part.warnings(system.model):
            problems.warn("cam.pressure_angle", f"couplings.{name}", text)
    report.warnings = merged(problems.items)
    report.facts["cost"] = _cost(case, counts)
    return report


def _accelerations(system: Mechanism, state: State) -> Motion:
    """The motion at a state, by the formulation that knows energies of bodies where there are such."""
    if not bodies_with_energies(system.model):
        return system.forward_dynamics(state)
    other = build(system.model, formulation="descriptor")
    return other.forward_dynamics(other.state_like(system, state))


def _cost(case: Case, counts: Mobility) -> dict[str, Any]:
    """Time and steps of the run, and what limits them, by its first moments."""
    if case.spec.analysis is None:
        return {}
    from flexmbs.case.runner import prepare, settings  # what integrates is loaded last
    from flexmbs.simulate import estimate

    return estimate(prepare(case), settings(case), counts)


def _topology(system: Mechanism) -> dict[str, Any]:
    topology = system.topology
    own = {joint.name for joint in system.model.joints.values()}
    tree = []
    for branch in topology.branches:
        through = f"joints.{branch.joint.name}" if branch.joint.name in own else "free, no joint"
        tree.append(f"{branch.parent} -> {branch.body} ({through})")
    cuts = [f"joints.{j.name}: {topology.reasons.get(j.name, '')}".rstrip(": ") for j in topology.cuts]
    return {
        "bodies": len(system.model.bodies),
        "flexible_bodies": sum(isinstance(body, FlexibleBody) for body in system.model.bodies.values()),
        "joints": len(system.model.joints),
        "couplings": len(system.model.couplings),
        "elastic_coordinates": int(np.sum(system.tables.body.nf)),
        "positions": system.n_pos,
        "velocities": system.n_vel,
        "tree": tree,
        "cuts": cuts,
        "loops_open": width(system.tables),
    }


def kinetic_energy(system: Mechanism, state: State) -> float:
    """Kinetic energy of all bodies [J] (F12)."""
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    total = 0.0
    if bodies_with_energies(system.model):
        from flexmbs.dynamics.descriptor.energies import Energies

        x, v = evaluator.ws.coord.x, evaluator.ws.coord.v
        total = float(Energies(system).at(state.t, x, v, np.zeros_like(v)).kinetic.sum())
    for name in system.model.bodies:
        i = system.numbers.index[name]
        R = evaluator.ws.body.R[i]
        v = evaluator.ws.body.v[i]
        start = int(system.tables.tree.o_qd[i])
        q_dot = state.vel[start : start + int(system.tables.body.nf[i])]
        v_hat = np.concatenate([R.T @ v[:3], R.T @ v[3:], q_dot])
        moving = v_hat != 0.0  # what does not move may weigh what it will, and that may not be known
        M = system.mass_matrix(state, name)[np.ix_(moving, moving)]
        total += 0.5 * float(v_hat[moving] @ M @ v_hat[moving])
    return total


def _initial(system: Mechanism, state: State) -> dict[str, Any]:
    """Joint coordinates after assembly."""
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    found: dict[str, Any] = {}
    for c in system.coordinates:
        if c.joint in system.model.joints:
            values = evaluator.ws.coord.x[c.number], evaluator.ws.coord.v[c.number]
            found[f"{c.joint}.{c.name}"] = [float(value) for value in values]
    return found


def _frequencies(case: Case, system: Mechanism) -> dict[str, Any]:
    """Highest elastic frequency and what it means for the step."""
    highest, where = 0.0, ""
    for name, body in system.model.bodies.items():
        if isinstance(body, FlexibleBody) and body.modal.nf:
            pick = list(range(body.modal.nf)) if body.modes is None else list(body.modes)
            top = float(np.max(body.modal.frequency_hz[pick], initial=0.0))
            if top > highest:
                highest, where = top, name
    if not highest:
        return {"step_advice": "no elastic coordinates: the accuracy alone sets the step"}
    explicit = 2.0 / (2.0 * np.pi * highest)
    analysis = case.spec.analysis
    t_end = (analysis.t_end or 0.0) if analysis is not None else 0.0
    count = f" ({t_end / explicit:.1e} of them)" if t_end > 100.0 * explicit else ""
    text = (
        f"highest mode {highest:.4g} Hz ({where}): an explicit method needs steps below {explicit:.2g} s"
        f"{count}, the implicit one follows the motion"
    )
    return {
        "highest_frequency_hz": highest,
        "step_advice": text,
        "band": told(bands(system.model.bodies)),
    }


def _sizes(case: Case, system: Mechanism) -> dict[str, Any]:
    """Samples, and bytes of the result and of the arrays in memory."""
    analysis, output = case.spec.analysis, case.spec.output
    t_end = (analysis.t_end or 0.0) if analysis is not None else 0.0
    every = output.every or (t_end / 1000 if t_end else 1.0)
    samples = int(np.floor(t_end / every + 1e-9)) + 1 + len(output.times)
    n_flex = int(np.sum(system.tables.body.nf))
    numbers = 1 + 25 * len(system.model.bodies) + 3 * n_flex + 10 * len(system.model.joints)
    numbers += sum(
        1 for _ in result_paths(system.model, case) if _.startswith(("sensors", "states", "drives"))
    )
    memory = sum(np.asarray(item).nbytes for item in system.tables if hasattr(item, "nbytes"))
    return {"samples": samples, "result_bytes": 8 * numbers * samples, "memory_bytes": int(memory)}


def _warn_redundancy(counts: Mobility, case: Case, n_driven: int, problems: Diagnostics) -> None:
    """Redundant rows, freedoms that are hidden or none, more drives than freedoms, change points near."""
    if counts.redundant:
        what = f"{counts.redundant} redundant constraint rows: {_by_joint(counts.redundant_rows)}"
        remedy = f"the motion is unique, forces are {counts.shared}"
        if case.spec.analysis is not None and case.spec.analysis.redundant == "error":
            raise InputError(Diagnostic("model.redundant", "model", what, 'or set redundant = "least-norm"'))
        problems.warn("model.redundant", "model", what, remedy)
    freedoms = counts.mobility + counts.closure_rank
    if not counts.mobility and freedoms:
        what = f"nothing can move: the loops and couplings take all {freedoms} freedoms of the tree"
        problems.warn("model.locked", "model", what)
    if counts.mobility < n_driven:
        what = f"{n_driven} driven freedoms for {counts.mobility} degrees of freedom"
        problems.warn("model.overdriven", "model", f"{what}: they must agree at all times")
    for text in counts.hidden:
        problems.warn("model.hidden", "model", f"hidden freedom: {text}")
    if counts.condition > 1e6:
        what = f"the start is near a change point (condition {counts.condition:.1e})"
        problems.warn("model.change_point", "model", what)


def _by_joint(rows: list[str]) -> str:
    """`joints.a (rotation x, rotation y), joints.b (...)`; the first six joints."""
    grouped: dict[str, list[str]] = {}
    for row in rows:
        joint, _, direction = row.partition(" (")
        grouped.setdefault(joint, []).append(direction.rstrip(")"))
    texts = [f"{joint} ({', '.join(items)})" for joint, items in grouped.items()]
    return ", ".join(texts[:6]) + (", ..." if len(texts) > 6 else "")


def text(report: Check) -> str:
    """The report for people."""
    facts = report.facts
    flexible = f", {facts['flexible_bodies']} flexible" if facts["flexible_bodies"] else ""
    lines = [
        report.title,
        f"bodies      {facts['bodies']}{flexible}; joints {facts['joints']}; couplings {facts['couplings']}",
        *report.lines,
        f"assembly    residual {facts['assembly_residual']:.1e}",
        f"energy      kinetic {facts['kinetic_energy']:.6g} J",
        *[f"start       {k} = {v[0]:.8g}, rate {v[1]:.8g}" for k, v in list(facts["initial"].items())[:20]],
        f"step        {facts['step_advice']}",
        *[f"cost        {line}" for line in (facts.get("cost", {}).get("text"),) if line],
        *[f"band        {line}" for line in facts.get("band", [])],
        *[f"sudden      {line}" for line in (facts.get("sudden"),) if line],
        f"output      {facts['samples']} samples, about {facts['result_bytes'] / 1e6:.3g} MB",
        *[str(item) for item in report.warnings],
    ]
    return "\n".join(lines)
