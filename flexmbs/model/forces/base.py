"""What a force is: data. Numbers of a law may be constants, expressions or Python functions (F14-F16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from flexmbs.expressions import Expression
from flexmbs.input.frames import Place
from flexmbs.input.registered import AxesName, FrameName
from flexmbs.input.values import Table
from flexmbs.registry import Registry

if TYPE_CHECKING:
    from flexmbs.model.bodies import Frame

#: All force laws by the name that a user writes.
FORCES: Registry[Force] = Registry("force", "flexmbs.model.forces")
force = FORCES


@dataclass(frozen=True, kw_only=True)
class PythonNumber:
    """A number from a Python function `function(t, *channels) -> float`, called at every evaluation: slow.

    `function` is the callable itself; the case file's `{ function = "laws.py:gas" }` is loaded by the
    caller, who asks the user for leave first. `channels` are expressions that pick the arguments.
    """

    function: Any
    channels: Sequence[Expression] = ()
    name: str = "function"


#: A number of a force: constant, expression of t and channels, or Python function.
Number = float | Expression | PythonNumber


@dataclass(kw_only=True)
class Force:
    """Base of all forces, by name.

    `Keys`: the table of a force in a case file. `variables`: names that its expressions know beside t and
    channels.
    """

    Keys: ClassVar[type[Table]] = Table
    variables: ClassVar[tuple[str, ...]] = ()
    type_name: ClassVar[str] = ""  # as users write it
    name: str

    def check(self, door: Any) -> None:
        """Report to the `Door` of the case file what only the model tells to be wrong."""

    def laws(self, build: Any) -> None:
        """Add the force's rows to a `LawBuilder`."""
        raise TypeError(f"{type(self).__name__} has no law")


class PlacedKeys(Table):
    """Keys of a force at one place, components `in` ground, the body (follower), or a frame."""

    on: FrameName
    at: Place | None = None
    in_: AxesName = Field(default="ground", alias="in")


class PairKeys(Table):
    """Keys of a force between two frames."""

    from_: FrameName = Field(alias="from")
    to: FrameName


@dataclass(kw_only=True)
class PlacedForce(Force):
    """A force at one place: `on` is `body` or `body.frame`; with `at`, a further place on the body `on`.

    `axes` says in which axes the components are: "ground", "body" (follower: those of the body that
    carries the load), or any frame `body.frame`.
    """

    on: str
    at: Frame | None = None
    axes: str = "ground"


@dataclass(kw_only=True)
class PairForce(Force):
    """A force between marker P (`from_frame`) and marker Q (`to_frame`), written `body` or `body.frame`."""

    from_frame: str
    to_frame: str
