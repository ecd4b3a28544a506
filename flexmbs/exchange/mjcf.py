"""MJCF, compiled by MuJoCo: bodies with several joints each, equality constraints, losses, springs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, missing_component
from flexmbs.exchange.robots import Joint, Link, Names, Robot
from flexmbs.exchange.xml_files import check_files
from flexmbs.spatial import quat_to_matrix

Floats = NDArray[np.float64]

FREE, BALL, SLIDE, HINGE = range(4)
TYPES = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
CONNECT, WELD, JOINT = range(3)
SPHERE, CAPSULE, CYLINDER, BOX, MESH = 2, 3, 5, 6, 7
DRAWN = (SPHERE, CAPSULE, CYLINDER, BOX, MESH)
#: MuJoCo shows the groups of shapes up to this one unless it is told otherwise; those behind are for contacts
SHOWN = 2


def read(path: Path, base: str, root: Path) -> Robot:
    """The mechanism of a file; `base` is what the file says."""
    try:
        import mujoco
    except ImportError:
        raise missing_component("reading MJCF", "mujoco", "robots") from None
    check_files(path, root)
    told: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(told.append)  # else MuJoCo writes a log into the folder where we stand
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        what = f"is no MJCF that can be compiled ({str(error)[:80]})"
        raise InputError(
            Diagnostic("exchange.content", path.name, what, "expected a model of MuJoCo")
        ) from None
    finally:
        mujoco.set_mju_user_warning(before)
    robot = _Reader(mujoco, model, path).robot
    robot.left_out += [
        f"what MuJoCo warns of: {' '.join(text.split())[:200]}" for text in dict.fromkeys(told)
    ]
    return robot


class _Reader:
    """Numbers of a compiled model -> names and tables."""

    def __init__(self, mujoco: Any, model: Any, path: Path) -> None:
        self.mujoco, self.m = mujoco, model
        off, bit = int(model.opt.disableflags), mujoco.mjtDisableBit
        falls = 0.0 if off & int(bit.mjDSBL_GRAVITY) else 1.0
        self.robot = Robot(f"{path.stem}, from {path.name}", falls * np.array(model.opt.gravity, dtype=float))
        if off & int(bit.mjDSBL_SPRING):
            model.jnt_stiffness[:] = 0.0
        if off & int(bit.mjDSBL_DAMPER):
            model.dof_damping[:] = 0.0
        self.links, self.joints = Names(), Names()
        self.at: dict[int, Link] = {}
        for body in range(1, model.nbody):
            self.body(body)
        for k in range(model.neq):
            self.equality(k)
        self.rest()

    def name(self, kind: str, number: int, table: Names) -> str:
        found = self.mujoco.mj_id2name(self.m, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), number)
        return table(found or f"{kind}{number}")

    def end(self, body: int, frame: str, pos: Floats, R: Floats) -> str:
        """A frame on a body, or on ground, which keeps the frames of a link of its own."""
        if body == 0:
            if 0 not in self.at:
                self.at[0] = Link(self.links("world_body"))
                self.robot.links.insert(0, self.at[0])
                self.robot.joints.insert(0, Joint(self.joints("world"), "fixed", "ground", self.at[0].name))
            body = 0
        self.at[body].frames[frame] = (np.array(pos, dtype=float), R)
        return f"{self.at[body].name}.{frame}"

    def body(self, b: int) -> None:
        """A body, with a massless one between every two of its joints."""
        m = self.m
        link = Link(
            self.name("body", b, self.links), float(m.body_mass[b]), np.array(m.body_ipos[b], dtype=float)
        )
        R = quat_to_matrix(m.body_iquat[b])
        link.inertia = R @ np.diag(m.body_inertia[b]) @ R.T
        parent, pos, turn = int(m.body_parentid[b]), np.array(m.body_pos[b]), quat_to_matrix(m.body_quat[b])
        first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
        self.at[b] = link
        if m.body_mocapid[b] >= 0:
            self.robot.left_out.append(f"body {link.name} is moved from outside (mocap): it is fixed here")
        if count == 0:
            start = self.end(parent, link.name, pos, turn)
            self.robot.joints.append(Joint(self.joints(f"{link.name}_weld"), "fixed", start, link.name))
        holder, place, axes = parent, pos, turn
        for k in range(first, first + count):
            last = k == first + count - 1
            name = self.name("joint", k, self.joints)
            kind, anchor = TYPES[int(m.jnt_type[k])], np.array(m.jnt_pos[k], dtype=float)
            if kind == "free":
                self.robot.joints.append(self.losses(Joint(name, kind, "ground", link.name), k))
                self.robot.joints[-1].position = [float(x) for x in m.qpos0[m.jnt_qposadr[k] :][:7]]
                break
            start = self.end(holder, name, place + axes @ anchor, axes)
            if last:
                target, number = link, b
            else:
                number = -1 - k
                target = self.at[number] = Link(self.links(f"{link.name}_{name}"))
                self.robot.links.append(target)
            target.frames[name] = (anchor, np.eye(3))
            joint = self.losses(Joint(name, kind, start, f"{target.name}.{name}"), k)
            if kind in ("prismatic", "revolute"):
                joint.axis = np.array(m.jnt_axis[k], dtype=float)
            self.robot.joints.append(joint)
            holder, place, axes = number, np.zeros(3), np.eye(3)
        self.robot.links.append(link)

    def losses(self, joint: Joint, k: int) -> Joint:
        """Limits, damping, friction, springs; coordinates of MuJoCo count from qpos0."""
        m, dof = self.m, int(self.m.jnt_dofadr[k])
        zero = float(m.qpos0[m.jnt_qposadr[k]]) if joint.type in ("prismatic", "revolute") else 0.0
        if zero:
            self.robot.left_out.append(f"joint {joint.name} counts from {zero:g} in MuJoCo, from zero here")
        if m.dof_armature[dof]:
            self.rotor(joint, float(m.dof_armature[dof]))
        if joint.type not in ("prismatic", "revolute"):
            if m.dof_damping[dof] or m.dof_frictionloss[dof] or np.any(m.jnt_stiffness[k]):
                self.robot.left_out.append(f"damping, friction, spring of joint {joint.name}")
            if m.jnt_limited[k]:
                self.robot.left_out.append(f"limit of joint {joint.name}")
            return joint
        joint.damping, joint.friction = float(np.ravel(m.dof_damping[dof])[0]), float(m.dof_frictionloss[dof])
        joint.stiffness = float(np.ravel(m.jnt_stiffness[k])[0])
        joint.free = float(m.qpos_spring[m.jnt_qposadr[k]]) - zero
        if m.jnt_limited[k]:
            lower, upper = (float(x) - zero for x in m.jnt_range[k])
            joint.limits = (lower, upper)
        return joint

    def rotor(self, joint: Joint, inertia: float) -> None:
        """Armature: inertia that the speed of a joint alone moves; a rotor on ground that turns with it."""
        if joint.type not in ("prismatic", "revolute"):
            self.robot.left_out.append(f"armature of joint {joint.name}, {inertia:g}")
            return
        name, body = self.joints(f"{joint.name} rotor"), self.links(f"{joint.name} rotor")
        shown = [{"shape": "none"}]
        self.robot.links.append(Link(body, inertia=inertia * np.eye(3), visual=shown))
        self.robot.joints.append(Joint(name, "revolute", "ground", body))
        self.robot.rotors[name] = joint.name

    def equality(self, k: int) -> None:
        """Loops and relations of joints."""
        m, kind = self.m, int(self.m.eq_type[k])
        name = self.name("equality", k, self.joints)
        one, two, data = int(m.eq_obj1id[k]), int(m.eq_obj2id[k]), np.array(m.eq_data[k], dtype=float)
        if not m.eq_active0[k]:
            self.robot.left_out.append(f"equality {name}: not active at the start")
        elif kind == JOINT:
            x = f"{self.name('joint', one, self.joints)}.position"
            y = f"{self.name('joint', two, self.joints)}.position" if two >= 0 else "0"
            law = " - ".join([x, *(f"({float(a)!r})*({y})**{p}" for p, a in enumerate(data[:5]) if a)])
            self.robot.laws[name] = law.replace(f"*({y})**0", "")
        elif kind in (CONNECT, WELD) and int(m.eq_objtype[k]) == int(self.mujoco.mjtObj.mjOBJ_SITE):
            ends = [
                self.end(int(m.site_bodyid[site]), name, m.site_pos[site], quat_to_matrix(m.site_quat[site]))
                for site in (one, two)
            ]
            self.close(name, kind, *ends)
        elif kind in (CONNECT, WELD) and int(m.eq_objtype[k]) == int(self.mujoco.mjtObj.mjOBJ_BODY):
            # connect: anchors in both bodies; weld: anchor in the second, then its pose in the first
            if kind == CONNECT:
                places, R = (data[:3], data[3:6]), np.eye(3)
            else:
                R = quat_to_matrix(data[6:10])
                places = (data[3:6] + R @ data[:3], data[:3])
            start = self.end(one, name, places[0], R)
            self.close(name, kind, start, self.end(two, name, places[1], np.eye(3)))
        else:
            self.robot.left_out.append(f"equality {name}: only connect, weld and joint are taken")

    def close(self, name: str, kind: int, start: str, end: str) -> None:
        """A loop between two frames."""
        self.robot.joints.append(
            Joint(name, "spherical" if kind == CONNECT else "fixed", start, end, cut=True)
        )

    def pictures(self) -> int:
        """Shapes of moving bodies and their meshes. Returns how many are not drawn."""
        m, names, left = self.m, Names(), 0
        for g in range(m.ngeom):
            link, kind, size = self.at.get(int(m.geom_bodyid[g])), int(m.geom_type[g]), m.geom_size[g]
            pos, R = np.array(m.geom_pos[g], dtype=float), quat_to_matrix(m.geom_quat[g])
            at = {"pos": pos, "rot": R}
            if link is None or m.geom_bodyid[g] == 0 or m.geom_group[g] > SHOWN or kind not in DRAWN:
                left += 1
            elif kind == MESH:
                link.visual.append({"file": self.surface(int(m.geom_dataid[g]), names)} | at)
            elif kind == BOX:
                link.visual.append({"shape": "box", "size": 2.0 * size} | at)
            else:
                if kind in (CAPSULE, CYLINDER):
                    tube = {"shape": "cylinder", "radius": float(size[0]), "length": 2.0 * float(size[1])}
                    link.visual.append(tube | at)
                ends = {SPHERE: [0.0], CAPSULE: [-size[1], size[1]]}.get(kind, [])
                ball = {"shape": "sphere", "radius": float(size[0])}
                link.visual += [ball | {"pos": pos + x * R[:, 2]} for x in ends]
        return left

    def surface(self, k: int, names: Names) -> str:
        """A mesh as MuJoCo has it: scaled, in its own axes of inertia."""
        m, name = self.m, self.name("mesh", k, names)
        v, f = int(m.mesh_vertadr[k]), int(m.mesh_faceadr[k])
        points = np.array(m.mesh_vert[v : v + m.mesh_vertnum[k]], dtype=float)
        faces = np.array(m.mesh_face[f : f + m.mesh_facenum[k]], dtype=np.int64)
        self.robot.surfaces[name] = (points, faces)
        return name

    def rest(self) -> None:
        """What a case does not take from the file."""
        m = self.m
        for count, what in (
            (m.nu, "actuators"), (m.ntendon, "tendons"), (m.nsensor, "sensors"), (m.nflex, "flexible bodies"),
            (m.nkey, "keyframes"),
        ):  # fmt: skip
            if count:
                self.robot.left_out.append(f"{count} {what}")
        if m.opt.density or m.opt.viscosity or np.any(m.opt.wind):
            self.robot.left_out.append("forces of the medium (density, viscosity, wind)")
        if np.any(m.body_gravcomp):
            self.robot.left_out.append(
                f"weight that is taken off {np.count_nonzero(m.body_gravcomp)} bodies (gravcomp)"
            )
        touching = int(np.count_nonzero(np.asarray(m.geom_contype) | np.asarray(m.geom_conaffinity)))
        if touching:
            self.robot.left_out.append(f"contacts of {touching} shapes")
        left = self.pictures()
        if left:
            what = "(planes, ellipsoids and the like, of the world, of hidden groups)"
            self.robot.left_out.append(f"pictures of {left} shapes {what}")
