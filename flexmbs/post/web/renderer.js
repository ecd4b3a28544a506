// WebGL2: programs, one vertex array per thing, mode shapes as float textures, picking by colour.

const UNIFORMS = ["view_projection", "view", "pose", "mode_shapes", "mode_stress", "coordinates", "n_modes", "n_stresses",
                  "n_vertices", "field", "scale", "depth_bias", "colour", "level_min", "level_max", "section", "palette"];
const TABLE_WIDTH = 2048;
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

// Float texture with `parts` numbers per texel, filled row by row; any number of texels.
function table(gl, values, parts) {
    const format = parts === 3 ? [gl.RGB32F, gl.RGB] : [gl.R32F, gl.RED];
    const n_texels = Math.max(1, Math.ceil(values.length / parts));
    const width = Math.min(TABLE_WIDTH, n_texels);
    const height = Math.ceil(n_texels / width);
    if (height > gl.getParameter(gl.MAX_TEXTURE_SIZE)) throw new Error("the modes of a body do not fit this graphics card");
    const padded = new Float32Array(width * height * parts);
    padded.set(values);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
    gl.texImage2D(gl.TEXTURE_2D, 0, format[0], width, height, 0, format[1], gl.FLOAT, padded);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    return { texture, width, height, parts, padded, format };
}

// Whether there is no graphics card: smooth edges then take half of the time.
function drawn_in_software() {
    const gl = document.createElement("canvas").getContext("webgl2");
    const told = gl && gl.getExtension("WEBGL_debug_renderer_info");
    return Boolean(told) && /swiftshader|llvmpipe|software|basic render/i.test(gl.getParameter(told.UNMASKED_RENDERER_WEBGL));
}

export class Renderer {
    constructor(canvas, shaders, palette) {
        this.software = drawn_in_software();
        const gl = canvas.getContext("webgl2", { alpha: false, antialias: !this.software, preserveDrawingBuffer: true });
        if (!gl) throw new Error("this browser offers no WebGL2");
        this.gl = gl;
        this.canvas = canvas;
        this.surface = link(gl, shaders.skin, shaders.surface);
        this.plain = link(gl, shaders.skin, shaders.plain);
        this.palette = new Float32Array(palette.flat());
        this.empty = { shapes: table(gl, [0, 0, 0], 3), q: table(gl, [0], 1) };
        gl.enable(gl.DEPTH_TEST);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    }

    // Buffers and textures of a mesh: {points, triangles, edges, Phi, stress}.
    upload(mesh) {
        const gl = this.gl;
        const vao = gl.createVertexArray();
        gl.bindVertexArray(vao);
        const places = gl.createBuffer();
        gl.bindBuffer(gl.ARRAY_BUFFER, places);
        gl.bufferData(gl.ARRAY_BUFFER, mesh.points, gl.STATIC_DRAW);
        gl.enableVertexAttribArray(0);
        gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
        const indices = (array) => {
            const buffer = gl.createBuffer();
            gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
            gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, array, gl.STATIC_DRAW);
            return { buffer, count: array.length };
        };
        const thing = { vao, triangles: indices(mesh.triangles), edges: indices(mesh.edges),
                        n_vertices: mesh.points.length / 3, n_modes: mesh.Phi ? mesh.Phi.shape[0] : 0 };
        thing.buffers = [places, thing.triangles.buffer, thing.edges.buffer];
        gl.bindVertexArray(null);
        if (thing.n_modes) {
            thing.shapes = table(gl, mesh.Phi, 3);
            thing.stress = mesh.stress ? table(gl, mesh.stress, 3) : null;
            thing.n_stresses = mesh.stress ? mesh.stress.shape[0] : 0;
            thing.q = table(gl, new Float32Array(Math.max(thing.n_modes, thing.n_stresses)), 1);
        }
        return thing;
    }

    // One number per vertex to be seen as colour; null takes it away.
    colour_by(thing, values) {
        const gl = this.gl;
        thing.valued = values !== null;
        gl.bindVertexArray(thing.vao);
        if (values) {
            if (!thing.values) thing.buffers.push(thing.values = gl.createBuffer());
            gl.bindBuffer(gl.ARRAY_BUFFER, thing.values);
            gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
            gl.enableVertexAttribArray(1);
            gl.vertexAttribPointer(1, 1, gl.FLOAT, false, 0, 0);
        } else gl.disableVertexAttribArray(1);
        gl.bindVertexArray(null);
    }

    // Give back the buffers and textures of a mesh.
    remove(thing) {
        const gl = this.gl;
        gl.deleteVertexArray(thing.vao);
        for (const buffer of thing.buffers) gl.deleteBuffer(buffer);
        for (const item of [thing.shapes, thing.stress, thing.q]) if (item) gl.deleteTexture(item.texture);
    }

    set_coordinates(thing, q) {
        if (!thing.n_modes) return;
        const gl = this.gl;
        const { texture, padded, width, height, format } = thing.q;
        padded.fill(0);
        padded.set(q);
        gl.bindTexture(gl.TEXTURE_2D, texture);
        gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, format[1], gl.FLOAT, padded);
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
            gl.uniform1i(places.mode_shapes, 0);
            gl.uniform1i(places.mode_stress, 1);
            gl.uniform1i(places.coordinates, 2);
            if (places.palette) gl.uniform3fv(places.palette, this.palette);
        }
    }

    // `how`: pose, colour, and optionally scale, field, level_min, level_max, section, edges (draw lines),
    // flat (one colour), on_top (in front of everything).
    draw(thing, how) {
        const gl = this.gl;
        const { program, places } = how.edges || how.flat ? this.plain : this.surface;
        gl.useProgram(program);
        const field = how.field === 1 && !thing.stress ? 0 : how.field || 0;
        gl.uniformMatrix4fv(places.pose, false, how.pose);
        gl.uniform4fv(places.colour, how.colour);
        gl.uniform1f(places.scale, how.scale ?? 1);
        gl.uniform1i(places.n_modes, thing.n_modes);
        gl.uniform1i(places.n_stresses, thing.n_stresses || 0);
        gl.uniform1i(places.n_vertices, thing.n_vertices);
        gl.uniform1i(places.field, thing.n_modes || (field === 3 && thing.valued) ? field : 0);
        gl.uniform1f(places.level_min, how.level_min || 0);
        gl.uniform1f(places.level_max, how.level_max || 1);
        gl.uniform4fv(places.section, how.section || NO_SECTION);
        gl.uniform1f(places.depth_bias, how.edges ? 4e-5 : 0);
        const textures = [thing.shapes || this.empty.shapes, thing.stress || this.empty.shapes, thing.q || this.empty.q];
        textures.forEach((item, k) => {
            gl.activeTexture(gl.TEXTURE0 + k);
            gl.bindTexture(gl.TEXTURE_2D, item.texture);
        });
        gl.activeTexture(gl.TEXTURE0);
        if (how.on_top) gl.disable(gl.DEPTH_TEST);
        const { buffer, count } = how.edges ? thing.edges : thing.triangles;
        gl.bindVertexArray(thing.vao);
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
        gl.drawElements(how.edges ? gl.LINES : gl.TRIANGLES, count, gl.UNSIGNED_INT, 0);
        gl.enable(gl.DEPTH_TEST);
        gl.bindVertexArray(null);
    }

    // Number of the thing under a pixel (x, y from the top left corner of the canvas, device pixels), -1 for none.
    pick(x, y, draw_number) {
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
        const pixel = new Uint8Array(4);
        gl.readPixels(Math.round(x), height - 1 - Math.round(y), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
        gl.enable(gl.BLEND);
        gl.bindFramebuffer(gl.FRAMEBUFFER, null);
        gl.deleteFramebuffer(target);
        gl.deleteRenderbuffer(colour);
        gl.deleteRenderbuffer(depth);
        return pixel[0] + 256 * pixel[1] - 1;
    }
}
