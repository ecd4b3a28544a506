"""States of a run become samples, samples become fields of the result."""
