#version 300 es
// Faceted light: the normal is that of the deformed facet, so it needs no modes of its own.
precision highp float;
precision highp int;

in vec3 eye;
in float level;
in vec3 ground;

uniform vec4 colour;
uniform int field;
uniform float level_min;
uniform float level_max;
uniform vec4 section;              // what lies beyond this plane in ground is not drawn
uniform vec3 palette[9];

out vec4 fragment;

vec3 palette_colour(float x) {
    float s = clamp(x, 0.0, 1.0) * 8.0;
    int k = min(int(s), 7);
    return mix(palette[k], palette[k + 1], s - float(k));
}

void main() {
    if (dot(section.xyz, ground) > section.w) discard;
    vec3 normal = normalize(cross(dFdx(eye), dFdy(eye)));
    vec3 to_eye = normalize(-eye);
    if (dot(normal, to_eye) < 0.0) normal = -normal;
    vec3 base = field > 0 ? palette_colour((level - level_min) / (level_max - level_min)) : colour.rgb;
    float key = max(dot(normal, normalize(vec3(0.35, 0.75, 0.6))), 0.0);
    float fill = max(dot(normal, normalize(vec3(-0.6, -0.2, 0.5))), 0.0);
    float gloss = max(dot(reflect(-normalize(vec3(0.35, 0.75, 0.6)), normal), to_eye), 0.0);
    gloss *= gloss * gloss;            // to the 24th
    gloss *= gloss;
    gloss *= gloss;
    gloss *= gloss;
    vec3 lit = base * (0.58 + 0.46 * key + 0.22 * fill) + vec3(0.10 * gloss);
    fragment = vec4(lit, colour.a);
}
