// What the page holds: one JSON text that names arrays, one base64 text with their bytes: compressed, the first
// bytes of all numbers, then the second ones, and so on.

const KINDS = { float32: Float32Array, float64: Float64Array, uint32: Uint32Array };

function bytes_of_base64(text) {
    const raw = atob(text);
    const out = new Uint8Array(raw.length);
    for (let k = 0; k < raw.length; ++k) out[k] = raw.charCodeAt(k);
    return out;
}

// Replace every {offset, length, kind, shape} of the tree by its typed array, with `shape` kept on it.
export function resolve(node, buffer) {
    if (Array.isArray(node)) return node.map((item) => resolve(item, buffer));
    if (node === null || typeof node !== "object") return node;
    if (node.kind in KINDS && "offset" in node) {
        const array = new KINDS[node.kind](buffer, node.offset, node.length);
        array.shape = node.shape;
        return array;
    }
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, resolve(item, buffer)]));
}

async function unpacked(text) {
    const stream = new Blob([bytes_of_base64(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const out = new Uint8Array(planes.length);
    const n = planes.length / 4;
    for (let plane = 0; plane < 4; ++plane) {
        for (let k = 0; k < n; ++k) out[4 * k + plane] = planes[plane * n + k];
    }
    return out.buffer;
}

// The scene of a tree and the text of its arrays.
export async function scene_of(tree, text) { return resolve(tree, await unpacked(text)); }

export async function read_page_data(document) {
    const tree = JSON.parse(document.getElementById("scene").textContent);
    return scene_of(tree, document.getElementById("arrays").textContent.trim());
}

// Sample k and weight w with t = (1 - w) time[k] + w time[k + 1].
export function locate(time, t) {
    const last = time.length - 1;
    if (last <= 0 || t <= time[0]) return [0, 0];
    if (t >= time[last]) return [last, 0];
    let low = 0;
    let high = last;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (time[middle] <= t) low = middle;
        else high = middle;
    }
    return [low, (t - time[low]) / (time[high] - time[low])];
}

// Row of an array (time, n) at a place between samples.
export function row(array, width, [k, w]) {
    const out = new Array(width);
    const start = k * width;
    for (let i = 0; i < width; ++i) {
        const here = array[start + i];
        out[i] = w > 0 ? (1 - w) * here + w * array[start + width + i] : here;
    }
    return out;
}

// Quaternion between samples: the shorter way, normalised.
export function quaternion_row(array, [k, w]) {
    const a = Array.from(array.subarray(4 * k, 4 * k + 4));
    if (!(w > 0)) return a;
    const b = Array.from(array.subarray(4 * k + 4, 4 * k + 8));
    const sign = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0 ? -1 : 1;
    const mixed = a.map((x, i) => (1 - w) * x + w * sign * b[i]);
    const size = Math.hypot(...mixed);
    return mixed.map((x) => x / size);
}
