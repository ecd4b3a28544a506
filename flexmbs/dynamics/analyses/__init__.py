"""Assembly, statics, inverse dynamics, linear models, counts of freedoms (F28, F34-F38)."""
