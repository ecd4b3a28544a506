// A text field for TOML: line numbers, findings at their lines, offers of what may stand there, undo by the browser.
import { element } from "./controls.js";

const LINE = 17;      // height of a line in pixels, as in the style
const PADDING = 4;

export async function ask(word, data) {
    try {
        const answer = await fetch(word, { method: "POST", body: JSON.stringify(data) });
        return answer.ok ? await answer.json() : { errors: [`the program refused: ${answer.status}`] };
    } catch {
        return { errors: ["the program no longer answers"] };
    }
}

export function action(id, text, act, title = "") {
    return Object.assign(element("button", { type: "button", id, textContent: text, title }), { onclick: act });
}

export class Editor {
    // `changed` is called a while after the last change, `moved(line)` when the cursor goes to another line.
    constructor(text, { label, changed, moved = () => {}, complete = false }) {
        this.moved = moved;
        this.complete = complete;
        this.field = element("textarea", { id: "source", value: text, spellcheck: false, wrap: "off", ariaLabel: label, autocapitalize: "off" });
        this.gutter = element("pre", { className: "gutter" });
        this.here = element("div", { className: "here" });
        this.offers = element("ul", { id: "offers", hidden: true });
        this.offers.setAttribute("role", "listbox");
        for (const node of [this.gutter, this.here]) node.setAttribute("aria-hidden", "true");
        this.node = element("div", { className: "editor" }, [this.here, this.gutter, this.field, this.offers]);
        this.errors = element("ul", { id: "errors" });
        this.errors.setAttribute("role", "status");
        this.field.setAttribute("aria-describedby", "errors");
        this.marks = [];
        let timer = null;
        this.field.addEventListener("input", (event) => {
            this.number();
            clearTimeout(timer);
            timer = setTimeout(() => changed(this.text), 350);
            if (this.complete && /^insert(Text|FromPaste)?$/.test(event.inputType || "") && /[\w".[]$/.test(event.data || "")) this.offer();
            else this.close();
        });
        this.field.addEventListener("scroll", () => this.place());
        this.field.addEventListener("keydown", (event) => this.key(event));
        this.field.addEventListener("blur", () => setTimeout(() => this.close(), 200));
        document.addEventListener("selectionchange", () => { if (document.activeElement === this.field) this.follow(); });
        this.number();
    }

    get text() { return this.field.value; }

    // Put other text in place of characters from..to, so that the browser can undo it.
    replace(from, to, text) {
        if (this.text.slice(from, to) === text) return;
        this.field.focus();
        this.field.setSelectionRange(from, to);
        const done = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
        if (!done) {
            this.field.setRangeText(text, from, to, "end");
            this.field.dispatchEvent(new Event("input"));
        }
    }

    // Change the text to another one, where they differ.
    become(text) {
        const old = this.text;
        const most = Math.min(old.length, text.length);
        let [front, back] = [0, 0];
        while (front < most && old[front] === text[front]) ++front;
        while (back < most - front && old[old.length - 1 - back] === text[text.length - 1 - back]) ++back;
        this.replace(front, old.length - back, text.slice(front, text.length - back));
    }

    undo() { this.field.focus(); document.execCommand("undo"); }
    redo() { this.field.focus(); document.execCommand("redo"); }

    number() {
        const count = this.text.split("\n").length;
        if (count !== this.count) this.gutter.textContent = Array.from({ length: count }, (_, k) => k + 1).join("\n");
        this.count = count;
        this.place();
    }

    place() {
        const up = this.field.scrollTop;
        this.gutter.style.transform = `translateY(${-up}px)`;
        this.here.style.transform = `translateY(${(this.line - 1) * LINE + PADDING - up}px)`;
        for (const { node, line } of this.marks) node.style.transform = `translateY(${(line - 1) * LINE + PADDING - up}px)`;
    }

    get line() { return this.text.slice(0, this.field.selectionStart).split("\n").length; }

    follow() {
        const { line } = this;
        if (line === this.last) return;
        this.last = line;
        this.place();
        this.moved(line);
    }

    // The cursor to a line and column, in view; the line is shown as the present one.
    go(line, column = 1, focus = true) {
        const lines = this.text.split("\n");
        const at = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
        if (focus) this.field.focus();
        this.field.setSelectionRange(at, at);
        const top = (line - 1) * LINE;
        const { scrollTop, clientHeight } = this.field;
        if (top < scrollTop || top + 2 * LINE > scrollTop + clientHeight) this.field.scrollTop = Math.max(0, top - clientHeight / 3);
        this.last = line;
        this.place();
    }

    // Findings: texts, or {text, line, column}; those with a line lead there and stand beside it.
    mark(findings, warnings = []) {
        for (const { node } of this.marks) node.remove();
        this.marks = [];
        const all = [...findings.map((item) => [item, "error"]), ...warnings.map((item) => [item, "warning"])];
        this.errors.replaceChildren(...all.map(([item, kind]) => {
            const { text, line, column } = typeof item === "string" ? { text: item } : item;
            if (!line) return element("li", { className: kind, textContent: text });
            const node = element("span", { className: `mark ${kind}`, title: text });
            node.setAttribute("aria-hidden", "true");
            this.marks.push({ node, line });
            this.node.append(node);
            const to = element("button", { type: "button", textContent: text });
            to.addEventListener("click", () => this.go(line, column));
            return element("li", { className: kind }, [to]);
        }));
        this.field.setAttribute("aria-invalid", String(findings.length > 0));
        this.place();
    }

    async offer() {
        const [text, at] = [this.text, this.field.selectionStart];
        const found = await ask("complete", { text, at });
        if (text !== this.text || at !== this.field.selectionStart || !found.offers || !found.offers.length) return this.close();
        this.found = { start: found.start, at };
        this.chosen = 0;
        this.offers.replaceChildren(...found.offers.map((item, k) => {
            const node = element("li", { id: `offer-${k}` }, [element("b", { textContent: item.text }), element("small", { textContent: item.told })]);
            node.setAttribute("role", "option");
            node.addEventListener("mousedown", (event) => { event.preventDefault(); this.take(k); });
            node.insert = item.insert;
            return node;
        }));
        const before = text.slice(0, found.start);
        const column = before.length - before.lastIndexOf("\n") - 1;
        const wide = this.width || (this.width = this.measure());
        const left = this.field.offsetLeft + PADDING + column * wide - this.field.scrollLeft;
        const top = before.split("\n").length * LINE + PADDING - this.field.scrollTop;
        this.offers.hidden = false;
        Object.assign(this.offers.style, { left: `${Math.max(4, Math.min(left, this.node.clientWidth - this.offers.offsetWidth - 4))}px`, top: `${top + 2}px` });
        if (top + this.offers.offsetHeight > this.node.clientHeight) this.offers.style.top = `${top - LINE - this.offers.offsetHeight}px`;
        this.choose(0);
    }

    measure() {
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = getComputedStyle(this.field).font;
        return pen.measureText("0").width;
    }

    choose(k) {
        const all = [...this.offers.children];
        this.chosen = (k + all.length) % all.length;
        all.forEach((node, i) => node.setAttribute("aria-selected", String(i === this.chosen)));
        all[this.chosen].scrollIntoView({ block: "nearest" });
        this.field.setAttribute("aria-activedescendant", `offer-${this.chosen}`);
    }

    take(k) {
        const { start, at } = this.found;
        const { insert } = this.offers.children[k];
        this.close();
        this.replace(start, at, insert);
    }

    close() {
        this.offers.hidden = true;
        this.field.removeAttribute("aria-activedescendant");
    }

    key(event) {
        if (this.complete && event.key === " " && event.ctrlKey) {
            this.offer();
        } else if (this.offers.hidden) return;
        else if (event.key === "ArrowDown") this.choose(this.chosen + 1);
        else if (event.key === "ArrowUp") this.choose(this.chosen - 1);
        else if (event.key === "Enter" || event.key === "Tab") this.take(this.chosen);
        else if (event.key === "Escape") this.close();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }
}
