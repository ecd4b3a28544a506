// Where everything is: from samples of the run, from one mode of a body, or from a mode of the system.
import { add, multiply_quaternions, multiply_rotations, pose_matrix, quaternion_of_vector, rotate, rotation,
         times } from "./matrix.js";
import { locate, quaternion_row, row } from "./data.js";

function pose_of(position, quaternion, q, amounts = []) {
    return { position, quaternion, q, amounts, R: rotation(quaternion) };
}

// Poses of all bodies at time t of the run, or of body number `only` alone.
export function motion_at(scene, t, only) {
    const place = locate(scene.time, t);
    const bodies = only === undefined ? scene.bodies : [scene.bodies[only]];
    return bodies.map((body) => pose_of(
        row(body.position, 3, place), quaternion_row(body.quaternion, place),
        body.n_modes ? row(body.q, body.n_modes, place) : [], row(body.static, body.static.shape[1], place)));
}

// Amplitude at which mode a moves its largest node by 8 % of the size of the body.
export function mode_amplitude(body, a) {
    const Phi = body.mesh.Phi;
    const n = 3 * Phi.shape[1];
    let largest = 0;
    for (let k = a * n; k < (a + 1) * n; k += 3) largest = Math.max(largest, Math.hypot(Phi[k], Phi[k + 1], Phi[k + 2]));
    return largest > 0 ? (0.08 * body.size) / largest : 0;
}

// One mode of one body, the others as they stand at time t.
export function body_mode_at(scene, t, b, a, phase) {
    const poses = motion_at(scene, t);
    poses[b].amounts = [];
    poses[b].q = poses[b].q.map((_, k) => (k === a ? mode_amplitude(scene.bodies[b], a) * Math.sin(phase) : 0));
    return poses;
}

// A mode of the whole system: real part of shape * exp(i phase) added to the state it belongs to.
export function system_mode_at(scene, k, phase, factor) {
    const mode = scene.system_modes[k];
    const part = (shape, i) => factor * mode.amplitude * (shape[2 * i] * Math.cos(phase) - shape[2 * i + 1] * Math.sin(phase));
    return motion_at(scene, scene.time[0]).map((pose, b) => {
        const shape = mode.bodies[b];
        const three = (from) => [part(shape, from), part(shape, from + 1), part(shape, from + 2)];
        const turned = multiply_quaternions(quaternion_of_vector(three(3)), pose.quaternion);
        return pose_of(add(pose.position, three(0)), turned, pose.q.map((q, j) => q + part(shape, 6 + j)));
    });
}

export const body_matrix = (pose) => pose_matrix(pose.R, pose.position);

// What sits on a body (or ground, body = -1) at u0 + scale * Phi q, in ground.
export function place_on(item, poses, scale) {
    if (item.body < 0) return item.place;
    const pose = poses[item.body];
    const rows = item.Phi;
    const u = item.place.map((x, k) => x + scale * pose.q.reduce((sum, q, a) => sum + (rows ? rows[k][a] * q : 0), 0));
    return add(pose.position, rotate(pose.R, u));
}

export function joint_matrix(joint, poses, scale) {
    const R_joint = [0, 1, 2].map((k) => Array.from(joint.rotation.slice(3 * k, 3 * k + 3)));
    const R = joint.body < 0 ? R_joint : multiply_rotations(poses[joint.body].R, R_joint);
    return pose_matrix(R, place_on(joint, poses, scale));
}

// Sum of `amounts[a]` times the a-th of the fields that lie one after the other, four of them in one pass: the sum then passes
// through memory a quarter as often.
function sum_of(fields, amounts, sum) {
    const n = sum.length;
    const used = amounts.map((x, a) => [x, a * n]).filter(([x]) => x !== 0);
    while (used.length % 4) used.push([0, used[0][1]]);
    sum.fill(0);
    for (let a = 0; a < used.length; a += 4) {
        const [[p, i], [q, j], [r, k], [s, l]] = used.slice(a, a + 4);
        for (let m = 0; m < n; ++m) sum[m] += p * fields[i + m] + q * fields[j + m] + r * fields[k + m] + s * fields[l + m];
    }
    return sum;
}

// Points of a skin in body axes, u0 + scale S q (F1), and what is seen of them as colours: von Mises stress of the modal
// stresses (F53, field 1) or size of the displacement (field 2).
export function deform(mesh, q, amounts, scale, field, points, levels) {
    const n = points.length;
    const rest = mesh.points;
    const sum = sum_of(mesh.Phi, q, (mesh.moved ??= new Float64Array(n)));
    for (let i = 0; i < n; ++i) points[i] = rest[i] + scale * sum[i];
    if (field === 2) for (let i = 0, k = 0; i < levels.length; ++i, k += 3) levels[i] = Math.hypot(sum[k], sum[k + 1], sum[k + 2]);
    if (field === 1 && mesh.stress) von_mises_of(mesh, [...q, ...amounts], levels);
}

function von_mises_of(mesh, amounts, levels) {
    const sum = sum_of(mesh.stress, amounts, (mesh.stressed ??= new Float64Array(6 * levels.length)));
    for (let i = 0, k = 0; i < levels.length; ++i, k += 6) {
        const a = sum[k] - sum[k + 1];
        const b = sum[k + 1] - sum[k + 2];
        const shear = sum[k + 3] * sum[k + 3] + sum[k + 4] * sum[k + 4] + sum[k + 5] * sum[k + 5];
        levels[i] = Math.sqrt(0.5 * (a * a + b * b + (a + b) * (a + b)) + 3 * shear);
    }
}

// Point of a skin in ground (F1); for tests and for labels.
export function skin_point(body, pose, vertex, scale) {
    const mesh = body.mesh;
    let u = [0, 1, 2].map((k) => mesh.points[3 * vertex + k]);
    for (let a = 0; a < body.n_modes; ++a) {
        const k = 3 * (a * (mesh.points.length / 3) + vertex);
        u = add(u, times(scale * pose.q[a], [mesh.Phi[k], mesh.Phi[k + 1], mesh.Phi[k + 2]]));
    }
    return add(pose.position, rotate(pose.R, u));
}

// Largest von Mises stress over the skin for given coordinates.
export function largest_stress(body, q, amounts = []) {
    const { stress, points } = body.mesh;
    if (!stress) return 0;
    const levels = new Float32Array(points.length / 3);
    von_mises_of(body.mesh, [...q, ...amounts], levels);
    return levels.reduce((largest, x) => Math.max(largest, x), 0);
}

// Largest displacement over the skin for given coordinates, unscaled.
export function largest_displacement(body, q) {
    const { points } = body.mesh;
    const levels = new Float32Array(points.length / 3);
    deform(body.mesh, q, [], 1, 2, new Float32Array(points.length), levels);
    return levels.reduce((largest, x) => Math.max(largest, x), 0);
}
