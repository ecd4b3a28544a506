"""Bodies and joints as a drawing: levels by distance from ground, cut joints dashed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from flexmbs.post.record import Record, table

GROUND = "ground"
BOX, ROW = 34, 100
MARGIN = 90.0  # room for names of joints beside the outermost lines


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
    parts = [_edge(graph, k) for k in range(len(graph.edges))]
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


def _edge(graph: Graph, k: int) -> str:
    """A joint as a line with its name; parallel ones and those within a row are bent apart."""
    name, kind, a, b, cut = graph.edges[k]
    one, other = sorted((graph.nodes[a], graph.nodes[b]), key=lambda node: (node.level, node.x))
    twins = [j for j, edge in enumerate(graph.edges) if {edge[2], edge[3]} == {a, b}]
    bend = 46.0 * (twins.index(k) - 0.5 * (len(twins) - 1))
    y1, y2 = ROW * one.level + 20 + BOX, ROW * other.level + 20
    if one.level == other.level:
        y2, bend = y1, bend + 34.0
        middle = (0.5 * (one.x + other.x), y1 + bend)
        path = f"M{one.x:.1f} {y1} Q{middle[0]:.1f} {y1 + 1.6 * bend:.1f} {other.x:.1f} {y2}"
    else:
        long = 40.0 if other.level - one.level > 1 else 0.0
        middle = (0.5 * (one.x + other.x) + bend + long, 0.5 * (y1 + y2))
        control = 2.0 * middle[0] - 0.5 * (one.x + other.x)
        path = f"M{one.x:.1f} {y1} Q{control:.1f} {middle[1]:.1f} {other.x:.1f} {y2}"
    left = middle[0] < graph.centre - 5.0
    x, anchor = middle[0] + (-18.0 if left else 18.0), "end" if left else "start"
    word = escape(kind) + (" (cut)" if cut else "")
    return (
        f'<path class="{"cut" if cut else "tree"}" d="{path}"/>'
        f'<text x="{x:.1f}" y="{middle[1]:.1f}" text-anchor="{anchor}">{escape(name)}</text>'
        f'<text class="soft" x="{x:.1f}" y="{middle[1] + 13:.1f}" text-anchor="{anchor}">{word}</text>'
    )
