// Whether a skin is seen from outside alone: then half of its triangles need no drawing.
import { cross, dot } from "./matrix.js";

// Two numbers of an edge in one of its two directions; in the other one they have the other sign.
function mark(a, b) {
    const [low, high, sign] = a < b ? [a, b, 1] : [b, a, -1];
    const first = Math.imul(Math.imul(low + 1, 0x9e3779b1) ^ (high + 1), 0x85ebca6b);
    const second = Math.imul(Math.imul(high + 1, 0xc2b2ae35) ^ (low + 1), 0x27d4eb2f);
    return [sign * (first ^ (first >>> 15)), sign * (second ^ (second >>> 13))];
}

// Whether every edge is passed once each way, so that nothing is open and all triangles agree (sums of marks vanish, but for
// one chance in 2 ** 64), and every connected piece holds a volume to which its triangles turn their backs.
export function only_outside({ points, triangles }) {
    const root = Uint32Array.from({ length: points.length / 3 }, (_, k) => k);
    const root_of = (k) => {
        while (root[k] !== k) k = root[k] = root[root[k]];
        return k;
    };
    let [first, second] = [0, 0];
    for (let k = 0; k < triangles.length; k += 3) {
        for (let i = 0; i < 3; ++i) {
            const [a, b] = [triangles[k + i], triangles[k + ((i + 1) % 3)]];
            const [x, y] = mark(a, b);
            [first, second] = [(first + x) | 0, (second + y) | 0];
            root[root_of(a)] = root_of(b);
        }
    }
    if (first || second) return false;
    const volume = new Float64Array(root.length);
    const point = (k) => points.subarray(3 * k, 3 * k + 3);
    for (let k = 0; k < triangles.length; k += 3) {
        const [a, b, c] = [0, 1, 2].map((i) => point(triangles[k + i]));
        volume[root_of(triangles[k])] += dot(a, cross(b, c));
    }
    return triangles.length > 0 && triangles.every((k) => volume[root_of(k)] > 0);
}
