"""Forces through joints, from the motion as it is (F21, F24): the outputs of a state.

What a joint transmits follows from the bodies outboard of it: their inertia forces at the accelerations
found, less the forces on them. So springs, drives and couplings are in it without being asked.
"""

from flexmbs._jit import kernel


@kernel(lean=True, apart=True)
def reactions(sys, ws):
    """Wrenches of all joints and efforts of drives.

    Needs the velocity stage and `residuals` with the final accelerations, and the multipliers in row_force.
    Writes: f_p, reaction, effort; f.
    """
    push_rows(sys, ws, ws.row_force)
    wrenches_and_efforts(sys, ws)


@kernel(lean=True, apart=True)
def add_stress(sys, ws, stress):
    """The same with the multipliers of a state of self-stress added (F28). Needs reactions.

    Drives are a part of what it loads. Writes: row_force, f_p, reaction, effort; f.
    """
    push_rows(sys, ws, stress)
    for r in range(stress.shape[0]):
        ws.row_force[r] += stress[r]
    wrenches_and_efforts(sys, ws)


@kernel(lean=True, apart=True)
def wrenches_and_efforts(sys, ws):
    """From the forces on the bodies, those of the rows among them. Writes: f_p, reaction, effort."""
    wrenches(sys, ws, 1.0)
    for d in range(sys.drive_coord.shape[0]):
        drive_effort(sys, ws, d)


@kernel(lean=True, apart=True)
def push_rows(sys, ws, multipliers):
    """What multipliers of the rows put on the bodies. Writes: f."""
    for r in range(sys.row_law.shape[0]):
        for k in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
            e, c = sys.rowent[k], ws.rowent_c[k] * multipliers[r]
            push(sys, ws, sys.ent_q[e], e, c)
            push(sys, ws, sys.ent_p[e], e, -c)


@kernel(lean=True, apart=True)
def wrenches(sys, ws, own):
    """Wrenches of all joints from the forces on the bodies (ws.f), multipliers, `own` times tau_coord."""
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
        joint_reaction(sys, ws, j, own)
    for r in range(sys.row_law.shape[0]):
        force_on_coordinates(sys, ws, r)


@kernel(lean=True)
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


@kernel(lean=True)
def joint_reaction(sys, ws, j, own):
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
        for row in range(6):
            out[row] += own * ws.tau_coord[c] * ws.ent[sys.coord_entry[c], 3 + row]


@kernel(lean=True)
def force_on_coordinates(sys, ws, r):
    """What drives and couplings put on the coordinates of cut joints passes through these joints.

    In a joint of the tree it is in the wrench that moves the bodies outboard; so no reaction depends on the
    choice of the cut. Writes: reaction.
    """
    for k in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
        e = sys.rowent[k]
        j = sys.ent_joint[e]
        if j >= 0:
            for row in range(6):
                ws.reaction[j, row] += ws.row_force[r] * ws.rowent_c[k] * ws.ent[e, 3 + row]


@kernel(lean=True)
def drive_effort(sys, ws, d):
    """Force of a drive: its column of H on the joint's wrench, less the joint's own springs (F19).

    On a ball: components in the axes of Q, one by one.
    """
    c, k = sys.drive_coord[d], sys.drive_vel[d]
    if sys.drive_row[d] >= 0:
        ws.effort[d] = ws.row_force[sys.drive_row[d]]
        return
    i, s = 1, 0.0
    if c >= 0:
        s = -ws.tau_coord[c]
    while sys.o_eta[i + 1] <= k:
        i += 1
    for row in range(6):
        s += ws.H[k, row] * ws.f_p[i, row]
    for n in range(sys.rowdof_coord.shape[0]):
        if c >= 0 and sys.rowdof_coord[n] == c:
            s -= ws.rowdof_c[n] * ws.row_force[row_of_dof(sys, n)]
    ws.effort[d] = s


@kernel(lean=True)
def row_of_dof(sys, n):
    """Row to which tree coordinate entry n belongs."""
    r = 0
    while sys.rowdof_start[r + 1] <= n:
        r += 1
    return r


@kernel(lean=True, apart=True)
def self_stress(sys, ws):
    """States of self-stress: null vectors of G^T and the joint wrenches that they make (F28).

    Blocks of loops share no joint: the first states of all of them stand in one vector, then the second ones.
    Needs factorise and the position stage. Writes: null, null_n, null_w, row_force; f, swap.
    """
    most = count_stress(sys, ws)
    for a in range(most):
        for r in range(ws.redundant.shape[0]):
            ws.null[a, r] = 0.0
    for r in range(ws.redundant.shape[0]):
        ws.swap[r] = 0.0
    for b in range(ws.null_n.shape[0]):
        ws.null_n[b] = 0
    for r in range(ws.redundant.shape[0]):
        b = sys.block_of_group[sys.group_of_row[r]]
        if ws.redundant[r] != 0 and ws.null_n[b] < most:
            null_vector(sys, ws, r, ws.null[ws.null_n[b]])
            ws.null_n[b] += 1
    wrenches_of_stress(sys, ws)


@kernel(lean=True, apart=True)
def wrenches_of_stress(sys, ws):
    """Joint wrenches of the states of self-stress. Needs the position stage. Writes: null_w, row_force; f."""
    most = 0
    for b in range(ws.null_n.shape[0]):
        most = max(most, ws.null_n[b])
    for a in range(most):
        stress_wrenches(sys, ws, ws.null[a], ws.null_w[a])


@kernel(lean=True)
def count_stress(sys, ws):
    """States of self-stress of every block, and the most of one. Writes: null_n."""
    most = 0
    for b in range(ws.null_n.shape[0]):
        ws.null_n[b] = 0
    for r in range(ws.redundant.shape[0]):
        b = sys.block_of_group[sys.group_of_row[r]]
        ws.null_n[b] += ws.redundant[r]
        most = max(most, ws.null_n[b])
    return min(most, ws.null.shape[0])


@kernel(lean=True, apart=True)
def stress_wrenches(sys, ws, stress, out):
    """Joint wrenches of a state of self-stress, given by its multipliers (F28).

    Needs the position stage. Writes: out (6 n_joints,), row_force, reaction, f.
    """
    for i in range(ws.f.shape[0]):
        for row in range(6):
            ws.f[i, row] = 0.0
    for n in range(ws.row_force.shape[0]):
        ws.row_force[n] = stress[n]
    push_rows(sys, ws, stress)
    wrenches(sys, ws, 0.0)
    for j in range(ws.reaction.shape[0]):
        for row in range(6):
            out[6 * j + row] = ws.reaction[j, row]


@kernel(lean=True)
def null_vector(sys, ws, r, out):
    """The combination of rows that vanishes, with redundant row r (F28). Writes: out in the block of r.

    Needs swap, by places, to be zero, and leaves it so.
    """
    S, start, low, order, x = ws.S, sys.env_start, sys.env_first, ws.order, ws.swap
    block = sys.block_of_group[sys.group_of_row[r]]
    p = sys.group_start[sys.group_of_row[r]]
    while order[p] != r:
        p += 1
    out[r] = 1.0
    least, row = low[p], start[p] - low[p]
    for c in range(low[p], p):
        if ws.redundant[order[c]] == 0:
            x[c] = -S[row + c]
    c = p - 1
    while c >= least:
        value, x[c] = x[c], 0.0
        if value != 0.0:
            least, row = min(least, low[c]), start[c] - low[c]
            for n in range(low[c], c):
                if ws.redundant[order[n]] == 0:
                    x[n] -= S[row + n] * value
            if sys.block_of_group[sys.group_of_row[order[c]]] == block:  # anything else is rounding
                out[order[c]] = value
        c -= 1
