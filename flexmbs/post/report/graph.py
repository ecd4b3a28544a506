"""Bodies and joints as a drawing: levels by distance from ground, cut joints dashed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from flexmbs.post.record import Record, table

GROUND = "ground"
BOX, ROW = 34, 100
MARGIN = 90.0  # room for names of joints beside the outermost lines
LETTER, SMALL = 7.6, 6.6  # widths of letters of names, and of types below them
BESIDE = 18.0  # from a line to the name of its joint
SHARES = (0.5, 0.36, 0.64, 0.24, 0.76)  # of a line: where its name may stand

Box = tuple[float, float, float, float]
Curve = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


@dataclass
class Node:
    """A body in the drawing."""

    name: str
    kind: str
    level: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        return max(70.0, 8.4 * len(self.name) + 24.0)


@dataclass
class Graph:
    nodes: dict[str, Node]
    edges: list[tuple[str, str, str, str, bool]] = field(default_factory=list)  # joint, type, from, to, cut

    @property
    def width(self) -> float:
        return max((node.x + 0.5 * node.width for node in self.nodes.values()), default=0.0) + 10.0

    @property
    def centre(self) -> float:
        return 0.5 * (
            min(node.x for node in self.nodes.values()) + max(node.x for node in self.nodes.values())
        )

    @property
    def levels(self) -> int:
        return 1 + max((node.level for node in self.nodes.values()), default=0)


def topology_graph(record: Record) -> Graph:
    """Bodies in levels, each row ordered by where its neighbours of the row above stand."""
    bodies = table(record.case, "bodies")
    graph = Graph({GROUND: Node(GROUND, GROUND)})
    for name in record.bodies:
        graph.nodes[name] = Node(name, str(table(bodies, name).get("type", "rigid")))
    cut_names = {str(text).partition(":")[0] for text in record.get("topology/cuts") or ()}  # "name: reason"
    for name, data in table(record.case, "joints").items():
        ends = [str(data.get(side) or GROUND).partition(".")[0] for side in ("from", "to")]
        if all(end in graph.nodes for end in ends):
            cut = name in cut_names or bool(data.get("cut"))
            graph.edges.append((name, str(data.get("type", "")), ends[0], ends[1], cut))
    _levels(graph)
    _columns(graph)
    return graph


def _levels(graph: Graph) -> None:
    """Level of a body: joints from ground; bodies without joints stand in the first row below."""
    level = {GROUND: 0}
    front = [GROUND]
    while front:
        following = []
        for here in front:
            for _, _, a, b, _ in graph.edges:
                for one, other in ((a, b), (b, a)):
                    if one == here and other not in level:
                        level[other] = level[here] + 1
                        following.append(other)
        front = following
    for name, node in graph.nodes.items():
        node.level = level.get(name, 1)


def _columns(graph: Graph) -> None:
    order: dict[str, float] = {GROUND: 0.0}
    for number in range(graph.levels):
        row = [node for node in graph.nodes.values() if node.level == number]

        def place(node: Node) -> float:
            above = [
                order[other]
                for _, _, a, b, _ in graph.edges
                for one, other in ((a, b), (b, a))
                if one == node.name and other in order
            ]
            return sum(above) / len(above) if above else 0.0

        row.sort(key=place)
        x = MARGIN
        for node in row:
            node.x = x + 0.5 * node.width
            x += node.width + 60.0
        for node in row:
            order[node.name] = node.x
    widest = graph.width
    for number in range(graph.levels):
        row = [node for node in graph.nodes.values() if node.level == number]
        shift = 0.5 * (widest - 10.0 - max(node.x + 0.5 * node.width for node in row))
        for node in row:
            node.x += shift


def graph_svg(graph: Graph) -> str:
    """The drawing; colours come from the page, so that it follows light and dark."""
    height = ROW * graph.levels
    width = graph.width + MARGIN
    taken = [
        (
            node.x - 0.5 * node.width,
            ROW * node.level + 20.0,
            node.x + 0.5 * node.width,
            ROW * node.level + 20.0 + BOX,
        )
        for node in graph.nodes.values()
    ]
    parts = [_edge(graph, k, taken) for k in range(len(graph.edges))]
    for node in graph.nodes.values():
        y = ROW * node.level + 20
        parts.append(
            f'<rect class="{escape(node.kind)}" x="{node.x - 0.5 * node.width:.1f}" y="{y}" rx="7" '
            f'width="{node.width:.1f}" height="{BOX}"/>'
            f'<text x="{node.x:.1f}" y="{y + 22}" text-anchor="middle">{escape(node.name)}</text>'
        )
    return (
        f'<svg viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img" '
        f'aria-label="bodies and joints">{"".join(parts)}</svg>'
    )


def _edge(graph: Graph, k: int, taken: list[Box]) -> str:
    """A joint as a line with its name; parallel ones and those within a row are bent apart."""
    name, kind, a, b, cut = graph.edges[k]
    one, other = sorted((graph.nodes[a], graph.nodes[b]), key=lambda node: (node.level, node.x))
    twins = [j for j, edge in enumerate(graph.edges) if {edge[2], edge[3]} == {a, b}]
    bend = 46.0 * (twins.index(k) - 0.5 * (len(twins) - 1))
    y1, y2 = ROW * one.level + 20 + BOX, ROW * other.level + 20
    if one.level == other.level:
        y2, bend = y1, bend + 34.0
        control = (0.5 * (one.x + other.x), y1 + 1.6 * bend)
    else:
        long = 40.0 if other.level - one.level > 1 else 0.0
        control = (0.5 * (one.x + other.x) + 2.0 * (bend + long), 0.5 * (y1 + y2))
    word = escape(kind) + (" (cut)" if cut else "")
    x, y, anchor = _label(graph, ((one.x, y1), control, (other.x, y2)), name, word, taken)
    path = f"M{one.x:.1f} {y1} Q{control[0]:.1f} {control[1]:.1f} {other.x:.1f} {y2}"
    return (
        f'<path class="{"cut" if cut else "tree"}" d="{path}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(name)}</text>'
        f'<text class="soft" x="{x:.1f}" y="{y + 13:.1f}" text-anchor="{anchor}">{word}</text>'
    )


def _label(graph: Graph, curve: Curve, name: str, word: str, taken: list[Box]) -> tuple[float, float, str]:
    """Place and anchor of the name of a joint: beside its line, where it covers least of what is there."""
    (x1, y1), (xc, yc), (x2, y2) = curve
    wide = max(LETTER * len(name), SMALL * len(word))
    found: list[tuple[float, float, float, str, Box]] = []
    for share in SHARES:
        weights = (1.0 - share) ** 2, 2.0 * share * (1.0 - share), share**2
        x, y = (
            sum(w * p for w, p in zip(weights, axis, strict=True)) for axis in ((x1, xc, x2), (y1, yc, y2))
        )
        usual = "end" if x < graph.centre - 5.0 else "start"
        for anchor in (usual, "start" if usual == "end" else "end"):
            at = x + (-BESIDE if anchor == "end" else BESIDE)
            left = at - wide if anchor == "end" else at
            box = (left, y - 12.0, left + wide, y + 17.0)
            covered = sum(_common(box, other) for other in taken) + (1e6 if left < 0.0 else 0.0)
            found.append((covered, at, y, anchor, box))
    _, at, y, anchor, box = min(found, key=lambda item: item[0])  # the first of several
    taken.append(box)
    return at, y, anchor


def _common(a: Box, b: Box) -> float:
    """Area that two boxes share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
