"""From a clone to a first own result."""
