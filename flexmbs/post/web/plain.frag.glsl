#version 300 es
// One colour: edges, grid, and the numbers of things for picking.
precision highp float;

in vec3 ground;

uniform vec4 colour;
uniform vec4 section;

out vec4 fragment;

void main() {
    if (dot(section.xyz, ground) > section.w) discard;
    fragment = colour;
}
