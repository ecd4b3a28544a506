// A reduced body: its certificate, and interfaces that are pulled by a force.
import { add, dot, norm, subtract, times, unit } from "./matrix.js";
import { element, labelled } from "./controls.js";
import { number_text } from "./plot.js";
import { largest_displacement, largest_stress, place_on } from "./motion.js";
import { size_of } from "./tools.js";

const HELD = 1e-9;      // of the largest displacement
const FRAME_REACH = 16;      // pixels from the frame of an interface to the pointer

export function look_at_body(viewer) {
    const { body } = viewer.scene;
    const holder = document.getElementById("part");
    const said = element("p", { id: "pulled", textContent: body.interfaces.length ? "Drag the frame of an interface." : "" });
    said.setAttribute("role", "status");
    const size = element("input", { type: "number", id: "force", value: 1, min: 0, step: "any", ariaLabel: "size of the force" });
    if (body.interfaces.length) {
        holder.append(element("h2", { textContent: "Interfaces" }), element("ul", { className: "plain" }, body.interfaces.map((item) => element("li", { textContent: `${item.name}: ${item.tie}, ${item.nodes} nodes` }))),
            labelled("force [N]", size), said);
    }
    const rows = body.certificate.map(([what, value, bound, verdict, remark]) => {
        const found = [value, ` \u2264 ${bound}`, ` ${verdict}`].map((textContent) => element("span", { textContent }));
        const row = element("tr", { className: verdict === "ok" ? "" : "bad" }, [element("td", { textContent: what }), element("td", {}, found)]);
        row.title = remark;
        return row;
    });
    const head = ["test", "found \u2264 bound"].map((textContent) => element("th", { textContent, scope: "col" }));
    const table = element("table", { id: "certificate" }, [element("thead", {}, [element("tr", {}, head)]), element("tbody", {}, rows)]);
    const told = [...body.frequencies ? [`frequencies of the free body ${body.frequencies}`] : [], ...body.said];
    holder.append(element("details", { open: true }, [element("summary", { textContent: "Certificate" }), element("div", { className: "wide" }, [table]), ...told.map((text) => element("p", { textContent: text }))]));

    const ends = viewer.scene.symbols.map((symbol) => symbol.ends[0]);
    const place_of = (k) => place_on(ends[k], viewer.poses(), viewer.show.scale);

    // The interface whose frame is under the pointer.
    function under(x, y) {
        const { canvas } = viewer.renderer;
        const m = viewer.camera.matrices(canvas.width / canvas.height).view_projection;
        const gaps = body.interfaces.map((_, k) => {
            const [a, b, c] = place_of(k);
            const w = m[3] * a + m[7] * b + m[11] * c + m[15];
            const at = (0.5 + (0.5 * (m[0] * a + m[4] * b + m[8] * c + m[12])) / w) * canvas.clientWidth;
            const up = (0.5 - (0.5 * (m[1] * a + m[5] * b + m[9] * c + m[13])) / w) * canvas.clientHeight;
            return Math.hypot(at - x, up - y);
        });
        const least = Math.min(...gaps);
        return least < FRAME_REACH ? gaps.indexOf(least) : -1;
    }

    viewer.grab = (x, y) => {
        const k = under(x, y);
        if (k < 0) return null;
        const start = place_of(k);
        const rest = ends[k].place;
        const { canvas } = viewer.renderer;
        const normal = viewer.camera.direction();
        return (at_x, at_y, last) => {
            if (last) return;
            const { place: eye, ray } = viewer.camera.ray(at_x / canvas.clientWidth, at_y / canvas.clientHeight);
            const target = add(eye, times(dot(subtract(start, eye), normal) / dot(ray, normal), ray));
            pull(k, subtract(target, rest));
        };
    };

    // A force of this size along `way`; the picture is enlarged until the interface moves as far.
    function pull(k, way) {
        const item = body.interfaces[k];
        const compliance = rows_times(item.Phi, item.q);
        const force = times(Number(size.value) || 1, unit(way));
        const q = item.q[0].map((_, a) => dot(force, item.q.map((row) => row[a])));
        const moved = compliance.map((row) => dot(force, row));
        const [first] = viewer.scene.bodies;
        const stiff = !(norm(moved) > HELD * largest_displacement(first, q));
        if (stiff) said.textContent = `${item.name} does not move: the body is held there`;
        if (stiff || !(norm(way) > 0)) return;
        const factor = norm(way) / (norm(moved) * viewer.show.scale);
        const largest = largest_stress(first, q);
        const stress = first.mesh.stress ? `, largest stress ${number_text(largest / size_of(1, viewer.show.units[1]))} ${viewer.show.units[1]}` : "";
        viewer.play_mode({ held: q.map((x) => factor * x), factor, text: `${number_text(norm(force))} N at ${item.name}` });
        viewer.play(false);
        said.textContent = `${number_text(norm(force))} N along (${unit(force).map((x) => number_text(Number(x.toFixed(4)))).join(", ")}) move ${item.name} by ${number_text(1e3 * norm(moved))} mm${stress}; drawn ${number_text(factor * viewer.show.scale)} times as large.`;
    }
}

// Displacements of an interface under a newton along each axis: rows of Phi times columns of q.
function rows_times(Phi, q) {
    return Phi.map((row) => q.map((answer) => row.reduce((sum, x, a) => sum + x * answer[a], 0)));
}
