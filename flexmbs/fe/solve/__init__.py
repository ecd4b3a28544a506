"""Sparse symmetric systems: order, supernodal factors, substitution, other solvers."""
