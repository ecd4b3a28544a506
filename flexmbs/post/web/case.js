// A case: its text beside the picture of its assembled start; what is clicked leads to its line, and back.
import { element, labelled, switch_row } from "./controls.js";
import { add, cross, dot, subtract, times, unit } from "./matrix.js";
import { scene_of } from "./data.js";
import { action, ask } from "./editor.js";
import { number_text } from "./plot.js";
import { build_runs } from "./runs.js";
import { Sheets } from "./sheets.js";

export function work_on_case(viewer) {
    const told = viewer.scene.case;
    const work = document.getElementById("work");
    const said = element("p", { id: "said" });
    said.setAttribute("role", "status");
    let places = [];
    let number = 0;
    const same = (a, b) => a.length === b.length && a.every((word, k) => word === b[k]);

    const sheets = new Sheets(told.file, told.text, told.others, { changed: () => check(), moved: (line, file) => show_line(line, file) });
    const report = element("pre", { id: "report" });
    const tree = element("div", { id: "tree" });
    const buttons = element("div", { className: "buttons" }, [
        action("save", "save", async () => {
            const found = await ask("save", sheets.data);
            answer(found);
            if (found.text !== undefined) sheets.become(found);
        }),
        action("undo", "undo", () => sheets.editor.undo(), "Ctrl+Z"), action("redo", "redo", () => sheets.editor.redo(), "Ctrl+Shift+Z")]);
    const name = element("input", { id: "part-name", placeholder: "name", size: 8, ariaLabel: "name of the new part" });
    const form = element("select", { id: "form", ariaLabel: "kind of the new part" }, Object.entries(told.choices).map(([kind, forms]) =>
        element("optgroup", { label: kind }, forms.map((text) => element("option", { textContent: kind === "bodies" ? `${text} body` : text, value: `${kind} ${text}` })))));
    const ends = ["from", "to"].map((key) => element("input", { id: `frame-${key}`, size: 12, placeholder: "click a frame", ariaLabel: `frame ${key}` }));
    const insert = element("details", { id: "insert" }, [element("summary", { textContent: "Insert between two frames" }),
        labelled("part", form, [name]), labelled("from", ends[0]), labelled("to", ends[1]), action("put", "insert", () => put())]);
    insert.addEventListener("toggle", () => viewer.set({ frames_first: insert.open }));
    const hand = action("drag", "drag", () => arm(!viewer.grab), "take a body and move it along its freedoms");
    const keep = action("keep-pose", "keep this pose", async () => {
        const found = await ask("pose", sheets.data);
        answer(found);
        if (found.text !== undefined) sheets.become(found);
    });
    const back = action("release", "back", async () => stand(await ask("release", {})), "to the assembled start");
    hand.setAttribute("aria-pressed", false);
    keep.hidden = back.hidden = true;
    buttons.append(hand, keep, back);
    const sliders = element("div", { id: "sliders" });
    const parameters = element("details", { open: true }, [element("summary", { textContent: "Parameters" }), sliders]);
    const runs = build_runs(viewer, { texts: () => sheets.data, answer, start: () => check() });
    buttons.append(runs.button);
    work.hidden = false;
    work.append(element("h2", { textContent: told.file }), buttons, sheets.tabs, sheets.holder, sheets.errors, said,
        ...runs.nodes, parameters, insert, element("details", { open: true }, [element("summary", { textContent: "Tree and cuts" }), tree]),
        element("details", {}, [element("summary", { textContent: "What check says" }), report]));
    document.getElementById("symbols").append(element("h2", { textContent: "Symbols" }),
        ...[["names", "names"], ["frames", "frames"], ["springs, forces, sensors", "elements"], ["redundant rows, hidden freedoms", "rows"]]
            .map(([text, key]) => switch_row(viewer, text, key)));

    // The line of a part, or of the nearest thing around it.
    function line_of(path) {
        for (let n = path.length; n; --n) {
            const found = places.find(([known]) => same(known, path.slice(0, n)));
            if (found) return found.slice(1);
        }
        return [0, told.file];
    }

    viewer.pointed = (path) => {
        const [line, file] = line_of(path);
        if (line) sheets.go(line, 1, file);
        else said.textContent = `${path.join(".")} does not stand in ${told.file}`;
        show_path(path);
        point_at(path);
    };

    // Frames that are clicked fill the two ends in turn.
    let turn = 0;
    function point_at(path) {
        const frame = path[0] === "ground" ? path.length > 1 ? `ground.${path[2]}` : "ground" : path[0] === "bodies" ? path.filter((_, k) => k % 2).join(".") : "";
        if (!frame || !insert.open) return;
        ends[turn].value = frame;
        turn = 1 - turn;
    }

    async function put() {
        const [kind, ...rest] = form.value.split(" ");
        const found = await ask("insert", { ...sheets.data, kind, form: rest.join(" "), from: ends[0].value.trim(), to: ends[1].value.trim(), name: name.value.trim() });
        answer(found);
        if (found.text === undefined) return;
        sheets.become(found);
        for (const input of [name, ...ends]) input.value = "";
        turn = 0;
        const line = found.text.split("\n").findIndex((text) => text === `[${found.path.join(".")}]`);
        if (line >= 0) sheets.go(line + 1);
    }

    function arm(yes) {
        viewer.grab = yes ? take : null;
        hand.setAttribute("aria-pressed", yes);
        viewer.renderer.canvas.classList.toggle("probing", yes);
    }

    // A body taken at a point of its surface: the point follows the pointer in the plane of the picture.
    function take(x, y) {
        const number = viewer.pick(x, y);
        const met = number >= 0 && number < viewer.scene.bodies.length ? viewer.met_at(number, x, y) : null;
        if (!met) return null;
        const { position, R } = viewer.poses()[number];
        const point = met.place;
        const off = subtract(point, position);
        const place = [0, 1, 2].map((k) => dot([R[0][k], R[1][k], R[2][k]], off));
        const { canvas } = viewer.renderer;
        const normal = viewer.camera.direction();
        let wanted = null;
        let asking = false;
        const go = async () => {
            if (asking) return;
            asking = true;
            while (wanted) {
                const { target, along } = wanted;
                wanted = null;
                const found = await ask("drag", { body: viewer.scene.bodies[number].name, place, target, along });
                if (found.errors) answer(found);
                stand(found, true);
            }
            asking = false;
        };
        return (at_x, at_y, last) => {
            if (last) return;
            const { place: eye, ray } = viewer.camera.ray(at_x / canvas.clientWidth, at_y / canvas.clientHeight);
            wanted = { target: add(eye, times(dot(subtract(point, eye), normal) / dot(ray, normal), ray)), along: ray };
            go();
        };
    }

    // The same by the keyboard: arrows move the far end of the selected body in the plane of the picture.
    viewer.renderer.canvas.addEventListener("keydown", (event) => {
        const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] || [0, 0];
        const number = viewer.show.selected;
        if (!viewer.grab || !(dx || dy) || number < 0 || number >= viewer.scene.bodies.length) return;
        event.preventDefault();
        event.stopPropagation();
        const { mesh: { points }, name: of } = viewer.scene.bodies[number];
        let far = 0;
        for (let k = 0; k < points.length; k += 3) if (Math.hypot(...points.slice(k, k + 3)) > Math.hypot(...points.slice(far, far + 3))) far = k;
        const back = viewer.camera.direction();
        const right = unit(cross(viewer.camera.up, back));
        const step = 0.03 * viewer.scene.bounds.radius;
        const way = add(times(step * dx, right), times(step * dy, cross(back, right)));
        const place = Array.from(points.slice(far, far + 3));
        const target = add(viewer.skin_point(number, far / 3), way);
        ask("drag", { body: of, place, target, along: back }).then((found) => { stand(found, true); if (found.errors) answer(found); });
    });

    // Bodies where the program has put them.
    function stand(found, moved = false) {
        for (const body of found.poses ? viewer.scene.bodies : []) {
            const pose = found.poses[body.name];
            for (const key of ["position", "quaternion"]) body[key].set(pose[key]);
        }
        if (found.poses) keep.hidden = back.hidden = !moved;
        viewer.changed();
    }
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

    function show_line(line, file) {
        const before = places.filter(([, at, of]) => at <= line && of === file).sort((a, b) => a[1] - b[1]);
        if (before.length) show_path(before[before.length - 1][0]);
    }

    function answer(found) {
        sheets.learn(found.others);
        sheets.mark(found.errors || [], found.warnings || []);
        if (found.said) said.textContent = found.said;
    }

    function show(found) {
        if (found.places && found.places.length) ({ places } = found);
        answer(found);
        if (!found.report) return;
        show_parameters(found.parameters);
        report.textContent = found.report.join("\n");
        tree.replaceChildren(branches(found.tree, "ground"), element("ul", { className: "cuts" },
            found.cuts.map((cut) => element("li", {}, [to_part(["joints", cut.joint], cut.joint), ` cut: ${cut.why}`]))));
    }

    // A slider changes the number in the text, its unit stays.
    let known = [];
    function show_parameters(all) {
        parameters.hidden = !all.length;
        if (JSON.stringify(all) === JSON.stringify(known)) return;
        if (all.length === known.length && all.every((item, k) => item.name === known[k].name && item.unit === known[k].unit)) {
            all.forEach((item, k) => known[k].show && known[k].show(item.number));
            return;
        }
        known = all;
        sliders.replaceChildren(...all.map((item) => {
            const reach = Math.abs(item.number) || 1;
            const slider = element("input", { type: "range", min: item.number - reach, max: item.number + reach, step: 10 ** Math.floor(Math.log10(reach)) / 100, value: item.number, ariaLabel: item.name });
            const value = element("output", { textContent: `${number_text(item.number)} ${item.unit}` });
            item.show = (number) => {
                value.textContent = `${number_text(number)} ${item.unit}`;
                if (document.activeElement !== slider) slider.value = number;
            };
            item.toJSON = () => item.name;
            slider.addEventListener("input", () => slide(item, Number(slider.value)));
            return labelled(item.name, slider, [value]);
        }));
    }

    let sliding = null;
    let waiting = null;
    async function slide(item, number) {
        waiting = [item, number];
        if (sliding) return;
        sliding = true;
        while (waiting) {
            const [{ name: of, show }, value] = waiting;
            waiting = null;
            const found = await ask("parameter", { ...sheets.data, name: of, number: value });
            if (found.text === undefined) {
                answer(found);
                break;
            }
            const { activeElement } = document;
            sheets.become(found);
            activeElement.focus();
            show(Number(value.toPrecision(6)));
        }
        sliding = null;
    }

    const to_part = (path, text) => action("", text, () => viewer.pointed(path));

    function branches(all, parent) {
        const own = all.filter((branch) => branch.parent === parent);
        return element("ul", {}, own.map((branch) => element("li", {}, [to_part(["bodies", branch.body], branch.body),
            branch.joint ? " by " : " free", ...branch.joint ? [to_part(["joints", branch.joint], branch.joint)] : [],
            ...all.some((other) => other.parent === branch.body) ? [branches(all, branch.body)] : []])));
    }

    async function check() {
        const mine = ++number;
        work.classList.add("busy");
        const found = await ask("check", sheets.data);
        if (mine !== number) return;
        work.classList.remove("busy");
        show(found);
        if (found.scene) runs.leave();
        if (found.scene) keep.hidden = back.hidden = true;
        if (found.scene) viewer.renew(await scene_of(found.scene, found.arrays));
    }

    show(told);
}
