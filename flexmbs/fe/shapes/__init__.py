"""Bodies without a file: parametric solids, beams, points."""
