#version 300 es
// Place in ground of a point in body axes, r + A u (F1).
precision highp float;

layout(location = 0) in vec3 u;
layout(location = 1) in float value;

uniform mat4 view_projection;
uniform mat4 view;
uniform mat4 pose;                 // A and r of the body
uniform float depth_bias;          // draws edges in front of their faces

out vec3 eye;
out vec3 ground;
out float level;

void main() {
    level = value;
    vec4 place = pose * vec4(u, 1.0);
    eye = (view * place).xyz;
    ground = place.xyz;
    gl_Position = view_projection * place;
    gl_Position.z -= depth_bias * gl_Position.w;
}
