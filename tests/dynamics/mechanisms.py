"""Random mechanisms that are closed by construction: bodies anywhere, joints fitted to where they are."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from scipy.linalg import eigh

from flexmbs.dynamics.loops import projection
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import InputError, SolverError
from flexmbs.expressions import parse
from flexmbs.ffrf.integrals import BODY_LOADS, ShapeIntegrals, interface_loads
from flexmbs.model.bodies import GROUND, FlexibleBody, Frame, Particle, RigidBody
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.joints import JOINTS
from flexmbs.model.joints.base import ROTATION
from flexmbs.model.model import Model
from flexmbs.model.touching.turns import turns
from flexmbs.spatial import exp_so3

#: Sequences for every type: how Q may stand in P.
IN_TREE = (
    "fixed",
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "free",
)
ONLY_CUT = (
    "constant_velocity",
    "in_line",
    "in_plane",
    "perpendicular",
    "parallel",
    "orientation",
    "distance",
)


def cloud(rng, nf, n_points=12):
    """Integrals of a cloud of mass points with random shapes: any (F2-F9) that can exist."""
    X, m = rng.normal(size=(n_points, 3)) * 0.4, rng.uniform(0.1, 0.6, n_points)
    Phi = rng.normal(size=(n_points, 3, nf)) * 0.3
    root = rng.normal(size=(nf, nf))
    return ShapeIntegrals(
        mass=float(m.sum()),
        S_O=m @ X,
        S_f=np.einsum("p,pka->ka", m, Phi),
        Theta_kl=np.einsum("p,pk,pl->kl", m, X, X),
        I_kl=np.einsum("p,pk,pla->kla", m, X, Phi),
        S_kl=np.einsum("p,pka,plb->klab", m, Phi, Phi),
        m_ff=np.einsum("p,pka,pkb->ab", m, Phi, Phi),
        K_ff=40.0 * (root @ root.T + np.eye(nf)),
        D_ff=0.1 * np.eye(nf),
    )


def orthonormal(B):
    """The same shapes combined so that m_ff = 1 and K_ff, D_ff are diagonal (F51)."""
    w2, V = eigh(B.K_ff, B.m_ff)
    return ShapeIntegrals(
        mass=B.mass,
        S_O=B.S_O,
        S_f=B.S_f @ V,
        Theta_kl=B.Theta_kl,
        I_kl=B.I_kl @ V,
        S_kl=np.einsum("ai,klab,bj->klij", V, B.S_kl, V),
        m_ff=np.eye(B.nf),
        K_ff=np.diag(w2),
        D_ff=np.diag(0.02 * np.sqrt(w2)),
    )


def stiffened(rng, B, n_interfaces=8):
    """The same with random second-order matrices of all unit loads, also of interfaces i0, i1, ... (F17a)."""
    loads = BODY_LOADS + sum((interface_loads(f"i{k}") for k in range(n_interfaces)), ())
    K = 0.1 * rng.normal(size=(len(loads), B.nf, B.nf))
    return replace(B, K_geo=K + K.transpose(0, 2, 1), loads=loads)


def rotation(rng, size=1.0):
    return exp_so3(rng.normal(size=3) * size)


def pose_in_joint(rng, kind, joint_keys):
    """A place d and orientation R of Q in P that the joint allows."""
    z, angle = np.array([0.0, 0.0, 1.0]), rng.uniform(-1.0, 1.0)
    Rz, I = exp_so3(z * angle), np.eye(3)
    d = rng.normal(size=3) * 0.3
    if kind == "fixed":
        return np.zeros(3), I
    if kind == "revolute":
        return np.zeros(3), Rz
    if kind == "prismatic":
        return z * d[2], I
    if kind == "helical":
        return z * joint_keys["lead"] / (2 * np.pi) * angle, Rz
    if kind == "cylindrical":
        return z * d[2], Rz
    if kind == "universal":
        return np.zeros(3), exp_so3([angle, 0, 0]) @ exp_so3([0, rng.uniform(-1, 1), 0])
    if kind == "planar":
        return np.array([d[0], d[1], 0.0]), Rz
    if kind == "spherical":
        return np.zeros(3), rotation(rng)
    if kind == "constant_velocity":
        return np.zeros(3), exp_so3([rng.uniform(-0.8, 0.8), rng.uniform(-0.8, 0.8), 0.0])
    if kind == "in_line":
        return z * d[2], rotation(rng)
    if kind == "in_plane":
        return np.array([d[0], d[1], 0.0]), rotation(rng)
    if kind == "perpendicular":
        return d, Rz @ exp_so3([np.pi / 2, 0, 0]) @ exp_so3(z * rng.uniform(-2, 2))
    if kind == "parallel":
        return d, Rz
    if kind == "orientation":
        return d, I
    if kind == "distance":
        return d * joint_keys["length"] / np.linalg.norm(d), rotation(rng)
    return d, rotation(rng)  # free


def place_marker(rng, model, body, x, R):
    """A frame on a body that stands at x, R in ground at the body's pose and modes; its path."""
    if body == GROUND:
        name = f"f{len(model.ground_frames)}"
        model.ground_frames[name] = Frame(pos=x, rot=R)
        return f"{GROUND}.{name}"
    part = model.bodies[body]
    u, R_P = part.pose_rot.T @ (x - part.pose_pos), part.pose_rot.T @ R
    if isinstance(part, FlexibleBody):
        name, nf = f"i{len(part.modal.interfaces)}", part.modal.integrals.nf
        Phi, Psi = rng.normal(size=(3, nf)) * 0.3, rng.normal(size=(3, nf)) * 0.3
        if nf > 9 and rng.random() < 0.5:
            Phi, Psi = 0.0 * Phi, 0.0 * Psi  # the interface of a tangent frame
        q = np.asarray(part.q)
        K_P = part.modal.integrals.load_matrices(interface_loads(name))
        second = 0.0 if K_P is None else -0.5 * np.einsum("a,cab,b->c", q, K_P, q)
        move = np.concatenate([Phi @ q, Psi @ q]) + second
        part.modal.interfaces[name] = SimpleNamespace(
            position=u - move[:3], rotation=exp_so3(move[3:]).T @ R_P, Phi=Phi, Psi=Psi
        )
    else:
        name = f"f{len(part.frames)}"
        part.frames[name] = Frame(pos=u, rot=R_P)
    return f"{body}.{name}"


def add_joint(rng, model, name, kind, a, b, **keys):
    """Fit a joint between two bodies where they stand."""
    if kind == "helical":
        keys["lead"] = 0.7
    if kind == "distance":
        keys["length"] = 0.8
    d, R = pose_in_joint(rng, kind, keys)
    # somewhere between the bodies, any axes; Q where the joint has it from there
    x_P, R_P = _near(rng, model, a), rotation(rng, 2.0)
    P = place_marker(rng, model, a, x_P, R_P)
    Q = place_marker(rng, model, b, x_P + R_P @ d, R_P @ R)
    model.add(JOINTS[kind](name=name, from_frame=P, to_frame=Q, **keys))


def _near(rng, model, body):
    centre = np.zeros(3) if body == GROUND else model.bodies[body].pose_pos
    return centre + rng.normal(size=3) * 0.5


def add_body(rng, model, name, kind, still=False, modes=0, stiff=False):
    pose = {"pose_pos": rng.normal(size=3), "pose_rot": rotation(rng, 2.0), "pose_given": True}
    if kind == "flexible":
        nf = modes or int(rng.integers(1, 4))
        integrals = cloud(rng, nf, 12 + 2 * nf)
        integrals = orthonormal(integrals) if modes else integrals
        integrals = stiffened(rng, integrals) if stiff else integrals
        modal = SimpleNamespace(integrals=integrals, interfaces={})
        q, q_dot = rng.normal(size=nf) * 0.3, rng.normal(size=nf) * (not still)
        model.add(FlexibleBody(name=name, modal=modal, q=q, q_dot=q_dot, **pose))
    elif kind == "particle":
        model.add(Particle(name=name, mass=rng.uniform(0.5, 2.0), **pose))
    else:
        J = np.diag(rng.uniform(0.05, 0.2, 3)) + 0.2 * np.eye(3)
        R = rotation(rng)
        com = rng.normal(size=3) * 0.2
        model.add(RigidBody(name=name, mass=rng.uniform(0.5, 2.0), com=com, inertia=R @ J @ R.T, **pose))


def random_mechanism(
    seed, *, n_bodies=5, n_loops=0, flexible=0.4, loop_kinds=None, cuts=(), modes=0, stiff=False, afloat=False
):
    """A tree of random joints with random closing joints; at most as many constraints as freedoms.

    `stiff`: flexible bodies with random geometric stiffening; `afloat`: nothing touches the ground.
    """
    rng = np.random.default_rng(seed)
    model = Model(gravity=rng.normal(size=3) * 5.0)
    names = [f"b{k}" for k in range(n_bodies)]
    still = n_loops > 0  # given elastic speeds need not be possible where loops leave little freedom
    freedoms = 0
    for k, name in enumerate(names):
        add_body(rng, model, name, "flexible" if rng.random() < flexible else "rigid", still, modes, stiff)
        if afloat and k == 0:
            freedoms += 6
            continue
        other = GROUND if k == 0 else str(rng.choice([*([] if afloat else [GROUND]), *names[:k]]))
        kind = str(rng.choice(IN_TREE))
        ends = (other, name) if rng.random() < 0.5 else (name, other)
        add_joint(rng, model, f"j{k}", kind, *ends, cut=f"j{k}" in cuts)
        freedoms += model.joints[f"j{k}"].n_eta
    for k in range(n_loops):
        kind = str(rng.choice(loop_kinds or [*IN_TREE[1:-1], *ONLY_CUT]))
        a, b = rng.choice(names if afloat else [GROUND, *names], size=2, replace=False)
        rows = len(JOINTS[kind](name="x", from_frame="", to_frame="", **_keys(kind)).locked)
        if rows < freedoms:
            add_joint(rng, model, f"loop{k}", kind, str(a), str(b), cut=f"loop{k}" in cuts)
            freedoms -= rows
    return model


def _keys(kind):
    return {"lead": 0.7} if kind == "helical" else {"length": 0.8} if kind == "distance" else {}


def couple(rng, model, count):
    """Couple joint coordinates by laws of random kinds that the start fulfils."""
    tree = build(model)
    evaluator = tree.evaluator()
    evaluator.kinematics(tree.initial_state())
    places = {(c.joint, c.name): evaluator.ws.coord.x[c.number] for c in tree.coordinates}
    for k in range(count):
        law = None
        for _ in range(10):  # not every kind finds its joints, as gears find no chain of turns
            law = law or drawn_law(rng, model, places, str(rng.choice(COUPLINGS.names())))
        if law is not None:
            model.add(COUPLINGS[law[0]](name=f"law{k}", **law[1]))


def drawn_law(rng, model, places, kind):
    """Kind and keys of a random coupling; None where the mechanism has no joints for it."""
    if kind in ("gear", "bevel_gear", "worm_gear"):
        return gear_law(rng, model, kind)
    free = list(places)
    if kind in ("rack_pinion", "screw"):
        turns = [item for item in free if item[1] in ("angle", "angle1", "angle2")]
        travels = [item for item in free if item not in turns]
        if not turns or not travels:
            return None
        turn, travel = (".".join(items[int(rng.integers(len(items)))]) for items in (turns, travels))
        size = float(rng.uniform(0.1, 0.5))
        keys = {"pinion": turn, "rack": travel, "radius": size}
        return kind, keys if kind == "rack_pinion" else {"nut": turn, "slide": travel, "lead": 6.0 * size}
    if len(free) < 2:
        return None
    picked = [free[int(n)] for n in rng.choice(len(free), size=min(len(free), 3), replace=False)]
    names, values = [".".join(item) for item in picked], [float(places[item]) for item in picked]
    c = (rng.uniform(0.3, 1.5, size=3) * rng.choice([-1, 1], size=3)).tolist()
    if kind == "linear":
        return kind, {"terms": dict(zip(names, c[: len(names)], strict=True))}
    (a, b), (x, y) = names[:2], values[:2]
    if kind == "cam":
        start = float(x - c[0] * np.sin(y) - 0.3 * y**2)
        return kind, {"follower": a, "cam": b, "lift": parse(f"={start!r} + {c[0]!r}*sin(x) + 0.3*x**2")}
    zero = float(x + c[0] * np.sin(y) + 0.2 * x * y)
    return kind, {"zero": parse(f"={a} + {c[0]!r}*sin({b}) + 0.2*{a}*{b} - ({zero!r})*cos(t)")}


def gear_law(rng, model, kind):
    """Two wheels and a carrier from which turns lead to both; None where they are not found."""
    bodies = [GROUND, *model.bodies]
    for _ in range(30):
        A, B, carrier = (str(name) for name in rng.choice(bodies, size=3, replace=len(bodies) < 3))
        try:
            if all(turns(model, "gear", wheel, carrier) for wheel in (A, B)) and A != B:
                teeth = tuple(float(n) for n in rng.integers(10, 40, size=2))
                return kind, {"wheels": (A, B), "carrier": carrier, "teeth": teeth}
        except InputError:
            continue
    return None


def drive_balls(model, seed):
    """Drive every ball that the loops leave room, by a rotation that the start has; whether there is one."""
    motion, rng = build(model), np.random.default_rng(seed)
    motion = motion.forward_dynamics(motion.initial_state())
    for joint in [item for item in model.joints.values() if ROTATION in item.drivable]:
        start = motion[f"joints.{joint.name}.position"][-4:]
        terms = zip(start, *rng.normal(size=(2, 4)), strict=True)
        law = RotationLaw("quaternion", tuple(parse(f"={a} + {b}*t + {c}*t**2") for a, b, c in terms))
        model.add(Drive(name=f"on_{joint.name}", joint=joint.name, coordinate=ROTATION, position=law))
        try:
            build(model).initial_state()
        except SolverError:
            del model.drives[f"on_{joint.name}"]
    return bool(model.drives)


def moving_state(system, seed):
    """Assembled state with random speeds on the constraints, and its evaluator."""
    evaluator, state = system.evaluator(), system.initial_state()
    state.vel[:] = np.random.default_rng(seed).normal(size=system.n_vel)
    projection.project(*evaluator._args(state, evaluator.acc), 0.0, 0.0, (1e-13, 20, False))
    state.turns[:] = evaluator.ws.relation.turn
    return evaluator, state


def body_accelerations(system, evaluator, acc):
    """[a; alpha; q_ddot] of every body in body axes, from an evaluator after `observe`."""
    found = {}
    for i, name in enumerate(system.bodies):
        if i:
            R, k, nf = evaluator.ws.body.R[i], system.tables.tree.o_qd[i], system.tables.body.nf[i]
            a = evaluator.ws.body.a[i]
            found[name] = np.concatenate([R.T @ a[:3], R.T @ a[3:], acc[k : k + nf]])
    return found
