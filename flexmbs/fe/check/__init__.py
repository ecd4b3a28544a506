"""Whether a mesh can be computed with: connectivity, quality, documented rescues, a summary."""
