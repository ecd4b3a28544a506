// Starts the viewer and offers it to scripts as `window.flexmbs`.
import { look_at_body } from "./body.js";
import { work_on_case } from "./case.js";
import { read_page_data } from "./data.js";
import { follow } from "./live.js";
import { work_on } from "./part.js";
import { axes_of } from "./plot.js";
import { principal } from "./probe.js";
import { build_report, picture } from "./tools.js";
import { Viewer } from "./viewer.js";

async function start() {
    const viewer = new Viewer(await read_page_data(document));
    const number = (name) => viewer.scene.bodies.findIndex((body) => body.name === name);
    window.flexmbs = {
        viewer,
        ready: true,
        set_time: (t) => { viewer.play(false); viewer.set_time(t); viewer.draw(); },
        set: (options) => { viewer.set(options); viewer.draw(); },
        transform: (name) => {
            const { position, quaternion } = viewer.poses()[number(name)];
            return { position, quaternion };
        },
        weights: (name) => viewer.poses()[number(name)].q,
        skin_point: (name, vertex) => viewer.skin_point(number(name), vertex),
        pick: (x, y) => viewer.name_of(viewer.pick(x, y)),
        principal,
        axes_of: (names) => axes_of(names.map((name) => viewer.scene.channels.find((item) => item.name === name)))
            .map((group) => group.map((curve) => curve.name)),
        picture: () => picture(viewer),
        play_mode: (mode) => viewer.play_mode(mode),
        names: () => viewer.scene.bodies.map((body) => body.name),
    };
    follow(viewer);
    if (viewer.scene.part) work_on(viewer);
    if (viewer.scene.case) work_on_case(viewer);
    if (viewer.scene.body) look_at_body(viewer);
    if (viewer.scene.report) build_report(viewer.scene.report);
}

start().catch((error) => {
    const message = document.getElementById("message");
    message.hidden = false;
    message.textContent = `The view cannot be drawn: ${error.message}`;
    window.flexmbs = { ready: false, error: String(error) };
});
