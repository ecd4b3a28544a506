"""Numbers of the reference files that are not compared, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

_PART = "a part of the closed form, not an observable of its own"
_SINGULAR = "in the singular position itself the closing conditions do not determine the speed of a sample"
#: numbers of the files that are not compared, by the begin of their path
NOT_COMPARED: Mapping[str, Mapping[str, str]] = {
    "rigid-andrews-squeezer": {
        "multipliers": "they belong to the published choice of coordinates and conditions",
    },
    "linkage-rssr": {"useful_dof": "a count of the statement; the idle turning is named by `check`"},
    "linkage-slider-crank-equal-links": {
        "table/90deg/thetadot": _SINGULAR, "table/90deg/slider/1": _SINGULAR,
        "table/270deg/thetadot": _SINGULAR, "table/270deg/slider/1": _SINGULAR,
    },
    "joint-cam-eccentric": {
        "lift_off_speed": "a bound between two runs, below and above it: tests/test_unilateral.py",
    },
    "joint-rotating-slot": {"b_t0_7/r_static": _PART, "b_t0_7/damped_frequency": _PART},
    "flex-driven-base": {
        "tip_relative/12_modes": "twelve modes written by cosh lose their digits; one to three are compared",
        "steady_tip_relative_amplitude": _PART,
    },
    "flex-falling-free-beam": {"beta_L": _PART},
    "flex-lower-arm": {"response/t": "the times of the samples"},
    "flex-pendulum": {"max_tip_deflection_m": "of the geometrically exact beam; its tip is compared"},
    "flex-rotating-bar-axial": {
        "u_tip_first_order": "the approximation that is to be told from the exact number above",
        "axial_angular_frequencies_if_axial_motion_alone": "they leave out the Coriolis coupling",
    },
    "flex-rotating-beam-frequencies": {
        "floating_frame_without_geometric_stiffening/4": "unstable without stiffening",
        "example_scale_factor_rad_per_s": "the unit of the frequencies",
    },
    "flex-slider-crank": {
        "two_modes_with_geometric_stiffness_of_the_rigid_axial_force":
            "another model; the stiffened model is compared with the geometrically exact rod",
        "max_abs_mid_deflection_over_L": "the largest of the samples of the history, which are all compared",
    },
    "flex-spin-up-8m": {"steady_axial_extension_exact_bar": "at rest; the tip at all times is compared"},
    "force-point-on-flexible-node": {
        "moment": "points carry no rotations; moments at nodes are tested with the markers",
    },
}  # fmt: skip
