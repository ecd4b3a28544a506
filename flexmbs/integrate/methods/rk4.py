"""The classical method of order 4; adaptive steps by two half steps."""

from flexmbs.integrate.methods import method
from flexmbs.integrate.methods.tableaus import RK4


@method("rk4")
class RungeKutta4:
    """Explicit, adaptive or fixed step, cubic dense output."""

    order = 4
    compiled = True
    tableau = RK4
