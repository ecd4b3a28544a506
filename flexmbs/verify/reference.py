"""The reference problems shipped with the package: trusted numbers, read at run time and never retyped."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from flexmbs.resources import resource


@dataclass(frozen=True)
class Reference:
    """One file of `cases/reference`: parameters and numbers as they stand there."""

    id: str
    title: str
    parameters: dict[str, Any]
    numbers: dict[str, Any]
    stated: str

    @property
    def tolerances(self) -> list[float]:
        """Numbers of the stated tolerance in the order of its text: `1e-9`, or `0.5 %` as 0.005."""
        found = re.findall(r"(\d+(?:\.\d+)?)(?:(e-\d+)| (%))", self.stated)
        return [float(number + power) * (0.01 if percent else 1.0) for number, power, percent in found]


def names() -> list[str]:
    """Identifiers of all reference problems."""
    return sorted(path.stem for path in resource("cases", "reference").glob("*.json"))


def read(name: str) -> Reference:
    data = json.loads(resource("cases", "reference", f"{name}.json").read_text(encoding="utf-8"))
    return Reference(data["id"], data["title"], data["parameters"], data["reference"], data["tolerance"])
