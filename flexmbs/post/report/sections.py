"""The sections of a report, each from what the result holds; "" where it holds nothing of the kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.certificate.text import proven
from flexmbs.post.facts import WARNING, closing_lines, energy_error, key_facts, topology_facts
from flexmbs.post.record import Record, table
from flexmbs.post.report import markup
from flexmbs.post.report.graph import graph_svg, topology_graph
from flexmbs.post.scene import Scene
from flexmbs.post.stress import envelope, hot_spots

if TYPE_CHECKING:
    from flexmbs.post.report.report import Figures

MAX_FIGURES = 10


def headline(record: Record) -> str:
    """Status in a sentence."""
    status = str(record.root.get("status", "unknown"))
    words = {
        "complete": "The run is complete",
        "failed": "The solver stopped early",
        "interrupted": "The run was interrupted",
        "running": "The run is not finished",
    }.get(status, f"Status: {status}")
    said = str(record.root.get("message") or "").strip()
    text = f"{words}, t = {record.time[-1]:.6g} s" + (f": {said}" if said else "")
    count = len(said_warnings(record))
    number = f"{count} warning{'' if count == 1 else 's'}" if count else "no warnings"
    return markup.pill(text, status) + markup.pill(number, "wary" if count else "complete", "#warnings")


def kicker(record: Record) -> str:
    """The analysis in a line above the title."""
    analysis = table(record.case, "analysis")
    words = [str(analysis[name]) for name in ("type", "formulation", "method") if analysis.get(name)]
    samples = "1 sample" if record.n_samples == 1 else f"{record.n_samples} samples"
    span = f"{record.time[0]:.6g} s to {record.time[-1]:.6g} s" if record.n_samples > 1 else ""
    return " \u00b7 ".join(word for word in (*words, span, samples) if word)


def overview(record: Record) -> str:
    return markup.facts(key_facts(record).items())


def topology(record: Record) -> str:
    """The graph, and freedoms and redundancy in words."""
    facts = topology_facts(record)
    drawing = f'<div class="scroll">{graph_svg(topology_graph(record))}</div>'
    drawing += markup.paragraph("Blue: rigid. Orange: flexible. Dashed: joints that cut a loop.", "soft")
    body = ""
    sentences = []
    if "mobility" in facts:
        n = int(facts["mobility"])
        sentences.append(
            f"With all bodies rigid the mechanism has {n} degree{'' if n == 1 else 's'} of freedom."
        )
    if "gruebler" in facts:
        sentences.append(f"The Gruebler-Kutzbach count gives {int(facts['gruebler'])}.")
    if int(facts.get("closure_rows", 0)):
        sentences.append(
            f"Closing the loops takes {int(facts['closure_rows'])} conditions, of which "
            f"{int(facts.get('closure_rank', 0))} are independent."
        )
    redundant = int(facts.get("redundant", 0) or 0)
    if redundant:
        still_open = facts.get("indeterminate_joints") not in ("none", ["none"])
        what = "the reactions of the joints below are not; they are split by least norm"
        sentences.append(
            f"{redundant} condition{' is' if redundant == 1 else 's are'} redundant: the motion is unique, "
            f"{what if still_open else 'and so are the reactions, by the stiffness of bodies and joints'}."
        )
    body += markup.paragraph(" ".join(sentences)) if sentences else ""
    for key in ("cuts", "redundant_rows", "indeterminate_joints", "stiffness_decides", "texts"):
        value = facts.get(key)
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        texts = [str(text) for text in texts if text != "none"]
        title = {"cuts": "Joints that cut a loop", "texts": ""}.get(key, key.replace("_", " ").capitalize())
        body += f"<h3>{title}</h3>" * bool(title) + markup.listing(texts) if texts else ""
    return markup.columns(drawing, body)


def plots(record: Record, figures: Figures) -> str:
    """Sensors, else joints and elastic coordinates: what an engineer would plot first."""
    drawn = [figures.figure([name], name) for name in history_names(record)]
    body = "".join(item for item in drawn if item)
    modal = [
        figures.figure(
            [f"bodies.{b}.q[{k}]" for k in range(min(4, modes(record, b)))], f"elastic coordinates of {b}"
        )
        for b in largest(record)
    ]
    return markup.plots(body + "".join(modal))


def history_names(record: Record) -> list[str]:
    """Datasets of sensors, then positions of moving joints."""
    found = [f"sensors.{name}" for name in record.names("sensors") if record.is_history(f"sensors/{name}")]
    for name in record.names("joints"):
        path = f"joints/{name}/position"
        if record.has(path) and np.asarray(record.require(path)).shape[1:] == (1,):
            found.append(path.replace("/", "."))
    return found[:MAX_FIGURES]


def modes(record: Record, body: str) -> int:
    return int(np.shape(record.require(f"bodies/{body}/q"))[1])


def largest(record: Record) -> list[str]:
    return record.flexible[:4]


def energy(record: Record, figures: Figures) -> str:
    error = energy_error(record)
    if error is None:
        return ""
    terms = [
        p.replace("/", ".") for p in record.paths if p.startswith("energy/") and p != "energy/balance_error"
    ]
    moving = [name for name in terms if np.any(record.require(name.replace(".", "/")))]
    text = (
        "Kinetic, potential and dissipated energy less the work done stay equal to within "
        f"{error:.2g} of their largest swing."
    )
    drawn = figures.figure(moving, "energies") + figures.figure(["energy.balance_error"], "imbalance")
    return markup.paragraph(text) + markup.plots(drawn)


def closure(record: Record, figures: Figures) -> str:
    if not record.has("solver/constraint_position"):
        return ""
    position = float(np.max(np.abs(record.require("solver/constraint_position"))))
    velocity = float(np.max(np.abs(record.get("solver/constraint_velocity", 0.0))))
    text = (
        f"The conditions of the cut joints hold to {position:.2g} in position and {velocity:.2g} in velocity "
        "at every sample."
    )
    names = ["solver.constraint_position"], ["solver.constraint_velocity"]
    drawn = figures.figure(names[0], "largest residual, position")
    return markup.paragraph(text) + markup.plots(
        drawn + figures.figure(names[1], "largest residual, velocity")
    )


def stresses(record: Record, scene: Scene) -> str:
    """Hot spots on the skin of every flexible body with stress modes."""
    body = ""
    for item in scene.bodies:
        if item.skin is None or item.stress is None or item.modal is None or not item.q.shape[1]:
            continue
        found = envelope(np.ascontiguousarray(item.stress_q), item.stress)
        spots = hot_spots(found.von_mises, item.mesh.points, 5, 0.05 * item.size)
        rows = [
            [
                int(item.modal.mesh.node_number[item.skin.nodes[k]]),
                *(1e3 * float(x) for x in item.mesh.points[k]),
                float(found.value[0, k]) / 1e6,
                float(found.value[1, k]) / 1e6,
                float(found.value[2, k]) / 1e6,
                float(record.time[found.sample[0, k]]),
            ]
            for k in spots
        ]
        head = ["node", "x [mm]", "y", "z", "von Mises [MPa]", "max principal", "min principal", "time [s]"]
        body += f"<h3>{markup.escape(item.name)}</h3>" + markup.table(head, rows)
    note = "Largest stresses on the skin, with the static part that modes miss where it is known (F53)."
    return body + markup.paragraph(note, "soft") if body else ""


def solver(record: Record, figures: Figures) -> str:
    rows = []
    for name in record.names("solver"):
        values = np.asarray(record.require(f"solver/{name}"), dtype=float)
        if values.size and np.isfinite(values).all():
            rows.append(
                [name.replace("_", " "), float(values.min()), float(values.mean()), float(values.max())]
            )
    if not rows:
        return ""
    body = "".join(markup.paragraph(line) for line in closing_lines(record, warning=False))
    body += markup.table(["quantity", "least", "mean", "largest"], rows)
    return markup.columns(body, markup.plots(figures.figure(["solver.step_size"], "step size")))


def linear(record: Record) -> str:
    frequency = record.get("linear/frequency_hz")
    if frequency is None:
        return ""
    damping = record.get("linear/damping_ratio", np.full(len(frequency), np.nan))
    rows = [[k + 1, float(f), float(d)] for k, (f, d) in enumerate(zip(frequency, damping, strict=False))][
        :60
    ]
    return markup.table(["mode", "frequency [Hz]", "damping ratio"], rows)


def said_warnings(record: Record) -> list[str]:
    """Warnings with physics: those of the case, and what the run said at its end."""
    said = record.get("provenance/warnings")
    listed = said if isinstance(said, list) else [said] if isinstance(said, str) and said.strip() else []
    closing = (line.removeprefix(WARNING) for line in closing_lines(record, warning=True))
    return [str(text) for text in (*listed, *closing)]


def warnings(record: Record, notes: list[str]) -> str:
    times, kinds, texts = (record.get(f"events/{name}") for name in ("time", "kind", "text"))
    rows = [
        [float(t), str(kind).replace("_", " "), str(text)]
        for t, kind, text in zip(
            np.atleast_1d(times) if times is not None else [], kinds or [], texts or [], strict=False
        )
    ]
    listed = said_warnings(record)
    body = markup.listing(listed, "warning") if listed else ""
    body += markup.table(["time [s]", "kind", "what happened"], rows[:200]) if rows else ""
    body += (
        markup.paragraph(f"{len(rows) - 200} further events are in the result.") if len(rows) > 200 else ""
    )
    body += markup.listing(notes, "soft") if notes else ""
    return body or markup.paragraph("None.")


def certificates(scene: Scene) -> str:
    """What stage 1 proved of each flexible body."""
    body = ""
    for item in scene.bodies:
        if item.modal is None:
            continue
        data = item.modal
        facts: list[list[Any]] = [
            ["method", data.method],
            ["frame", data.frame],
            ["nodes", data.mesh.n_nodes],
            ["modes", data.nf],
            ["mass [kg]", float(data.integrals.mass)],
        ]
        top = [
            [k + 1, float(f), str(kind).removeprefix("orthogonalised, ")]
            for k, (f, kind) in enumerate(zip(data.frequency_hz, data.kind, strict=True))
        ]
        proofs = [
            [f"{label} ({note})" if note else label, shown, f"\u2264 {limit}", verdict]
            for label, shown, limit, verdict, note in proven(data)
        ]
        left = markup.table(["", ""], facts) + markup.table(["certificate", "found", "bound", ""], proofs)
        left += markup.listing([str(text) for text in data.quality.get("warnings", []) if text], "warning")
        right = markup.table(["mode", "frequency [Hz]", "what it mainly is"], top[:20])
        body += f"<h3>{markup.escape(item.name)}</h3>" + markup.columns(left, right)
    return body


def provenance(record: Record) -> str:
    rows = [
        [name.replace("_", " "), str(value)]
        for name, value in record.root.items()
        if name not in ("message",) and np.size(value) == 1
    ]
    body = ""
    for path in record.paths:
        if not path.startswith("provenance/"):
            continue
        value, name = record.get(path), path.split("/", 1)[1].replace("_", " ").replace("/", " ")
        text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
        if text.strip().startswith("{"):
            text = json.dumps(json.loads(text), indent=2)
        if len(text) > 100:
            body += markup.folded(name, text)
        else:
            rows.append([name, text])
    return markup.table(["", ""], rows) + body
