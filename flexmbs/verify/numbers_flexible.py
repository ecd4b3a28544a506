"""The same as `numbers.py` for problems with elastic bodies."""

from __future__ import annotations

from collections.abc import Mapping

from flexmbs.verify.items import Item, Modes, Table

XYZ = "xyz"
STIFFENED = {g: f"with_geometric_stiffening/{g}" for g in (0, 1, 2, 3, 4, 6, 8, 10, 12)}
LINEAR = {g: f"floating_frame_without_geometric_stiffening/{g}" for g in (0, 1, 2, 3)}
FLAP_AND_LAG = {
    f"linear.frequency_hz[{2 * k + m}]*2*pi/unit": f"{name}/{k}"
    for k in range(3)
    for m, name in enumerate(("lag", "flap"))
}


def few(body: str, n: int) -> dict[str, object]:
    """Override: the lowest n modes of a body."""
    return {f"bodies.{body}.modes": n}


FLEXIBLE: Mapping[str, tuple[Item, ...]] = {
    "flex-driven-base": (
        Modes(
            "driven-base.reduce.toml", "natural_frequencies_rad_s", "modal_participation_int_phi_over_L",
            1e-6,
        ),
        *(
            Table(
                "driven-base.toml", f"tip_relative/{n}_modes/*", {"sensors.tip.y": ""}, atol=1e-8,
                values=few("beam", n),
            )
            for n in (1, 2, 3)
        ),
    ),
    "flex-falling-free-beam": (Modes("falling-beam.reduce.toml", "w1", rtol=1e-8),),
    "flex-pendulum": (
        *(
            Table(
                "flexible-pendulum.toml", f"{n}_modes/*",
                {
                    "joints.hinge.position": "phi", "sensors.tip.x": "tip/0", "sensors.tip.y": "tip/1",
                    **{f"bodies.rod.q[{k}]" if n > 1 else "bodies.rod.q": f"q/{k}" for k in range(n)},
                }, atol=1e-7, values=few("rod", n),
            )
            for n in (1, 2, 3)
        ),
        Table(
            "flexible-pendulum.toml", "flex-pendulum.modes2.csv",
            {"joints.hinge.position": "phi", "bodies.rod.q[0]": "q1", "bodies.rod.q[1]": "q2"}, atol=1e-7,
            values=few("rod", 2),
        ),
        Table(
            "flexible-pendulum-beam.toml", "geometrically_exact_beam_tip/*",
            {"sensors.tip.x": "0", "sensors.tip.y": "1"}, atol=5e-3,
        ),
    ),
    "flex-rotating-beam-frequencies": (
        *(
            Table("rotating-beam.toml", rows, FLAP_AND_LAG, rtol=5e-3, last=True, values={"gamma": g})
            for g, rows in STIFFENED.items()
        ),
        *(
            Table(
                "rotating-beam.toml", rows, FLAP_AND_LAG, rtol=1e-6, last=True,
                values={"gamma": g, "bodies.beam.geometric_stiffening": False},
            )
            for g, rows in LINEAR.items()
        ),
    ),
    "flex-slider-crank": (
        Modes("flexible-slider-crank-linear.reduce.toml", "first_bending_frequency_rad_s", rtol=1e-7),
        Table(
            "flexible-slider-crank-linear.toml", "two_modes/*",
            {"bodies.rod.q[0]": "q/0", "bodies.rod.q[1]": "q/1"}, atol=1e-8, at="t",
        ),
        Table(
            "flexible-slider-crank-linear.toml", "flex-slider-crank.mid_deflection.csv",
            {"bodies.rod.q[0]": "q1_two_modes", "bodies.rod.q[1]": "q2_two_modes"}, atol=1e-8,
        ),
        Table(
            "flexible-slider-crank-linear.toml", "one_mode/*", {"bodies.rod.q": ""}, atol=1e-8,
            values=few("rod", 1),
            at=tuple(deg * 3.141592653589793 / 180 / 150 for deg in (90, 180, 270, 360, 540, 720)),
        ),
        Table(
            "flexible-slider-crank.toml", "flex-slider-crank.mid_deflection.csv",
            {"sensors.deflection": "geometrically_exact_mid"}, atol=5.5e-4,
        ),
    ),
    "flex-spin-up-8m": (
        Modes("spin-up-linear.reduce.toml", "first_clamped_free_frequency_rad_s", rtol=1e-6),
        Table("spin-up.toml", "tip/*", {"sensors.tip.y": "lateral"}, atol=0.0106),
        Table("spin-up.toml", "tip/*", {"sensors.tip.x": "axial"}, atol=4e-4),
        Table("spin-up.toml", "tip/*", {"sensors.turn.z": "rotation"}, atol=1.8e-3),
        Table("spin-up.toml", "flex-spin-up-8m.tip.csv", {"sensors.tip.y": "lateral"}, atol=0.0106),
        Table("spin-up.toml", "flex-spin-up-8m.tip.csv", {"sensors.tip.x": "axial"}, atol=4e-4),
        Table("spin-up.toml", "flex-spin-up-8m.tip.csv", {"sensors.turn.z": "rotation"}, atol=1.8e-3),
        Table(
            "spin-up.toml", "stiffened_modal_model_4_modes_tip_lateral/*", {"sensors.tip.y": ""}, atol=0.0106,
        ),
        *(
            Table(
                "spin-up-linear.toml",
                f"floating_frame_without_stiffening_tip_lateral/omega_s={speed}/{n}_modes/*",
                {"sensors.tip.y": ""}, atol=1e-6, values={"speed": float(speed)} | few("beam", n),
            )
            for speed in ("1.0", "2.0")
            for n in (1, 2, 3)
        ),
    ),
    "force-point-on-flexible-node": (
        Table(
            "force-on-node.toml", "force",
            {
                **{f"forces.push.force.{a}": f"Q_T/{k}" for k, a in enumerate(XYZ)},
                **{f"bodies.body.applied[{k + 3}]": f"Q_R_body/{k}" for k in range(3)},
                **{f"bodies.body.applied[{k + 6}]": f"Q_f/{k}" for k in range(3)},
            }, rtol=1e-12, last=True,
        ),
        Table(
            "force-on-node.toml", "euler/node_position",
            {f"sensors.node.{a}": str(k) for k, a in enumerate(XYZ)}, rtol=1e-12, last=True,
            values={"bodies.body.initial.rot": {"sequence": "zyx", "angles": [0.4, -0.3, 1.0]}},
        ),
    ),
}  # fmt: skip
