"""Forces through joints and drives, and the shares of what equilibrium leaves open (F24, F28)."""
