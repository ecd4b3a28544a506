"""Mass matrix and quadratic velocity forces of one body in one pass over its table (F10-F13, F17a).

The elastic columns of M are three-rowed: `m_Tf`, `m_Rf`; the elastic block m_ff is constant. So the
kernel fills two small blocks and leaves dense matrices to whoever wants them. Of C_kl = I_kl + q^T S_kl and
E_kl = C_kl q_dot (F11, F13) it forms the combinations that are needed:

    I_Rf = eps_ijk C_jk,   d Theta / dq = tr(C) 1 - C and its transpose,   Theta_dot the same of E

and groups the forces by them (`written.py` has C_kl, P_kl and E_kl themselves):

    Q_R = -w~ Theta w - Theta_dot w - w~ I_Rf q_dot + q_dot^T K_al q_dot
    Q_f = w^T (d Theta / dq) w / 2 + 2 w_i A_i q_dot

which is (F13) with (F17a) after the symmetric and the antisymmetric part of E_kl are kept apart. The
kernel is one loop over the modes and long, because every number of the table is read once: 15 nf^2 numbers
with stiffening, 9 nf^2 without, are the whole cost of a body with many modes.
"""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.ffrf.table import HEADER, RECORD

#: Layout of the output `body`: S_t (3), Theta sym (6), Q_T (3), Q_R (3).
N_BODY_OUT = 15
#: Layout of the output `rows`, for every mode: m_Tf column (3), m_Rf column (3), Q_f.
N_ROW_OUT = 7


@kernel(reassociate=True, lean=True, later="void")
def inertia(data, o, sizes, state, w, out):
    """Inertia of a body at q, and its velocity forces at (w, q_dot) (F10-F13, F17a).

    `data` from offset `o` is the block of `pack_body` with the `sizes` nf, n_T, n_A, n_G; `state` = (q, iq,
    q_dot, id): they start at iq and id; w in body axes. `out` = (body, ib, rows, ir). Writes:
    body[ib : ib + 15], rows[ir : ir + 7 nf] in the layouts above.
    """
    (nf, n_T, n_A, n_G), (q, iq, q_dot, id), (wx, wy, wz), (body, ib, rows, ir) = sizes, state, w, out
    stx, sty, stz = data[o + 1], data[o + 2], data[o + 3]
    txx, txy, txz = data[o + 4], data[o + 5], data[o + 6]
    tyy, tyz, tzz = data[o + 7], data[o + 8], data[o + 9]
    linear = data[o + 10]
    # rates of S_t and Theta; S_f q_dot, I_Rf q_dot, q_dot^T K q_dot
    ux = uy = uz = 0.0
    dxx = dxy = dxz = dyy = dyz = dzz = 0.0
    fx = fy = fz = 0.0
    hx = hy = hz = 0.0
    kx = ky = kz = 0.0
    lx = ly = lz = 0.0
    half_xx, half_yy, half_zz = 0.5 * wx * wx, 0.5 * wy * wy, 0.5 * wz * wz
    size = RECORD + (n_T + n_A + n_G) * nf
    q_b, d_b = q[iq : iq + nf], q_dot[id : id + nf]
    for a in range(nf):
        p = o + HEADER + a * size
        qa, da = q_b[a], d_b[a]
        # y = T q: half of what q^T S_kl in C_kl does to the slope of Theta
        y0 = y1 = y2 = y3 = y4 = y5 = 0.0
        r = p + RECORD
        if n_T > 0:
            # views let the compiler see that the rows are contiguous
            m0, m1, m2 = data[r : r + nf], data[r + nf : r + 2 * nf], data[r + 2 * nf : r + 3 * nf]
            r += 3 * nf
            m3, m4, m5 = data[r : r + nf], data[r + nf : r + 2 * nf], data[r + 2 * nf : r + 3 * nf]
            r += 3 * nf
            for b in range(nf):
                qb = q_b[b]
                y0 += m0[b] * qb
                y1 += m1[b] * qb
                y2 += m2[b] * qb
                y3 += m3[b] * qb
                y4 += m4[b] * qb
                y5 += m5[b] * qb
        # A q: q^T S_kl in eps_ijk C_jk with the other sign; A q_dot: the Coriolis force
        a0 = a1 = a2 = c0 = c1 = c2 = 0.0
        if n_A > 0:
            m0, m1, m2 = data[r : r + nf], data[r + nf : r + 2 * nf], data[r + 2 * nf : r + 3 * nf]
            r += 3 * nf
            for b in range(nf):
                qb, db = q_b[b], d_b[b]
                e0, e1, e2 = m0[b], m1[b], m2[b]
                a0 += e0 * qb
                a1 += e1 * qb
                a2 += e2 * qb
                c0 += e0 * db
                c1 += e1 * db
                c2 += e2 * db
        # G_T, G_R of (F17) and q_dot^T K q_dot
        g0 = g1 = g2 = g3 = g4 = g5 = 0.0
        if n_G > 0:
            m0, m1, m2 = data[r : r + nf], data[r + nf : r + 2 * nf], data[r + 2 * nf : r + 3 * nf]
            r += 3 * nf
            k0 = k1 = k2 = k3 = k4 = k5 = 0.0
            for b in range(nf):
                qb, db = q_b[b], d_b[b]
                e0, e1, e2 = m0[b], m1[b], m2[b]
                g0 += e0 * qb
                g1 += e1 * qb
                g2 += e2 * qb
                k0 += e0 * db
                k1 += e1 * db
                k2 += e2 * db
            m3, m4, m5 = data[r : r + nf], data[r + nf : r + 2 * nf], data[r + 2 * nf : r + 3 * nf]
            for b in range(nf):
                qb, db = q_b[b], d_b[b]
                e0, e1, e2 = m3[b], m4[b], m5[b]
                g3 += e0 * qb
                g4 += e1 * qb
                g5 += e2 * qb
                k3 += e0 * db
                k4 += e1 * db
                k5 += e2 * db
            kx += da * k0
            ky += da * k1
            kz += da * k2
            lx += da * k3
            ly += da * k4
            lz += da * k5
        # S_t(q), S_f(q) and their part of the rates (F10, F17a)
        s0, s1, s2 = data[p], data[p + 1], data[p + 2]
        stx += qa * (linear * s0 - 0.5 * g0)
        sty += qa * (linear * s1 - 0.5 * g1)
        stz += qa * (linear * s2 - 0.5 * g2)
        ux += da * (linear * s0 - g0)
        uy += da * (linear * s1 - g1)
        uz += da * (linear * s2 - g2)
        s0, s1, s2 = s0 - g0, s1 - g1, s2 - g2
        fx += s0 * da
        fy += s1 * da
        fz += s2 * da
        # I_Rf(q) = eps_ijk C_jk (F12, F17a)
        i0, i1, i2 = data[p + 3] - a0 - g3, data[p + 4] - a1 - g4, data[p + 5] - a2 - g5
        hx += i0 * da
        hy += i1 * da
        hz += i2 * da
        # Theta(q); its slope by C_kl, its rate by E_kl (F12, F13, F17a)
        t0, t1, t2 = data[p + 6], data[p + 7], data[p + 8]
        t3, t4, t5 = data[p + 9], data[p + 10], data[p + 11]
        txx += qa * (t0 + y0)
        txy += qa * (t1 + y1)
        txz += qa * (t2 + y2)
        tyy += qa * (t3 + y3)
        tyz += qa * (t4 + y4)
        tzz += qa * (t5 + y5)
        t0, t1, t2 = t0 + 2.0 * y0, t1 + 2.0 * y1, t2 + 2.0 * y2
        t3, t4, t5 = t3 + 2.0 * y3, t4 + 2.0 * y4, t5 + 2.0 * y5
        dxx += t0 * da
        dxy += t1 * da
        dxz += t2 * da
        dyy += t3 * da
        dyz += t4 * da
        dzz += t5 * da
        # centrifugal and Coriolis force on the mode (F13, F17a)
        centrifugal = half_xx * t0 + half_yy * t3 + half_zz * t5
        centrifugal += wx * wy * t1 + wx * wz * t2 + wy * wz * t4
        m = ir + N_ROW_OUT * a
        rows[m], rows[m + 1], rows[m + 2] = s0, s1, s2
        rows[m + 3], rows[m + 4], rows[m + 5] = i0, i1, i2
        rows[m + 6] = centrifugal + 2.0 * (wx * c0 + wy * c1 + wz * c2)
    body[ib], body[ib + 1], body[ib + 2] = stx, sty, stz
    body[ib + 3], body[ib + 4], body[ib + 5] = txx, txy, txz
    body[ib + 6], body[ib + 7], body[ib + 8] = tyy, tyz, tzz
    # Q_T = -w~ ( w~ S_t + S_t_dot + S_f q_dot ) + q_dot^T K_a q_dot (F13, F17a)
    x = wy * stz - wz * sty + ux + fx
    y = wz * stx - wx * stz + uy + fy
    z = wx * sty - wy * stx + uz + fz
    body[ib + 9] = kx - (wy * z - wz * y)
    body[ib + 10] = ky - (wz * x - wx * z)
    body[ib + 11] = kz - (wx * y - wy * x)
    # Q_R as in the module's text
    x = txx * wx + txy * wy + txz * wz + hx
    y = txy * wx + tyy * wy + tyz * wz + hy
    z = txz * wx + tyz * wy + tzz * wz + hz
    body[ib + 12] = lx - (wy * z - wz * y) - (dxx * wx + dxy * wy + dxz * wz)
    body[ib + 13] = ly - (wz * x - wx * z) - (dxy * wx + dyy * wy + dyz * wz)
    body[ib + 14] = lz - (wx * y - wy * x) - (dxz * wx + dyz * wy + dzz * wz)


@kernel(inline=True)
def inertia_at_rest(data, o, wx, wy, wz, body, ib):
    """The same without modes: constant S_t and Theta, and their velocity forces (F12, F13).

    Writes: body[ib : ib + 15].
    """
    stx, sty, stz = data[o + 1], data[o + 2], data[o + 3]
    txx, txy, txz, tyy, tyz, tzz = (
        data[o + 4],
        data[o + 5],
        data[o + 6],
        data[o + 7],
        data[o + 8],
        data[o + 9],
    )
    body[ib], body[ib + 1], body[ib + 2] = stx, sty, stz
    body[ib + 3], body[ib + 4], body[ib + 5] = txx, txy, txz
    body[ib + 6], body[ib + 7], body[ib + 8] = tyy, tyz, tzz
    x, y, z = wy * stz - wz * sty, wz * stx - wx * stz, wx * sty - wy * stx
    body[ib + 9], body[ib + 10], body[ib + 11] = wz * y - wy * z, wx * z - wz * x, wy * x - wx * y
    x, y, z = txx * wx + txy * wy + txz * wz, txy * wx + tyy * wy + tyz * wz, txz * wx + tyz * wy + tzz * wz
    body[ib + 12], body[ib + 13], body[ib + 14] = wz * y - wy * z, wx * z - wz * x, wy * x - wx * y
