"""Minimal coordinates: independent speeds, the rest from the closure (F29-F31)."""
