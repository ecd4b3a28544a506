// A rectangle, or a line drawn about something, in the picture.

const APART = 3;      // pixels between two corners of a line that is drawn

// What takes the pointer from where it went down; `done(outline)` gets the corners in the coordinates of the camera, -1 to 1.
export function draw_outline(viewer, free, done) {
    const shape = (name, parent) => parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
    return (x0, y0) => {
        const stage = document.getElementById("stage");
        const sheet = shape("svg", stage);
        sheet.id = "outline";
        const polygon = shape("polygon", sheet);
        const corners = [[x0, y0]];
        return (x, y, last) => {
            const [x1, y1] = corners[corners.length - 1];
            if (free && Math.hypot(x - x1, y - y1) >= APART) corners.push([x, y]);
            const outline = free ? corners : [[x0, y0], [x, y0], [x, y], [x0, y]];
            polygon.setAttribute("points", outline.map((corner) => corner.join()).join(" "));
            if (!last) return;
            sheet.remove();
            const { clientWidth, clientHeight } = viewer.renderer.canvas;
            if (outline.length > 2 && Math.hypot(x - x0, y - y0) + corners.length > APART) {
                done(outline.map(([a, b]) => [(2 * a) / clientWidth - 1, 1 - (2 * b) / clientHeight]));
            }
        };
    };
}
