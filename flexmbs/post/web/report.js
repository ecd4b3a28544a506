// The plots of a report: one canvas per figure, one cursor for all.
import { locate, read_page_data, row } from "./data.js";
import { Plot } from "./plot.js";

async function start() {
    const scene = await read_page_data(document);
    let t = scene.time[0];
    const plots = [...document.querySelectorAll("canvas.plot")].map((canvas) => {
        const plot = new Plot(canvas, scene.time, (time) => { t = time; draw(); });
        for (const k of canvas.dataset.curves.split(" ")) plot.toggle(scene.curves[Number(k)]);
        canvas.addEventListener("pointermove", (event) => {
            const share = (event.offsetX - plot.left) / (plot.right - plot.left);
            const [t0, t1] = [scene.time[0], scene.time[scene.time.length - 1]];
            t = t0 + Math.max(0, Math.min(1, share)) * (t1 - t0);
            draw();
        });
        return plot;
    });
    function draw() {
        const place = locate(scene.time, t);
        for (const plot of plots) plot.draw(t, (curve) => row(curve.values, 1, place)[0]);
    }
    window.addEventListener("resize", draw);
    window.addEventListener("beforeprint", draw);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    draw();
    window.flexmbs = { ready: true, plots, set_time: (time) => { t = time; draw(); } };
}

start();
