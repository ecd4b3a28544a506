"""A mechanism as a problem of the time loop, in every formulation, and its special motions."""
