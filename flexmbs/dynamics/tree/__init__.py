"""The tree: kinematics, inertia and residuals of the bodies, elimination of speeds (F20-F24)."""
