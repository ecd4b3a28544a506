"""The table of integration methods, by the name a user writes."""

from __future__ import annotations

from typing import Any

from flexmbs.registry import Registry

method: Registry[Any] = Registry(
    "method", "flexmbs.integrate.methods", beside=("reference", "tableaus"), dash=True
)
