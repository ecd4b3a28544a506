"""The same as `numbers.py` for rigid mechanisms in motion."""

from __future__ import annotations

from collections.abc import Mapping

from flexmbs.verify.items import Counts, Item, Table

SQUEEZER = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")

RIGID: Mapping[str, tuple[Item, ...]] = {
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
}  # fmt: skip
