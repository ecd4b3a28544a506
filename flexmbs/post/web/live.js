// Follows a run: new samples arrive as an event stream and are appended to the arrays of the scene.
import { add, rotate } from "./matrix.js";
import { motion_at } from "./motion.js";

function appended(array, values) {
    const longer = new array.constructor(array.length + values.length);
    longer.set(array);
    longer.set(values, array.length);
    longer.shape = array.shape;
    return longer;
}

// Corners of the bodies in ground at time t that lie outside what the camera knows, so that nothing runs out of view.
function widen(scene, t) {
    const { bounds } = scene;
    motion_at(scene, t).forEach((pose, k) => {
        const body = scene.bodies[k];
        body.corners = body.corners || corners(body.mesh.points);
        for (const corner of body.corners) {
            const place = add(pose.position, rotate(pose.R, corner));
            if (place.every((x, i) => x >= bounds.low[i] && x <= bounds.high[i])) continue;
            bounds.outermost.push(place);
            place.forEach((x, i) => {
                bounds.low[i] = Math.min(bounds.low[i], x);
                bounds.high[i] = Math.max(bounds.high[i], x);
            });
        }
    });
}

function corners(points) {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    points.forEach((x, k) => {
        low[k % 3] = Math.min(low[k % 3], x);
        high[k % 3] = Math.max(high[k % 3], x);
    });
    return points.length ? [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [0, 1, 2].map((i) => ((k >> i) & 1 ? high : low)[i])) : [];
}

export function append_samples(viewer, batch) {
    const { scene } = viewer;
    const at_end = viewer.t >= scene.time[scene.time.length - 1];
    scene.time = appended(scene.time, batch.time);
    viewer.plot.time = scene.time;
    batch.bodies.forEach((motion, k) => {
        for (const name of ["position", "quaternion", "q"]) scene.bodies[k][name] = appended(scene.bodies[k][name], motion[name]);
    });
    scene.arrows = [];      // their histories are not sent
    for (const channel of scene.channels) channel.values = appended(channel.values, batch.channels[channel.name] || []);
    viewer.probes.refresh();
    const step = Math.max(1, Math.floor(batch.time.length / 8));
    for (let k = 0; k < batch.time.length; k += step) widen(scene, batch.time[k]);
    if (!viewer.touched) viewer.camera.fit();
    scene.stress_max = Math.max(scene.stress_max, batch.stress_max);
    if (at_end || viewer.following) viewer.set_time(scene.time[scene.time.length - 1]);
    viewer.changed();
}

// Starts only on a page that a running program serves.
export function follow(viewer) {
    const start = document.getElementById("app").dataset.live;
    if (start === undefined) return;
    viewer.following = true;
    viewer.playing = false;
    viewer.mode = null;
    viewer.set_time(viewer.span()[1]);
    viewer.end = Number(document.getElementById("app").dataset.end) || undefined;
    const note = document.createElement("span");
    const bar = document.createElement("progress");
    note.id = "progress";
    document.querySelector("header").append(bar, note);
    const tell = (share) => {
        bar.value = share;
        note.textContent = `running, ${Math.round(100 * share)} %`;
    };
    tell(viewer.end ? viewer.span()[1] / viewer.end : 0);
    const events = new EventSource(`/events?from=${start}`);
    events.onmessage = (event) => {
        const batch = JSON.parse(event.data);
        append_samples(viewer, batch);
        tell(batch.progress);
    };
    events.addEventListener("end", () => {
        events.close();
        viewer.following = false;
        viewer.end = undefined;
        bar.remove();
        viewer.changed();
        note.textContent = "the run has ended";
    });
    events.onerror = () => {
        events.close();
        viewer.following = false;
        note.textContent = "the run no longer answers";
    };
    document.getElementById("slider").addEventListener("input", () => { viewer.following = false; });
}
