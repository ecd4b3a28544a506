"""Dormand and Prince's method of order 8: for tight tolerances and long conservative motion."""

from flexmbs.integrate.methods import method
from flexmbs.integrate.methods.tableaus import DOP853


@method("dop853")
class Dop853:
    """Explicit, adaptive or fixed step, dense output of order 7."""

    order = 8
    compiled = True
    tableau = DOP853
