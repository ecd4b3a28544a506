"""Stage 2 against Pinocchio and Exudyn."""
