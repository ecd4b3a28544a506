"""Small decks, written here: a bar of two cubes with edge 10 in units of the deck, and what goes with it."""

from __future__ import annotations

EDGE = 10.0
POINTS = [(i, j, k) for i in range(3) for j in range(2) for k in range(2)]
NUMBER = {place: n + 1 for n, place in enumerate(POINTS)}


def cube(i: int) -> list[int]:
    """Nodes of the cube between x = i and i + 1, bottom then top."""
    ring = [(i, 0), (i + 1, 0), (i + 1, 1), (i, 1)]
    return [NUMBER[x, y, z] for z in (0, 1) for x, y in ring]


def nastran(*entries: str, edge: float = EDGE, material: str = "MAT1,1,2.1+5,,.3,7.85-9") -> str:
    """Bulk data of the bar, property 1 for the first cube and 2 for the second."""
    lines = ["SOL 103", "CEND", "BEGIN BULK"]
    lines += [f"GRID,{n},,{x * edge},{y * edge},{z * edge}" for (x, y, z), n in NUMBER.items()]
    for i in range(2):
        nodes = ",".join(map(str, cube(i)))
        first, last = ",".join(nodes.split(",")[:6]), ",".join(nodes.split(",")[6:])
        lines += [f"CHEXA,{i + 1},{i + 1},{first}", f"+,{last}"]
    lines += ["PSOLID,1,1", "PSOLID,2,1", material, *entries, "ENDDATA"]
    return "\n".join(line for line in lines if line) + "\n"


STEEL = "*MATERIAL, NAME=STEEL\n*ELASTIC\n2.1e5, .3\n*DENSITY\n7.85e-9"


def abaqus(*cards: str, edge: float = EDGE, material: str = STEEL) -> str:
    """The same bar for Abaqus and CalculiX, one element set with a section of STEEL."""
    lines = ["*HEADING", "bar", "*NODE"]
    lines += [f"{n}, {x * edge}, {y * edge}, {z * edge}" for (x, y, z), n in NUMBER.items()]
    lines += ["*ELEMENT, TYPE=C3D8, ELSET=BAR"]
    lines += [f"{i + 1}, {', '.join(map(str, cube(i)))}" for i in range(2)]
    lines += [material, "*SOLID SECTION, ELSET=BAR, MATERIAL=STEEL", *cards]
    return "\n".join(line for line in lines if line) + "\n"


#: the bar as an instance I of a part, with the nodes of its end as END; the assembly is still open
PART_OF_TWO = (
    "*HEADING\nx\n*PART, NAME=P\n"
    + abaqus("*NSET, NSET=END", ", ".join(str(n) for (x, _, _), n in NUMBER.items() if x == 2))
    .replace("*HEADING\nbar\n", "")
    .replace(STEEL + "\n", "")
    + f"*END PART\n{STEEL}\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=I, PART=P\n*END INSTANCE\n"
)
