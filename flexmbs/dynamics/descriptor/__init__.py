"""Lagrange's equations of mixed type in dependent coordinates: the second opinion (F32-F33)."""
