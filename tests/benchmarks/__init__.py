"""Measurements against other programs, side by side in one run: `python -m tests.benchmarks`."""
