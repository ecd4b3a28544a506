"""Closed loops: constraint rows, their elimination, projection, rank and change points (F25-F28)."""
