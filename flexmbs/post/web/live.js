// Follows a run: new samples arrive as an event stream and are appended to the arrays of the scene.

function appended(array, values) {
    const longer = new array.constructor(array.length + values.length);
    longer.set(array);
    longer.set(values, array.length);
    longer.shape = array.shape;
    return longer;
}

function append(viewer, batch) {
    const { scene } = viewer;
    const at_end = viewer.t >= scene.time[scene.time.length - 1];
    scene.time = appended(scene.time, batch.time);
    viewer.plot.time = scene.time;
    batch.bodies.forEach((motion, k) => {
        for (const name of ["position", "quaternion", "q"]) scene.bodies[k][name] = appended(scene.bodies[k][name], motion[name]);
    });
    for (const channel of scene.channels) channel.values = appended(channel.values, batch.channels[channel.name] || []);
    scene.stress_max = Math.max(scene.stress_max, batch.stress_max);
    document.getElementById("app").classList.remove("still");
    document.getElementById("slider").max = scene.time[scene.time.length - 1];
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
    const note = document.createElement("span");
    note.id = "progress";
    document.querySelector("header").append(note);
    const events = new EventSource(`/events?from=${start}`);
    events.onmessage = (event) => {
        const batch = JSON.parse(event.data);
        append(viewer, batch);
        note.textContent = `running, ${Math.round(100 * batch.progress)} %`;
    };
    events.addEventListener("end", () => {
        events.close();
        viewer.following = false;
        note.textContent = "the run has ended";
    });
    events.onerror = () => {
        events.close();
        viewer.following = false;
        note.textContent = "the run no longer answers";
    };
    document.getElementById("slider").addEventListener("input", () => { viewer.following = false; });
}
