"""The same as `numbers.py` for linkages and single joints: positions over a drive, mobility, wrenches."""

from __future__ import annotations

from collections.abc import Mapping

from flexmbs.verify.items import Counts, Item, Table

XYZ = "xyz"
COUNTS = {"equations": "n_constraints", "rank": "rank", "redundant": "redundant", "mobility": "dof"}
MOBILITY = {"equations": "constraint_equations", "rank": "rank", "redundant": "redundant"}


def vector(channel: str, column: str, axes: str = XYZ) -> dict[str, str]:
    """Components of a channel against the entries of a list."""
    return {f"{channel}.{axis}": f"{column}/{k}" for k, axis in enumerate(axes)}


ZOO = {
    **vector("bodies.b{row}.position", "joint_point"),
    **vector("sensors.p{row}", "com"),
    **vector("sensors.v{row}", "com_velocity"),
    **vector("sensors.a{row}", "com_acceleration"),
    **vector("bodies.b{row}.angular_velocity", "angular_velocity"),
    **vector("bodies.b{row}.angular_acceleration", "angular_acceleration"),
}
SIXBAR = {
    **vector("sensors.B", "B", "xy"),
    **vector("sensors.C", "C", "xy"),
    **vector("sensors.D", "D", "xy"),
    **vector("sensors.D_velocity", "D_velocity", "xy"),
    **vector("sensors.D_acceleration", "D_acceleration", "xy"),
    "joints.O6.position": "output_angle",
    "joints.O6.velocity": "output_rate",
    "joints.O6.acceleration": "output_acceleration",
    "drives.motor.effort": "drive_torque",
}

LINKAGES: Mapping[str, tuple[Item, ...]] = {
    "linkage-bennett": (
        Counts("bennett.toml", "mobility", MOBILITY | {"gruebler": "grubler_dof", "mobility": "actual_dof"}),
        Table("bennett.toml", "theta_of_t/*", {"joints.j1.position": ""}, atol=1e-6),
        *(
            Table(
                "bennett-driven.toml", f"phi_and_dphi_dth_and_d2phi_dth2/{deg}deg",
                {"joints.j2.position": "0", "joints.j2.velocity": "1", "joints.j2.acceleration": "2"},
                rtol=1e-10, last=True, values={"target": f"{deg} deg"},
            )
            for deg in (30, 60, 90, 150, 240)
        ),
    ),
    "linkage-parallelogram": (
        Counts("parallelogram.toml", "generic", MOBILITY | {"mobility": "dof"}),
        Counts(
            "parallelogram.toml", "loop_cut_at_one_revolute_generic",
            {
                "closure_rows": "closure_conditions", "closure_rank": "rank", "redundant": "redundant",
                "mobility": "dof",
            },
        ),
        Counts(
            "parallelogram.toml", "change_point_th_0", MOBILITY | {"mobility": "instantaneous_dof"},
            values={"theta": 0.0, "analysis.type": "assembly"},  # a motion would have to choose a branch
        ),
        Table(
            # at half of it the linkage turns back; the way back passes the change points again
            "parallelogram.toml", "period", {"2*time": ""}, rtol=1e-7, last=True,
            values={"analysis.t_end": 2.0, "analysis.until": "=where(t > 0.5, joints.a.velocity, -1)"},
        ),
    ),
    "linkage-rssr": (
        Table(
            "rssr.toml", "table_psi_psidot_psiddot/*",
            {
                "joints.rocker.position": "0", "joints.rocker.velocity": "1",
                "joints.rocker.acceleration": "2",
            }, rtol=1e-9,
        ),
        Counts("rssr.toml", "", {"mobility": "mobility_with_two_spherical_joints"}),
    ),
    "linkage-slider-crank-equal-links": (
        Counts(
            "slider-crank-equal-links.toml", "mobility_generic",
            COUNTS,
        ),
        Counts(
            "slider-crank-equal-links.toml", "mobility_at_90deg",
            COUNTS,
            values={"theta": "90 deg", "analysis.type": "assembly"},
        ),
        Table(
            "slider-crank-equal-links.toml", "table/*", {"joints.guide.position": "slider/0"},
            atol=1e-6, at="t",
        ),
        Table(
            "slider-crank-equal-links.toml", "table/45deg|89deg|91deg|135deg|371deg",
            {"joints.main.velocity": "thetadot", "joints.guide.velocity": "slider/1"}, atol=1e-6, at="t",
        ),
    ),
    "linkage-spatial-slider-crank": (
        Table(
            "spatial-slider-crank.toml", "linkage-spatial-slider-crank.history.csv",
            {"joints.crank.position": "theta"}, atol=1e-6,
        ),
        Table(
            "spatial-slider-crank.toml", "linkage-spatial-slider-crank.history.csv",
            {"joints.guide.position": "slider_x"}, atol=1e-7,
        ),
        Table(
            "spatial-slider-crank.toml", "linkage-spatial-slider-crank.history.csv",
            {"joints.crank.velocity": "thetadot"}, atol=1e-5,
        ),
        *(
            Table(
                "spatial-slider-crank.toml", key, {channel: column}, atol=atol, at=(float(key[2:]),),
            )
            for key in ("t=0.25", "t=0.50", "t=1.00", "t=2.00", "t=3.00", "t=5.00")
            for channel, column, atol in (
                ("joints.crank.position", "theta", 1e-6), ("joints.crank.velocity", "thetadot", 1e-5),
                ("joints.guide.position", "slider_x", 1e-7), ("joints.guide.velocity", "slider_v", 1e-6),
            )
        ),
        Counts(
            "spatial-slider-crank.toml", "mobility",
            COUNTS,
        ),
    ),
    "linkage-stephenson-sixbar": (
        Table("stephenson-sixbar.toml", "table_at_crank_speed_12/*", SIXBAR, rtol=1e-8),
        Counts(
            "stephenson-sixbar.toml", "mobility_spatial_revolutes",
            COUNTS,
        ),
    ),
    "joint-cam-eccentric": (
        Table(
            "cam.toml", "table_y_v_a_contactforce_drivetorque/*",
            {
                "joints.guide.position": "0", "joints.guide.velocity": "1", "joints.guide.acceleration": "2",
                "couplings.contact.force": "3", "drives.motor.effort": "4",
            }, rtol=1e-9, atol=1e-12,
        ),
    ),
    "joint-cardan-ratio": (
        Table(
            "cardan-driven.toml", "table_b_ratio_dratio_da/*",
            {
                "joints.output.position": "0", "joints.output.velocity/10": "1",
                "joints.output.acceleration/100": "2",
            }, rtol=1e-9, atol=1e-12,
        ),
        *(
            Table(
                "cardan.toml", f"{name}_speed_at_a_90deg", {f"joints.{name}.velocity": ""}, rtol=1e-7,
                last=True, values={"analysis.until": "=joints.input.position - pi/2"},
            )
            for name in ("input", "output")
        ),
    ),
    "joint-zoo-open-chain": (
        Table("joint-zoo.toml", "bodies/*", ZOO, rtol=1e-9),
        Table(
            "joint-zoo.toml", "joint_wrench_on_child_at_joint_point_global/*",
            vector("joints.j{row}.reaction_force", "force")
            | vector("joints.j{row}.reaction_moment", "moment"),
            rtol=1e-9, atol=1e-12,
        ),
        Table("joint-zoo.toml", "kinetic_energy", {"energy.kinetic": ""}, rtol=1e-9, last=True),
    ),
}  # fmt: skip
