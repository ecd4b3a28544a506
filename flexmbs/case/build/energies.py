"""Energies of bodies as expressions, of joint coordinates and their rates (F32)."""

from __future__ import annotations

from functools import partial
from typing import Any

from flexmbs.case.build.laws import LawBuilder, only
from flexmbs.channels import split_channel
from flexmbs.expressions import Expression
from flexmbs.model.model import Model

#: quantities of joints that each may use, and what that is in words
QUANTITIES = {
    "kinetic_energy": (("position", "velocity"), "t, and positions and velocities of joints without a ball"),
    "potential_energy": (("position",), "t, and positions of joints without a ball"),
}


def add_energies(builder: LawBuilder, name: str, table: Any) -> None:
    """Put the energies of the table of a body into its body, names completed."""
    body = builder.model.bodies[name]
    for key, (quantities, words) in QUANTITIES.items():
        given = getattr(table, key)
        if given is None:
            continue
        path = ("bodies", name, key)
        law = builder.value(path, given)
        with builder.report.at(path):
            if isinstance(law, Expression):
                only(law, partial(_is_coordinate, builder.model, quantities), words)
        setattr(body, key, law)


def _is_coordinate(model: Model, quantities: tuple[str, ...], label: str) -> bool:
    channel = split_channel(label)
    if channel.kind != "joints" or channel.quantity not in quantities:
        return channel.kind == "t"
    joint = model.joints[channel.name]
    return joint.n_beta == len(joint.coordinates)
