// What is drawn in a frame: grid, axes, bodies, joints, undeformed edges.
import { add, cross, norm, pose_matrix, subtract, times } from "./matrix.js";
import { row } from "./data.js";
import { body_matrix, joint_matrix, place_on } from "./motion.js";
import { symbol_lines } from "./labels.js";

const IDENTITY = pose_matrix([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 0]);
const SMALL = [[0.12, 0, 0], [0, 0.12, 0], [0, 0, 0.12]];     // of the axes: a cross at a probed point
const BREATH = 0.3;      // of the faces of another run
const FINE = 20000;      // ends of lines
const JOINT_COLOUR = [0.93, 0.55, 0.13, 1];
const SELECTED = [0.98, 0.45, 0.05, 1];
const [PULL, PUSH] = [[0.85, 0.2, 0.15, 1], [0.15, 0.35, 0.85, 1]];

// Lines of a square grid in the plane across `up` through `centre`, in round steps.
function grid_mesh(up, right, centre, radius) {
    const front = cross(right, up);
    const step = 10 ** Math.floor(Math.log10(radius)) * (radius / 10 ** Math.floor(Math.log10(radius)) > 4 ? 1 : 0.5);
    const n = Math.min(20, Math.ceil((1.6 * radius) / step));
    const points = [];
    for (let k = -n; k <= n; ++k) {
        for (const [a, b] of [[right, front], [front, right]]) {
            points.push(add(centre, add(times(k * step, a), times(-n * step, b))));
            points.push(add(centre, add(times(k * step, a), times(n * step, b))));
        }
    }
    return lines(points);
}

// Largest size of the rows of an array (time, 3).
function largest_row({ force }) {
    let size = 0;
    for (let k = 0; k < force.length; k += 3) size = Math.max(size, Math.hypot(force[k], force[k + 1], force[k + 2]));
    return size;
}

// Pairs of points as lines.
export function lines(points) {
    return { points: new Float32Array(points.flat()), triangles: new Uint32Array(0),
             edges: new Uint32Array(points.map((_, k) => k)) };
}

export class Stage {
    constructor(renderer, scene, camera) {
        this.renderer = renderer;
        this.scene = scene;
        this.bodies = scene.bodies.map((body) => renderer.upload(body.mesh));
        this.joints = scene.joints.map((joint) => renderer.upload(joint.mesh));
        const { centre, radius } = scene.bounds;
        const floor = subtract(centre, times(0.8 * radius, camera.up));
        this.largest = Math.max(0, ...scene.arrows.map(largest_row));     // force of all arrows
        this.grid = renderer.upload(grid_mesh(camera.up, camera.right, floor, radius));
        this.axes = [0, 1, 2].map((k) => renderer.upload(lines([[0, 0, 0], [0, 1, 2].map((i) => (i === k ? 0.25 * radius : 0))])));
    }

    // `coarse`: without the edges of fine meshes and what closed skins hide, as long as it moves.
    draw(camera, poses, show, coarse = false) {
        const { renderer } = this;
        const { view, view_projection } = camera.matrices(renderer.canvas.width / renderer.canvas.height);
        renderer.begin(view, view_projection, show.background);
        if (show.grid) renderer.draw(this.grid, { pose: IDENTITY, colour: show.rule, edges: true });
        if (show.axes) this.axes.forEach((axis, k) => {
            const colour = [0, 1, 2].map((i) => (i === k ? 0.85 : 0.25));
            renderer.draw(axis, { pose: IDENTITY, colour: [...colour, 1], edges: true });
        });
        this.each(poses, show.scale, (thing, pose, number, body) => {
            if (body) renderer.deform(thing, poses[number], show.scale, show.field);
            const colour = body ? [...body.colour, 1] : JOINT_COLOUR;
            const [level_min, level_max] = show.levels;
            const { section } = show;
            renderer.draw(thing, { pose, colour, field: body ? show.field : 0, level_min, level_max, section, coarse });
            if (number === show.selected) renderer.draw(thing, { pose, colour: SELECTED, edges: true, section });
            else if (show.edges && body && !(coarse && thing.edges.count > FINE)) renderer.draw(thing, { pose, colour: [0, 0, 0, 0.18], edges: true, section });
            if (show.undeformed && body && body.n_modes) {
                renderer.draw(thing, { pose, colour: show.ghost, rest: true, edges: true, section });
            }
        }, show.joints);
    }

    // Give back what was uploaded.
    remove() { for (const thing of [...this.bodies, ...this.joints, this.grid, ...this.axes]) this.renderer.remove(thing); }

    // Frames, springs, sensors and the like; lines in front of everything.
    draw_symbols(poses, show) {
        for (const [colour, points] of symbol_lines(this.scene, poses, show)) {
            const thing = this.renderer.upload(lines(points));
            this.renderer.draw(thing, { pose: IDENTITY, colour, edges: true, on_top: true });
            this.renderer.remove(thing);
        }
    }

    // Faces and lines above the bodies at rest.
    draw_layers(layers) {
        for (const { thing, colour, faces, on_top } of layers) this.renderer.draw(thing, { pose: IDENTITY, colour, edges: !faces, in_front: true, on_top });
    }

    // The bodies as edges and in a breath of colour: another run.
    draw_ghost(poses, show) {
        this.each(poses, show.scale, (thing, pose, number, body) => {
            if (body) this.renderer.deform(thing, poses[number], show.scale, 0);
            this.renderer.draw(thing, { pose, colour: show.ghost, edges: true, section: show.section });
            this.renderer.draw(thing, { pose, colour: [...show.ghost.slice(0, 3), BREATH], section: show.section, coarse: true });
        }, false);
    }

    // Forces and reactions at the instant `at`, the largest of the run a quarter of the scene long.
    draw_arrows(at, poses, show) {
        const thing = this.renderer.upload(lines(this.arrow_lines(at, poses, show)));
        this.renderer.draw(thing, { pose: IDENTITY, colour: show.force_colour, edges: true, on_top: true });
        this.renderer.remove(thing);
    }

    arrow_lines(at, poses, show) {
        const { arrows, bounds } = this.scene;
        return arrows.flatMap((arrow) => {
            const start = place_on(arrow, poses, show.scale);
            const force = times((0.5 * bounds.radius * show.arrow_scale) / this.largest, row(arrow.force, 3, at));
            const end = add(start, force);
            const side = times(0.06, cross(force, cross(force, [0.36, 0.48, 0.8]))).map((x) => x / (norm(force) || 1));
            const head = add(start, times(0.85, force));
            return [start, end, end, add(head, side), end, subtract(head, side)];
        });
    }

    // A cross at a place, lines along principal stresses there (red pulls, blue pushes), the path of the point.
    draw_probe({ colour, shown, principal, path }) {
        const { renderer } = this;
        const size = 0.12 * this.scene.bounds.radius;
        this.axes.forEach((axis) => renderer.draw(axis, { pose: pose_matrix(SMALL, shown), colour, edges: true, on_top: true }));
        if (path) renderer.draw(path, { pose: IDENTITY, colour, edges: true });
        const largest = Math.max(...principal.map(({ value }) => Math.abs(value)));
        for (const { value, direction } of largest > 0 ? principal : []) {
            const long = times((size * Math.abs(value)) / largest, direction);
            const line = renderer.upload(lines([subtract(shown, long), add(shown, long)]));
            renderer.draw(line, { pose: IDENTITY, colour: value > 0 ? PULL : PUSH, edges: true, on_top: true });
            renderer.remove(line);
        }
    }

    // Visit bodies, then joints: (uploaded mesh, pose matrix, number, body or undefined).
    each(poses, scale, visit, with_joints = true) {
        this.scene.bodies.forEach((body, k) => visit(this.bodies[k], body_matrix(poses[k]), k, body));
        if (!with_joints) return;
        this.scene.joints.forEach((joint, k) =>
            visit(this.joints[k], joint_matrix(joint, poses, scale), this.bodies.length + k, undefined));
    }

    // Number of the line nearest to a pixel that no body hides, within a reach; -1 for none.
    pick_line(camera, poses, show, x, y, things, reach) {
        const { renderer } = this;
        const { view, view_projection } = camera.matrices(renderer.canvas.width / renderer.canvas.height);
        return renderer.pick(x, y, (colour_of) => {
            renderer.begin(view, view_projection, [0, 0, 0, 1]);
            this.each(poses, show.scale, (thing, pose) => renderer.draw(thing, { pose, colour: [0, 0, 0, 1], flat: true, section: show.section }), false);
            things.forEach((thing, k) => renderer.draw(thing, { pose: IDENTITY, colour: colour_of(k), edges: true, in_front: true, section: show.section }));
        }, reach);
    }

    // Number of the body or joint under a pixel, -1 for none.
    pick(camera, poses, show, x, y) {
        const { renderer } = this;
        const { view, view_projection } = camera.matrices(renderer.canvas.width / renderer.canvas.height);
        return renderer.pick(x, y, (colour_of) => {
            renderer.begin(view, view_projection, [0, 0, 0, 1]);
            this.each(poses, show.scale, (thing, pose, number, body) => {
                if (body) renderer.deform(thing, poses[number], show.scale, show.field);
                renderer.draw(thing, { pose, colour: colour_of(number), flat: true, section: show.section });
            }, show.joints);
        });
    }
}
