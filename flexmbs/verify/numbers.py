"""Which numbers of which reference file stand against which channels of which case.

Together with the lines of [expected] of the cases this covers the files; what is not compared is named in
`omitted.py`, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from flexmbs.verify.numbers_flexible import FLEXIBLE
from flexmbs.verify.tables import Counts, Item, Table

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
SQUEEZER = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")

#: by problem
TABLES: Mapping[str, tuple[Item, ...]] = {
    "rigid-simple-pendulum": (
        Table(
            "pendulum.toml", "rigid-simple-pendulum.history.csv",
            {"joints.pin.position": "theta", "joints.pin.velocity": "thetadot"}, rtol=1e-8, atol=1e-8,
        ),
        Table("pendulum.toml", "thetadot_t5", {"joints.pin.velocity": ""}, rtol=1e-8, at=(5.0,)),
        Table(
            "pendulum.toml", "period", {"time": ""}, rtol=1e-8, last=True,
            values={"analysis.until": "=where(t > 2, -joints.pin.velocity, -1)"},
        ),
    ),
    "rigid-double-pendulum": (
        Table(
            "double-pendulum.toml", "rigid-double-pendulum.history.csv",
            {
                "joints.upper.position": "theta1",
                "joints.upper.position + joints.lower.position": "theta2",
            }, atol=1e-6,
        ),
        Table(
            "double-pendulum.toml", "rigid-double-pendulum.history.csv",
            {
                "joints.upper.velocity": "theta1dot",
                "joints.upper.velocity + joints.lower.velocity": "theta2dot",
            }, atol=2e-5,
        ),
        *(
            Table(
                "double-pendulum.toml", f"state_t{t}",
                {
                    "joints.upper.position": "0",
                    "joints.upper.position + joints.lower.position": "1",
                }, atol=1e-6, at=(float(t),),
            )
            for t in (1, 5, 10)
        ),
        *(
            Table(
                "double-pendulum.toml", f"state_t{t}",
                {
                    "joints.upper.velocity": "2",
                    "joints.upper.velocity + joints.lower.velocity": "3",
                }, atol=2e-5, at=(float(t),),
            )
            for t in (1, 5, 10)
        ),
    ),
    "rigid-heavy-top": (
        Table(
            "spinning-top.toml", "theta_max", {"acos(sensors.axis.z)": ""}, atol=1e-6,
            at=(0.5 * 0.2564031083813801,),
        ),
        Table(
            "spinning-top.toml", "slow_steady_precession_rate_at_same_spin",
            {"atan2(sensors.axis.x, -sensors.axis.y)/0.5": ""}, rtol=1e-6, last=True,
            values={
                "joints.pivot.initial.velocity": [0, "=5.786554992349062*sin(0.5)", 200.0],
            },
        ),
        Table(
            "spinning-top.toml", "nutation_period", {"time": ""}, rtol=1e-6, last=True,
            values={
                "sensors.tip": {"type": "velocity", "on": "top.tip"},
                "analysis.until": "=where(t > 0.2, -sensors.tip.z, -1)",
            },
        ),
    ),
    "rigid-slider-crank": (
        Table(
            "slider-crank-driven.toml", "a_slider_pos_vel_acc/*",
            {"joints.guide.position": "0", "joints.guide.velocity": "1", "joints.guide.acceleration": "2"},
            rtol=1e-10, atol=1e-12,
        ),
        Table(
            "slider-crank-driven.toml", "a_drive_torque/*", {"drives.motor.effort": ""},
            rtol=1e-10, atol=1e-12,
        ),
        Counts(
            "slider-crank.toml", "mobility_with_spatial_joints",
            {"equations": "constraint_equations", "redundant": "redundant", "mobility": "dof"},
        ),
    ),
    "rigid-andrews-squeezer": (
        Table(
            "andrews-squeezer.toml", "rigid-andrews-squeezer.history.csv",
            {f"bodies.k{k}.angular_velocity.z": f"omega{k}" for k in (1, 3)}, rtol=1e-4, atol=1e-6,
        ),
        Table(
            "andrews-squeezer.toml", "rigid-andrews-squeezer.history.csv",
            {f"sensors.com{k}.{a}": f"{a}{k}" for k in (2, 3, 4, 6) for a in "xy"}, atol=1e-7,
        ),
        Table(
            "andrews-squeezer.toml", "q",
            {f"joints.{name}.position": str(k) for k, name in enumerate(SQUEEZER)},
            atol=1e-6, at=(0.03,),
        ),
        Table(
            "andrews-squeezer.toml", "qdot",
            {f"joints.{name}.velocity": str(k) for k, name in enumerate(SQUEEZER)}, rtol=1e-4, at=(0.03,),
        ),
        Table(
            "andrews-squeezer.toml", "qddot",
            {f"joints.{name}.acceleration": str(k) for k, name in enumerate(SQUEEZER)}, rtol=1e-4, at=(0.03,),
        ),
        *(
            Table(
                "andrews-squeezer.toml", f"at_t_0_05_computed_here/body{k}_com_xy_and_omega",
                {f"sensors.com{k}.x": "0", f"sensors.com{k}.y": "1"}, atol=1e-7, at=(0.05,),
            )
            for k in range(1, 8)
        ),
        *(
            Table(
                "andrews-squeezer.toml", f"at_t_0_05_computed_here/body{k}_com_xy_and_omega",
                {f"bodies.k{k}.angular_velocity.z": "2"}, rtol=1e-4, at=(0.05,),
            )
            for k in range(1, 8)
        ),
        Counts("andrews-squeezer.toml", "mobility", {"mobility": "dof"}),
    ),
    "rigid-double-wishbone": (
        Table(
            "double-wishbone.toml", "rigid-double-wishbone.history.csv",
            {
                "pi/2 - joints.lower.position": "phi1",
                "joints.j12.position + joints.lower.position - pi/2": "phi2",
                "joints.upper.position + pi/2": "phi3",
            }, atol=1e-7,
        ),
        Table(
            "double-wishbone.toml", "rigid-double-wishbone.history.csv",
            {"-joints.lower.velocity": "phi1dot"}, atol=1e-6,
        ),
        Table(
            "double-wishbone.toml", "phiddot_t0",
            {"joints.j12.acceleration + joints.lower.acceleration": "1"}, rtol=1e-10, at=(0.0,),
        ),
        *(
            Table(
                "double-wishbone.toml", f"state_{key}", {"-joints.lower.velocity": "1"}, atol=1e-6,
                at=(time,),
            )
            for key, time in (("t0_1", 0.1), ("t0_5", 0.5), ("t1", 1.0))
        ),
        Table(
            "double-wishbone.toml", "phi2_phi3_t1",
            {"joints.j12.position + joints.lower.position - pi/2": "0"}, atol=1e-7, at=(1.0,),
        ),
        Table("double-wishbone.toml", "xi_t0", {"forces.strut.length - 0.3": ""}, rtol=1e-10, at=(0.0,)),
    ),
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
    **FLEXIBLE,
}  # fmt: skip
