"""A case as an FMU: a mechanism in somebody's system model (FMI 3.0, co-simulation)."""

from __future__ import annotations

from flexmbs.fmu.pack import export_fmu

__all__ = ["export_fmu"]
