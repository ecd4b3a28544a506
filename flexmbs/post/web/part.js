// A part: faces are clicked, and become interfaces of the recipe, whose text stands beside them.
import { element, labelled } from "./controls.js";
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
    const reduce = action("reduce", "reduce", () => begin());
    const bar = element("progress", { hidden: true, max: 1, value: 0 });
    document.getElementById("part").append(element("h2", { textContent: "Interfaces" }), what,
        labelled("of the chosen faces", name, [tie]), action("make", "make an interface", () => make()), " ",
        action("clear", "choose none", () => { chosen.clear(); colour(); }),
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
        what.textContent = kinds.length ? `${kinds.length} chosen: ${kinds.slice(0, 4).join(", ")}${kinds.length > 4 ? ", \u2026" : ""}`
            : "Click a face, or several.";
        viewer.changed();
    }

    function show(answer) {
        editor.mark(answer.errors || []);
        if (answer.said) said.textContent = answer.said;
        if (answer.interfaces) interfaces = answer.interfaces;
        colour();
    }

    async function make() {
        const answer = await ask("interface", { text: editor.text, patches: [...chosen], tie: tie.value, name: name.value });
        if (answer.text !== undefined) {
            editor.become(answer.text);
            chosen.clear();
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
