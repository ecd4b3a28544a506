// WebGL2: programs, vertex arrays of things at rest and deformed, picking by colour.
import { deform } from "./motion.js";
import { only_outside } from "./surface.js";

const UNIFORMS = ["view_projection", "view", "pose", "field", "depth_bias", "colour", "level_min", "level_max", "section", "palette"];
const NO_SECTION = [0, 0, 0, 1];

function compile(gl, kind, source) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source.trim());
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    return shader;
}

function link(gl, vertex_source, fragment_source) {
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, vertex_source));
    gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, fragment_source));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const places = {};
    for (const name of UNIFORMS) places[name] = gl.getUniformLocation(program, name);
    return { program, places };
}

// Whether there is no graphics card: smooth edges then take half of the time.
function drawn_in_software(gl) {
    const told = gl && gl.getExtension("WEBGL_debug_renderer_info");
    return Boolean(told) && /swiftshader|llvmpipe|software|basic render/i.test(gl.getParameter(told.UNMASKED_RENDERER_WEBGL));
}

export class Renderer {
    constructor(canvas, shaders, palette) {
        const context = (of, antialias) => of.getContext("webgl2", { alpha: false, antialias, preserveDrawingBuffer: true });
        const plain = canvas.cloneNode();
        const first = context(plain, false);
        this.software = drawn_in_software(first);
        const gl = this.software ? first : context(canvas, true);
        if (!gl) throw new Error("this browser offers no WebGL2");
        if (this.software) canvas.replaceWith(plain);     // making another one takes time
        else if (first) first.getExtension("WEBGL_lose_context")?.loseContext();
        this.gl = gl;
        this.canvas = this.software ? plain : canvas;
        this.surface = link(gl, shaders.skin, shaders.surface);
        this.plain = link(gl, shaders.skin, shaders.plain);
        this.palette = new Float32Array(palette.flat());
        gl.enable(gl.DEPTH_TEST);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    }

    // Buffers of a mesh: {points, triangles, edges, Phi, stress}; one with modes has its deformed points beside those at rest.
    upload(mesh) {
        const gl = this.gl;
        const indices = (array) => {
            const buffer = gl.createBuffer();
            gl.bindVertexArray(null);
            gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
            gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, array, gl.STATIC_DRAW);
            return { buffer, count: array.length };
        };
        const rest = this.vertices(mesh.points);
        const thing = { mesh, rest, now: rest, triangles: indices(mesh.triangles), edges: indices(mesh.edges), valued: false };
        if (mesh.Phi) {
            thing.now = this.vertices(mesh.points);
            thing.points = new Float32Array(mesh.points.length);
            thing.levels = new Float32Array(mesh.points.length / 3);
        }
        return thing;
    }

    // A vertex array with places, and room for one number per vertex.
    vertices(points) {
        const gl = this.gl;
        const made = { vao: gl.createVertexArray(), places: gl.createBuffer(), values: null };
        gl.bindVertexArray(made.vao);
        gl.bindBuffer(gl.ARRAY_BUFFER, made.places);
        gl.bufferData(gl.ARRAY_BUFFER, points, gl.STATIC_DRAW);
        gl.enableVertexAttribArray(0);
        gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
        gl.bindVertexArray(null);
        return made;
    }

    // One number per vertex to be seen as colour; null takes it away.
    colour_by(thing, values) {
        const gl = this.gl;
        const { now } = thing;
        thing.valued = values !== null;
        gl.bindVertexArray(now.vao);
        if (values) {
            now.values = now.values || gl.createBuffer();
            gl.bindBuffer(gl.ARRAY_BUFFER, now.values);
            gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
            gl.enableVertexAttribArray(1);
            gl.vertexAttribPointer(1, 1, gl.FLOAT, false, 0, 0);
        } else gl.disableVertexAttribArray(1);
        gl.bindVertexArray(null);
    }

    // Give back the buffers of a mesh.
    remove(thing) {
        const gl = this.gl;
        for (const { vao, places, values } of new Set([thing.rest, thing.now])) {
            gl.deleteVertexArray(vao);
            gl.deleteBuffer(places);
            if (values) gl.deleteBuffer(values);
        }
        for (const { buffer } of [thing.triangles, thing.edges]) gl.deleteBuffer(buffer);
    }

    // Points, and what is seen of them as colours, for elastic coordinates and amounts of static stresses; computed where they
    // are other ones than before.
    deform(thing, { q, amounts }, scale, field) {
        if (!thing.points) return;
        const key = [...q, ...amounts, scale, field].join();
        if (key === thing.key) return;
        thing.key = key;
        const gl = this.gl;
        deform(thing.mesh, q, amounts, scale, field, thing.points, thing.levels);
        gl.bindBuffer(gl.ARRAY_BUFFER, thing.now.places);
        gl.bufferData(gl.ARRAY_BUFFER, thing.points, gl.DYNAMIC_DRAW);
        if (field === 1 || field === 2) this.colour_by(thing, thing.levels);
    }

    begin(view, view_projection, background) {
        const gl = this.gl;
        gl.viewport(0, 0, this.canvas.width, this.canvas.height);
        gl.clearColor(...background);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        for (const { program, places } of [this.surface, this.plain]) {
            gl.useProgram(program);
            gl.uniformMatrix4fv(places.view, false, view);
            gl.uniformMatrix4fv(places.view_projection, false, view_projection);
            if (places.palette) gl.uniform3fv(places.palette, this.palette);
        }
    }

    // `how`: pose, colour, and optionally rest (undeformed), field, level_min, level_max, section, edges (draw lines),
    // flat (one colour), on_top (in front of everything), in_front (of what lies in the same place), coarse (without what closed
    // skins hide of themselves).
    draw(thing, how) {
        const gl = this.gl;
        const { program, places } = how.edges || how.flat ? this.plain : this.surface;
        gl.useProgram(program);
        gl.uniformMatrix4fv(places.pose, false, how.pose);
        gl.uniform4fv(places.colour, how.colour);
        gl.uniform1i(places.field, thing.valued && !(how.field === 1 && !thing.mesh.stress) ? how.field || 0 : 0);
        gl.uniform1f(places.level_min, how.level_min || 0);
        gl.uniform1f(places.level_max, how.level_max || 1);
        gl.uniform4fv(places.section, how.section || NO_SECTION);
        gl.uniform1f(places.depth_bias, (how.edges ? 4e-5 : 0) + (how.in_front ? 8e-5 : 0));
        if (how.on_top) gl.disable(gl.DEPTH_TEST);
        if (how.coarse && !how.section && (thing.outside ??= only_outside(thing.mesh))) gl.enable(gl.CULL_FACE);
        const { buffer, count } = how.edges ? thing.edges : thing.triangles;
        gl.bindVertexArray((how.rest ? thing.rest : thing.now).vao);
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
        gl.drawElements(how.edges ? gl.LINES : gl.TRIANGLES, count, gl.UNSIGNED_INT, 0);
        gl.enable(gl.DEPTH_TEST);
        gl.disable(gl.CULL_FACE);
        gl.bindVertexArray(null);
    }

    // Number of the thing under a pixel (x, y from the top left corner of the canvas, device pixels), or the nearest one within
    // a reach; -1 for none.
    pick(x, y, draw_number, reach = 0) {
        const gl = this.gl;
        const { width, height } = this.canvas;
        const target = gl.createFramebuffer();
        const colour = gl.createRenderbuffer();
        const depth = gl.createRenderbuffer();
        gl.bindFramebuffer(gl.FRAMEBUFFER, target);
        gl.bindRenderbuffer(gl.RENDERBUFFER, colour);
        gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, width, height);
        gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, colour);
        gl.bindRenderbuffer(gl.RENDERBUFFER, depth);
        gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT16, width, height);
        gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
        gl.disable(gl.BLEND);
        draw_number((k) => [((k + 1) & 255) / 255, (((k + 1) >> 8) & 255) / 255, 0, 1]);
        const far = Math.round(reach);
        const wide = 2 * far + 1;
        const pixels = new Uint8Array(4 * wide * wide);
        gl.readPixels(Math.round(x) - far, height - 1 - Math.round(y) - far, wide, wide, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
        gl.enable(gl.BLEND);
        gl.bindFramebuffer(gl.FRAMEBUFFER, null);
        gl.deleteFramebuffer(target);
        gl.deleteRenderbuffer(colour);
        gl.deleteRenderbuffer(depth);
        let [best, found] = [Infinity, -1];
        for (let k = 0; k < wide * wide; ++k) {
            const number = pixels[4 * k] + 256 * pixels[4 * k + 1] - 1;
            const gap = Math.hypot((k % wide) - far, Math.floor(k / wide) - far);
            if (number >= 0 && gap < best) [best, found] = [gap, number];
        }
        return found;
    }
}
