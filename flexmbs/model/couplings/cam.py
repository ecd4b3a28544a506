"""Cam and follower."""

from dataclasses import dataclass, replace
from typing import Any

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression, Node, constant
from flexmbs.model.couplings.base import Coupling, Law, coordinate_number, coupling


@coupling("cam")
@dataclass(kw_only=True)
class Cam(Coupling):
    """follower = lift(cam), two-sided; `lift` is an expression of x, the cam's coordinate (F19).

    The reported force is that of the cam on the follower, positive in the direction of lift.
    """

    cam: str
    follower: str
    lift: Expression | float
    unilateral: bool = False

    def law(self, model: Any) -> Law:
        if self.unilateral:
            raise InputError(
                Diagnostic(
                    "coupling.unilateral",
                    f"couplings.{self.name}",
                    "lift-off is not offered",
                    "use unilateral = false, or a spring force that only pushes",
                )
            )
        lift = self.lift if isinstance(self.lift, Expression) else constant(float(self.lift))
        zero = replace(lift, tree=Node("sub", (Node("name", text="follower"), _rename(lift.tree))))
        of = (coordinate_number(model, self.follower), coordinate_number(model, self.cam))
        return Law(zero=zero, of=of, names=("follower", "cam"), constant_from_start=False)


def _rename(node: Node) -> Node:
    """The expression with x, the cam's coordinate, under its own name."""
    if node.op == "name" and node.label == "x":
        return replace(node, text="cam", index=(), args=())
    return replace(node, args=tuple(_rename(arg) for arg in node.args)) if node.args else node
