#version 300 es
// Position of a material point, r + A (u0 + S q) (F1), and its stress from the modal stresses (F53).
precision highp float;
precision highp int;
precision highp sampler2D;

layout(location = 0) in vec3 u0;
layout(location = 1) in float value;

uniform mat4 view_projection;
uniform mat4 view;
uniform mat4 pose;                 // A and r of the body
uniform sampler2D mode_shapes;     // one texel per (mode, vertex)
uniform sampler2D mode_stress;     // two texels per (mode, vertex): xx yy zz, xy yz zx
uniform sampler2D coordinates;     // one texel per mode, q; then the amounts of static stresses
uniform int n_modes;
uniform int n_stresses;            // modes, and static stresses that they miss
uniform int n_vertices;
uniform int field;                 // 0 none, 1 von Mises, 2 size of the displacement, 3 the value of the vertex
uniform float scale;               // of the deformation; 1 is true to scale
uniform float depth_bias;          // draws edges in front of their faces

out vec3 eye;
out vec3 ground;
out float level;

vec3 texel(sampler2D table, int k) {
    int width = textureSize(table, 0).x;
    return texelFetch(table, ivec2(k % width, k / width), 0).rgb;
}

float von_mises(vec3 direct, vec3 shear) {
    vec3 d = direct - direct.yzx;
    return sqrt(0.5 * dot(d, d) + 3.0 * dot(shear, shear));
}

void main() {
    vec3 displacement = vec3(0.0);
    vec3 direct = vec3(0.0);
    vec3 shear = vec3(0.0);
    for (int a = 0; a < n_modes; ++a) {
        float q = texel(coordinates, a).r;
        int k = a * n_vertices + gl_VertexID;
        displacement += q * texel(mode_shapes, k);
    }
    for (int a = 0; a < (field == 1 ? n_stresses : 0); ++a) {
        float q = texel(coordinates, a).r;
        int k = 2 * (a * n_vertices + gl_VertexID);
        direct += q * texel(mode_stress, k);
        shear += q * texel(mode_stress, k + 1);
    }
    level = field == 1 ? von_mises(direct, shear) : field == 3 ? value : length(displacement);
    vec4 place = pose * vec4(u0 + scale * displacement, 1.0);
    eye = (view * place).xyz;
    ground = place.xyz;
    gl_Position = view_projection * place;
    gl_Position.z -= depth_bias * gl_Position.w;
}
