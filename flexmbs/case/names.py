"""Channels in expressions: names as people write them -> the complete names of a `Model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from flexmbs.errors import nearest
from flexmbs.expressions import Expression, ExpressionError, Node
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.model import Model

KINDS = ("joints", "bodies", "frames", "states", "inputs", "sensors")
#: quantities that follow from the accelerations: a force that used them would be an algebraic loop
ALGEBRAIC = {
    "acceleration", "angular_acceleration", "q_ddot", "reaction_force", "reaction_moment", "effort",
    "force", "moment", "applied", "value",
}  # fmt: skip
_VECTORS = {"position": "xyz", "velocity": "xyz", "angular_velocity": "xyz", "quaternion": "wxyz"}
_SENSOR_SIZES = {"position": 3, "velocity": 3, "displacement": 3, "rotation": 3}


@dataclass
class Found:
    """A channel: its complete name without index, its size, and the names of its components."""

    label: str
    size: int = 1
    components: list[str] = field(default_factory=list)
    is_scalar: bool = False


class Resolver:
    """Completes the names in expressions; `frames_of` gives the frame names of a body.

    `parameters`: names that are offered, beside channels, where one is not known.
    """

    def __init__(
        self, model: Model, frames_of: Callable[[str], list[str]], parameters: Iterable[str] = ()
    ) -> None:
        self.model = model
        self.frames_of = frames_of
        self.parameters = list(parameters)
        self.values: Mapping[str, Expression] = {}

    def complete(self, expression: Expression, local: tuple[str, ...] = ()) -> Expression:
        """The expression with complete names, expression sensors replaced by what they are made of."""
        return replace(expression, tree=self._complete(expression.tree, local, ()))

    def _complete(self, node: Node, local: tuple[str, ...], chain: tuple[str, ...]) -> Node:
        if node.op != "name":
            args = tuple(self._complete(arg, local, chain) for arg in node.args)
            return replace(node, args=args) if args else node
        if node.text in ("t", *local) and not node.index:
            return node
        words = node.text.split(".")
        sensor = words[1] if words[0] == "sensors" and len(words) == 2 else words[0]
        if sensor in self.values and len(words) - (words[0] == "sensors") == 1:
            if sensor in chain:
                loop = " -> ".join([*chain[chain.index(sensor) :], sensor])
                raise ExpressionError(f"algebraic loop: {loop}", node.column)
            return self._complete(self.values[sensor].tree, (), (*chain, sensor))
        label, index = self._name(node, local)
        return replace(node, text=label, index=index)

    def _name(self, node: Node, local: tuple[str, ...]) -> tuple[str, tuple[int, ...]]:
        words = node.text.split(".")
        found = list({item.label: (item, rest) for item, rest in self._matches(words)}.values())
        if not found:
            raise ExpressionError(self._unknown(node, words, local), node.column)
        if len(found) > 1:
            listed = ", ".join(item.label for item, _ in found)
            raise ExpressionError(f'"{node.text}" is not unique: {listed}', node.column)
        item, rest = found[0]
        if item.is_scalar:
            if rest or node.index:
                raise ExpressionError(f'"{node.label}" has no components', node.column)
            return item.label, ()
        return item.label, (self._component(item, rest, node),)

    def _component(self, item: Found, rest: list[str], node: Node) -> int:
        if rest and not node.index:
            return item.components.index(rest[0])
        if node.index and not rest and len(node.index) == 1:
            if 0 <= node.index[0] < item.size:
                return node.index[0]
            raise ExpressionError(f'"{node.label}": components run from 0 to {item.size - 1}', node.column)
        if item.size == 1 and not rest and not node.index:
            return 0
        names = ", ".join("." + name for name in item.components) or f"[0] to [{item.size - 1}]"
        raise ExpressionError(f'"{node.label}" must pick one of {item.size} components: {names}', node.column)

    def _matches(self, words: list[str]) -> Iterator[tuple[Found, list[str]]]:
        kinds = [words[0]] if words[0] in KINDS and len(words) > 1 else list(KINDS)
        rest = words[1:] if words[0] in KINDS and len(words) > 1 else words
        for kind in kinds:
            for found, tail in getattr(self, "_in_" + kind)(rest):
                if not tail or (len(tail) == 1 and tail[0] in found.components):
                    yield found, tail

    def _in_joints(self, words: list[str]) -> Iterator[tuple[Found, list[str]]]:
        joint = self.model.joints.get(words[0])
        if joint is None or len(words) < 2 or words[1] not in ("position", "velocity"):
            return
        names = list(joint.coordinates)
        size = joint.n_beta if words[1] == "position" else joint.n_eta
        if len(names) < size:  # a ball: quaternion, or angular velocity
            names = names + (list("wxyz") if words[1] == "position" and not names else [])
        if size:
            yield Found(f"joints.{words[0]}.{words[1]}", size, names), words[2:]

    def _in_bodies(self, words: list[str]) -> Iterator[tuple[Found, list[str]]]:
        body = self.model.bodies.get(words[0])
        if body is None or len(words) < 2:
            return
        if words[1] in _VECTORS:
            names = list(_VECTORS[words[1]])
            yield Found(f"bodies.{words[0]}.{words[1]}", len(names), names), words[2:]
        if words[1] in ("q", "q_dot") and isinstance(body, FlexibleBody):
            nf = len(body.modes) if body.modes is not None else body.modal.nf
            yield Found(f"bodies.{words[0]}.{words[1]}", nf), words[2:]
        if words[1] not in _VECTORS:
            yield from self._in_frames(words)

    def _in_frames(self, words: list[str]) -> Iterator[tuple[Found, list[str]]]:
        is_body = words[0] == "ground" or words[0] in self.model.bodies
        if not is_body or len(words) < 3 or words[2] not in _VECTORS:
            return
        if words[1] in self.frames_of(words[0]):
            names = list(_VECTORS[words[2]])
            yield Found(f"frames.{words[0]}.{words[1]}.{words[2]}", len(names), names), words[3:]

    def _in_states(self, words: list[str]) -> Iterator[tuple[Found, list[str]]]:
        if words[0] in self.model.states:
            yield Found(f"states.{words[0]}", is_scalar=True), words[1:]

    def _in_inputs(self, words: list[str]) -> Iterator[tuple[Found, list[str]]]:
        for n in (1, 2):  # a number from outside, an output of an FMU
            if ".".join(words[:n]) in self.model.inputs and len(words) >= n:
                yield Found("inputs." + ".".join(words[:n]), is_scalar=True), words[n:]

    def _in_sensors(self, words: list[str]) -> Iterator[tuple[Found, list[str]]]:
        sensor = self.model.sensors.get(words[0])
        if sensor is None:
            return
        if sensor.type in _SENSOR_SIZES:
            yield Found(f"sensors.{words[0]}", 3, list("xyz")), words[1:]

    def _unknown(self, node: Node, words: list[str], local: tuple[str, ...]) -> str:
        sensor = self.model.sensors.get(words[1] if words[0] == "sensors" and len(words) > 1 else words[0])
        algebraic = sensor is not None and sensor.type in (
            "acceleration",
            "reaction",
            "joint",
            "energy",
            "stress",
        )
        if algebraic or ALGEBRAIC & set(words):
            return (
                f'"{node.text}" would be an algebraic loop; expressions of forces and states may use '
                "positions, velocities, q, q_dot, states, inputs and t"
            )
        choices = [
            *local,
            "t",
            *self.parameters,
            *self.model.joints,
            *self.model.bodies,
            *self.model.states,
            *self.model.inputs,
            *self.model.sensors,
        ]
        if words[0] in choices or words[0] in KINDS:
            return f'there is no channel "{node.text}"; such as {self._example()}'
        return f'there is no channel or parameter "{node.text}"; {nearest(words[0], choices)}'

    def _example(self) -> str:
        names = [f"{name}.position" for name, joint in self.model.joints.items() if joint.n_beta]
        names += [f"{name}.velocity.x" for name in self.model.bodies]
        return ", ".join(names[:3]) or "t"
