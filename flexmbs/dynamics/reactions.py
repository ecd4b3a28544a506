"""Forces through joints, from the motion as it is (F21, F24): the outputs of a state.

What a joint transmits follows from the bodies outboard of it: their inertia forces at the accelerations
found, less the forces on them. So springs, drives and couplings are in it without being asked.
"""

from flexmbs._jit import kernel


@kernel(lean=True)
def reactions(sys, ws):
    """Wrenches of all joints and efforts of drives.

    Needs the velocity stage and `residuals` with the final accelerations, and the multipliers in row_force.
    Writes: f_p, reaction, effort; f.
    """
    for r in range(sys.row_law.shape[0]):
        for k in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
            e, c = sys.rowent[k], ws.rowent_c[k] * ws.row_force[r]
            push(sys, ws, sys.ent_q[e], e, c)
            push(sys, ws, sys.ent_p[e], e, -c)
    n = sys.parent.shape[0]
    for i in range(n):
        for row in range(6):
            ws.f_p[i, row] = 0.0
    for i in range(n - 1, 0, -1):
        p, f = sys.parent[i], ws.f_p[i]
        for row in range(6):
            f[row] -= ws.f[i, row]
        x, y, z = ws.r[i, 0] - ws.r[p, 0], ws.r[i, 1] - ws.r[p, 1], ws.r[i, 2] - ws.r[p, 2]
        up = ws.f_p[p]
        up[0] += f[0]
        up[1] += f[1]
        up[2] += f[2]
        up[3] += f[3] + y * f[2] - z * f[1]
        up[4] += f[4] + z * f[0] - x * f[2]
        up[5] += f[5] + x * f[1] - y * f[0]
    for j in range(sys.joint_body.shape[0]):
        joint_reaction(sys, ws, j)
    for d in range(sys.drive_coord.shape[0]):
        drive_effort(sys, ws, d)


@kernel(lean=True, inner=True)
def push(sys, ws, m, e, c):
    """c times the wrench of relation e on the rigid rows of the body of marker m. Writes: f."""
    i, q, ent = sys.mark_body[m], sys.ent_q[e], ws.ent[e]
    fx, fy, fz = c * ent[3], c * ent[4], c * ent[5]
    x, y, z = ws.mark_x[q, 0] - ws.r[i, 0], ws.mark_x[q, 1] - ws.r[i, 1], ws.mark_x[q, 2] - ws.r[i, 2]
    ws.f[i, 0] += fx
    ws.f[i, 1] += fy
    ws.f[i, 2] += fz
    ws.f[i, 3] += c * ent[6] + y * fz - z * fy
    ws.f[i, 4] += c * ent[7] + z * fx - x * fz
    ws.f[i, 5] += c * ent[8] + x * fy - y * fx


@kernel(lean=True, inner=True)
def joint_reaction(sys, ws, j):
    """Force and moment of P's side on Q's side at the origin of Q. Writes: reaction[j]."""
    out, i, q = ws.reaction[j], sys.joint_body[j], sys.joint_q[j]
    for row in range(6):
        out[row] = 0.0
    if i > 0:
        s, f = sys.joint_sign[j], ws.f_p[i]
        x, y, z = ws.r[i, 0] - ws.mark_x[q, 0], ws.r[i, 1] - ws.mark_x[q, 1], ws.r[i, 2] - ws.mark_x[q, 2]
        out[0], out[1], out[2] = s * f[0], s * f[1], s * f[2]
        out[3] = s * (f[3] + y * f[2] - z * f[1])
        out[4] = s * (f[4] + z * f[0] - x * f[2])
        out[5] = s * (f[5] + x * f[1] - y * f[0])
        return
    for r in range(sys.joint_row[j, 0], sys.joint_row[j, 1]):
        for k in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
            for row in range(6):
                out[row] += ws.row_force[r] * ws.rowent_c[k] * ws.ent[sys.rowent[k], 3 + row]
    for c in range(sys.joint_coord[j, 0], sys.joint_coord[j, 1]):
        tau = ws.tau_coord[c]
        for d in range(sys.drive_coord.shape[0]):
            if sys.drive_coord[d] == c:
                tau += ws.row_force[sys.drive_row[d]]
        for row in range(6):
            out[row] += tau * ws.ent[sys.coord_entry[c], 3 + row]


@kernel(lean=True, inner=True)
def drive_effort(sys, ws, d):
    """Force of a drive: its column of H on the joint's wrench, less the joint's own springs (F19)."""
    c = sys.drive_coord[d]
    if sys.drive_row[d] >= 0:
        ws.effort[d] = ws.row_force[sys.drive_row[d]]
        return
    k = sys.coord_vel[c]
    i, s = 1, -ws.tau_coord[c]
    while sys.o_eta[i + 1] <= k:
        i += 1
    for row in range(6):
        s += ws.H[k, row] * ws.f_p[i, row]
    for n in range(sys.rowdof_coord.shape[0]):
        if sys.rowdof_coord[n] == c:
            s -= ws.rowdof_c[n] * ws.row_force[row_of_dof(sys, n)]
    ws.effort[d] = s


@kernel(lean=True, inner=True)
def row_of_dof(sys, n):
    """Row to which tree coordinate entry n belongs."""
    r = 0
    while sys.rowdof_start[r + 1] <= n:
        r += 1
    return r
