"""One place to see parts, bodies, mechanisms and results, and to point at what a file then names."""
