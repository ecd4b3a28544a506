"""Zeros of switching functions and change points: found inside steps, and passed (F28, F44)."""
