"""Couplings: one scalar law each between joint coordinates, found by name through `COUPLINGS` (F19)."""

from flexmbs.model.couplings.base import COUPLINGS, Coupling, coupling

__all__ = ["COUPLINGS", "Coupling", "coupling"]
