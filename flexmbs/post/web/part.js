// A part: faces are clicked, and become interfaces of the recipe, whose text stands beside them.
import { build_layers, Choice, CHOSEN, rgb_of } from "./choose.js";
import { element, labelled } from "./controls.js";
import { scene_of } from "./data.js";
import { action, ask, Editor } from "./editor.js";
import { COLOURS } from "./plot.js";

const STONE = [0.62, 0.66, 0.71];
const LOOK = 300;      // milliseconds between two looks at what goes on beside the page

const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

export function work_on(viewer) {
    const { part } = viewer.scene;
    const work = document.getElementById("work");
    const editor = new Editor(part.text, { label: "recipe", changed: async (text) => show(await ask("check", { text })) });
    const name = element("input", { id: "interface-name", placeholder: "name", size: 8, ariaLabel: "name of the interface" });
    const tie = element("select", { id: "tie", ariaLabel: "how it is tied" }, part.ties.map((value) => element("option", { textContent: value, value })));
    const said = element("p", { id: "said" });
    said.setAttribute("role", "status");
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
    let interfaces = [];
    const sets = element("section");
    const choice = new Choice(viewer, part, () => colour());
    const layers = build_layers(viewer, part, choice, sets);
    const reduce = action("reduce", "reduce", () => begin());
    const bar = element("progress", { hidden: true, max: 1, value: 0 });
    const mesh = element("ul", { id: "mesh-findings" });
    mesh.setAttribute("role", "status");
    document.getElementById("part").append(element("h2", { textContent: "Interfaces" }), ...choice.controls,
        labelled("name", name, [tie]), action("make", "make an interface", () => make()),
        element("h2", { textContent: "Supports and material" }), labelled("held", dofs, [action("hold", "hold the chosen", () => put("support", { dofs: dofs.value, name: name.value }))]),
        labelled("of", solid, [material]), action("take", "take this material", () => put("material", { solid: solid.value, material: material.value })),
        element("h2", { textContent: "Colours" }), labelled("show", colours), sets, element("h2", { textContent: "Mesh" }), mesh);
    work.hidden = false;
    work.append(element("h2", { textContent: part.file }), element("div", { className: "buttons" }, [action("save", "save", () => keep()),
        action("undo", "undo", () => editor.undo(), "Ctrl+Z"), action("redo", "redo", () => editor.redo(), "Ctrl+Shift+Z"), reduce]),
        editor.node, editor.errors, said, bar);

    function colour() {
        const of = (k) => rgb_of(COLOURS[k % COLOURS.length]);
        viewer.scene.bodies.forEach((body, k) => {
            const owner = interfaces.findIndex((item) => item.patches.includes(k));
            body.colour = choice.faces.has(k) ? CHOSEN : owner >= 0 ? of(owner) : STONE;
        });
        viewer.marks = interfaces.map((item, k) => ({ shown: item.place, colour: [...of(k), 1], principal: [], path: null }));
        viewer.layers = [...layers(), ...choice.layers()];
        viewer.changed();
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
        const answer = await ask(word, { text: editor.text, ...choice.data, ...data });
        if (answer.text !== undefined) {
            editor.become(answer.text);
            if (word !== "material") choice.clear();
            name.value = "";
        }
        show(answer);
    }

    async function keep() {
        const answer = await ask("save", { text: editor.text });
        if (answer.text !== undefined) editor.become(answer.text);
        show(answer);
    }

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
            await pause(LOOK);
        }
        bar.hidden = true;
    }

    // The check of the mesh runs behind the first picture.
    async function judge() {
        mesh.replaceChildren(element("li", { textContent: "being checked \u2026" }));
        for (let found = await ask("mesh", {}); ; found = await ask("mesh", {})) {
            if (found.done || found.errors.length) {
                const all = [...found.errors, ...found.findings || []];
                mesh.replaceChildren(...(all.length ? all : ["nothing is wrong with it"]).map((text) => element("li", { textContent: text })));
                return;
            }
            await pause(LOOK);
        }
    }

    show(part);
    choice.show();
    judge();
}
