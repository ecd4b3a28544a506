"""Springs, dampers, friction and stops of joints -> laws on their coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from flexmbs.model.laws.tables import (
    COORD_DAMPER,
    COORD_FRICTION,
    COORD_LAW,
    COORD_SPRING,
    COORD_STOP,
)


def joint_laws(build: Any, joint: Any) -> None:
    """Add the laws of one joint; `force` of x (coordinate) and v (rate) is the effort as it stands."""
    for kind, add in (("spring", _spring), ("damper", _damper), ("friction", _friction), ("stop", _stop)):
        for item in _tables(getattr(joint, kind)):
            build.owner = f"joints.{joint.name}.{kind}"
            add(build, item, coordinate(build, joint.name, item.get("coordinate")))


def coordinate(build: Any, joint: str, name: str | None) -> Any:
    """Scalar coordinate of a joint; the name may be left out where there is only one."""
    from flexmbs.model.system import find_coordinate

    return find_coordinate(build.joints, joint, name)


def _tables(given: Any) -> Iterator[Mapping[str, Any]]:
    if given is None:
        return
    yield from [given] if isinstance(given, Mapping) else given


def _spring(build: Any, item: Mapping[str, Any], c: Any) -> None:
    if item.get("force") is not None:
        build.row(COORD_LAW, local=item["force"], coordinate=c)
    else:
        build.row(COORD_SPRING, (item["stiffness"], item.get("free") or 0.0), coordinate=c)


def _damper(build: Any, item: Mapping[str, Any], c: Any) -> None:
    if item.get("force") is not None:
        build.row(COORD_LAW, local=item["force"], coordinate=c)
    else:
        build.row(COORD_DAMPER, (item["damping"],), coordinate=c)


def _friction(build: Any, item: Mapping[str, Any], c: Any) -> None:
    radius = item.get("radius")
    lever = (item.get("coefficient") or 0.0) * (1.0 if radius is None else radius)
    v0 = item.get("stiction_velocity") or 1e-3
    press = None
    if item.get("coefficient"):
        own = {motion.name: motion for motion in build.model.joints[c.joint].motion}[c.name]
        press = (c.joint, -1 if own.turn else own.axis)
    build.row(COORD_FRICTION, (item.get("effort") or 0.0, lever, v0), coordinate=c, press=press)


def _stop(build: Any, item: Mapping[str, Any], c: Any) -> None:
    lower = -math.inf if item.get("lower") is None else item["lower"]
    upper = math.inf if item.get("upper") is None else item["upper"]
    for bound in (lower, upper):
        build.switch_at(bound)
    build.row(COORD_STOP, (lower, upper, item["stiffness"], item.get("damping") or 0.0), coordinate=c)
