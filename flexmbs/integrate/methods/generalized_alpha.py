"""The implicit generalised-alpha step on the recursion: for stiff and flexible systems (F43-F45)."""

from flexmbs.integrate.methods import method


@method("generalized-alpha")
class GeneralizedAlpha:
    """Implicit, order 2, numerical damping by `rho_inf` (at most 0.99 with loops), adaptive or fixed step."""

    order = 2
    compiled = True
    tableau = None
