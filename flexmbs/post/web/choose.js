// What of a part is pointed at: faces, edges, nodes within an outline; sets of the mesh as layers above it.
import { element } from "./controls.js";
import { scene_of } from "./data.js";
import { action, ask } from "./editor.js";
import { COLOURS } from "./plot.js";
import { draw_outline } from "./outline.js";
import { lines } from "./stage.js";

export const CHOSEN = [0.98, 0.62, 0.12];
const EDGE = [0.1, 0.12, 0.2, 0.85];
const EDGE_REACH = 7;        // pixels from an edge to the pointer
const MOST_MARKS = 400;

export const rgb_of = (css) => [1, 3, 5].map((k) => parseInt(css.slice(k, k + 2), 16) / 255);

// `changed()` is called when another choice is made.
export class Choice {
    constructor(viewer, part, changed) {
        Object.assign(this, { viewer, part, changed, faces: new Set(), edges: new Set(), nodes: [], lines: null, mode: "faces" });
        this.what = element("p", { id: "chosen" });
        this.what.setAttribute("role", "status");
        const modes = [["faces", "click faces"], ["edges", "click edges"], ["rectangle", "all nodes of the skin behind a rectangle"],
                       ["lasso", "all nodes of the skin behind a line drawn about them"]];
        this.buttons = modes.map(([mode, title]) => action(`by-${mode}`, mode, () => this.by(mode), title));
        this.list = element("ul", { id: "edges", className: "list", hidden: true });
        const row = element("div", { className: "buttons" }, this.buttons);
        row.setAttribute("role", "group");
        row.ariaLabel = "what is pointed at";
        this.controls = [row, this.what, this.list, action("clear", "choose none", () => this.clear())];
        viewer.select = (number) => this.toggle(this.faces, number, viewer.scene.bodies.length);
        viewer.clicked = (x, y) => this.mode === "edges" && this.click_edge(x, y);
        this.by("faces");
    }

    get data() { return { patches: [...this.faces], edges: [...this.edges], nodes: this.nodes }; }

    get empty() { return !(this.faces.size || this.edges.size || this.nodes.length); }

    clear() {
        this.faces.clear();
        this.edges.clear();
        this.nodes = [];
        this.show();
    }

    toggle(set, number, count) {
        if (number < 0 || number >= count) return;
        if (!set.delete(number)) set.add(number);
        this.show();
    }

    async by(mode) {
        this.mode = mode;
        const { viewer } = this;
        this.buttons.forEach((button) => button.setAttribute("aria-pressed", button.textContent === mode));
        const outlined = mode === "rectangle" || mode === "lasso";
        viewer.grab = outlined ? draw_outline(viewer, mode === "lasso", (outline) => this.enclose(outline)) : null;
        viewer.renderer.canvas.classList.toggle("probing", outlined);
        if (mode === "edges" && !this.lines) await this.fetch_edges();
        this.list.hidden = mode !== "edges";
        viewer.changed();
    }

    // Edges as lines above the picture; they come when they are wanted.
    async fetch_edges() {
        const { kinds, drawn, arrays, ends } = await ask("edges", {});
        if (!drawn) return;
        const mesh = await scene_of(drawn, arrays);
        this.kinds = kinds;
        this.lines = ends.map((end, k) => this.viewer.renderer.upload({ ...mesh, edges: mesh.edges.slice(k ? ends[k - 1] : 0, end) }));
        this.list.replaceChildren(...kinds.map((kind, k) => {
            const button = action("", `edge ${k + 1}: ${kind}`, () => this.toggle(this.edges, k, kinds.length));
            button.setAttribute("aria-pressed", "false");
            return element("li", {}, [button]);
        }));
    }

    click_edge(x, y) {
        const { viewer } = this;
        const ratio = viewer.renderer.canvas.width / viewer.renderer.canvas.clientWidth;
        const found = viewer.stage.pick_line(viewer.camera, viewer.poses(), viewer.show, x * ratio, y * ratio, this.lines || [], EDGE_REACH * ratio);
        viewer.changed();
        this.toggle(this.edges, found, this.kinds.length);
        return true;
    }

    async enclose(outline) {
        const { canvas } = this.viewer.renderer;
        const matrix = Array.from(this.viewer.camera.matrices(canvas.width / canvas.height).view_projection);
        const found = await ask("within", { outline, matrix });
        this.nodes = found.nodes || [];
        this.by("faces");
        this.show();
    }

    // A few of the chosen nodes, to be seen.
    mark() {
        const step = Math.ceil(this.nodes.length / MOST_MARKS) || 1;
        const wanted = new Set(this.nodes.filter((_, k) => k % step === 0));
        const found = new Map();
        for (const { mesh } of wanted.size ? this.viewer.scene.bodies : []) {
            mesh.nodes.forEach((node, k) => { if (wanted.has(node)) found.set(node, Array.from(mesh.points.slice(3 * k, 3 * k + 3))); });
        }
        if (this.crosses) this.viewer.renderer.remove(this.crosses);
        this.crosses = found.size ? crosses(this.viewer, [...found.values()]) : null;
    }

    layers() {
        const known = this.lines || [];
        const seen = this.mode === "edges" ? known.map((thing) => ({ thing, colour: EDGE })) : [];
        const own = [...[...this.edges].map((k) => known[k]), ...this.crosses ? [this.crosses] : []];
        return [...seen, ...own.map((thing) => ({ thing, colour: [...CHOSEN, 1], on_top: true }))];
    }

    show() {
        this.mark();
        const told = [];
        const name = (set, kinds, word) => {
            const all = [...set].map((k) => kinds[k]);
            if (all.length) told.push(`${all.length} ${word}${all.length > 1 ? "s" : ""}: ${all.slice(0, 4).join(", ")}${all.length > 4 ? ", \u2026" : ""}`);
        };
        name(this.faces, this.part.patches.map(({ kind }) => kind), "face");
        name(this.edges, this.kinds || [], "edge");
        if (this.nodes.length) told.push(`${this.nodes.length} nodes`);
        this.what.textContent = told.length ? `chosen ${told.join("; ")}` : "Click a face, or several.";
        [...this.list.children].forEach(({ firstChild }, k) => firstChild.setAttribute("aria-pressed", this.edges.has(k)));
        this.changed();
    }
}

// Small crosses at places, as one thing to draw.
function crosses(viewer, places) {
    const size = 0.006 * viewer.scene.bounds.radius;
    return viewer.renderer.upload(lines(places.flatMap((place) => [0, 1, 2].flatMap((k) => [-size, size].map((off) => place.map((x, i) => (i === k ? x + off : x)))))));
}

// Sets of the mesh: each can be shown in a colour of its own, and chosen.
export function build_layers(viewer, part, choice, parent) {
    const shown = new Map();
    const names = Object.keys(part.sets);
    if (names.length) parent.append(element("h2", { textContent: "Sets of the mesh" }));
    parent.append(...names.map((name, k) => {
        const css = COLOURS[k % COLOURS.length];
        const fetched = async () => {
            if (!shown.has(name)) {
                const found = await ask("layer", { set: name });
                const thing = found.marks.length ? crosses(viewer, found.marks) : viewer.renderer.upload(await scene_of(found.drawn, found.arrays));
                shown.set(name, { ...found, thing, colour: [...rgb_of(css), 1], on: false });
            }
            return shown.get(name);
        };
        const box = element("input", { type: "checkbox", id: `layer-${name}` });
        box.addEventListener("change", async () => {
            (await fetched()).on = box.checked;
            choice.changed();
        });
        const swatch = element("span", { className: "swatch" });
        swatch.style.background = css;
        const choose = action(`set-${name}`, "choose", async () => {
            const { patches, nodes } = await fetched();
            for (const number of patches || []) choice.faces.add(number);
            if (nodes) choice.nodes = nodes;
            choice.show();
        });
        choose.ariaLabel = `choose ${name}`;
        return element("div", { className: "layer" }, [element("label", {}, [box, swatch, element("span", { textContent: name }), element("small", { textContent: `${part.sets[name]} nodes` })]), choose]);
    }));
    return () => [...shown.values()].filter(({ on }) => on).map(({ thing, colour, marks }) => ({ thing, colour, faces: !marks.length, on_top: marks.length > 0 }));
}
