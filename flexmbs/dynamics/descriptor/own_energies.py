"""Bodies with a kinetic or potential energy of their own: terms that only the descriptor form has (F32)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flexmbs.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from flexmbs.model.model import Model


def bodies_with_energies(model: Model) -> list[str]:
    """Names of bodies that have an energy of their own, as an expression."""
    return [
        name
        for name, body in model.bodies.items()
        if body.kinetic_energy is not None or body.potential_energy is not None
    ]


def require_no_energies(model: Model, formulation: str) -> None:
    """Refuse equations that know nothing of such energies."""
    names = bodies_with_energies(model)
    if names:
        what = f'has an energy of its own, which formulation "{formulation}" does not know'
        remedy = 'take formulation = "descriptor", Lagrange\'s equations of the mixed type'
        raise UsageError(Diagnostic("analysis.energies", f"bodies.{names[0]}", what, remedy))
