// What is drawn in a frame: grid, axes, bodies, joints, undeformed edges.
import { add, cross, pose_matrix, subtract, times } from "./matrix.js";
import { body_matrix, joint_matrix } from "./motion.js";

const IDENTITY = pose_matrix([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 0]);
const JOINT_COLOUR = [0.93, 0.55, 0.13, 1];

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

function lines(points) {
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
        this.grid = renderer.upload(grid_mesh(camera.up, camera.right, floor, radius));
        this.axes = [0, 1, 2].map((k) => renderer.upload(lines([[0, 0, 0], [0, 1, 2].map((i) => (i === k ? 0.25 * radius : 0))])));
    }

    draw(camera, poses, show) {
        const { renderer } = this;
        const { view, view_projection } = camera.matrices(renderer.canvas.width / renderer.canvas.height);
        renderer.begin(view, view_projection, show.background);
        if (show.grid) renderer.draw(this.grid, { pose: IDENTITY, colour: show.rule, edges: true });
        if (show.axes) this.axes.forEach((axis, k) => {
            const colour = [0, 1, 2].map((i) => (i === k ? 0.85 : 0.25));
            renderer.draw(axis, { pose: IDENTITY, colour: [...colour, 1], edges: true });
        });
        this.each(poses, show.scale, (thing, pose, number, body) => {
            const highlight = number === show.selected ? 1 : 0;
            renderer.set_coordinates(thing, body ? [...poses[number].q, ...poses[number].amounts] : []);
            const colour = body ? [...body.colour, 1] : JOINT_COLOUR;
            const level_max = show.level_max[number] || 1;
            renderer.draw(thing, { pose, colour, scale: show.scale, field: body ? show.field : 0, level_max, highlight });
            if (show.edges && body) renderer.draw(thing, { pose, colour: [0, 0, 0, 0.18], scale: show.scale, edges: true });
            if (show.undeformed && body && body.n_modes) {
                renderer.draw(thing, { pose, colour: show.ghost, scale: 0, edges: true });
            }
        }, show.joints);
    }

    // Visit bodies, then joints: (uploaded mesh, pose matrix, number, body or undefined).
    each(poses, scale, visit, with_joints = true) {
        this.scene.bodies.forEach((body, k) => visit(this.bodies[k], body_matrix(poses[k]), k, body));
        if (!with_joints) return;
        this.scene.joints.forEach((joint, k) =>
            visit(this.joints[k], joint_matrix(joint, poses, scale), this.bodies.length + k, undefined));
    }

    // Number of the body or joint under a pixel, -1 for none.
    pick(camera, poses, show, x, y) {
        const { renderer } = this;
        const { view, view_projection } = camera.matrices(renderer.canvas.width / renderer.canvas.height);
        return renderer.pick(x, y, (colour_of) => {
            renderer.begin(view, view_projection, [0, 0, 0, 1]);
            this.each(poses, show.scale, (thing, pose, number, body) => {
                renderer.set_coordinates(thing, body ? [...poses[number].q, ...poses[number].amounts] : []);
                renderer.draw(thing, { pose, colour: colour_of(number), scale: show.scale, flat: true });
            }, show.joints);
        });
    }
}
