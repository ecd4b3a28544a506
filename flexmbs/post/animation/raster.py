"""Triangles and lines -> pixels, by a z-buffer in software: pictures need no OpenGL and no screen."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel


@kernel
def fill_triangles(screen, triangles, colours, image, depth):
    """Fill triangles; colours interpolated between corners.

    screen : (n, 3) pixels x, y and depth, smaller is nearer;  triangles : (m, 3)
    colours : (m, 3 corners, rgb).  Writes: image (height, width, 3), depth (height, width)
    """
    height, width = depth.shape
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax, ay, bx, by, cx, cy = (
            screen[a, 0],
            screen[a, 1],
            screen[b, 0],
            screen[b, 1],
            screen[c, 0],
            screen[c, 1],
        )
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not abs(area) > 1e-12:
            continue
        left, right = max(0, int(min(ax, bx, cx))), min(width - 1, int(max(ax, bx, cx)) + 1)
        top, bottom = max(0, int(min(ay, by, cy))), min(height - 1, int(max(ay, by, cy)) + 1)
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                px, py = x + 0.5, y + 0.5
                wa = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area
                wb = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area
                wc = 1.0 - wa - wb
                if wa < 0.0 or wb < 0.0 or wc < 0.0:
                    continue
                z = wa * screen[a, 2] + wb * screen[b, 2] + wc * screen[c, 2]
                if z < depth[y, x]:
                    depth[y, x] = z
                    for k in range(3):
                        image[y, x, k] = wa * colours[t, 0, k] + wb * colours[t, 1, k] + wc * colours[t, 2, k]


@kernel
def draw_lines(screen, edges, colour, alpha, bias, image, depth):
    """Blend lines over the image where they are not behind it by more than `bias`. Writes: image"""
    height, width = depth.shape
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        dx, dy, dz = screen[b, 0] - screen[a, 0], screen[b, 1] - screen[a, 1], screen[b, 2] - screen[a, 2]
        n = int(max(abs(dx), abs(dy))) + 1
        if n > 20000:
            continue
        for k in range(n + 1):
            s = k / n
            x, y, z = int(screen[a, 0] + s * dx), int(screen[a, 1] + s * dy), screen[a, 2] + s * dz
            if 0 <= x < width and 0 <= y < height and z < depth[y, x] + bias:
                for i in range(3):
                    image[y, x, i] += alpha * (colour[i] - image[y, x, i])


def shade(normals: np.ndarray, to_eye: np.ndarray) -> np.ndarray:
    """Light on facets seen from the eye: a key light from above, a fill from the side."""
    facing = np.where(np.einsum("ti,ti->t", normals, to_eye)[:, None] < 0.0, -normals, normals)
    key = np.array([0.35, 0.75, 0.6]) / np.linalg.norm([0.35, 0.75, 0.6])
    side = np.array([-0.6, -0.2, 0.5]) / np.linalg.norm([-0.6, -0.2, 0.5])
    return 0.58 + 0.46 * np.maximum(facing @ key, 0.0) + 0.22 * np.maximum(facing @ side, 0.0)
