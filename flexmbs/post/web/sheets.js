// The texts of a case: its own, and those of the files that it includes, one of them in sight.
import { element } from "./controls.js";
import { action, Editor } from "./editor.js";

export class Sheets {
    // `changed()` when a text is another one, `moved(line, file)` when the cursor goes to another line.
    constructor(main, text, others, { changed, moved }) {
        Object.assign(this, { main, changed, moved, editors: new Map() });
        this.tabs = element("div", { className: "buttons", id: "files", hidden: true });
        this.tabs.setAttribute("role", "group");
        this.tabs.ariaLabel = "files of the case";
        this.holder = element("div", { className: "sheets" });
        this.errors = element("ul", { id: "errors" });
        this.errors.setAttribute("role", "status");
        this.add(main, text);
        this.learn(others);
        this.show(main);
    }

    get editor() { return this.editors.get(this.current); }
    get text() { return this.editors.get(this.main).text; }
    get others() { return Object.fromEntries([...this.editors].filter(([name]) => name !== this.main).map(([name, { text }]) => [name, text])); }
    get data() { return { text: this.text, others: this.others }; }

    add(name, text) {
        const editor = new Editor(text, { label: `text of ${name}`, complete: true, changed: () => this.changed(), moved: (line) => this.moved(line, name) });
        editor.field.addEventListener("input", () => { if (name !== this.current) this.show(name); });      // taken back while another was seen
        this.editors.set(name, editor);
        this.holder.append(editor.node);
        this.tabs.append(action("", name, () => this.show(name)));
        this.tabs.hidden = this.editors.size < 2;
    }

    // Files that are included by now.
    learn(others) {
        for (const [name, text] of Object.entries(others || {})) if (!this.editors.has(name)) this.add(name, text);
    }

    show(name) {
        this.current = name;
        for (const [other, { node, field, offers }] of this.editors) {
            const on = other === name;
            node.classList.toggle("behind", !on);
            field.id = on ? "source" : "";
            offers.id = on ? "offers" : "";
        }
        for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", tab.textContent === name);
        this.editor.place();
    }

    // Other texts, each changed where it differs.
    become({ text, others = {} }) {
        for (const [name, other] of [...Object.entries(others), [this.main, text]]) {
            const editor = this.editors.get(name);
            if (!editor || editor.text === other) continue;
            this.show(name);
            editor.become(other);
        }
    }

    go(line, column = 1, name = this.main) {
        if (!this.editors.has(name)) return;
        this.show(name);
        this.editor.go(line, column);
    }

    // Findings are listed together, and stand at the lines of their files.
    mark(errors, warnings = []) {
        const of = (all, name) => all.filter((item) => (item.file || this.main) === name);
        this.errors.replaceChildren(...[...this.editors].flatMap(([name, editor]) => {
            editor.mark(of(errors, name), of(warnings, name));
            const nodes = [...editor.errors.children];
            for (const node of nodes) node.addEventListener("click", () => this.show(name), { capture: true });
            return nodes;
        }));
    }
}
