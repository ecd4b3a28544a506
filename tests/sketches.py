# ruff: noqa: E501
"""Draws docs/sketches/TYPE.svg for the joints, couplings and forces of the manual.

python -m tests.sketches
"""

from math import cos, pi, sin
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "sketches"
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 120" width="300" height="120" font-family="sans-serif"
 font-size="13" fill="none" stroke="#2c3e50" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round">
<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
<path d="M0 1 L9 5 L0 9 z" fill="#c0392b" stroke="none"/></marker></defs>
<rect x="0" y="0" width="300" height="120" fill="#ffffff" stroke="none"/>
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


def turn(x, y, r=18, first=-40, last=220, flat=1.0):
    """An arrow round a point, counter-clockwise; `flat` makes it an ellipse."""
    a, b = first * pi / 180, last * pi / 180
    start, end = (x + r * cos(a), y - flat * r * sin(a)), (x + r * cos(b), y - flat * r * sin(b))
    large = int(abs(last - first) > 180)
    arc = f"M{start[0]:.1f} {start[1]:.1f} A{r:g} {flat * r:g} 0 {large} 0 {end[0]:.1f} {end[1]:.1f}"
    return f'<path d="{arc}" stroke="{MOTION}" stroke-width="1.8" marker-end="url(#a)"/>'


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
    "helical": ROD + box(60, 52, 180, 16, P_COLOUR) + "".join(line((x, 68), (x + 10, 52)) for x in range(66, 230, 12))
    + box(125, 40, 44, 40) + text(147, 65, "Q") + text(50, 64, "P") + turn(147, 60, 34, 60, 160)
    + arrow(180, 94, 235, 94) + text(208, 110, "lead per turn"),
    "cylindrical": ROD + box(60, 54, 180, 12, P_COLOUR) + box(125, 42, 50, 36) + text(150, 65, "Q")
    + text(50, 64, "P") + turn(150, 60, 32, 60, 160) + text(96, 36, "angle") + arrow(185, 92, 240, 92)
    + text(212, 108, "travel"),
    "universal": box(40, 52, 70, 16, P_COLOUR) + text(60, 46, "P") + box(190, 40, 70, 16, angle=-25)
    + text(228, 52, "Q") + line((110, 60), (122, 40)) + line((110, 60), (122, 80)) + line((122, 40), (150, 60))
    + line((122, 80), (150, 60)) + circle(150, 60, 5) + line((150, 60), (176, 40)) + line((150, 60), (182, 66))
    + line((176, 40), (192, 48)) + line((182, 66), (196, 56)) + turn(150, 60, 38, 250, 320)
    + text(178, 112, "angle1 about x of P, angle2 about y of Q"),
    "planar": PLANE + box(135, 58, 50, 22) + text(160, 74, "Q") + arrow(190, 70, 235, 70) + text(240, 58, "x")
    + arrow(160, 56, 186, 36) + text(192, 34, "y") + turn(150, 46, 18, 60, 250, 0.5) + text(118, 38, "angle"),
    "spherical": box(60, 50, 70, 20, P_COLOUR) + text(80, 64, "P") + circle(150, 60, 20, P_COLOUR)
    + circle(150, 60, 13, Q_COLOUR) + box(162, 46, 80, 12, angle=-20) + text(226, 30, "Q")
    + turn(150, 60, 34, 60, 170) + turn(150, 60, 34, 215, 330),
    "free": box(50, 60, 60, 30, P_COLOUR) + text(80, 80, "P") + box(180, 30, 60, 30, angle=20) + text(210, 50, "Q")
    + line((110, 70), (180, 48), dash=True) + arrow(145, 59, 175, 50) + turn(210, 45, 40, 300, 420)
    + text(150, 108, "three places, three turns"),
    "constant_velocity": box(30, 54, 80, 14, P_COLOUR) + text(95, 48, "P") + circle(140, 61, 22, P_COLOUR)
    + circle(140, 61, 12, Q_COLOUR) + box(158, 40, 90, 14, angle=-20) + text(264, 26, "Q")
    + turn(60, 61, 18, 110, 250) + turn(232, 32, 18, 110, 250) + text(170, 108, "equal turns at any angle"),
    "in_line": ROD + text(50, 64, "P") + circle(150, 60, 6, Q_COLOUR) + text(150, 44, "Q") + arrow(112, 78, 188, 78, True)
    + text(150, 100, "origin of Q on the z axis of P"),
    "in_plane": PLANE.replace(">P<", "><") + text(84, 86, "P") + circle(160, 76, 6, Q_COLOUR) + text(160, 56, "Q") + arrow(130, 76, 100, 76)
    + arrow(190, 76, 230, 76) + text(166, 110, "origin of Q in the x-y plane of P"),
    "perpendicular": arrow(90, 90, 90, 30) + text(62, 36, "z of P") + arrow(180, 70, 250, 70) + text(236, 60, "z of Q")
    + line((90, 90), (180, 70), dash=True, width=1) + line((90, 78), (102, 78), (102, 90))
    + text(160, 112, "right angle, places free"),
    "parallel": arrow(110, 90, 110, 28) + text(84, 36, "z of P") + arrow(190, 90, 190, 28) + text(216, 36, "z of Q")
    + text(150, 112, "same direction, places free"),
    "orientation": box(60, 40, 60, 40, P_COLOUR, -12) + text(90, 65, "P") + box(180, 40, 60, 40, Q_COLOUR, -12)
    + text(210, 65, "Q") + arrow(126, 60, 174, 60, True) + text(150, 108, "no turning, place free"),
    "distance": circle(70, 60, 7, P_COLOUR) + text(70, 44, "P") + circle(230, 60, 7, Q_COLOUR) + text(230, 44, "Q")
    + line((77, 60), (223, 60), width=3) + arrow(77, 84, 223, 84, True) + text(150, 102, "length"),
    # couplings
    "gear": wheel(100, 60, 28, "A") + wheel(186, 60, 48, "B") + turn(100, 60, 38, 120, 230) + turn(186, 60, 58, 60, -20)
    .replace(" 0 0 0 ", " 0 0 1 "),
    "bevel_gear": '<path d="M152 16 L170 34 L170 74 L152 92 z" fill="#fdebd0"/>' + text(161, 59, "A")
    + '<path d="M152 16 L228 16 L210 34 L170 34 z" fill="#e8edf2"/>' + text(190, 30, "B")
    + line((96, 54), (152, 54)) + line((190, 16), (190, 3)) + turn(112, 54, 18, 110, 250)
    + line((170, 54), (190, 54), dash=True, width=1) + line((190, 54), (190, 34), dash=True, width=1)
    + text(150, 112, "turns about the z axes of the joints"),
    "rack_pinion": wheel(140, 50, 30, "pinion") + box(60, 88, 190, 14, P_COLOUR)
    + "".join(line((x, 88), (x + 4, 82), (x + 8, 88)) for x in range(64, 244, 10)) + turn(140, 50, 40, 60, 150)
    + arrow(200, 112, 260, 112) + text(235, 76, "travel"),
    "screw": line((40, 60), (260, 60), dash=True, width=1) + box(50, 52, 200, 16, P_COLOUR)
    + "".join(line((x, 68), (x + 8, 52)) for x in range(56, 244, 10)) + box(130, 38, 46, 44) + text(153, 64, "slide")
    + turn(60, 60, 22, 110, 250) + arrow(186, 92, 240, 92) + text(212, 110, "lead per turn"),
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
    + line((170, 68), (170, 88)) + line((170, 78), (220, 78)) + arrow(62, 104, 238, 104, True) + text(150, 100, "x"),
    "bushing": circle(150, 60, 46, P_COLOUR) + circle(150, 60, 20, Q_COLOUR) + text(150, 65, "to") + zigzag(170, 196, 60)
    + zigzag(104, 130, 60) + text(216, 40, "from") + line((150, 16), (150, 38), dash=True) + line((150, 82), (150, 104), dash=True),
    "joint_force": PIN + box(105, 36, 150, 20) + text(240, 51, "Q") + turn(150, 28, 26, -30, 200, 0.35)
    + text(206, 24, "value"),
    "distributed": box(60, 62, 180, 34) + "".join(arrow(x, 22, x, 60) for x in range(72, 240, 22)) + line((72, 22), (226, 22))
    + text(262, 40, "pressure"),
}  # fmt: skip


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, drawing in SKETCHES.items():
        (FOLDER / f"{name}.svg").write_text(f"{HEAD}{drawing}\n</svg>\n")
