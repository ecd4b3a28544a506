"""Stage 2 beside its peers: the lines of the table."""

from __future__ import annotations

import math
from typing import Any

from tests.benchmarks import scaling
from tests.benchmarks.runner import best_of, row, run_alone, shown

PROJECTED = "the projection of every step included"
#: measured by samples of the processor's place in the code, of 40 loops
SHARES = (
    "half of it are the bodies, as in a chain, a quarter relations and columns, a quarter what closes loops"
)
#: rows of a loop of four-bars -> measurement, targets [s] by number of loops, note, cause of a miss
LOOPS = {
    "independent rows chosen once": (
        "loops_flexmbs", {1: 0.7e-6, 10: 4e-6, 40: 15e-6}, "two rows a loop, as runs do by themselves",
        SHARES,
    ),
    "all redundant rows": (
        "all_rows_flexmbs", {1: 1e-6, 10: 6e-6, 40: 25e-6}, "five rows a loop",
        "three redundant rows a loop go through all eliminations",
    ),
}  # fmt: skip


def single(work: str, answer: dict[str, Any], target: str, limit: float, note: str = "") -> dict[str, str]:
    """A line without a peer; a missed target says by how much."""
    if "seconds" not in answer:
        return {"work": work, "note": f"failed: {answer.get('failed')}"}
    seconds = answer["seconds"]
    missed = f"{seconds / limit:.2f} x the target" if seconds > limit else ""
    return {
        "work": work, "flexmbs": shown(seconds, "seconds"), "target": target,
        "note": "; ".join(item for item in (missed, note) if item),
    }  # fmt: skip


def aimed(line: dict[str, str], answer: dict[str, Any], limit: float, cause: str) -> dict[str, str]:
    """The line with the distance from an absolute target [s], and its cause where it is missed."""
    if "seconds" in answer and answer["seconds"] > limit:
        missed = f"{answer['seconds'] / limit:.2f} x the target: {cause}"
        line["note"] = "; ".join(item for item in (missed, line.get("note", "")) if item)
    return line


def rows() -> list[dict[str, str]]:
    """All lines of this group; the programs take turns."""
    return [*rigid_rows(), *loop_rows(), *flexible_rows(), *start_rows()]


def rigid_rows() -> list[dict[str, str]]:
    table = []
    stages = "accelerations are carried with the velocities, and every stage leaves its results in memory"
    for n in (5, 50, 400):
        cause = f"{stages}; 0.2 us are calls from stage to stage" if n < 10 else stages
        best = best_of(3, {"ours": ("chain_flexmbs", n), "peer": ("chain_pinocchio", n)})
        line = row(
            f"rigid chain of {n}, one evaluation", best["ours"], best["peer"], "Pinocchio",
            target=f"{0.09 * n:.3g} us", note="Pinocchio called from Python",
        )  # fmt: skip
        table.append(aimed(line, best["ours"], 9e-8 * n, cause))
    big = run_alone("chain_flexmbs", 5000)
    table.append(single("rigid chain of 5000, one evaluation", big, "450 us", 4.5e-4, "beyond the caches"))
    one, three = (run_alone("chain_flexmbs", 50, joint) for joint in ("revolute", "spherical"))
    if "seconds" in one and "seconds" in three:
        further = {"seconds": (three["seconds"] - one["seconds"]) / 100}
        work = "one further freedom of a joint, from a chain of 50 spherical joints"
        table.append(single(work, further, "35 ns", 3.5e-8, "with the exponential of the quaternions"))
    return table


def loop_rows() -> list[dict[str, str]]:
    table = []
    for rows_kept, (name, limits, note, cause) in LOOPS.items():
        for n, limit in limits.items():
            best = best_of(3, {"ours": (name, n), "peer": ("loops_pinocchio", n)})
            fixed = "; of one loop 0.2 us are calls from stage to stage" if n == 1 else ""
            line = row(
                f"{n} four-bars, one evaluation, {rows_kept}", best["ours"], best["peer"], "Pinocchio",
                target=f"{1e6 * limit:.3g} us", note=f"{note}, {PROJECTED}",
            )  # fmt: skip
            table.append(aimed(line, best["ours"], limit, cause + fixed))
    for n, by_pinocchio in ((1, 2.0), (40, 10.0)):
        calls = {
            "ours": ("equal_error_flexmbs", n, 5),
            "pinocchio": ("equal_error_pinocchio", n, 5),
            "exudyn": ("equal_error_exudyn", n, 5),
        }
        best = best_of(2, calls)
        for peer, name, wanted in (
            ("pinocchio", "Pinocchio + RK4", by_pinocchio), ("exudyn", "Exudyn", 100.0),
        ):  # fmt: skip
            errors = f"errors {best['ours'].get('error', 0):.1e} and {best[peer].get('error', 0):.1e} rad"
            work = f"{n} four-bars, CPU s per simulated s at equal error"
            line = row(work, best["ours"], best[peer], name, target=wanted, note=errors, cause=SHARES)
            table.append(line)
    return table


def shared_loops() -> dict[str, Any]:
    """A section of its own: lines and curves."""
    return {"rows": shared_loop_rows(), "curves": scaling.curves(shared=True)}


def shared_loop_rows() -> list[dict[str, str]]:
    """Loops that share joints; Pinocchio by its algorithm for loops, on the tree that suits it."""
    table = []
    for n in (10, 40, 160):
        calls = {"ours": ("scissor_flexmbs", n), "peer": ("scissor_pinocchio", n)}
        best = best_of(3, calls)
        limit, note = 0.5e-6 * n, f"two rows a loop, {PROJECTED}"
        line = row(
            f"scissor lift of {n} stages, one evaluation", best["ours"], best["peer"], "Pinocchio lcaba",
            target=f"{1e6 * limit:.3g} us", note=note,
        )  # fmt: skip
        table.append(aimed(line, best["ours"], limit, SHARES))
    for n in (10, 40, 160):
        best = best_of(3, {"ours": ("lift_flexmbs", n, 6, 1e-4), "peer": ("scissor_exudyn", n)})
        line = row(
            f"scissor lift of {n} stages of flexible rods of 6 modes, one implicit step", best["ours"],
            best["peer"], "Exudyn, rigid planar bars", target=1.3, note="with stiffening",
        )  # fmt: skip
        table.append(aimed(line, best["ours"], 5e-6 * n, "three quarters of it are modes"))
    for n in (1, 10, 40):
        best = best_of(3, {"ours": ("platforms_flexmbs", n), "peer": ("platforms_pinocchio", n)})
        line = row(
            f"{n} platforms on six legs each, on each other, one evaluation", best["ours"], best["peer"],
            "Pinocchio lcaba", target=1.0, note=f"five loops a storey, {PROJECTED}",
            cause="a plate and its first leg carry fifteen open rows",
        )  # fmt: skip
        table.append(line)
    for n in (6, 24, 96):
        best = best_of(3, {"ours": ("legs_flexmbs", n), "peer": ("legs_pinocchio", n)})
        line = row(
            f"a platform on {n} legs, one evaluation", best["ours"], best["peer"],
            "Pinocchio lcaba", target=1.0, note=f"{n - 1} loops, {PROJECTED}",
        )  # fmt: skip
        table.append(line)
    return table


def flexible_rows() -> list[dict[str, str]]:
    table = []
    for modes, limit in ((10, 15e-6), (58, None)):
        best = best_of(
            2, {"ours": ("crank_flexmbs", modes, 1e-4), "peer": ("crank_exudyn_tuned", modes, 1e-4)}
        )
        note = f"with stiffening, {best['ours'].get('passes', 0):.1f} passes per step"
        line = row(
            f"flexible slider-crank, {6 + modes} modes, per step of 1e-4 s", best["ours"], best["peer"],
            "Exudyn, tuned", target="15 us" if limit else "", note=note,
        )  # fmt: skip
        table.append(aimed(line, best["ours"], limit or 1.0, "passes"))
    many = run_alone("crank_flexmbs", 122, 1e-4)
    note = f"with stiffening, {many.get('passes', 0):.1f} passes per step"
    work = "flexible slider-crank, 128 modes, per step of 1e-4 s"
    table.append(single(work, many, "", math.inf, note))
    best = best_of(1, {"ours": ("equal_crank_flexmbs", 0.01), "peer": ("equal_crank_exudyn", 0.01)})
    errors = (
        f"errors {best['ours'].get('error', 0):.1e} and {best['peer'].get('error', 0):.1e} with steps of "
        f"{best['ours'].get('step', 0):.1e} and {best['peer'].get('step', 0):.1e} s"
    )
    finer = "our step for this error is the shorter one"
    work = "flexible slider-crank, CPU s per simulated s, deflection within 1 %"
    table.append(
        row(work, best["ours"], best["peer"], "Exudyn, tuned", target=13.0, note=errors, cause=finer)
    )
    for n, limit in ((1, 8e-6), (4, 24e-6), (16, 90e-6)):
        best = best_of(2, {"ours": ("rods_flexmbs", n, 16, 1e-4), "peer": ("rods_exudyn", n, 16, 1e-4)})
        note = f"with stiffening, {best['ours'].get('passes', 0):.1f} passes per step"
        line = row(
            f"{n} flexible rods of 16 modes in a chain, per step of 1e-4 s", best["ours"], best["peer"],
            "Exudyn, tuned", target=f"{1e6 * limit:.0f} us", note=note,
        )  # fmt: skip
        table.append(
            aimed(line, best["ours"], limit, "stiffening, and the passes that the tolerance asks for")
        )
    return table


def start_rows() -> list[dict[str, str]]:
    first = best_of(1, {"ours": ("first_result_flexmbs",), "peer": ("first_result_exudyn",)})
    line = row("import and first result, warm", first["ours"], first["peer"], "Exudyn", target="0.6 s")
    return [
        aimed(
            line,
            first["ours"],
            0.6,
            "the compiler takes 0.2 s to import, stored kernels and schema 0.1 s each",
        ),
        single(
            "`flexmbs run` of a pendulum, warm, all in all",
            run_alone("small_run_flexmbs"),
            "1 s",
            1.0,
            "CPU time, not wall; imports, a hundred stored kernels, the schema of cases, the result",
        ),
        single("`flexmbs --help`", run_alone("help_flexmbs"), "0.25 s", 0.25),
        single(
            "compilation of everything that a run needs, once", run_alone("cold_run_flexmbs"), "25 s", 25.0
        ),
    ]
