"""Dormand and Prince's method of order 5(4): the choice for smooth motion that is not stiff."""

from flexmbs.integrate.methods import method
from flexmbs.integrate.methods.tableaus import DOPRI5


@method("dopri5")
class Dopri5:
    """Explicit, adaptive or fixed step, dense output of order 4."""

    order = 5
    compiled = True
    tableau = DOPRI5
