// The panel: display options, mode browser, bodies with their channels. It only changes `viewer.show` and calls the viewer.
import { number_text } from "./plot.js";

const FIELDS = [["plain", 0], ["von Mises stress", 1], ["displacement", 2]];

export function element(tag, properties = {}, children = []) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
}

export function labelled(text, input, after = []) {
    return element("label", {}, [element("span", { textContent: text }), input, ...after]);
}

export function switch_row(viewer, text, key) {
    const input = element("input", { type: "checkbox", checked: viewer.show[key], id: `show-${key}` });
    input.addEventListener("change", () => viewer.set({ [key]: input.checked }));
    viewer.on_change.push(() => { input.checked = viewer.show[key]; });
    return labelled(text, input);
}

export function build_display(viewer, parent) {
    const { scene } = viewer;
    parent.append(element("h2", { textContent: "Display" }));
    if (scene.bodies.some((body) => body.n_modes)) {
        const fields = FIELDS.filter(([, code]) => code !== 1 || scene.bodies.some((body) => body.mesh.stress));
        const select = element("select", { id: "field" }, fields.map(([text, code]) => element("option", { textContent: text, value: code })));
        select.value = viewer.show.field;
        select.addEventListener("change", () => viewer.set({ field: Number(select.value) }));
        viewer.on_change.push(() => { select.value = viewer.show.field; });
        const slider = element("input", { type: "range", id: "scale", min: 0, max: 4, step: 0.01 });
        const text = element("output", { id: "scale-text" });
        slider.addEventListener("input", () => viewer.set({ scale: slider.value > 0 ? 10 ** Number(slider.value) : 1 }));
        viewer.on_change.push(() => {
            slider.value = Math.log10(Math.max(viewer.show.scale, 1));
            text.value = `\u00d7${number_text(viewer.show.scale)}`;
        });
        const button = element("button", { type: "button", textContent: `\u00d7${number_text(scene.suggested_scale)}`, id: "suggest" });
        button.addEventListener("click", () => viewer.set({ scale: scene.suggested_scale }));
        const exact = element("button", { type: "button", textContent: "\u00d71", title: "true to scale", id: "true-scale" });
        exact.addEventListener("click", () => viewer.set({ scale: 1 }));
        parent.append(labelled("colour", select), labelled("deformation", slider), labelled("", text, scene.suggested_scale > 1 ? [exact, button] : [exact]));
        parent.append(switch_row(viewer, "undeformed edges", "undeformed"));
    }
    parent.append(switch_row(viewer, "mesh edges", "edges"), switch_row(viewer, "joints", "joints"), switch_row(viewer, "grid", "grid"));
}

function list(items) {
    return element("ul", { className: "list" }, items.map((button) => element("li", {}, [button])));
}

function mode_button(viewer, text, frequency, play) {
    const hz = frequency === undefined ? "" : `${number_text(frequency)} Hz`;
    const button = element("button", { type: "button" }, [element("span", { textContent: text }), element("small", { textContent: hz })]);
    button.addEventListener("click", () => viewer.play_mode(play));
    viewer.on_change.push(() => button.classList.toggle("on", JSON.stringify(viewer.mode) === JSON.stringify(play)));
    return button;
}

export function build_modes(viewer, parent) {
    const { scene } = viewer;
    const system = scene.system_modes || [];
    const of_system = system.map((mode, k) => [mode, k]).filter(([mode]) => !mode.load);
    const loads = system.map((mode, k) => [mode, k]).filter(([mode]) => mode.load);
    if (of_system.length) {
        parent.append(element("h2", { textContent: "Modes of the system" }));
        parent.append(list(of_system.map(([mode, k]) => mode_button(viewer, `mode ${k + 1} ${mode.text}`, mode.frequency_hz, { system: k }))));
    }
    scene.bodies.forEach((body, b) => {
        if (!body.n_modes) return;
        parent.append(element("h2", { textContent: `Modes of ${body.name}` }));
        parent.append(list(body.modes.map((mode, a) =>
            mode_button(viewer, `mode ${a + 1} ${mode.kind || ""}`, mode.frequency_hz, { body: b, mode: a }))));
    });
    if (loads.length) {
        parent.append(element("h2", { textContent: "Unit loads at interfaces" }));
        parent.append(list(loads.map(([mode, k]) => mode_button(viewer, mode.text, undefined, { system: k }))));
    }
    if (!scene.modes_first && parent.childElementCount) {
        const text = scene.time.length > 1 ? "back to the motion" : "back to the state of the run";
        const back = element("button", { type: "button", textContent: text, id: "back" });
        back.addEventListener("click", () => viewer.play_mode(null));
        viewer.on_change.push(() => { back.hidden = !viewer.mode; });
        parent.append(back);
    }
}

export function build_things(viewer, parent) {
    const { scene } = viewer;
    parent.append(element("h2", { textContent: "Bodies and joints" }));
    const things = [...scene.bodies.map((body) => [body.name, body.kind]), ...scene.joints.map((joint) => [joint.name, joint.type])];
    parent.append(list(things.map(([name, kind], k) => {
        const swatch = element("span", { className: "swatch" });
        const rgb = k < scene.bodies.length ? scene.bodies[k].colour : [0.93, 0.55, 0.13];
        swatch.style.background = `rgb(${rgb.map((x) => Math.round(255 * x)).join(" ")})`;
        const button = element("button", { type: "button" }, [element("span", { textContent: name }), element("small", { textContent: kind }), swatch]);
        button.addEventListener("click", () => viewer.select(k));
        viewer.on_change.push(() => button.classList.toggle("on", viewer.show.selected === k));
        return button;
    })));
    const title = element("h2", { id: "channels-title" });
    const holder = element("div", { id: "channels" });
    parent.append(title, holder);
    let shown = null;
    viewer.on_change.push(() => {
        const selected = viewer.show.selected;
        const prefix = selected < 0 ? "" : viewer.name_of(selected);
        const key = prefix + viewer.plot.curves.map((curve) => curve.name).join();
        if (key === shown) return;
        shown = key;
        const own = scene.channels.filter((channel) => (prefix ? channel.owner === prefix : !channel.owner));
        title.textContent = prefix ? `Channels of ${prefix}` : own.length ? "Channels" : "";
        holder.replaceChildren(list(own.map((channel) => channel_button(viewer, channel))));
    });
}

function channel_button(viewer, channel) {
    const on = viewer.plot.curves.some((curve) => curve.name === channel.name);
    const value = element("small", { textContent: channel.unit });
    const button = element("button", { type: "button", className: on ? "on" : "" }, [element("span", { textContent: channel.name }), value]);
    button.addEventListener("click", () => viewer.toggle_channel(channel.name));
    return button;
}

// Colour bar with five marks; its text says what is shown.
export function draw_legend(palette, title, unit, [low, high]) {
    document.getElementById("legend").hidden = !title;
    const key = [title, unit, low, high].join();
    if (!title || key === draw_legend.key) return;
    draw_legend.key = key;
    document.getElementById("legend-title").textContent = unit ? `${title} [${unit}]` : title;
    const bar = document.getElementById("legend-bar");
    const pen = bar.getContext("2d");
    const shade = pen.createLinearGradient(0, bar.height, 0, 0);
    palette.forEach((rgb, k) => shade.addColorStop(k / (palette.length - 1), `rgb(${rgb.map((x) => Math.round(255 * x)).join(" ")})`));
    pen.fillStyle = shade;
    pen.fillRect(0, 0, bar.width, bar.height);
    const marks = [1, 0.75, 0.5, 0.25, 0].map((share) => element("li", { textContent: number_text(low + share * (high - low)) }));
    document.getElementById("legend-marks").replaceChildren(...marks);
}
