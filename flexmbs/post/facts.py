"""What a result says of itself: numbers that a report opens with, and what its run said at its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.post.record import Record, table
from flexmbs.results.energy import TERMS, energy_size, swing

WARNING = "warning: "


def closing_lines(record: Record, *, warning: bool) -> list[str]:
    """Lines of what the run said at its end, its warnings or the rest."""
    lines = str(record.get("summary/text", "")).splitlines()
    return [line for line in lines if line.strip() and line.startswith(WARNING) == warning]


def key_facts(record: Record) -> dict[str, Any]:
    """Numbers that a reader looks for first."""
    modes = sum(record.result.shape_of(f"bodies/{name}/q")[1] for name in record.flexible)
    found: dict[str, Any] = {
        "bodies": len(record.bodies),
        "joints": len(table(record.case, "joints")) or len(record.names("joints")),
        "elastic coordinates": int(modes),
        "samples": record.n_samples,
    }
    facts = topology_facts(record)
    for name in ("mobility", "redundant"):
        if name in facts:
            found["degrees of freedom" if name == "mobility" else "redundant rows"] = int(facts[name])
    found |= {path.removeprefix("metrics/"): float(record.get(path))
              for path in record.paths if path.startswith("metrics/")}  # fmt: skip
    balance = energy_error(record)
    if balance is not None:
        found["relative energy error"] = balance
    if record.has("solver/constraint_position"):
        found["largest closure error"] = float(np.max(np.abs(record.require("solver/constraint_position"))))
    if record.root.get("wall_seconds") is not None:
        found["computing time [s]"] = float(record.root["wall_seconds"])
    return found


def topology_facts(record: Record) -> dict[str, Any]:
    """Attributes and datasets of /topology by their last name."""
    found = {path.split("/")[-1]: record.get(path) for path in record.paths if path.startswith("topology/")}
    try:
        found |= record.result.attributes_of("topology")
    except KeyError:  # an unfinished result keeps datasets only
        pass
    return found


def energy_error(record: Record) -> float | None:
    """Largest imbalance over the largest swing of the energies; None where the analysis does not claim it."""
    quasi_static = table(record.case, "analysis").get("elastic") == "quasi-static"
    if quasi_static or not record.has("energy/balance_error"):
        return None
    terms = {name: f"energy/{name}" for name in TERMS if record.has(f"energy/{name}")}
    scale = energy_size({name: swing(record.require(path)) for name, path in terms.items()})
    return float(np.max(np.abs(record.require("energy/balance_error"))) / scale) if scale > 0.0 else 0.0
