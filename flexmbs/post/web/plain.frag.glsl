#version 300 es
// One colour: edges, grid, and the numbers of things for picking.
precision highp float;

uniform vec4 colour;

out vec4 fragment;

void main() {
    fragment = colour;
}
