// Small matrices: column-major 4x4 as WebGL wants them, vectors as arrays of three.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const norm = (a) => Math.sqrt(dot(a, a));
export const unit = (a) => times(1 / (norm(a) || 1), a);

// Rotation matrix as three rows from a quaternion w, x, y, z.
export function rotation([w, x, y, z]) {
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ];
}

export const rotate = (R, x) => [dot(R[0], x), dot(R[1], x), dot(R[2], x)];

export function multiply_rotations(A, B) {
    const column = (k) => [B[0][k], B[1][k], B[2][k]];
    return A.map((row) => [0, 1, 2].map((k) => dot(row, column(k))));
}

// Product of quaternions, both w, x, y, z.
export function multiply_quaternions([a, b, c, d], [e, f, g, h]) {
    return [a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e];
}

export function quaternion_of_vector(theta) {
    const t = norm(theta);
    const s = t > 1e-12 ? Math.sin(t / 2) / t : 0.5;
    return [Math.cos(t / 2), s * theta[0], s * theta[1], s * theta[2]];
}

export function pose_matrix(R, r) {
    return new Float32Array([
        R[0][0], R[1][0], R[2][0], 0,
        R[0][1], R[1][1], R[2][1], 0,
        R[0][2], R[1][2], R[2][2], 0,
        r[0], r[1], r[2], 1,
    ]);
}

export function product(A, B) {
    const out = new Float32Array(16);
    for (let column = 0; column < 4; ++column) {
        for (let row = 0; row < 4; ++row) {
            let sum = 0;
            for (let k = 0; k < 4; ++k) sum += A[4 * k + row] * B[4 * column + k];
            out[4 * column + row] = sum;
        }
    }
    return out;
}

export function perspective(angle, aspect, near, far) {
    const f = 1 / Math.tan(angle / 2);
    return new Float32Array([
        f / aspect, 0, 0, 0,
        0, f, 0, 0,
        0, 0, (far + near) / (near - far), -1,
        0, 0, (2 * far * near) / (near - far), 0,
    ]);
}

export function look_at(place, target, up) {
    const back = unit(subtract(place, target));
    const right = unit(cross(up, back));
    const head = cross(back, right);
    return pose_matrix([right, head, back], [-dot(right, place), -dot(head, place), -dot(back, place)]);
}
