"""The same trees and loops in Pinocchio: accelerations of random mechanisms.

Pinocchio's composite joints take the coordinates of ours one by one: a turn and a travel are its RZ and PZ, a
universal joint its RX and RY, a free joint a translation and a ball. Quaternions are scalar last there.
"""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.spatial import exp_so3, quat_from_matrix

pytestmark = pytest.mark.needs("pinocchio")
GRAVITY = np.array([0.5, -1.0, -9.0])
#: our joints as sequences of theirs
PARTS = {
    "revolute": ("RZ",),
    "prismatic": ("PZ",),
    "cylindrical": ("RZ", "PZ"),
    "universal": ("RX", "RY"),
    "planar": ("PX", "PY", "RZ"),
    "spherical": ("Spherical",),
    "free": ("Translation", "Spherical"),
}
FREEDOMS = {"Spherical": 3, "Translation": 3}


def random_body(rng):
    """Mass, mass centre and central inertia of a cloud of points."""
    X, m = rng.normal(size=(8, 3)) * 0.3, rng.uniform(0.1, 0.5, 8)
    com = m @ X / m.sum()
    d = X - com
    return m.sum(), com, (m[:, None, None] * (np.einsum("pk,pk,ij->pij", d, d, np.eye(3))
                                              - np.einsum("pi,pj->pij", d, d))).sum(axis=0)  # fmt: skip


def random_tree(rng, n):
    """Parents, kinds and places of n joints, with inertia and state; every kind appears."""
    kinds = list(PARTS) + list(rng.choice(list(PARTS)[:6], n - len(PARTS)))
    rng.shuffle(kinds)
    links = []
    for k in range(n):
        parent = int(rng.integers(-1, k)) if k else -1
        speeds = sum(FREEDOMS.get(part, 1) for part in PARTS[kinds[k]])
        links.append({
            "parent": parent, "kind": str(kinds[k]), "pos": rng.normal(size=3) * 0.5,
            "R": exp_so3(rng.normal(size=3)), "inertia": random_body(rng),
            "velocity": rng.normal(size=speeds), "position": random_position(rng, kinds[k]),
        })  # fmt: skip
    return links


def random_position(rng, kind):
    """Coordinates in our order, quaternions scalar first."""
    found = []
    for part in PARTS[kind]:
        quaternion = quat_from_matrix(exp_so3(rng.normal(size=3)))
        found += list(quaternion if part == "Spherical" else rng.normal(size=FREEDOMS.get(part, 1)))
    return np.array(found)


def our_case(links, cuts=()):
    """The tree as a case; a cut joins two bodies by frames given in their axes."""
    bodies, joints = {}, {}
    frames = {f"f{k}": place(link["pos"], link["R"]) for k, link in enumerate(links) if link["parent"] < 0}
    for k, link in enumerate(links):
        mass, com, J = link["inertia"]
        inertia = {
            "ixx": J[0, 0],
            "iyy": J[1, 1],
            "izz": J[2, 2],
            "ixy": J[0, 1],
            "ixz": J[0, 2],
            "iyz": J[1, 2],
        }
        own = {f"f{i}": place(x["pos"], x["R"]) for i, x in enumerate(links) if x["parent"] == k}
        own |= {f"c{c}": place(pos, R) for c, cut in enumerate(cuts) for b, pos, R in cut["ends"] if b == k}
        bodies[f"b{k}"] = {
            "type": "rigid", "mass": float(mass), "com": com.tolist(), "frames": own,
            "inertia": {key: float(value) for key, value in inertia.items()},
        }  # fmt: skip
        side = "ground" if link["parent"] < 0 else f"b{link['parent']}"
        joints[f"j{k}"] = {
            "type": link["kind"], "from": f"{side}.f{k}", "to": f"b{k}",
            "initial": {"position": link["position"].tolist(), "velocity": link["velocity"].tolist()},
        }  # fmt: skip
    for c, cut in enumerate(cuts):
        ends = [f"b{body}.c{c}" for body, _, _ in cut["ends"]]
        joints[f"cut{c}"] = {"type": cut["kind"], "from": ends[0], "to": ends[1], "cut": True}
    return {
        "gravity": GRAVITY.tolist(), "ground": {"frames": frames}, "bodies": bodies, "joints": joints,
        "analysis": {"t_end": 0.0},
    }  # fmt: skip


def place(pos, R):
    return {"pos": np.asarray(pos).tolist(), "rot": {"matrix": np.asarray(R).tolist()}}


def their_model(links):
    import pinocchio as pin

    model, numbers = pin.Model(), []
    model.gravity.linear = GRAVITY
    for k, link in enumerate(links):
        joint = pin.JointModelComposite()
        for part in PARTS[link["kind"]]:
            joint.addJoint(getattr(pin, f"JointModel{part}")(), pin.SE3.Identity())
        parent = 0 if link["parent"] < 0 else numbers[link["parent"]]
        numbers.append(model.addJoint(parent, joint, pin.SE3(link["R"], link["pos"]), f"j{k}"))
        mass, com, J = link["inertia"]
        model.appendBodyToJoint(numbers[-1], pin.Inertia(mass, com, J), pin.SE3.Identity())
    return model, numbers


def their_state(model, numbers, links, motion):
    """q and v of Pinocchio from the joints of our state."""
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for k, number in enumerate(numbers):
        joint, at = model.joints[number], 0
        position = np.array(motion[f"joints.j{k}.position"])
        for part in PARTS[links[k]["kind"]]:
            size = 4 if part == "Spherical" else FREEDOMS.get(part, 1)
            if part == "Spherical":
                position[at : at + 4] = np.roll(position[at : at + 4], -1)
            at += size
        q[joint.idx_q : joint.idx_q + joint.nq] = position
        v[joint.idx_v : joint.idx_v + joint.nv] = motion[f"joints.j{k}.velocity"]
    return q, v


def ours(links, cuts=()):
    system = Case.from_dict(our_case(links, cuts)).system()
    return system.forward_dynamics(system.initial_state())


def accelerations(motion, links):
    return np.concatenate([motion[f"joints.j{k}.acceleration"] for k in range(len(links))])


def in_our_order(model, numbers, a):
    return np.concatenate([a[model.joints[n].idx_v :][: model.joints[n].nv] for n in numbers])


@pytest.mark.parametrize("seed", range(5))
def test_accelerations_of_random_trees(seed):
    import pinocchio as pin

    rng = np.random.default_rng(seed)
    links = random_tree(rng, 12)
    motion = ours(links)
    model, numbers = their_model(links)
    q, v = their_state(model, numbers, links, motion)
    known = in_our_order(model, numbers, pin.aba(model, model.createData(), q, v, np.zeros(model.nv)))
    found = accelerations(motion, links)
    assert np.abs(found - known).max() < 1e-10 * np.abs(known).max()  # rounding


def closed(rng, links, model, numbers, motion, kind):
    """A cut between two bodies, where they stand: our frames, and the same as frames of Pinocchio."""
    import pinocchio as pin

    data = model.createData()
    q, v = their_state(model, numbers, links, motion)
    pin.forwardKinematics(model, data, q, v)
    a, b = rng.choice(len(links), 2, replace=False)
    world = pin.SE3(exp_so3(rng.normal(size=3)), rng.normal(size=3) * 0.3)
    ends = [data.oMi[numbers[k]].inverse() * world for k in (a, b)]
    cut = {
        "kind": kind,
        "ends": [(int(k), end.translation, end.rotation) for k, end in zip((a, b), ends, strict=True)],
    }
    frames = [
        model.addFrame(pin.Frame(f"{kind}{len(model.frames)}", numbers[k], end, pin.FrameType.OP_FRAME))
        for k, end in zip((a, b), ends, strict=True)
    ]
    return cut, (*frames, 3 if kind == "spherical" else 6)


def constrained(model, q, v, cuts):
    """Accelerations by inverse dynamics and constraint rows of Pinocchio, and a dense solve.

    The mass matrix comes from inverse dynamics, column by column: `crba` and `constraintDynamics` of version
    4.1 disagree with the `rnea` and `aba` of the same library when joints are composite.
    """
    import pinocchio as pin

    data, zero = model.createData(), np.zeros(model.nv)
    h = np.array(pin.rnea(model, data, q, v, zero))
    rest = np.array(pin.rnea(model, data, q, zero, zero))
    M = np.stack([pin.rnea(model, data, q, zero, column) - rest for column in np.eye(model.nv)], axis=1)
    pin.forwardKinematics(model, data, q, v, zero)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    G, drift = [], []
    for a, b, n in cuts:
        assert np.allclose(data.oMf[a].translation, data.oMf[b].translation, atol=1e-10)
        G.append(
            (pin.getFrameJacobian(model, data, b, axes) - pin.getFrameJacobian(model, data, a, axes))[:n]
        )
        at = [pin.getFrameClassicalAcceleration(model, data, frame, axes).vector for frame in (a, b)]
        drift.append((at[1] - at[0])[:n])
    G, drift = np.vstack(G), np.concatenate(drift)
    assert np.abs(G @ v).max() < 1e-10
    K = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
    # the forces of redundant rows are open, the accelerations are not
    return np.linalg.lstsq(K, np.concatenate([-h, -drift]), rcond=1e-12)[0][: model.nv]


@pytest.mark.parametrize("kinds", [("spherical",), ("spherical", "spherical"), ("fixed",)])
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_of_random_loops(seed, kinds):
    """Assembly makes the speeds consistent, both start from its state; some rows are redundant."""
    import pinocchio as pin

    rng = np.random.default_rng(100 + seed)
    links = random_tree(rng, 12)
    model, numbers = their_model(links)
    pairs = [closed(rng, links, model, numbers, ours(links), kind) for kind in kinds]
    motion = ours(links, [cut for cut, _ in pairs])
    q, v = their_state(model, numbers, links, motion)
    known = in_our_order(model, numbers, constrained(model, q, v, [frames for _, frames in pairs]))
    found = accelerations(motion, links)
    free = in_our_order(model, numbers, pin.aba(model, model.createData(), q, v, np.zeros(model.nv)))
    assert np.abs(free - known).max() > 1e-2 * np.abs(known).max()  # the loop matters
    assert np.abs(found - known).max() < 1e-10 * np.abs(known).max()  # rounding
