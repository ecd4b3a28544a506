"""Time integration: methods by name, one file each; they see a `Problem` and never bodies (F43-F45)."""

from __future__ import annotations

from flexmbs.integrate.driver import Chunk, Integrator, Settings, integrator
from flexmbs.integrate.methods import method
from flexmbs.integrate.problem import Problem
from flexmbs.integrate.repeat import Steps

__all__ = ["Chunk", "Integrator", "Problem", "Settings", "Steps", "integrator", "method"]
