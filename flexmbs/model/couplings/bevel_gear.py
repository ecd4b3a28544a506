"""Bevel gears: turns count about the joints' own z axes."""

from dataclasses import dataclass

from flexmbs.model.couplings.base import coupling
from flexmbs.model.couplings.gear import Gear, GearKeys
from flexmbs.model.touching.teeth import Mesh, Pair, bevel


@coupling("bevel_gear")
@dataclass(kw_only=True)
class BevelGear(Gear):
    """zA a + zB b = const, a and b about the z axes of their own joints (F19).

    For the force on the teeth these point from the common apex to the wheels, and the module is that at
    mid-face; teeth are straight.
    """

    class Keys(GearKeys):
        """Bevel gears: zA a + zB b = const of the turns of `wheels` about their own axes on `carrier`."""

    common_direction = False

    def _mesh(self, pair: Pair) -> Mesh:
        return bevel(pair)
