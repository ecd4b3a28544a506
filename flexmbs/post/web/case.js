// A case: its text beside the picture of its assembled start; what is clicked leads to its line, and back.
import { element, switch_row } from "./controls.js";
import { scene_of } from "./data.js";
import { action, ask, Editor } from "./editor.js";

export function work_on_case(viewer) {
    const told = viewer.scene.case;
    const work = document.getElementById("work");
    const said = element("p", { id: "said" });
    said.setAttribute("role", "status");
    let places = [];
    let number = 0;
    const same = (a, b) => a.length === b.length && a.every((word, k) => word === b[k]);

    const editor = new Editor(told.text, { label: `text of ${told.file}`, complete: true, changed: (text) => check(text), moved: (line) => show_line(line) });
    const report = element("pre", { id: "report" });
    const tree = element("div", { id: "tree" });
    const buttons = element("div", { className: "buttons" }, [
        action("save", "save", async () => answer(await ask("save", { text: editor.text }))),
        action("undo", "undo", () => editor.undo(), "Ctrl+Z"), action("redo", "redo", () => editor.redo(), "Ctrl+Shift+Z")]);
    work.hidden = false;
    work.append(element("h2", { textContent: told.file }), buttons, editor.node, editor.errors, said,
        element("details", { open: true }, [element("summary", { textContent: "Tree and cuts" }), tree]),
        element("details", {}, [element("summary", { textContent: "What check says" }), report]));
    document.getElementById("symbols").append(element("h2", { textContent: "Symbols" }),
        ...[["names", "names"], ["frames", "frames"], ["springs, forces, sensors", "elements"], ["redundant rows, hidden freedoms", "rows"]]
            .map(([text, key]) => switch_row(viewer, text, key)));

    // The line of a part, or of the nearest thing around it.
    function line_of(path) {
        for (let n = path.length; n; --n) {
            const found = places.find(([known]) => same(known, path.slice(0, n)));
            if (found) return found[1];
        }
        return 0;
    }

    viewer.pointed = (path) => {
        const line = line_of(path);
        if (line) editor.go(line);
        else said.textContent = `${path.join(".")} does not stand in ${told.file}`;
        show_path(path);
    };
    viewer.select = (k) => {
        viewer.set({ selected: k });
        const name = viewer.name_of(k);
        if (name !== null) viewer.pointed([k < viewer.scene.bodies.length ? "bodies" : "joints", name]);
    };

    function show_path(path) {
        const { bodies, joints } = viewer.scene;
        const of = path[0] === "bodies" ? bodies.findIndex((body) => body.name === path[1])
            : path[0] === "joints" ? bodies.length + joints.findIndex((joint) => joint.name === path[1]) : -1;
        const found = path[0] === "joints" && of < bodies.length ? -1 : of;
        viewer.set({ selected: found, named: path.join(".") });
    }

    function show_line(line) {
        const before = places.filter(([, at]) => at <= line).sort((a, b) => a[1] - b[1]);
        if (before.length) show_path(before[before.length - 1][0]);
    }

    function answer(found) {
        editor.mark(found.errors || [], found.warnings || []);
        if (found.said) said.textContent = found.said;
    }

    function show(found) {
        if (found.places && found.places.length) ({ places } = found);
        answer(found);
        if (!found.report) return;
        report.textContent = found.report.join("\n");
        tree.replaceChildren(branches(found.tree, "ground"), element("ul", { className: "cuts" },
            found.cuts.map((cut) => element("li", {}, [to_part(["joints", cut.joint], cut.joint), ` cut: ${cut.why}`]))));
    }

    const to_part = (path, text) => action("", text, () => viewer.pointed(path));

    function branches(all, parent) {
        const own = all.filter((branch) => branch.parent === parent);
        return element("ul", {}, own.map((branch) => element("li", {}, [to_part(["bodies", branch.body], branch.body),
            branch.joint ? " by " : " free", ...branch.joint ? [to_part(["joints", branch.joint], branch.joint)] : [],
            ...all.some((other) => other.parent === branch.body) ? [branches(all, branch.body)] : []])));
    }

    async function check(text) {
        const mine = ++number;
        work.classList.add("busy");
        const found = await ask("check", { text });
        if (mine !== number) return;
        work.classList.remove("busy");
        show(found);
        if (found.scene) viewer.renew(await scene_of(found.scene, found.arrays));
    }

    show(told);
}
