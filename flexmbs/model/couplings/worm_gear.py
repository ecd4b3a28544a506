"""A worm and its wheel: turns count about the joints' own z axes."""

from dataclasses import dataclass

from flexmbs.model.couplings.base import coupling
from flexmbs.model.couplings.gear import Gear


@coupling("worm_gear")
@dataclass(kw_only=True)
class WormGear(Gear):
    """zA a + zB b = const, a and b about the z axes of their own joints (F19)."""

    common_direction = False
