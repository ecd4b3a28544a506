// The viewer: holds the state of the page, draws a frame when something changed, answers `window.flexmbs`.
import { Camera } from "./camera.js";
import { dot } from "./matrix.js";
import { locate, row } from "./data.js";
import { body_mode_at, largest_displacement, largest_stress, motion_at, skin_point, system_mode_at } from "./motion.js";
import { number_text, Plot } from "./plot.js";
import { Renderer } from "./renderer.js";
import { Stage } from "./stage.js";
import { Labels } from "./labels.js";
import { build_display, build_modes, build_things, draw_legend } from "./controls.js";
import { met_by } from "./probe.js";
import { build_arrows, build_pictures, build_range, build_section, Probes, size_of, UNITS } from "./tools.js";

const PRESETS = ["iso", "front", "back", "left", "right", "top"];
const SLOW = 40;       // milliseconds from picture to picture from which on moving ones are coarser
const KEYS = { ArrowLeft: [-15, 0], ArrowRight: [15, 0], ArrowUp: [0, 15], ArrowDown: [0, -15], "+": [0, 0, 0.87], "-": [0, 0, 1.15] };

export class Viewer {
    constructor(scene) {
        this.scene = scene;
        const shader = (name) => document.getElementById(`shader-${name}`).textContent;
        this.renderer = new Renderer(document.getElementById("view"),
            { skin: shader("skin"), surface: shader("surface"), plain: shader("plain") }, scene.palette);
        this.camera = new Camera(scene.up, scene.bounds);
        this.stage = new Stage(this.renderer, scene, this.camera);
        this.plot = new Plot(document.getElementById("plot"), scene.time, (t) => this.set_time(t));
        this.t = scene.time[0];
        this.phase = 0;
        this.playing = false;
        this.mode = null;
        this.on_change = [];
        this.ghosts = [];     // other runs: {name, scene, stage}
        this.grab = null;     // (x, y) -> what takes the movement of a pointer that begins there
        this.coarse = false;  // fewer points, while it moves
        this.drawn = 0;
        this.marks = [];      // crosses that somebody else puts into the picture
        this.layers = [];     // {thing, colour, faces, on_top} above the bodies
        this.clicked = null;  // (x, y) -> whether somebody else has taken the click
        const stressed = scene.bodies.some((body) => body.mesh.stress);
        const { start } = scene;
        this.show = { field: stressed ? 1 : 0, scale: start.scale, undeformed: start.undeformed, edges: true, joints: true, grid: true, axes: true,
                      selected: -1, levels: [0, 1], ranges: {}, section: null, names: true, frames: true, elements: true, rows: true, named: null, forces: false, arrow_scale: 1, force_colour: [0.75, 0.1, 0.6, 1], units: { 1: UNITS[1][0][0], 2: UNITS[2][0][0] }, ...scene.theme.light };
        for (const name of scene.shown) this.toggle_channel(name, false);
        this.labels = new Labels(this);
        this.follow_theme();
        this.build_controls();
        if (scene.modes_first) {
            const first = scene.system_modes && scene.system_modes.some((mode) => !mode.load) ? { system: 0 }
                : { body: scene.bodies.findIndex((body) => body.n_modes), mode: 0 };
            if (first.body !== -1) this.play_mode(first);
        }
        this.playing = this.playing || (scene.time.length > 1 && start.time === null);
        if (start.time !== null && scene.time.length > 1) this.set_time(start.time);
        this.camera.preset(start.view);
        if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) this.playing = false;
        this.changed();
        new ResizeObserver(() => this.changed()).observe(this.renderer.canvas);
        requestAnimationFrame((now) => this.frame(now));
    }

    follow_theme() {
        const dark = window.matchMedia("(prefers-color-scheme: dark)");
        const apply = () => this.set(dark.matches ? this.scene.theme.dark : this.scene.theme.light);
        dark.addEventListener("change", apply);
        apply();
    }

    // Another scene in place of the present one, seen from the same place; the panel is built anew where parts changed.
    renew(scene) {
        const outline = (of) => JSON.stringify([of.bodies.map((body) => [body.name, body.kind, body.n_modes]), of.joints.map((joint) => [joint.name, joint.type]),
                                                of.channels.map((channel) => channel.name), of.arrows.length]);
        const other = outline(scene) !== outline(this.scene);
        const names = this.plot.curves.map((curve) => curve.name);
        const was_empty = !this.scene.bodies.length;
        this.stage.remove();
        this.scene = scene;
        this.camera.home = scene.bounds;
        this.stage = new Stage(this.renderer, scene, this.camera);
        this.labels.renew();
        this.plot.time = scene.time;
        this.plot.curves = [];
        for (const name of scene.channels.some((item) => names.includes(item.name)) ? names : scene.shown) this.toggle_channel(name, false);
        this.mode = this.level_key = null;
        this.t = Math.max(scene.time[0], Math.min(this.t, this.span()[1]));
        if (other) {
            this.show.selected = -1;
            this.build_panel();
        }
        if (was_empty || !this.touched) this.camera.fit();
        this.changed();
    }

    build_controls() {
        const at = (id) => document.getElementById(id);
        this.build_panel();
        at("presets").append(...PRESETS.map((name) => {
            const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
            button.addEventListener("click", () => { this.camera.preset(name); this.touched = false; this.changed(); });
            return button;
        }), Object.assign(document.createElement("button"), { type: "button", textContent: "fit", title: "all in view (key f)", onclick: () => this.fit() }));
        const toggle = at("panel-toggle");
        const open = (yes) => { at("panel").hidden = !yes; toggle.setAttribute("aria-expanded", yes); };
        toggle.addEventListener("click", () => open(at("panel").hidden));
        open(window.innerWidth > 640);
        const slider = at("slider");
        slider.addEventListener("input", () => this.set_time(Number(slider.value)));
        at("play").addEventListener("click", () => this.play(!this.playing));
        at("speed").addEventListener("input", () => this.changed());
        this.on_change.push(() => {
            [slider.min, slider.max] = this.span();
            slider.value = this.t;
            at("play").textContent = this.playing ? "II" : "\u25b6";
            at("clock").textContent = this.mode ? this.mode_text() : `t = ${number_text(this.t)} s of ${number_text(this.end || this.span()[1])} s`;
            at("speed-text").textContent = `\u00d7${number_text(this.speed())} real time`;
        });
        this.build_pointer();
    }

    // What depends on the parts of the scene.
    build_panel() {
        const at = (id) => document.getElementById(id);
        for (const id of ["display", "points", "modes", "things", "pictures"]) at(id).replaceChildren();
        const others = this.on_change.filter((update) => !this.of_panel || !this.of_panel.includes(update));
        this.on_change = [];
        build_display(this, at("display"));
        if (this.scene.bodies.some((body) => body.n_modes)) build_range(this, at("display"));
        if (this.scene.arrows.length) build_arrows(this, at("display"));
        build_section(this, at("display"));
        this.probes = new Probes(this, at("points"));
        build_pictures(this, at("pictures"));
        build_modes(this, at("modes"));
        build_things(this, at("things"));
        at("notes").replaceChildren(...this.scene.notes.map((text) => Object.assign(document.createElement("p"), { textContent: text })));
        this.of_panel = this.on_change;
        this.on_change = [...others, ...this.of_panel];
    }

    build_pointer() {
        const canvas = this.renderer.canvas;
        const pointers = new Map();
        let moved = 0;
        let held = null;      // what takes the movement in place of the camera
        canvas.addEventListener("pointerdown", (event) => {
            canvas.setPointerCapture(event.pointerId);
            pointers.set(event.pointerId, [event.clientX, event.clientY]);
            moved = 0;
            held = this.grab && pointers.size === 1 ? this.grab(event.offsetX, event.offsetY) : null;
        });
        canvas.addEventListener("pointermove", (event) => {
            const last = pointers.get(event.pointerId);
            if (!last) return;
            const [dx, dy] = [event.clientX - last[0], event.clientY - last[1]];
            moved += Math.abs(dx) + Math.abs(dy);
            if (held && pointers.size === 1) {
                pointers.set(event.pointerId, [event.clientX, event.clientY]);
                held(event.offsetX, event.offsetY);
                return;
            }
            if (pointers.size === 2) {
                const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
                const gap = (x, y) => Math.hypot(x - other[0], y - other[1]) || 1;
                this.camera.zoom(gap(...last) / gap(event.clientX, event.clientY));
            } else if (event.shiftKey || event.buttons & 6) this.camera.pan(dx, dy, canvas.clientHeight);
            else this.camera.orbit(dx, dy);
            pointers.set(event.pointerId, [event.clientX, event.clientY]);
            this.touched = true;
            this.changed();
        });
        const release = (event) => {
            if (held && pointers.size === 1) held(event.offsetX, event.offsetY, true);
            held = null;
            if (event.type === "pointerup" && moved < 4 && pointers.size === 1) this.click(event.offsetX, event.offsetY, event.altKey);
            pointers.delete(event.pointerId);
        };
        canvas.addEventListener("pointerup", release);
        canvas.addEventListener("pointercancel", release);
        canvas.addEventListener("contextmenu", (event) => event.preventDefault());
        canvas.addEventListener("wheel", (event) => {
            event.preventDefault();
            this.camera.zoom(Math.exp(0.0012 * event.deltaY));
            this.touched = true;
            this.changed();
        }, { passive: false });
        document.addEventListener("keydown", (event) => {
            if (["INPUT", "SELECT", "BUTTON", "TEXTAREA"].includes(event.target.tagName)) return;
            if (event.key === " ") this.play(!this.playing);
            else if (event.key === "f") this.fit();
            else if (event.key === "Escape") this.probes.arm(false);
            else if (document.activeElement === canvas && event.key in KEYS) this.steer(...KEYS[event.key]);
            else return;
            event.preventDefault();
        });
    }

    // Turn, or come nearer, by the keyboard.
    steer(dx, dy, factor = 1) {
        this.camera.orbit(dx, dy);
        this.camera.zoom(factor);
        this.touched = true;
        this.changed();
    }

    span() { return [this.scene.time[0], this.scene.time[this.scene.time.length - 1]]; }

    // Simulated seconds per second: the whole run takes ten seconds at the middle of the slider.
    speed() {
        const [t0, t1] = this.span();
        return ((t1 - t0) / 10) * 2 ** Number(document.getElementById("speed").value);
    }

    mode_text() {
        if (this.mode.held) return this.mode.text;
        if ("system" in this.mode) {
            const { load, text } = this.scene.system_modes[this.mode.system];
            return load ? text : `mode ${this.mode.system + 1} of the system`;
        }
        return `mode ${this.mode.mode + 1} of ${this.scene.bodies[this.mode.body].name}`;
    }

    set(options) { Object.assign(this.show, options); this.changed(); }
    set_time(t) {
        const [t0, t1] = this.span();
        this.t = Math.max(t0, Math.min(t1, t));
        this.mode = null;
        this.changed();
    }
    play(yes) { this.playing = yes; this.changed(); }
    play_mode(mode) { this.mode = mode; this.phase = Math.PI / 2; this.playing = mode !== null; this.changed(); }
    select(number) { this.set({ selected: number }); }
    fit() {
        this.camera.fit();
        this.touched = false;
        this.changed();
    }

    // A click selects what is there; with the probe in hand, or the alt key, it takes the point.
    click(x, y, alt = false) {
        if (this.clicked && !this.probes.active && !alt && this.clicked(x, y)) return;
        const found = this.pick(x, y);
        const met = (this.probes.active || alt) && found >= 0 && found < this.scene.bodies.length ? this.met_at(found, x, y) : null;
        if (met) this.probes.add(found, met.vertex);
        else this.select(found);
    }

    met_at(number, x, y) {
        const { canvas } = this.renderer;
        const { place, ray } = this.camera.ray(x / canvas.clientWidth, y / canvas.clientHeight);
        const { section, scale } = this.show;
        const cut = (point) => section !== null && dot(section, point) > section[3];
        return met_by(this.scene.bodies[number], this.poses()[number], scale, place, ray, cut);
    }
    name_of(number) {
        const n = this.scene.bodies.length;
        return number < 0 ? null : number < n ? this.scene.bodies[number].name : this.scene.joints[number - n].name;
    }
    toggle_channel(name, redraw = true) {
        const channel = this.scene.channels.find((item) => item.name === name);
        if (channel) this.plot.toggle(channel);
        if (redraw) this.changed();
    }

    poses() {
        return this.mode ? this.swing(this.phase) : motion_at(this.scene, this.t);
    }

    swing(phase) {
        if (this.mode.held) return [{ ...motion_at(this.scene, this.t, 0)[0], q: this.mode.held }];
        if ("system" in this.mode) return system_mode_at(this.scene, this.mode.system, phase, this.show.scale);
        return body_mode_at(this.scene, this.t, this.mode.body, this.mode.mode, phase);
    }

    pick(x, y) {
        const ratio = this.renderer.canvas.width / this.renderer.canvas.clientWidth;
        const found = this.stage.pick(this.camera, this.poses(), this.show, x * ratio, y * ratio);
        this.changed();
        return found;
    }

    changed() { this.dirty = true; }

    frame(now) {
        const seconds = Math.min((now - (this.last || now)) / 1000, 0.1);
        this.last = now;
        if (this.playing) {
            if (this.mode) this.phase += 3 * seconds;
            else {
                const [t0, t1] = this.span();
                this.t += this.speed() * seconds;
                if (this.t > t1 && this.film) this.film.stop();
                if (this.t > t1) this.t = t0;
            }
            this.dirty = true;
        }
        // without a graphics card what moves is drawn with half as many points each way, and anew when it rests
        if (this.film) this.coarse = false;
        const since = now - this.drawn;       // of pictures that follow each other, what one takes
        if (this.renderer.software && this.dirty && since > SLOW && since < 300 && !this.film) this.coarse = true;
        else if (this.coarse && !this.dirty && since > 150) {
            this.coarse = false;
            this.dirty = true;
        }
        if (this.dirty) {
            this.draw();
            if (!this.drawn) performance.mark("first picture");
            this.drawn = now;
        }
        requestAnimationFrame((later) => this.frame(later));
    }

    draw() {
        this.dirty = false;
        const { canvas } = this.renderer;
        const ratio = (window.devicePixelRatio || 1) * (this.coarse ? 0.5 : 1);
        const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
        if (!width || !height) return;
        if (canvas.width !== width || canvas.height !== height) {
            Object.assign(canvas, { width, height });
            this.camera.aspect = width / height;
            if (!this.touched) this.camera.fit();
        }
        this.show.levels = this.levels();
        const poses = this.poses();
        this.stage.draw(this.camera, poses, this.show, this.coarse);
        if (this.show.forces && !this.mode && this.scene.arrows.length) this.stage.draw_arrows(locate(this.scene.time, this.t), poses, this.show);
        this.stage.draw_layers(this.layers);
        for (const probe of [...this.probes.now(poses), ...this.marks]) this.stage.draw_probe(probe);
        for (const { scene, stage } of this.mode ? [] : this.ghosts) stage.draw_ghost(motion_at(scene, this.t), this.show);
        if (this.scene.symbols) {
            this.stage.draw_symbols(poses, this.show);
            this.labels.draw(poses, this.camera.matrices(canvas.width / canvas.height).view_projection, this.show);
        }
        this.draw_legend();
        document.getElementById("app").classList.toggle("still", this.scene.time.length < 2);
        const place = locate(this.scene.time, this.t);
        this.plot.others = this.ghosts;
        this.plot.draw(this.t, (curve) => row(curve.values, 1, place)[0]);
        for (const update of this.on_change) update();
    }

    // Ends of the colours: one pair for all bodies of a run, so that colours compare; those of the mode for a mode.
    levels() {
        const { scene, show, mode } = this;
        if (mode) {
            const key = JSON.stringify([mode, show.field, "system" in mode ? show.scale : 1]);
            if (this.level_key !== key) {
                const largest = show.field === 1 ? largest_stress : largest_displacement;
                const swings = [0, Math.PI / 2].map((phase) => this.swing(phase));
                this.level_value = Math.max(...swings.flatMap((poses) => scene.bodies.map((body, k) => largest(body, poses[k].q))));
                this.level_key = key;
            }
            return [0, this.level_value || 1];
        }
        if (show.field === 3) return [show.value.low, show.value.high];
        const largest = show.field === 1 ? scene.stress_max : scene.displacement_max;
        return show.ranges[show.field] || [0, largest || 1];
    }

    draw_legend() {
        const { field } = this.show;
        const title = ["", "von Mises stress", "displacement"][field];
        const { palette } = this.scene;
        if (field === 3) return draw_legend(palette, this.show.value.title, this.show.value.unit, this.show.levels);
        const { held, factor = 1 } = this.mode || {};
        if (!field || (this.mode && !held)) return draw_legend(palette, field ? `${title}, share of the mode's largest` : "", "", [0, 1]);
        const unit = this.show.units[field];
        draw_legend(palette, title, unit, this.show.levels.map((end) => end / factor / size_of(field, unit)));
    }

    skin_point(b, vertex) {
        return skin_point(this.scene.bodies[b], this.poses()[b], vertex, this.show.scale);
    }
}
