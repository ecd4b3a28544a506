// Runs of a case: begun, followed, stopped and resumed; their metrics as a table, others as ghosts and dashed curves.
import { element } from "./controls.js";
import { scene_of } from "./data.js";
import { action, ask } from "./editor.js";
import { append_samples } from "./live.js";
import { number_text } from "./plot.js";
import { Stage } from "./stage.js";

const AGAIN = 250;      // milliseconds between two looks at a run

// `texts()` are those of the case, `answer(found)` tells findings, `start()` shows the assembled start again.
export function build_runs(viewer, { texts, answer, start }) {
    let shown = null;        // number of the run that is seen
    let next = 0;
    const table = element("div", { id: "runs" });
    const compared = element("pre", { id: "compared" });
    compared.setAttribute("role", "status");
    const box = element("details", { open: true, hidden: true }, [element("summary", { textContent: "Runs" }), table, compared]);
    const button = action("run", "run", () => begin(), "what flexmbs run does; the result is kept where you ask for it");

    async function begin() {
        const found = await ask("run", texts());
        answer(found);
        if (found.run === undefined) return;
        tell(found.runs);
        watch(found.run);
    }

    // Follow a run from its first samples to its end; what is shown meanwhile may change.
    async function watch(number) {
        shown = number;
        next = 0;
        for (let waiting = true; waiting && shown === number;) {
            const found = await (next ? ask("fresh", { run: number, from: next }) : ask("scene", { run: number }));
            if (shown !== number) return;
            if (found.errors) return answer(found);
            const run = tell(found.runs).find((item) => item.number === number);
            if (found.scene) await see(found);
            else if (found.batch) {
                append_samples(viewer, found.batch);
                next = found.batch.next;
            }
            waiting = run.state === "running" || (run.state !== "complete" && Boolean(found.batch));  // samples come some at a time
            if (waiting) await new Promise((resolve) => setTimeout(resolve, AGAIN));
            else if (run.state === "complete") await see(await ask("scene", { run: number }));
            if (!waiting && run.state === "failed") answer({ errors: run.errors });
        }
        viewer.following = false;
        viewer.end = undefined;
        viewer.changed();
    }

    async function see(found) {
        if (!found.scene) return;
        const was_empty = !next;
        next = found.next;
        viewer.renew(await scene_of(found.scene, found.arrays));
        viewer.end = found.end;
        const running = found.runs.some((run) => run.number === shown && run.state === "running");
        viewer.following = running;
        viewer.playing = false;
        if (was_empty && running) viewer.set_time(viewer.span()[1]);
    }

    async function ghost(run) {
        const at = viewer.ghosts.findIndex((item) => item.number === run.number);
        if (at >= 0) {
            viewer.ghosts.splice(at, 1)[0].stage.remove();
        } else {
            const found = await ask("scene", { run: run.number });
            if (!found.scene) return;
            const scene = await scene_of(found.scene, found.arrays);
            viewer.ghosts.push({ number: run.number, name: run.name, scene, stage: new Stage(viewer.renderer, scene, viewer.camera) });
        }
        viewer.changed();
        tell((await ask("runs", {})).runs);
    }

    async function compare(run) {
        const found = await ask("compare", { run: shown, with: run.number });
        answer({ errors: found.errors || [] });
        compared.textContent = found.compared ? `run ${shown} and ${run.name}: ${found.compared.join("\n")}` : "";
    }

    const send = (word, run) => async () => {
        const found = await ask(word, { run: run.number });
        if (found.errors) return answer(found);
        tell(found.runs);
        if (word === "resume") watch(run.number);
        if (word === "keep") answer({ said: `${found.runs.find((item) => item.number === run.number).kept} is kept` });
    };

    function actions(run, others) {
        const here = run.number === shown;
        const small = (label, act, on) => {
            const node = action("", label, act);
            if (on !== undefined) node.setAttribute("aria-pressed", on);
            return node;
        };
        if (run.state === "running") return [element("progress", { max: 1, value: run.share }), small("stop", send("stop", run))];
        const ghosted = viewer.ghosts.some((item) => item.number === run.number);
        const complete = run.state === "complete";
        return [...here ? [] : [small("show", () => watch(run.number))],
            ...run.state === "stopped" ? [small("resume", send("resume", run))] : [],
            ...complete ? [small("ghost", () => ghost(run), ghosted)] : [],
            ...complete && !here && others.some((item) => item.number === shown && item.state === "complete") ? [small("compare", () => compare(run))] : [],
            ...complete && !run.kept ? [small("keep", send("keep", run))] : []];
    }

    // The table: parameters that differ, metrics, what can be done.
    function tell(runs) {
        box.hidden = !runs.length;
        button.disabled = runs.some((run) => run.state === "running");
        const names = (key) => [...new Set(runs.flatMap((run) => Object.keys(run[key])))];
        const differ = names("parameters").filter((name) => new Set(runs.map((run) => run.parameters[name])).size > 1);
        const metrics = names("metrics");
        const checked = runs.some((run) => run.expected.length);
        const cell = (text) => element("td", { textContent: text });
        const value = (x) => cell(x === undefined ? "" : number_text(x));
        const head = ["", "", ...differ, ...metrics, ...checked ? ["expected"] : [], "s", ""].map((text) => {
            const node = element("th", { textContent: text });
            node.scope = "col";
            return node;
        });
        // a button that is made anew between press and release hears no click: what moves on is changed in place
        const standing = runs.map((run) => ({ ...run, share: 0, text: "" }));
        const key = JSON.stringify([standing, shown, viewer.ghosts.map((item) => item.number)]);
        const bars = [...table.querySelectorAll("progress")];
        runs.filter((run) => run.state === "running").forEach((run, k) => { if (bars[k]) bars[k].value = run.share; });
        if (table.key === key) return runs;
        table.key = key;
        table.replaceChildren(element("table", {}, [element("thead", {}, [element("tr", {}, head)]), element("tbody", {}, runs.map((run) => {
            const wrong = run.expected.filter((line) => line.startsWith("FAILED")).length;
            const told = run.expected.length ? wrong ? `${wrong} of ${run.expected.length} missed` : "met" : "";
            return element("tr", { className: run.number === shown ? "on" : "" }, [cell(run.name), cell(run.kept || run.state),
                ...differ.map((name) => value(run.parameters[name])), ...metrics.map((name) => value(run.metrics[name])),
                ...checked ? [Object.assign(cell(told), { title: run.expected.join("\n") })] : [], cell(run.seconds || ""),
                element("td", {}, actions(run, runs))]);
        }))]));
        return runs;
    }

    // The start is shown again, as the text has changed.
    function leave() {
        shown = null;
        viewer.following = false;
        viewer.end = undefined;
    }

    return { button, nodes: [box], leave, start };
}
