// A camera on a sphere about a target; "up" follows gravity.
import { add, cross, dot, look_at, norm, perspective, product, subtract, times, unit } from "./matrix.js";

const FIELD_OF_VIEW = 0.6;
const MARGIN = 1.18;

export class Camera {
    // `bounds`: low and high corner of everything at all times, and the radius about its centre.
    constructor(up, bounds) {
        this.up = unit(up);
        const other = Math.abs(this.up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
        this.right = unit(subtract(other, times(other[0] * this.up[0] + other[1] * this.up[1], this.up)));
        this.front = cross(this.right, this.up);   // right, up and front are the axes of the presets
        this.home = bounds;
        this.aspect = 1.6;
        this.preset("iso");
    }

    // Turns are about the up axis (azimuth, from the front) and above the horizon (elevation).
    preset(name) {
        const views = { iso: [0.6, 0.45], front: [0, 0], back: [Math.PI, 0], right: [Math.PI / 2, 0],
                        left: [-Math.PI / 2, 0], top: [0, 1.5533] };
        [this.azimuth, this.elevation] = views[name] || views.iso;
        this.fit();
    }

    // Nearest place from which the outermost points of the motion are in view, these in the middle.
    fit() {
        this.target = this.home.centre.slice();
        const back = this.direction();
        const right = unit(cross(this.up, back));
        const head = cross(back, right);
        const slope = Math.tan(FIELD_OF_VIEW / 2);
        for (let pass = 0; pass < 4; ++pass) {
            const seen = this.home.outermost.map((point) => {
                const off = subtract(point, this.target);
                return [dot(off, right), dot(off, head), dot(off, back)];
            });
            this.distance = 0.05 * this.home.radius;
            for (const [x, y, z] of seen) {
                const half = Math.max(Math.abs(y) / slope, Math.abs(x) / (slope * this.aspect));
                this.distance = Math.max(this.distance, MARGIN * half + z);
            }
            const middle = (i) => {      // of what is seen, at the distance of the target
                const shown = seen.map((off) => off[i] / (this.distance - off[2]));
                return 0.5 * this.distance * (Math.min(...shown) + Math.max(...shown));
            };
            this.target = add(this.target, add(times(middle(0), right), times(middle(1), head)));
        }
    }

    direction() {
        const c = Math.cos(this.elevation);
        const flat = add(times(Math.sin(this.azimuth) * c, this.right), times(Math.cos(this.azimuth) * c, this.front));
        return add(flat, times(Math.sin(this.elevation), this.up));
    }

    orbit(dx, dy) {
        this.azimuth -= 0.008 * dx;
        this.elevation = Math.max(-1.55, Math.min(1.55, this.elevation + 0.008 * dy));
    }

    pan(dx, dy, height) {
        const step = (2 * this.distance * Math.tan(FIELD_OF_VIEW / 2)) / height;
        const right = unit(cross(this.up, this.direction()));
        const head = cross(this.direction(), right);
        this.target = add(this.target, add(times(-dx * step, right), times(dy * step, head)));
    }

    zoom(factor) {
        this.distance = Math.max(1e-3 * this.home.radius, Math.min(50 * this.home.radius, this.distance * factor));
    }

    // Place of the eye, and the direction of the ray through a point of the picture (shares of width and height).
    ray(x, y) {
        const back = this.direction();
        const right = unit(cross(this.up, back));
        const head = cross(back, right);
        const slope = Math.tan(FIELD_OF_VIEW / 2);
        const across = add(times((2 * x - 1) * slope * this.aspect, right), times((1 - 2 * y) * slope, head));
        return { place: this.place(), ray: subtract(across, back) };
    }

    place() { return add(this.target, times(this.distance, this.direction())); }

    matrices(aspect) {
        const place = this.place();
        const view = look_at(place, this.target, this.up);
        const far = this.distance + 12 * this.home.radius + norm(subtract(this.target, this.home.centre));
        const near = Math.max(far * 2e-4, 0.05 * this.distance);
        return { view, view_projection: product(perspective(FIELD_OF_VIEW, aspect, near, far), view) };
    }
}
