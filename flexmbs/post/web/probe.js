// Points that were clicked: where they are, what acts there, how it goes over time.
import { add, cross, dot, norm, subtract, times } from "./matrix.js";
import { motion_at, skin_point } from "./motion.js";

// Nearest place where a ray meets a triangle, as a share of `ray`; Infinity where it misses.
function meets(start, ray, a, b, c) {
    const [u, v] = [subtract(b, a), subtract(c, a)];
    const p = cross(ray, v);
    const size = dot(u, p);
    if (size === 0) return Infinity;
    const off = subtract(start, a);
    const s = dot(off, p) / size;
    if (s < 0 || s > 1) return Infinity;
    const q = cross(off, u);
    const t = dot(ray, q) / size;
    if (t < 0 || s + t > 1) return Infinity;
    const share = dot(v, q) / size;
    return share > 0 ? share : Infinity;
}

// Where a ray in ground meets the deformed surface of a body, and the vertex nearest to that; null where it misses.
// `cut` says of a place whether the section plane hides it.
export function met_by(body, pose, scale, start, ray, cut) {
    const { points, triangles } = body.mesh;
    const places = Array.from({ length: points.length / 3 }, (_, k) => skin_point(body, pose, k, scale));
    let [best, found] = [Infinity, null];
    for (let k = 0; k < triangles.length; k += 3) {
        const corners = [0, 1, 2].map((i) => places[triangles[k + i]]);
        const share = meets(start, ray, ...corners);
        if (share >= best) continue;
        const place = add(start, times(share, ray));
        if (cut(place)) continue;
        best = share;
        const gaps = corners.map((corner) => norm(subtract(corner, place)));
        found = { place, vertex: triangles[k + gaps.indexOf(Math.min(...gaps))] };
    }
    return found;
}

// Stress xx yy zz xy yz zx at a vertex, in body axes (F53); null where the body has none.
export function stress_at(body, pose, vertex) {
    const { stress } = body.mesh;
    if (!stress) return null;
    const n = stress.length / stress.shape[0];
    const sigma = [0, 0, 0, 0, 0, 0];
    [...pose.q, ...pose.amounts].forEach((q, a) => {
        for (let i = 0; i < 6; ++i) sigma[i] += q * stress[a * n + 6 * vertex + i];
    });
    return sigma;
}

export function von_mises([xx, yy, zz, xy, yz, zx]) {
    return Math.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3 * (xy ** 2 + yz ** 2 + zx ** 2));
}

// Principal stresses, largest first, with their directions: rotations of Jacobi until nothing is left beside the diagonal.
export function principal([xx, yy, zz, xy, yz, zx]) {
    const A = [[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]];
    const V = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    const size = Math.max(...A.flat().map(Math.abs));
    for (let turn = 0; turn < 60; ++turn) {
        const [i, j] = [[0, 1], [1, 2], [0, 2]].reduce((a, b) => (Math.abs(A[a[0]][a[1]]) >= Math.abs(A[b[0]][b[1]]) ? a : b));
        if (Math.abs(A[i][j]) <= 1e-15 * size) break;
        const angle = 0.5 * Math.atan2(2 * A[i][j], A[j][j] - A[i][i]);
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        const turned = (M) => M.forEach((line) => { [line[i], line[j]] = [c * line[i] - s * line[j], s * line[i] + c * line[j]]; });
        turned(A);
        [A[i], A[j]] = [A[i].map((x, k) => c * x - s * A[j][k]), A[j].map((x, k) => s * A[i][k] + c * x)];
        turned(V);
    }
    const pairs = [0, 1, 2].map((k) => ({ value: A[k][k], direction: V.map((line) => line[k]) }));
    return pairs.sort((a, b) => b.value - a.value);
}

// Displacement of a vertex out of the shape at rest, in body axes.
function displacement_at(body, pose, vertex) {
    const rest = { position: [0, 0, 0], R: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] };
    return subtract(skin_point(body, { ...rest, q: pose.q }, vertex, 1), skin_point(body, { ...rest, q: pose.q }, vertex, 0));
}

// What is told of a point: its place in ground (true to scale), displacement, stresses.
export function values_at(body, pose, vertex) {
    const sigma = stress_at(body, pose, vertex);
    return { place: skin_point(body, pose, vertex, 1), displacement: norm(displacement_at(body, pose, vertex)),
             von_mises: sigma && von_mises(sigma), principal: sigma && principal(sigma) };
}

// The same over all samples of the run: places, displacements, von Mises stresses.
export function history_of(scene, number, vertex) {
    const body = scene.bodies[number];
    const out = { place: [], displacement: [], von_mises: [] };
    for (const t of scene.time) {
        const pose = motion_at(scene, t, number)[0];
        const sigma = stress_at(body, pose, vertex);
        out.place.push(skin_point(body, pose, vertex, 1));
        out.displacement.push(norm(displacement_at(body, pose, vertex)));
        out.von_mises.push(sigma ? von_mises(sigma) : 0);
    }
    return out;
}
