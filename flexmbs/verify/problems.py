"""Which case or check meets which reference problem, and what it proves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from flexmbs.verify import inertia, shells, slender, solids
from flexmbs.verify.reference import Reference
from flexmbs.verify.report import Line

Check = Callable[[Reference, bool], Iterator[Line]]


@dataclass(frozen=True)
class Problem:
    """One reference problem: the cases that meet it by their [expected], a check of stage 1, or both.

    `not_for`: integrators and formulations that do not apply, each with the reason.
    """

    proves: str
    cases: tuple[str, ...] = ()
    check: Check | None = None
    not_for: dict[str, str] = field(default_factory=dict)


#: by identifier, the name of the file in cases/reference
PROBLEMS: dict[str, Problem] = {
    "fe-hex8-element": Problem("element matrices", check=solids.hex8_element),
    "fe-rigid-integrals-box": Problem("mass and moments of any mesh", check=inertia.rigid_box),
    "fe-shape-integrals-box": Problem(
        "shape integrals, mass matrix, velocity forces", check=inertia.shape_integrals
    ),
    "fe-beam-cantilever": Problem("beam elements, solids in bending", check=slender.cantilever),
    "fe-shaft-torsion": Problem("torsion, ties, added inertia", check=slender.shaft),
    "fe-craig-bampton-bar": Problem("reduction: closed form, static exactness", check=slender.bar),
    "fe-free-block": Problem("solids converge to three-dimensional elasticity", check=solids.free_block),
    "fe-nafems-fv32": Problem("supports and distorted cells", check=solids.tapered_membrane),
    "fe-thick-plate-exact3d": Problem(
        "mixed supports, exact three-dimensional modes", check=solids.thick_plate
    ),
    "rigid-simple-pendulum": Problem("large amplitude, pin force, energy", ("pendulum.toml",)),
    "rigid-double-pendulum": Problem("open chain, chaotic range", ("double-pendulum.toml",)),
    "rigid-heavy-top": Problem("spatial rotation", ("spinning-top.toml",)),
    "rigid-slider-crank": Problem(
        "loop: kinematics, inverse and forward dynamics, end on a condition",
        ("slider-crank-driven.toml", "slider-crank.toml"),
    ),
    "rigid-andrews-squeezer": Problem("three loops, stiff start", ("andrews-squeezer.toml",)),
    "rigid-double-wishbone": Problem("loop with spring and damper", ("double-wishbone.toml",)),
    "linkage-bennett": Problem("overconstrained spatial loop", ("bennett.toml", "bennett-driven.toml")),
    "linkage-parallelogram": Problem("redundant rows, change points", ("parallelogram.toml",)),
    "linkage-rssr": Problem("spatial loop with idle turning", ("rssr.toml",)),
    "linkage-slider-crank-equal-links": Problem(
        "passage of a singular position", ("slider-crank-equal-links.toml",)
    ),
    "linkage-spatial-slider-crank": Problem("spatial loop", ("spatial-slider-crank.toml",)),
    "linkage-stephenson-sixbar": Problem("two loops, drive torque", ("stephenson-sixbar.toml",)),
    "joint-cam-eccentric": Problem("cam: motion, contact force, torque", ("cam.toml",)),
    "joint-cardan-ratio": Problem("universal joint, driven and free", ("cardan-driven.toml", "cardan.toml")),
    "joint-gear-pair": Problem("gears, external and internal", ("gear-pair.toml", "gear-pair-internal.toml")),
    "joint-rotating-slot": Problem(
        "rheonomic drive, its effort and work", ("rotating-slot.toml", "rotating-slot-spring.toml")
    ),
    "joint-screw": Problem("helical joint", ("screw.toml",)),
    "joint-zoo-open-chain": Problem("seven lower pairs: accelerations, reactions", ("joint-zoo.toml",)),
    "flex-driven-base": Problem("elastic body on a driven base", ("driven-base.toml",)),
    "flex-falling-free-beam": Problem(
        "free elastic body, no spurious response", ("falling-beam-at-rest.toml", "falling-beam.toml")
    ),
    "flex-lower-arm": Problem(
        "pressed steel: shells with folds, in a loop", ("lower-arm.toml",), check=shells.free_arm
    ),
    "flex-pendulum": Problem(
        "elastic body in an open chain", ("flexible-pendulum.toml", "flexible-pendulum-beam.toml")
    ),
    "flex-rotating-bar-axial": Problem(
        "relative equilibrium", ("rotating-bar.toml", "rotating-bar-refined.toml")
    ),
    "flex-rotating-beam-frequencies": Problem(
        "geometric stiffening in modes", ("rotating-beam.toml", "rotating-blade.toml")
    ),
    "flex-satellite": Problem("shells on a free hub", ("satellite.toml",)),
    "flex-slider-crank": Problem(
        "elastic rod in a loop, linear and stiffened",
        ("flexible-slider-crank-linear.toml", "flexible-slider-crank.toml"),
    ),
    "flex-spin-up-8m": Problem("geometric stiffening in motion", ("spin-up.toml", "spin-up-linear.toml")),
    "force-point-on-flexible-node": Problem(
        "generalised forces of a point force", ("force-on-node.toml",), check=inertia.euler_angles
    ),
}
