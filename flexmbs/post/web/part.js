// A part: faces are clicked, and become interfaces of the recipe, whose text stands beside them.
import { element, labelled } from "./controls.js";
import { scene_of } from "./data.js";
import { action, ask, Editor } from "./editor.js";
import { COLOURS } from "./plot.js";

const [CHOSEN, OTHERS] = [[0.98, 0.62, 0.12], [0.62, 0.66, 0.71]];

const rgb_of = (css) => [1, 3, 5].map((k) => parseInt(css.slice(k, k + 2), 16) / 255);

export function work_on(viewer) {
    const { part } = viewer.scene;
    const chosen = new Set();
    const work = document.getElementById("work");
    const editor = new Editor(part.text, { label: "recipe", changed: async (text) => show(await ask("check", { text })) });
    const name = element("input", { id: "interface-name", placeholder: "name", size: 8 });
    const tie = element("select", { id: "tie" }, part.ties.map((value) => element("option", { textContent: value, value })));
    const what = element("p", { id: "chosen" });
    const said = element("p", { id: "said" });
    said.setAttribute("role", "status");
    const sets = Object.entries(part.sets).map(([set, own]) => action(`set-${set}`, set, () => {
        for (const k of own) chosen.add(k);
        colour();
    }));
    const dofs = element("input", { id: "dofs", value: "x y z", size: 8, ariaLabel: "directions that are held" });
    const solid = element("select", { id: "solid", ariaLabel: "solid" }, ["", ...part.solids].map((value) => element("option", { textContent: value || "whole part", value })));
    const material = element("select", { id: "material", ariaLabel: "material" }, part.materials.map((value) => element("option", { textContent: value, value })));
    const colours = element("select", { id: "colours" }, [{ key: "", title: "interfaces" }, ...part.colours].map((item) => element("option", { textContent: item.title, value: item.key })));
    colours.addEventListener("change", async () => {
        const item = part.colours.find(({ key }) => key === colours.value);
        const found = item && await ask("values", { key: item.key });
        const values = found && found.values ? await scene_of(found.values, found.arrays) : null;
        viewer.stage.bodies.forEach((thing, k) => viewer.renderer.colour_by(thing, values && values[k]));
        viewer.set({ field: values ? 3 : 0, value: values && { ...item, low: found.low, high: found.high } });
    });
    const rectangle = action("rectangle", "nodes in a rectangle", () => arm(!viewer.grab), "all nodes of the skin behind the rectangle that is drawn");
    rectangle.setAttribute("aria-pressed", false);
    const frame = element("div", { id: "frame", hidden: true });
    document.getElementById("stage").append(frame);
    let nodes = [];
    const reduce = action("reduce", "reduce", () => begin());
    const bar = element("progress", { hidden: true, max: 1, value: 0 });
    document.getElementById("part").append(element("h2", { textContent: "Interfaces" }), what,
        labelled("of the chosen faces", name, [tie]), action("make", "make an interface", () => make()), " ",
        action("clear", "choose none", () => { chosen.clear(); nodes = []; colour(); }), " ", rectangle,
        element("h2", { textContent: "Supports and material" }), labelled("held", dofs, [action("hold", "hold the chosen", () => put("support", { dofs: dofs.value, name: name.value }))]),
        labelled("of", solid, [material]), action("take", "take this material", () => put("material", { solid: solid.value, material: material.value })),
        element("h2", { textContent: "Colours" }), labelled("show", colours),
        ...sets.length ? [element("h2", { textContent: "Sets of the mesh" }), element("div", {}, sets)] : []);
    work.hidden = false;
    work.append(element("h2", { textContent: part.file }), element("div", { className: "buttons" }, [action("save", "save", () => keep()),
        action("undo", "undo", () => editor.undo(), "Ctrl+Z"), action("redo", "redo", () => editor.redo(), "Ctrl+Shift+Z"), reduce]),
        editor.node, editor.errors, said, bar);

    let interfaces = [];
    function colour() {
        viewer.scene.bodies.forEach((body, k) => {
            const owner = interfaces.findIndex((item) => item.patches.includes(k));
            body.colour = chosen.has(k) ? CHOSEN : owner >= 0 ? rgb_of(COLOURS[owner % COLOURS.length]) : OTHERS;
        });
        viewer.marks = interfaces.map((item, k) => ({ shown: item.place, colour: [...rgb_of(COLOURS[k % COLOURS.length]), 1], principal: [], path: null }));
        const kinds = [...chosen].map((k) => part.patches[k].kind);
        for (const { place } of nodes_places()) viewer.marks.push({ shown: place, colour: [...CHOSEN, 1], principal: [], path: null });
        what.textContent = nodes.length ? `${nodes.length} nodes${kinds.length ? ` and ${kinds.length} faces` : ""} chosen` : kinds.length ? `${kinds.length} chosen: ${kinds.slice(0, 4).join(", ")}${kinds.length > 4 ? ", \u2026" : ""}`
            : "Click a face, or several.";
        viewer.changed();
    }

    // A few of the chosen nodes, to be seen.
    function nodes_places() {
        const wanted = new Set(nodes.slice(0, 400));
        const found = new Map();
        for (const { mesh } of nodes.length ? viewer.scene.bodies : []) {
            mesh.nodes.forEach((node, k) => { if (wanted.has(node)) found.set(node, { place: Array.from(mesh.points.slice(3 * k, 3 * k + 3)) }); });
        }
        return [...found.values()];
    }

    function arm(yes) {
        viewer.grab = yes ? draw : null;
        rectangle.setAttribute("aria-pressed", yes);
        viewer.renderer.canvas.classList.toggle("probing", yes);
    }

    // A rectangle from where the pointer went down; at its end the nodes within are chosen.
    function draw(x0, y0) {
        return (x1, y1, last) => {
            const [left, top, right, bottom] = [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
            frame.hidden = Boolean(last);
            Object.assign(frame.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
            if (!last || right - left < 3) return;
            const { canvas } = viewer.renderer;
            const m = viewer.camera.matrices(canvas.width / canvas.height).view_projection;
            const within = new Set();
            for (const { mesh } of viewer.scene.bodies) {
                const { points } = mesh;
                mesh.nodes.forEach((node, k) => {
                    const [x, y, z] = [points[3 * k], points[3 * k + 1], points[3 * k + 2]];
                    const w = m[3] * x + m[7] * y + m[11] * z + m[15];
                    const at = (0.5 + 0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12]) / w) * canvas.clientWidth;
                    const up = (0.5 - 0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) * canvas.clientHeight;
                    if (at >= left && at <= right && up >= top && up <= bottom) within.add(node);
                });
            }
            nodes = [...within];
            arm(false);
            colour();
        };
    }

    function show(answer) {
        editor.mark(answer.errors || []);
        if (answer.said) said.textContent = answer.said;
        if (answer.interfaces) interfaces = answer.interfaces;
        colour();
    }

    const make = () => put("interface", { tie: tie.value, name: name.value });

    // The text with what is made of the chosen faces and nodes.
    async function put(word, data) {
        const answer = await ask(word, { text: editor.text, patches: [...chosen], nodes, ...data });
        if (answer.text !== undefined) {
            editor.become(answer.text);
            if (word !== "material") chosen.clear();
            if (word !== "material") nodes = [];
            name.value = "";
        }
        show(answer);
    }

    async function keep() { show(await ask("save", { text: editor.text })); }

    async function begin() {
        const answer = await ask("reduce", { text: editor.text });
        show(answer);
        if (answer.done === undefined) return;
        bar.hidden = false;
        for (let work = answer; ; work = await ask("progress", {})) {
            bar.value = work.share || 0;
            if (work.text) said.textContent = work.text;
            if (work.done === undefined || work.done) {
                show(work);
                if (work.done && !work.errors.length) said.replaceChildren(element("a", { href: "modes", target: "_blank", textContent: "see its modes" }));
                break;
            }
            await new Promise((resolve) => setTimeout(resolve, 300));
        }
        bar.hidden = true;
    }

    viewer.select = (number) => {
        if (number < 0 || number >= viewer.scene.bodies.length) return;
        if (!chosen.delete(number)) chosen.add(number);
        colour();
    };
    show(part);
}
