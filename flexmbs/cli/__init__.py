"""Command line: one file per command, `main.py` gathers them."""
