// Symbols of a mechanism beside its bodies and joints, and their names in the picture, which lead to their lines.
import { add, cross, norm, rotate, subtract, times, unit } from "./matrix.js";
import { motion_at, place_on } from "./motion.js";
import { element } from "./controls.js";

const MOST = 250;      // names in the picture
const AXES = [[0.86, 0.2, 0.2, 1], [0.15, 0.62, 0.2, 1], [0.2, 0.4, 0.95, 1]];
const INK = { spring: [0.1, 0.55, 0.55, 1], force: [0.75, 0.1, 0.6, 1], sensor: [0.0, 0.5, 0.75, 1],
              redundant: [0.86, 0.1, 0.1, 1], hidden: [0.5, 0.25, 0.85, 1], way: [0.5, 0.5, 0.5, 1] };
// by kind: which switch shows it, and how soon its name gets a place
const SWITCH = { frame: "frames", spring: "elements", force: "elements", sensor: "elements", redundant: "rows", hidden: "rows" };
const RANK = { redundant: 1, hidden: 1, joint: 2, spring: 3, force: 3, sensor: 4, body: 5, frame: 6 };

const polyline = (points) => points.slice(1).flatMap((point, k) => [points[k], point]);

function across(along) {
    const other = Math.abs(along[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0];
    const side = unit(cross(along, other));
    return [side, cross(along, side)];
}

// An arrow from a to b with `heads` heads at its end.
function arrow(a, b, size, heads = 1) {
    const along = unit(subtract(b, a));
    const sides = across(along);
    const out = [a, b];
    for (let k = 0; k < heads; ++k) {
        const tip = subtract(b, times(0.7 * k * size, along));
        for (const side of [...sides, ...sides.map((x) => times(-1, x))]) out.push(tip, add(subtract(tip, times(size, along)), times(0.4 * size, side)));
    }
    return out;
}

// What a row locks, or how a body may move: both ways along a line, or about it.
function both_ways(at, along, long, turns) {
    const [a, b] = [subtract(at, times(long, along)), add(at, times(long, along))];
    if (!turns) return [...arrow(at, b, 0.3 * long), ...arrow(at, a, 0.3 * long)];
    const [u, v] = across(along);
    const place = (angle, r = 0.55) => add(at, add(times(r * long * Math.cos(angle), u), times(r * long * Math.sin(angle), v)));
    const ring = Array.from({ length: 29 }, (_, k) => place((k / 28) * 1.7 * Math.PI));
    const head = [place(1.58 * Math.PI, 0.72), ring[28], place(1.58 * Math.PI, 0.38), ring[28]];
    return [a, b, ...polyline(ring), ...head];
}

function zigzag(a, b, width) {
    const [u] = across(unit(subtract(b, a)));
    const at = (share, off) => add(add(a, times(share, subtract(b, a))), times(off, u));
    const turns = Array.from({ length: 9 }, (_, k) => at(0.2 + 0.6 * (k + 0.5) / 9, (k % 2 ? -1 : 1) * width));
    return polyline([a, at(0.2, 0), ...turns, at(0.8, 0), b]);
}

function diamond(at, size) {
    const tips = [0, 1, 2].map((k) => [0, 1, 2].map((i) => (i === k ? size : 0)));
    const ring = (x, y) => polyline([add(at, x), add(at, y), subtract(at, x), subtract(at, y), add(at, x)]);
    return [...ring(tips[0], tips[1]), ...ring(tips[1], tips[2]), ...ring(tips[0], tips[2])];
}

const turned = (body, poses, x) => (body < 0 ? x : rotate(poses[body].R, x));

// Lines of a symbol as [colour, pairs of points].
function drawn(symbol, poses, scale, size) {
    const { kind, ends, direction } = symbol;
    const at = ends.map((end) => place_on(end, poses, scale));
    const last = ends[ends.length - 1];
    const along = direction && turned(last.body, poses, direction);
    if (kind === "frame") {
        const axes = [0, 1, 2].map((k) => turned(last.body, poses, [0, 1, 2].map((i) => symbol.axes[3 * i + k])));
        const way = polyline(symbol.way.map((place) => place_on({ ...last, place }, poses, scale)));
        return [...axes.map((axis, k) => [AXES[k], [at[0], add(at[0], times(size, axis))]]), [INK.way, way]];
    }
    if (kind === "spring") {
        const apart = norm(subtract(at[1], at[0])) > 1e-6 * size;
        return [[INK.spring, apart ? zigzag(at[0], at[1], 0.4 * size) : diamond(at[0], 0.6 * size)]];
    }
    if (kind === "force") return [[INK.force, along ? arrow(subtract(at[0], times(3 * size, along)), at[0], 0.7 * size, symbol.moment ? 2 : 1) : diamond(at[0], 0.5 * size)]];
    if (kind === "sensor") return [[INK.sensor, diamond(at[0], 0.4 * size)]];
    return [[INK[kind], both_ways(at[0], along, 2.2 * size, symbol.moment)]];
}

const shown = (symbol, show) => show[SWITCH[symbol.kind]];

// Lines of all symbols that are switched on, by colour.
export function symbol_lines(scene, poses, show) {
    const found = new Map();
    const size = 0.07 * scene.bounds.radius;
    for (const symbol of scene.symbols || []) {
        if (!shown(symbol, show)) continue;
        for (const [colour, points] of drawn(symbol, poses, show.scale, size)) {
            if (!found.has(colour)) found.set(colour, []);
            for (const point of points) found.get(colour).push(point);
        }
    }
    return found;
}

// Places of symbols at the first instant belong to what the camera has in view.
function widen_by_symbols(scene) {
    const poses = motion_at(scene, scene.time[0]);
    const { low, high, outermost } = scene.bounds;
    for (const end of (scene.symbols || []).flatMap(({ ends }) => ends)) {
        const place = place_on(end, poses, 1);
        outermost.push(place);
        place.forEach((x, k) => {
            low[k] = Math.min(low[k], x);
            high[k] = Math.max(high[k], x);
        });
    }
}

// Names beside what they name; one that would cover another is left out until there is room.
export class Labels {
    constructor(viewer) {
        this.viewer = viewer;
        this.holder = element("div", { id: "labels" });
        document.getElementById("stage").append(this.holder);
        this.renew();
    }

    renew() {
        const { scene } = this.viewer;
        const number = (name) => scene.bodies.findIndex((body) => body.name === name);
        for (const symbol of scene.symbols || []) symbol.ends = symbol.ends.map((end) => ({ ...end, body: number(end.body) }));
        widen_by_symbols(scene);
        const parts = (scene.symbols || []).map((symbol) => ({ kind: symbol.kind, name: symbol.name, path: symbol.path, symbol,
            place: (poses, scale) => {
                const at = symbol.ends.map((end) => place_on(end, poses, scale));
                return times(1 / at.length, at.reduce(add));
            } }));
        const joints = scene.joints.map((joint) => ({ kind: "joint", name: joint.name, path: ["joints", joint.name],
            place: (poses, scale) => place_on(joint, poses, scale) }));
        const bodies = scene.bodies.map((body, k) => ({ kind: "body", name: body.name, path: ["bodies", body.name],
            place: (poses) => poses[k].position }));
        const items = scene.symbols ? [...parts, ...joints, ...bodies].sort((a, b) => RANK[a.kind] - RANK[b.kind]).slice(0, MOST) : [];
        this.items = items.map((item) => {
            const text = item.kind === "redundant" ? item.name.replace(/^joints\./, "redundant: ") : item.kind === "hidden" ? `hidden: ${item.name}` : item.name;
            const node = element("button", { type: "button", className: `label ${item.kind}`, textContent: text, tabIndex: -1, hidden: true });
            node.addEventListener("click", () => this.viewer.pointed && this.viewer.pointed(item.path));
            return { ...item, node, size: null, key: item.path.join(".") };
        });
        this.holder.replaceChildren(...this.items.map((item) => item.node));
    }

    draw(poses, view_projection, show) {
        const [width, height] = [this.holder.clientWidth, this.holder.clientHeight];
        const taken = [];
        const key = show.named;
        const first = (item) => 2 * (item.key === key) + (show.frames_first && item.kind === "frame");
        const order = [...this.items].sort((a, b) => first(b) - first(a));
        for (const item of order) {
            const visible = show.names && (!this.viewer.mode || Boolean(this.viewer.scene.body)) && (!item.symbol || shown(item.symbol, show)) && this.put(item, poses, view_projection, show, width, height, taken);
            if (item.node.hidden === visible) item.node.hidden = !visible;
            item.node.classList.toggle("on", item.key === key);
        }
    }

    put(item, poses, m, show, width, height, taken) {
        const [x, y, z] = item.place(poses, show.scale);
        const w = m[3] * x + m[7] * y + m[11] * z + m[15];
        if (w <= 0) return false;
        const left = (0.5 + 0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12]) / w) * width + 7;
        const top = (0.5 - 0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) * height - 18;
        if (!item.size) {
            item.node.hidden = false;
            item.size = [item.node.offsetWidth, item.node.offsetHeight];
        }
        const [wide, high] = item.size;
        for (const [dx, dy] of [[0, 0], [0, 20], [-14 - wide, 0], [-14 - wide, 20], [0, 40], [-14 - wide, 40], [0, -20], [-14 - wide, -20]]) {
            const box = [left + dx, top + dy, left + dx + wide, top + dy + high];
            if (box[0] < 0 || box[1] < 34 || box[2] > width || box[3] > height) continue;
            if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
            taken.push(box);
            item.node.style.transform = `translate(${Math.round(box[0])}px, ${Math.round(box[1])}px)`;
            return true;
        }
        return false;
    }
}
