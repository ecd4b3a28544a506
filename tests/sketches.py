# ruff: noqa: E501
"""Draws docs/sketches/NAME.svg for the joints, couplings, forces and worked pages of the manual.

python -m tests.sketches
"""

from math import atan2, cos, pi, sin
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "sketches"
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 HEIGHT" width="300" height="HEIGHT" font-family="sans-serif"
 font-size="13" fill="none" stroke="#2c3e50" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round">
<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
<path d="M0 1 L9 5 L0 9 z" fill="#c0392b" stroke="none"/></marker></defs>
<rect x="0" y="0" width="300" height="HEIGHT" fill="#ffffff" stroke="none"/>
"""
P_COLOUR, Q_COLOUR, MOTION = "#e8edf2", "#fdebd0", "#c0392b"


def line(*points, dash=False, width=1.6, colour="#2c3e50"):
    style = ' stroke-dasharray="5 4"' if dash else ""
    text = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{text}" stroke="{colour}" stroke-width="{width}"{style}/>'


def arrow(x1, y1, x2, y2, both=False):
    start = ' marker-start="url(#a)"' if both else ""
    ends = f'{start} marker-end="url(#a)"'
    return f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" stroke="{MOTION}" stroke-width="1.8"{ends}/>'


def turn(x, y, r=18, first=-40, last=220, flat=1.0, back=False):
    """An arrow round a point, counter-clockwise, or `back`; `flat` makes it an ellipse."""
    a, b = first * pi / 180, last * pi / 180
    start, end = (x + r * cos(a), y - flat * r * sin(a)), (x + r * cos(b), y - flat * r * sin(b))
    large = int(abs(last - first) > 180)
    arc = f"M{start[0]:.1f} {start[1]:.1f} A{r:g} {flat * r:g} 0 {large} 0 {end[0]:.1f} {end[1]:.1f}"
    end_of = "start" if back else "end"
    return f'<path d="{arc}" stroke="{MOTION}" stroke-width="1.8" marker-{end_of}="url(#a)"/>'


def around(x, y, back=False):
    """An arrow round a horizontal axis, positive about its direction to the right: the near side goes down."""
    return turn(x, y, 8, *((75, 290) if back else (70, 285)), 2.9, back)


def box(x, y, w, h, colour=Q_COLOUR, angle=0):
    spin = f' transform="rotate({angle:g} {x + w / 2:g} {y + h / 2:g})"' if angle else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="4" fill="{colour}"{spin}/>'


def circle(x, y, r, colour="#ffffff"):
    return f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" fill="{colour}"/>'


def text(x, y, words, anchor="middle"):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="#2c3e50" stroke="none">{words}</text>'


def spring(x1, x2, y, teeth=6):
    step = (x2 - x1 - 20) / (2 * teeth)
    middle = [(x1 + 10 + (k + 0.5) * step, y + (7 if k % 2 else -7)) for k in range(2 * teeth)]
    return line((x1, y), (x1 + 10, y), *middle, (x2 - 10, y), (x2, y))


def zigzag(x1, x2, y):
    step = (x2 - x1) / 8
    return line((x1, y), *((x1 + k * step, y + (6 if k % 2 else -6)) for k in range(1, 8)), (x2, y))


def link(start, end, label="", at=(0, 0), colour=Q_COLOUR):
    """A bar between two pins."""
    angle = atan2(end[1] - start[1], end[0] - start[0])
    across = (6 * sin(angle), -6 * cos(angle))
    corners = [
        (x + k * across[0], y + k * across[1]) for (x, y), k in ((start, 1), (end, 1), (end, -1), (start, -1))
    ]
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    bar = f'<polygon points="{outline}" fill="{colour}"/>'
    return bar + circle(*start, 3) + circle(*end, 3) + text(*at, label)


def support(x, y, angle=0):
    """Ground below a pin, turned about it."""
    hatch = "".join(line((x + k, y + 11), (x + k - 5, y + 17), width=1) for k in (-8, 0, 8, 14))
    parts = line((x, y), (x - 9, y + 11), (x + 9, y + 11), (x, y)) + line((x - 14, y + 11), (x + 16, y + 11))
    return f'<g transform="rotate({angle:g} {x:g} {y:g})">{parts}{hatch}</g>'


def from_vertical(x, y, angle, label, at, r=34):
    """The angle of a bar from the vertical, clockwise positive."""
    end = (x + r * sin(angle), y - r * cos(angle))
    arc = f"M{x:g} {y - r:g} A{r:g} {r:g} 0 0 {int(angle > 0)} {end[0]:.1f} {end[1]:.1f}"
    marked = f'<path d="{arc}" stroke="{MOTION}" stroke-width="1.4" marker-end="url(#a)"/>'
    return line((x, y), (x, y - r - 14), dash=True, width=1) + marked + text(*at, label)


def axis(x=150, top=8, bottom=112):
    return line((x, bottom), (x, top), dash=True, width=1) + text(x + 10, top + 8, "z")


def wheel(x, y, r, label):
    teeth = "".join(
        line((x + r * cos(a), y + r * sin(a)), (x + (r + 4) * cos(a), y + (r + 4) * sin(a)), width=1.2)
        for a in (2 * pi * k / round(r * 0.7) for k in range(round(r * 0.7)))
    )
    return circle(x, y, r, Q_COLOUR) + teeth + circle(x, y, 3) + text(x, y - 8, label)


PLATE = box(115, 78, 70, 16, P_COLOUR) + text(100, 91, "P")
PIN = axis() + PLATE + box(138, 58, 24, 20, P_COLOUR)
ROD = line((60, 60), (240, 60), dash=True, width=1) + text(250, 64, "z")
PLANE = '<path d="M60 90 L100 62 L260 62 L220 90 z" fill="#e8edf2"/>' + text(70, 106, "P")

SKETCHES = {
    # joints
    "fixed": box(70, 45, 80, 30, P_COLOUR) + box(150, 45, 80, 30) + text(110, 65, "P") + text(190, 65, "Q")
    + line((146, 38), (154, 46)) + line((146, 74), (154, 82)),
    "revolute": PIN + box(105, 36, 150, 20) + text(240, 51, "Q") + turn(150, 28, 26, -30, 200, 0.35)
    + text(196, 26, "angle"),
    "prismatic": ROD + box(70, 70, 130, 14, P_COLOUR) + text(60, 82, "P") + box(110, 46, 50, 24)
    + text(135, 63, "Q") + arrow(160, 36, 225, 36) + text(190, 28, "travel"),
    "helical": ROD + box(60, 52, 180, 16, P_COLOUR) + "".join(line((x, 52), (x + 10, 68)) for x in range(66, 230, 12))
    + box(115, 40, 44, 40) + text(137, 65, "Q") + text(50, 64, "P") + around(200, 60) + text(206, 26, "angle")
    + arrow(110, 94, 165, 94) + text(138, 110, "lead per turn"),
    "cylindrical": ROD + box(60, 54, 180, 12, P_COLOUR) + box(115, 42, 50, 36) + text(140, 65, "Q")
    + text(50, 64, "P") + around(200, 60) + text(206, 26, "angle") + arrow(112, 92, 167, 92)
    + text(140, 108, "travel"),
    "universal": box(30, 53, 70, 14, P_COLOUR) + text(46, 48, "P") + line((100, 60), (118, 60)) + line((150, 38), (118, 38), (118, 82), (150, 82))
    + line((150, 20), (150, 100), dash=True, width=1) + line((150, 38), (150, 82)) + box(157, 34, 90, 14, angle=-21)
    + circle(150, 60, 9, Q_COLOUR) + circle(150, 60, 2, "#2c3e50") + text(258, 22, "Q") + text(184, 84, "y of Q")
    + turn(150, 22, 16, -30, 200, 0.35) + text(134, 114, "x of P") + text(100, 20, "angle1") + turn(150, 60, 84, -12, 12) + text(262, 72, "angle2"),
    "planar": PLANE + box(135, 58, 50, 22) + text(160, 74, "Q") + arrow(190, 70, 235, 70) + text(240, 58, "x")
    + arrow(160, 56, 186, 36) + text(192, 34, "y") + turn(150, 46, 18, 60, 250, 0.5) + text(118, 38, "angle"),
    "spherical": box(60, 50, 70, 20, P_COLOUR) + text(80, 64, "P") + circle(150, 60, 20, P_COLOUR)
    + circle(150, 60, 13, Q_COLOUR) + box(162, 46, 80, 12, angle=-20) + text(226, 30, "Q")
    + turn(150, 60, 34, 60, 170) + turn(150, 60, 34, 215, 330),
    "free": box(50, 60, 60, 30, P_COLOUR) + text(80, 80, "P") + box(180, 30, 60, 30, angle=20) + text(210, 50, "Q")
    + line((110, 70), (180, 48), dash=True) + arrow(145, 59, 175, 50) + turn(210, 45, 40, 300, 420)
    + text(150, 108, "three translations, three rotations"),
    "constant_velocity": box(30, 54, 80, 14, P_COLOUR) + text(95, 48, "P") + circle(140, 61, 22, P_COLOUR)
    + circle(140, 61, 12, Q_COLOUR) + box(158, 40, 90, 14, angle=-20) + text(264, 26, "Q")
    + turn(60, 61, 18, 110, 250) + turn(232, 32, 18, 110, 250) + text(170, 108, "equal turns at any angle"),
    "in_line": ROD + text(50, 64, "P") + circle(150, 60, 6, Q_COLOUR) + text(150, 44, "Q") + arrow(112, 78, 188, 78, True)
    + text(150, 100, "origin of Q on the z axis of P"),
    "in_plane": PLANE.replace(">P<", "><") + text(238, 92, "P") + circle(160, 76, 6, Q_COLOUR) + text(160, 56, "Q") + arrow(130, 76, 100, 76)
    + arrow(190, 76, 230, 76) + text(166, 110, "origin of Q in the x-y plane of P"),
    "perpendicular": arrow(90, 90, 90, 30) + text(62, 36, "z of P") + arrow(170, 54, 240, 54) + text(226, 44, "z of Q")
    + line((90, 90), (150, 90), dash=True, width=1) + line((90, 78), (102, 78), (102, 90))
    + text(150, 112, "right angle, positions free"),
    "parallel": arrow(110, 90, 110, 28) + text(84, 36, "z of P") + arrow(190, 90, 190, 28) + text(216, 36, "z of Q")
    + text(150, 112, "same direction, positions free"),
    "orientation": box(60, 40, 60, 40, P_COLOUR, -12) + text(90, 65, "P") + box(180, 40, 60, 40, Q_COLOUR, -12)
    + text(210, 65, "Q") + arrow(126, 60, 174, 60, True) + text(150, 108, "no turning, position free"),
    "distance": circle(70, 60, 7, P_COLOUR) + text(70, 44, "P") + circle(230, 60, 7, Q_COLOUR) + text(230, 44, "Q")
    + line((77, 60), (223, 60), width=3) + arrow(77, 84, 223, 84, True) + text(150, 102, "length"),
    # couplings
    "gear": wheel(100, 60, 28, "A") + wheel(186, 60, 48, "B") + turn(100, 60, 38, 120, 230) + turn(186, 60, 58, 60, -20)
    .replace(" 0 0 0 ", " 0 0 1 "),
    # z axes away from the apex: A turns about its own, the near side up; B against its own, the near side to the left
    "bevel_gear": '<path d="M152 46 L170 64 L170 104 L152 122 z" fill="#fdebd0"/>' + text(161, 89, "A")
    + '<path d="M152 46 L228 46 L210 64 L170 64 z" fill="#e8edf2"/>' + text(190, 60, "B")
    + arrow(152, 84, 62, 84) + text(54, 88, "z") + arrow(190, 46, 190, 6) + text(200, 14, "z") + around(112, 84, True)
    + turn(190, 30, 24, 170, 340, 0.33, True) + text(98, 56, "a") + text(224, 30, "-b")
    + line((170, 84), (190, 84), dash=True, width=1) + line((190, 84), (190, 64), dash=True, width=1) + text(206, 100, "apex", "start")
    + line((190, 84), (204, 94), width=1),
    "rack_pinion": wheel(140, 50, 30, "pinion") + box(60, 88, 190, 14, P_COLOUR)
    + "".join(line((x, 88), (x + 4, 82), (x + 8, 88)) for x in range(64, 244, 10)) + turn(140, 50, 40, 60, 150)
    + arrow(196, 73, 250, 73) + text(223, 65, "travel"),
    "screw": line((40, 60), (260, 60), dash=True, width=1) + box(50, 52, 200, 16, P_COLOUR)
    + "".join(line((x + 8, 52), (x, 68)) for x in range(56, 244, 10)) + box(130, 38, 46, 44) + text(153, 64, "slide")
    + around(90, 60) + arrow(186, 92, 240, 92) + text(212, 110, "lead per turn"),
    "cam": circle(150, 78, 34, Q_COLOUR) + circle(150, 90, 3) + box(115, 34, 70, 9, P_COLOUR) + box(145, 4, 10, 30, P_COLOUR)
    + arrow(200, 40, 200, 8) + text(226, 28, "lift(x)") + turn(150, 90, 13, -40, 200) + text(168, 84, "x"),
    "linear": "".join(
        circle(70, 24 + 34 * k, 10, Q_COLOUR) + text(70, 29 + 34 * k, f"j{k + 1}") + line((82, 24 + 34 * k), (170, 58))
        + text(112, (30, 52, 94)[k], f"c{k + 1}") for k in range(3)
    ) + box(170, 42, 90, 32, P_COLOUR) + text(215, 63, "sum = const"),
    "expression": "".join(
        circle(70, 24 + 34 * k, 10, Q_COLOUR) + text(70, 29 + 34 * k, name) + line((82, 24 + 34 * k), (150, 58))
        for k, name in enumerate(("j1", "j2", "t"))
    ) + box(150, 42, 120, 32, P_COLOUR) + text(210, 63, "zero(j1, j2, t) = 0"),
    # forces
    "gravity": box(115, 24, 70, 36) + circle(150, 42, 3, "#2c3e50") + arrow(150, 42, 150, 104) + text(166, 98, "m g", "start"),
    "point": box(70, 50, 110, 30, Q_COLOUR, -10) + circle(172, 56, 4) + arrow(172, 56, 250, 30) + text(244, 22, "force"),
    "torque": box(80, 46, 120, 28, Q_COLOUR, -10) + circle(140, 60, 4) + turn(140, 60, 34, -30, 150) + text(200, 30, "torque"),
    "spring_damper": circle(60, 60, 5, P_COLOUR) + circle(240, 60, 5, Q_COLOUR) + line((65, 60), (80, 60))
    + line((80, 42), (80, 78)) + spring(80, 220, 42) + line((220, 42), (220, 78)) + line((220, 60), (235, 60))
    + line((80, 78), (140, 78)) + line((140, 70), (140, 86)) + line((170, 68), (134, 68)) + line((170, 88), (134, 88))
    + line((170, 68), (170, 88)) + line((170, 78), (220, 78)) + arrow(62, 102, 238, 102, True) + text(150, 116, "x"),
    "bushing": circle(150, 60, 46, P_COLOUR) + circle(150, 60, 20, Q_COLOUR) + text(150, 65, "to") + zigzag(170, 196, 60)
    + zigzag(104, 130, 60) + text(216, 40, "from") + line((150, 16), (150, 38), dash=True) + line((150, 82), (150, 104), dash=True),
    "joint_force": PIN + box(105, 36, 150, 20) + text(240, 51, "Q") + turn(150, 28, 26, -30, 200, 0.35)
    + text(206, 24, "value"),
    "distributed": box(60, 62, 180, 34) + "".join(arrow(x, 22, x, 60) for x in range(72, 240, 22)) + line((72, 22), (226, 22))
    + text(262, 40, "pressure"),
    # worked pages
    "three_links": support(90, 106) + link((90, 106), (170, 106), "K1", (124, 132), P_COLOUR)
    + link((170, 36), (250, 36), "K3", (226, 60), P_COLOUR) + link((170, 106), (170, 36), "K2", (192, 80))
    + arrow(30, 106, 30, 72) + text(30, 66, "y") + arrow(30, 106, 62, 106) + text(58, 122, "x") + arrow(280, 56, 280, 100)
    + text(290, 84, "g") + turn(90, 106, 30, 16, 62) + text(92, 72, "1 rad/s") + turn(170, 36, 30, 16, 62) + text(222, 14, "2 rad/s"),
    "double_wishbone": support(60, 196) + support(60, 92, 90) + support(131, 103, 90)
    + link((60, 92), (171, 74), "arm 3", (96, 72), P_COLOUR) + link((60, 196), (197, 168), "arm 1", (160, 206), P_COLOUR)
    + link((197, 168), (171, 74)) + text(210, 130, "carrier 2", "start") + circle(186, 128, 4, "#2c3e50")
    + f'<g transform="translate(131 103) rotate(91.8)">{zigzag(3, 79, 0)}</g>' + circle(131, 103, 3) + circle(128.5, 182, 3) + text(142, 146, "spring", "start")
    + from_vertical(60, 196, 1.37, "phi1", (98, 164)) + from_vertical(197, 168, -0.274, "phi2", (216, 108), 60)
    + from_vertical(171, 74, -1.72, "phi3", (134, 42)),
}  # fmt: skip
HEIGHTS = {"bevel_gear": 130, "double_wishbone": 220, "three_links": 140}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, drawing in SKETCHES.items():
        head = HEAD.replace("HEIGHT", str(HEIGHTS.get(name, 120)))
        (FOLDER / f"{name}.svg").write_text(f"{head}{drawing}\n</svg>\n")
