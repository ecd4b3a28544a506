// Curves over time on a 2-D canvas, with a cursor; two vertical axes: one per unit, or one per size where sizes differ.

export const COLOURS = ["#3b82f6", "#f97316", "#10b981", "#e11d48", "#8b5cf6", "#0891b2", "#ca8a04", "#64748b"];

export function number_text(x) {
    if (!Number.isFinite(x)) return "-";
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 1e5 || size < 1e-3) return x.toExponential(2).replace("e+", "e").replace(/\.?0+e/, "e");
    return String(Number(x.toPrecision(4)));
}

// Round values that span low..high in about n steps.
export function ticks(low, high, n) {
    const raw = (high - low) / Math.max(n, 1) || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || 10 * power;
    const out = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) out.push(k * step);
    return out;
}

function range_of(curves) {
    let [low, high] = [Infinity, -Infinity];
    for (const curve of curves) for (const y of curve.values) {
        if (y < low) low = y;
        if (y > high) high = y;
    }
    if (!(low <= high)) return [0, 1];
    const margin = 0.06 * (high - low) || 0.5 * Math.abs(high) || 1;
    return [low - margin, high + margin];
}

// Curves by axis, left and right: the first two units; of one unit those that are a twentieth of the largest or less apart.
export function axes_of(curves) {
    const units = [...new Set(curves.map((curve) => curve.unit))];
    if (units.length > 1) return units.slice(0, 2).map((unit) => curves.filter((curve) => curve.unit === unit));
    const sizes = curves.map((curve) => curve.values.reduce((size, y) => Math.max(size, Math.abs(y)), 0));
    const small = Math.max(...sizes) / 20;
    const split = [curves.filter((_, k) => sizes[k] > small || sizes[k] === 0), curves.filter((_, k) => sizes[k] <= small && sizes[k] > 0)];
    return split.filter((group) => group.length);
}

export class Plot {
    constructor(canvas, time, pick_time) {
        this.canvas = canvas;
        this.time = time;
        this.curves = [];
        this.others = [];     // other runs: {name, scene}, whose curves of the same names are dashed
        const seek = (event) => {
            const box = canvas.getBoundingClientRect();
            const share = (event.clientX - box.left - this.left) / (this.right - this.left);
            pick_time(this.time[0] + Math.max(0, Math.min(1, share)) * (this.time[this.time.length - 1] - this.time[0]));
        };
        canvas.addEventListener("pointerdown", (event) => {
            canvas.setPointerCapture(event.pointerId);
            seek(event);
        });
        canvas.addEventListener("pointermove", (event) => event.buttons && seek(event));
    }

    toggle(channel) {
        const at = this.curves.findIndex((curve) => curve.name === channel.name);
        if (at >= 0) this.curves.splice(at, 1);
        else this.curves.push(channel);
        const used = new Set(this.curves.map((curve) => curve.colour));
        channel.colour = COLOURS.find((colour) => !used.has(colour)) || COLOURS[0];
    }

    // Draw everything; `value_at(curve)` is the value at the cursor.
    draw(t, value_at) {
        const scale = window.devicePixelRatio || 1;
        const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
        if (!width || !height) return;
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(height * scale);
        const pen = this.canvas.getContext("2d");
        pen.scale(scale, scale);
        const style = getComputedStyle(this.canvas);
        const ink = style.getPropertyValue("--ink");
        const rule = style.getPropertyValue("--rule");
        pen.font = "11px system-ui, sans-serif";
        const axes = axes_of(this.curves);
        [this.left, this.right] = [62, width - (axes.length > 1 ? 62 : 14)];
        const lines = this.legend_lines(pen, value_at);
        const [top, bottom] = [6 + 14 * lines.length, height - 22];
        const [t0, t1] = [this.time[0], this.time[this.time.length - 1]];
        const x_of = (time) => this.left + ((time - t0) / (t1 - t0 || 1)) * (this.right - this.left);
        pen.strokeStyle = rule;
        pen.fillStyle = ink;
        pen.textAlign = "center";
        for (const mark of ticks(t0, t1, (this.right - this.left) / 90)) {
            line(pen, [[x_of(mark), top], [x_of(mark), bottom]]);
            pen.fillText(number_text(mark), x_of(mark), bottom + 15);
        }
        pen.textAlign = "left";
        pen.fillText("t [s]", 4, bottom + 15);
        axes.forEach((group, side) => this.draw_axis(pen, group, side, { ink, rule, top, bottom, x_of }));
        pen.strokeStyle = ink;
        pen.lineWidth = 1;
        line(pen, [[x_of(t), top], [x_of(t), bottom]]);
        this.draw_legend(pen, ink, lines);
    }

    // Curves of the same name in other runs.
    twins(curve) {
        return this.others.flatMap(({ scene }) => scene.channels.filter(({ name }) => name === curve.name).map(({ values }) => ({ values, time: scene.time })));
    }

    draw_axis(pen, curves, side, { ink, rule, top, bottom, x_of }) {
        const [low, high] = range_of([...curves, ...curves.flatMap((curve) => this.twins(curve))]);
        const y_of = (y) => bottom - ((y - low) / (high - low)) * (bottom - top);
        pen.lineWidth = 1;
        pen.textAlign = side ? "left" : "right";
        for (const mark of ticks(low, high, (bottom - top) / 24)) {
            pen.strokeStyle = rule;
            if (!side) line(pen, [[this.left, y_of(mark)], [this.right, y_of(mark)]]);
            pen.fillStyle = ink;
            pen.fillText(number_text(mark), side ? this.right + 6 : this.left - 6, y_of(mark) + 4);
        }
        pen.fillText(curves[0].unit || "1", side ? this.right + 6 : this.left - 6, top - 7);
        for (const curve of curves) {
            pen.strokeStyle = curve.colour;
            pen.lineWidth = 1.6;
            path(pen, this.time, curve.values, x_of, y_of);
            pen.lineWidth = 1.1;
            pen.setLineDash([5, 4]);
            pen.save();
            pen.beginPath();
            pen.rect(this.left, top, this.right - this.left, bottom - top);
            pen.clip();
            for (const { time, values } of this.twins(curve)) path(pen, time, values, x_of, y_of);
            pen.restore();
            pen.setLineDash([]);
        }
    }

    // Entries of the legend with their places, in as many lines as they need, at most three.
    legend_lines(pen, value_at) {
        const lines = [[]];
        const axes = axes_of(this.curves);
        let x = this.left + 6;
        for (const curve of this.curves) {
            const side = axes.findIndex((group) => group.includes(curve));
            const where = side < 0 ? " (a third unit: not drawn)" : side && axes[0][0].unit === curve.unit ? " (right)" : "";
            const text = `${curve.name} ${number_text(value_at(curve))} ${curve.unit}${where}`;
            const wide = 30 + pen.measureText(text).width;
            if (x + wide - 16 > this.right && lines[lines.length - 1].length) {
                if (lines.length === 3) {
                    lines[2].push({ text: "\u2026", x, colour: "transparent" });
                    break;
                }
                lines.push([]);
                x = this.left + 6;
            }
            lines[lines.length - 1].push({ text, x, colour: curve.colour });
            x += wide;
        }
        return lines;
    }

    draw_legend(pen, ink, lines) {
        pen.textAlign = "left";
        lines.forEach((entries, k) => entries.forEach(({ text, x, colour }) => {
            pen.fillStyle = colour;
            pen.fillRect(x, 6 + 14 * k, 10, 4);
            pen.fillStyle = ink;
            pen.fillText(text, x + 14, 12 + 14 * k);
        }));
    }
}

function path(pen, time, values, x_of, y_of) {
    pen.beginPath();
    const step = Math.max(1, Math.floor(values.length / 4000));
    for (let k = 0; k < values.length; k += step) pen.lineTo(x_of(time[k]), y_of(values[k]));
    pen.stroke();
}

function line(pen, points) {
    pen.beginPath();
    for (const [x, y] of points) pen.lineTo(x, y);
    pen.stroke();
}
