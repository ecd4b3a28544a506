// The tools of the panel: range and unit of the colours, section, probed points, pictures of what is seen.
import { norm, rotate, subtract } from "./matrix.js";
import { largest_displacement, largest_stress } from "./motion.js";
import { COLOURS, number_text } from "./plot.js";
import { history_of, values_at } from "./probe.js";
import { lines } from "./stage.js";
import { element, labelled, switch_row } from "./controls.js";

const MAX_PROBES = 6;
// by field: units with their size in SI, the usual one first
export const UNITS = {
    1: [["MPa", 1e6], ["Pa", 1], ["kPa", 1e3], ["GPa", 1e9], ["ksi", 6894757.293168361]],
    2: [["mm", 1e-3], ["m", 1], ["\u00b5m", 1e-6], ["in", 0.0254]],
};

export const size_of = (field, unit) => UNITS[field].find(([name]) => name === unit)[1];

// Ends of the colours and their unit; without own ends they are those of the whole run.
export function build_range(viewer, parent) {
    const unit = element("select", { id: "unit" });
    const [low, high] = ["low", "high"].map((id) => element("input", { type: "number", step: "any", id, "aria-label": `${id} end of the colours` }));
    const read = () => {
        const { field, units } = viewer.show;
        const ends = [low, high].map((input) => Number(input.value) * size_of(field, units[field]));
        if (ends[1] > ends[0]) viewer.set({ ranges: { ...viewer.show.ranges, [field]: ends } });
    };
    for (const input of [low, high]) input.addEventListener("change", read);
    unit.addEventListener("change", () => viewer.set({ units: { ...viewer.show.units, [viewer.show.field]: unit.value } }));
    const button = (text, title, range_of_now) => {
        const node = element("button", { type: "button", textContent: text, title });
        node.addEventListener("click", () => viewer.set({ ranges: { ...viewer.show.ranges, [viewer.show.field]: range_of_now() } }));
        return node;
    };
    const instant = () => {
        const largest = viewer.show.field === 1 ? largest_stress : largest_displacement;
        const poses = viewer.poses();
        return [0, Math.max(...viewer.scene.bodies.map((body, k) => (body.n_modes ? largest(body, poses[k].q, poses[k].amounts) : 0))) || 1];
    };
    const rows = [labelled("colours from", low, [unit]), labelled("to", high),
                  labelled("", button("run", "ends of the whole run", () => undefined), [button("now", "ends at this instant", instant)])];
    parent.append(...rows);
    let shown = null;
    viewer.on_change.push(() => {
        const { field, units, levels } = viewer.show;
        for (const node of rows) node.hidden = !field || viewer.mode !== null;
        const key = JSON.stringify([field, units, levels]);
        if (!field || viewer.mode || key === shown) return;
        shown = key;
        unit.replaceChildren(...UNITS[field].map(([name]) => element("option", { textContent: name, value: name })));
        unit.value = units[field];
        [low, high].forEach((input, k) => { input.value = Number((levels[k] / size_of(field, units[field])).toPrecision(5)); });
    });
}

// Forces and reactions as arrows, and how long they are.
export function build_arrows(viewer, parent) {
    const slider = element("input", { type: "range", min: -2, max: 2, step: 0.1, value: 0, id: "arrow-scale", "aria-label": "length of the arrows" });
    slider.addEventListener("input", () => viewer.set({ arrow_scale: 10 ** Number(slider.value) }));
    const text = element("output");
    const rows = [labelled("their length", slider), labelled("", text)];
    parent.append(switch_row(viewer, "forces and reactions", "forces"), ...rows);
    viewer.on_change.push(() => {
        for (const node of rows) node.hidden = !viewer.show.forces;
        const { largest } = viewer.stage;
        text.value = largest ? `${number_text(largest / viewer.show.arrow_scale)} N is ${number_text(500 * viewer.scene.bounds.radius)} mm` : "";
    });
}

// A plane across an axis of the ground; what lies beyond it is not drawn.
export function build_section(viewer, parent) {
    const axis = element("select", { id: "section" }, ["none", "x", "y", "z", "-x", "-y", "-z"].map((text) => element("option", { textContent: text })));
    const slider = element("input", { type: "range", min: 0, max: 1, step: 0.005, value: 0.5, id: "section-place" });
    const place = element("output");
    const read = () => {
        const k = "xyz".indexOf(axis.value.slice(-1));
        const sign = axis.value.startsWith("-") ? -1 : 1;
        slider.parentNode.hidden = place.parentNode.hidden = axis.value === "none";
        if (axis.value === "none") return viewer.set({ section: null });
        const { low, high } = viewer.scene.bounds;
        const at = low[k] + Number(slider.value) * (high[k] - low[k]);
        place.value = `${number_text(at * 1e3)} mm`;
        viewer.set({ section: [...[0, 1, 2].map((i) => (i === k ? sign : 0)), sign * at] });
    };
    axis.addEventListener("change", read);
    slider.addEventListener("input", read);
    parent.append(labelled("section", axis), labelled("at", slider), labelled("", place));
    slider.parentNode.hidden = place.parentNode.hidden = true;
}

// Points that were clicked: what acts there now, curves of it, their paths, the distance of the last two.
export class Probes {
    constructor(viewer, parent) {
        this.viewer = viewer;
        this.found = [];
        this.active = false;
        this.button = element("button", { type: "button", id: "probe", textContent: "probe a point" });
        this.button.setAttribute("aria-pressed", false);
        this.button.addEventListener("click", () => this.arm(!this.active));
        this.holder = element("div", { id: "probes" });
        this.distance = element("p", { id: "distance" });
        viewer.show.paths = viewer.show.paths || false;
        const paths = switch_row(viewer, "paths of points", "paths");
        parent.append(element("h2", { textContent: "Points" }), this.button, this.holder, this.distance, paths);
        viewer.on_change.push(() => {
            paths.hidden = !this.found.length;
            this.tell();
        });
    }

    arm(yes) {
        this.active = yes;
        this.button.setAttribute("aria-pressed", yes);
        this.viewer.renderer.canvas.classList.toggle("probing", yes);
    }

    add(number, vertex) {
        const body = this.viewer.scene.bodies[number];
        const node = body.mesh.nodes ? body.mesh.nodes[vertex] : vertex;
        const name = `${body.name}.${body.mesh.nodes ? "node" : "point"} ${node}`;
        if (this.found.some((probe) => probe.name === name)) return;
        if (this.found.length === MAX_PROBES) this.drop(this.found[0]);
        const free = COLOURS.find((colour) => this.found.every((probe) => probe.css !== colour));
        const rgb = [1, 3, 5].map((k) => parseInt(free.slice(k, k + 2), 16) / 255);
        const text = element("pre");
        const probe = { number, vertex, name, css: free, colour: [...rgb, 1], text, channels: [] };
        const close = element("button", { type: "button", textContent: "\u00d7", title: "forget it", "aria-label": `forget ${name}` });
        close.addEventListener("click", () => this.drop(probe));
        const swatch = element("span", { className: "swatch" });
        swatch.style.background = free;
        const kinds = body.n_modes ? ["displacement", ...(body.mesh.stress ? ["von_mises"] : [])] : ["x", "y", "z"];
        const curves = kinds.map((kind) => {
            const node = element("button", { type: "button", textContent: kind.replace("_", " "), title: "its curve" });
            node.addEventListener("click", () => this.toggle(probe, kind));
            return node;
        });
        probe.row = element("div", { className: "probe" }, [element("header", {}, [swatch, element("strong", { textContent: name }), close]), text, ...curves]);
        this.found.push(probe);
        this.holder.append(probe.row);
        this.refresh();
    }

    drop(probe) {
        this.found.splice(this.found.indexOf(probe), 1);
        for (const channel of probe.channels) if (this.viewer.plot.curves.includes(channel)) this.viewer.plot.toggle(channel);
        if (probe.path) this.viewer.renderer.remove(probe.path);
        probe.row.remove();
        this.viewer.changed();
    }

    toggle(probe, kind) {
        let channel = probe.channels.find((item) => item.kind === kind);
        if (!channel) {
            channel = { kind, name: `${probe.name} ${kind.replace("_", " ")}`, unit: kind === "von_mises" ? "Pa" : "m" };
            probe.channels.push(channel);
            this.refresh();
        }
        this.viewer.plot.toggle(channel);
        this.viewer.changed();
    }

    // Histories anew: a point was added, or the run went on.
    refresh() {
        const { scene, renderer } = this.viewer;
        for (const probe of this.found) {
            const known = history_of(scene, probe.number, probe.vertex);
            for (const channel of probe.channels) {
                const k = "xyz".indexOf(channel.kind);
                channel.values = new Float32Array(k < 0 ? known[channel.kind] : known.place.map((place) => place[k]));
            }
            if (probe.path) renderer.remove(probe.path);
            probe.path = renderer.upload(lines(known.place.slice(1).flatMap((place, k) => [known.place[k], place])));
        }
        this.viewer.changed();
    }

    // The probes with what acts there at the shown instant.
    now(poses) {
        return this.found.map((probe) => {
            const pose = poses[probe.number];
            const values = values_at(this.viewer.scene.bodies[probe.number], pose, probe.vertex);
            const principal = (values.principal || []).map(({ value, direction }) => ({ value, direction: rotate(pose.R, direction) }));
            const place = this.viewer.skin_point(probe.number, probe.vertex);
            return { ...values, principal, shown: place, colour: probe.colour, path: this.viewer.show.paths ? probe.path : null };
        });
    }

    tell() {
        const { units } = this.viewer.show;
        const known = this.now(this.viewer.poses());
        const [mm, stress] = [(x) => number_text(x * 1e3), (x) => number_text(x / size_of(1, units[1]))];
        this.found.forEach((probe, k) => {
            const at = known[k];
            const told = [`at ${at.place.map(mm).join(", ")} mm`];
            if (this.viewer.scene.bodies[probe.number].n_modes) told.push(`displaced ${mm(at.displacement)} mm`);
            if (at.von_mises !== null && !this.viewer.mode) {
                told.push(`von Mises ${stress(at.von_mises)} ${units[1]}`, `principal ${at.principal.map(({ value }) => stress(value)).join(", ")} ${units[1]}`);
            }
            const text = told.join("\n");
            if (probe.text.textContent !== text) probe.text.textContent = text;
        });
        const last = known.slice(-2);
        const gap = last.length === 2 ? subtract(last[1].place, last[0].place) : null;
        this.distance.textContent = gap ? `distance of the last two ${mm(norm(gap))} mm (${gap.map(mm).join(", ")})` : "";
    }
}

// The picture as it is seen, with title, time and colours, as a file.
export function picture(viewer) {
    viewer.coarse = false;
    viewer.draw();
    const { canvas } = viewer.renderer;
    const sheet = element("canvas", { width: canvas.width, height: canvas.height });
    const pen = sheet.getContext("2d");
    const ratio = canvas.width / canvas.clientWidth;
    pen.drawImage(canvas, 0, 0);
    pen.scale(ratio, ratio);
    pen.fillStyle = getComputedStyle(document.body).color;
    pen.font = "13px system-ui, sans-serif";
    pen.fillText(`${viewer.scene.title}   ${document.getElementById("clock").textContent}`, 12, canvas.clientHeight - 10);
    const legend = document.getElementById("legend");
    if (!legend.hidden) {
        const [left, top] = [12, 30];
        pen.fillText(document.getElementById("legend-title").textContent, left, top - 10);
        pen.drawImage(document.getElementById("legend-bar"), left, top, 14, 160);
        document.querySelectorAll("#legend-marks li").forEach((mark, k) => pen.fillText(mark.textContent, left + 20, top + 8 + 38 * k));
    }
    return sheet;
}

function save(blob, name) {
    const link_node = element("a", { href: URL.createObjectURL(blob), download: name });
    link_node.click();
    setTimeout(() => URL.revokeObjectURL(link_node.href), 10000);
}

export function build_pictures(viewer, parent) {
    const name = viewer.scene.title.replace(/[^\w.-]+/g, "_") || "flexmbs";
    const still = element("button", { type: "button", textContent: "picture", id: "picture" });
    still.addEventListener("click", () => picture(viewer).toBlob((blob) => save(blob, `${name}.png`)));
    const film = element("button", { type: "button", textContent: "film", id: "film", title: "the motion once, at the present speed, from the present view" });
    film.hidden = viewer.scene.time.length < 2 || !window.MediaRecorder;
    film.addEventListener("click", () => (viewer.film ? viewer.film.stop() : record(viewer, film, `${name}.webm`)));
    parent.append(element("h2", { textContent: "Save what is seen" }), still, " ", film);
}

// Records from the first to the last sample, or until stopped.
function record(viewer, button, name) {
    const recorder = new MediaRecorder(viewer.renderer.canvas.captureStream(30));
    const parts = [];
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.onstop = () => {
        viewer.film = null;
        viewer.play(false);
        button.textContent = "film";
        save(new Blob(parts, { type: recorder.mimeType }), name);
    };
    viewer.film = recorder;
    viewer.set_time(viewer.span()[0]);
    viewer.play(true);
    button.textContent = "stop the film";
    recorder.start();
}

// The report of the result beside the picture, when it is wanted.
export function build_report(address) {
    const work = document.getElementById("work");
    const button = element("button", { type: "button", id: "report-toggle", textContent: "report" });
    button.setAttribute("aria-expanded", false);
    button.setAttribute("aria-controls", "work");
    button.addEventListener("click", () => {
        if (!work.childElementCount) work.append(element("iframe", { title: "report", src: address }));
        work.hidden = !work.hidden;
        button.setAttribute("aria-expanded", !work.hidden);
    });
    document.querySelector("header").append(button);
}
