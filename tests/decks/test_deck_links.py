"""Masses, springs, rigid and averaging elements, equations: closed forms, and other ways to say the same."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.readers import read_mesh
from tests.decks.samples import NUMBER, abaqus, nastran

MASS = 7850 * 2 * 0.01**3
END = [NUMBER[2, y, z] for y in (0, 1) for z in (0, 1)]  # nodes of the face x = 20
FIRST = [NUMBER[0, y, z] for y in (0, 1) for z in (0, 1)]
HUB = "GRID,100,,30.,5.,5."


def body(tmp_path, text, name="m.bdf", **options):
    (tmp_path / name).write_text(text)
    return fm.reduce(tmp_path / name, **{"modes": 0, **options})


def refused(tmp_path, text, name="m.bdf", **options):
    with pytest.raises(fm.InputError) as caught:
        body(tmp_path, text, name, **options)
    return caught.value.diagnostics


def inertia_of(parts):
    """mass, first moment, inertia about the origin of (mass, place, inertia about its centre)."""
    m = sum(part[0] for part in parts)
    S = sum(part[0] * np.asarray(part[1]) for part in parts)
    J = sum(
        part[2] + part[0] * (np.dot(part[1], part[1]) * np.eye(3) - np.outer(part[1], part[1]))
        for part in parts
    )
    return m, S, J


def bar():
    m, a, b = MASS, 0.02, 0.01
    return m, np.array([0.01, 0.005, 0.005]), m / 12 * np.diag([2 * b**2, a**2 + b**2, a**2 + b**2])


def check_inertia(modal, parts):
    m, S, J = inertia_of(parts)
    np.testing.assert_allclose(modal.integrals.mass, m, rtol=1e-10)
    np.testing.assert_allclose(modal.integrals.S_O, S, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(modal.integrals.inertia, J, rtol=1e-9, atol=1e-12)


J_HUB = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]])  # [t mm^2], products as in a tensor
CONM2 = "CONM2,50,100,,2.-3,1.,2.,3.,,+\n+,2.,-.1,3.,-.2,-.3,4."


@pytest.mark.parametrize(
    "link",
    [
        f"RBE2,60,100,123456,{','.join(map(str, END))}",
        f"RBE3,60,,100,123456,1.,123,{END[0]},{END[1]},+\n+,{END[2]},{END[3]}",
    ],
)
def test_mass_on_a_reference_node_counts_with_offset_and_inertia(tmp_path, link):
    modal = body(tmp_path, nastran(HUB, CONM2, link))
    check_inertia(modal, [bar(), (2.0, np.array([31.0, 7.0, 8.0]) * 1e-3, J_HUB * 1e-3)])
    assert any("rbe:100" in note for note in modal.quality["notes"])


def test_mass_on_a_node_of_the_mesh(tmp_path):
    modal = body(tmp_path, nastran(f"CONM2,50,{END[3]},,2.-3"))
    check_inertia(modal, [bar(), (2.0, np.array([0.02, 0.01, 0.01]), np.zeros((3, 3)))])


def test_rigid_element_is_the_rigid_tie_of_an_interface(tmp_path):
    """The same body by another way: a mass at a rigidly tied interface, made free again by its six modes."""
    linked = body(
        tmp_path, nastran(HUB, "CONM2,50,100,,2.-3", f"RBE2,60,100,123456,{','.join(map(str, END))}"), modes=6
    )
    recipe = {
        "mesh": str(tmp_path / "plain.bdf"), "modes": 0, "method": "craig-bampton",
        "sets": {"end": {"plane": {"x": 0.02}}},
        "interfaces": {"end": {"pos": [0.03, 0.005, 0.005], "set": "end"}},
        "point_masses": [{"interface": "end", "mass": 2.0}],
    }  # fmt: skip
    (tmp_path / "plain.bdf").write_text(nastran())
    tied = fm.reduce({**recipe, "modes": 24})  # all of them: exact
    np.testing.assert_allclose(linked.frequency_hz[:6], tied.frequency_hz[:6], rtol=1e-6)
    assert linked.quality["rigid_modes"] == 6 == tied.quality["rigid_modes"]
    check_inertia(linked, [bar(), (2.0, np.array([0.03, 0.005, 0.005]), np.zeros((3, 3)))])


@pytest.mark.parametrize("kind", ["rigid", "mean"])
def test_reference_node_as_interface(tmp_path, kind):
    link = f"RBE2,60,100,123456,{','.join(map(str, END))}"
    if kind == "mean":
        link = f"RBE3,60,,100,123456,1.,123,{END[0]},{END[1]},+\n+,{END[2]},{END[3]}"
    modal = body(tmp_path, nastran(HUB, link), modes=3, interfaces=["rbe:100"])
    np.testing.assert_allclose(modal.interfaces["rbe:100"].position, [0.03, 0.005, 0.005], atol=1e-15)
    tie = "rbe2" if kind == "rigid" else "rbe3"
    recipe = {
        "mesh": str(tmp_path / "m.bdf"), "ignore": ["RBE2", "RBE3"], "modes": 3,
        "sets": {"end": {"plane": {"x": 0.02}}},
        "interfaces": {"hub": {"pos": [0.03, 0.005, 0.005], "set": "end", "tie": tie}},
    }  # fmt: skip
    (tmp_path / "m.bdf").write_text(nastran())
    same = fm.reduce(recipe)
    np.testing.assert_allclose(modal.frequency_hz, same.frequency_hz, rtol=1e-6)
    found = refused(tmp_path, nastran(HUB, link), interfaces=["rbe:1000"])
    assert "rbe:100" in found[0].remedy


def two_bars(*entries):
    """A second bar 40 behind the first, with numbers plus 50."""
    lines = [f"GRID,{n + 50},,{x * 10.0 + 40},{y * 10.0},{z * 10.0}" for (x, y, z), n in NUMBER.items()]
    from tests.decks.samples import cube

    for i in range(2):
        nodes = [str(n + 50) for n in cube(i)]
        lines += [f"CHEXA,{i + 51},1,{','.join(nodes[:6])}", f"+,{','.join(nodes[6:])}"]
    return nastran(*lines, *entries)


OTHER = [n + 50 for n in FIRST]


def test_parts_joined_by_rigid_elements_are_one_body(tmp_path):
    assert "not connected" in refused(tmp_path, two_bars())[0].what
    all_of = ",".join(map(str, END[1:] + OTHER))
    fields = all_of.split(",")
    one = f"RBE2,60,{END[0]},123456,{','.join(fields[:5])},+\n+,{','.join(fields[5:])}"
    modal = body(tmp_path, two_bars(one), modes=4)
    assert modal.quality["rigid_modes"] == 6
    two = [f"RBE2,60,100,123456,{','.join(map(str, END))}", f"RBE2,61,101,123456,{','.join(map(str, OTHER))}"]
    chain = body(tmp_path, two_bars(HUB, HUB.replace("100", "101"), *two, "RBAR,62,100,101,123456"), modes=4)
    np.testing.assert_allclose(chain.frequency_hz, modal.frequency_hz, rtol=1e-6)
    np.testing.assert_allclose(chain.integrals.mass, 2 * MASS, rtol=1e-10)


def test_equations_join_faces_like_common_nodes(tmp_path):
    """MPC and *EQUATION between coincident nodes: the frequencies of the mesh with common nodes."""
    shifted = two_bars().replace("GRID,5", "GRID,5")  # the same numbers
    lines = []
    for line in shifted.splitlines():
        words = line.split(",")
        if words[0] == "GRID" and int(words[1]) > 50:
            words[3] = str(float(words[3]) - 20.0)
        lines.append(",".join(words))
    text = "\n".join(lines)
    merged = body(tmp_path, text, modes=4, merge_tol=1e-6)
    mpc = [f"MPC,1,{b},{k},1.,{a},{k},-1." for a, b in zip(END, OTHER, strict=True) for k in (1, 2, 3)]
    joined = text.replace("CEND", "CEND\nMPC = 1").replace("ENDDATA", "\n".join([*mpc, "ENDDATA"]))
    modal = body(tmp_path, joined, modes=4)
    np.testing.assert_allclose(modal.frequency_hz, merged.frequency_hz, rtol=1e-6)
    not_taken = refused(tmp_path, text.replace("ENDDATA", "\n".join([*mpc, "ENDDATA"])))
    assert "not connected" in not_taken[0].what  # the case control does not name the set


def test_a_spring_between_parts(tmp_path):
    """Two rigid ends and a spring along x: two masses on a spring, f = sqrt(2 k / m) / (2 pi)."""
    k = 1e-3  # [N/mm], so soft that the bars are rigid
    links = [
        f"RBE2,60,100,123456,{','.join(map(str, END))}",
        f"RBE2,61,101,123456,{','.join(map(str, OTHER))}",
    ]
    bush = ["CBUSH,70,70,100,101,,,,0", "PBUSH,70,K,1.-3,1.-3,1.-3,10.,10.,10."]
    modal = body(tmp_path, two_bars(HUB, HUB.replace("100", "101"), *links, *bush), modes=6)
    f = np.sqrt(2 * k * 1e3 / MASS) / (2 * np.pi)
    assert np.abs(modal.frequency_hz / f - 1.0).min() < 1e-4
    assert modal.quality["rigid_modes"] == 6


def test_masses_by_direction_are_a_mass(tmp_path):
    """CMASS1 and CMASS2 in the three directions and about the axes of a node: what CONM2 says in one card."""
    rigid = f"RBE2,60,100,123456,{','.join(map(str, END))}"
    cards = ["CMASS1,50,7,100,1", "CMASS1,51,8,100,2", "CMASS2,52,2.-3,,,100,3", "PMASS,7,2.-3,8,2.-3"]
    turns = [f"CMASS2,{53 + k},{J},100,{4 + k}" for k, J in enumerate((2.0, 3.0, 4.0))]
    modal = body(tmp_path, nastran(HUB, rigid, *cards, *turns))
    check_inertia(modal, [bar(), (2.0, np.array([30.0, 5.0, 5.0]) * 1e-3, np.diag([2.0, 3.0, 4.0]) * 1e-3)])
    one = refused(tmp_path, nastran(HUB, rigid, cards[0], cards[3]))[0]
    assert one.code == "deck.not_understood" and "CMASS1 that is no rigid body" in one.what
    two = refused(tmp_path, nastran(HUB, rigid, f"CMASS2,50,2.-3,100,1,{FIRST[0]},1"))[0]
    assert "CMASS2 between two nodes" in two.what
    assert "PMASS does not exist" in refused(tmp_path, nastran(HUB, rigid, "CMASS1,50,9,100,1"))[0].what


def bushed(tmp_path, *links):
    """Frequencies of two bars whose ends, at 100 and 101, are joined by something."""
    ends = [
        f"RBE2,60,100,123456,{','.join(map(str, END))}",
        f"RBE2,61,101,123456,{','.join(map(str, OTHER))}",
    ]
    return body(tmp_path, two_bars(HUB, "GRID,101,,40.,5.,5.", *ends, *links), modes=6).frequency_hz


def test_a_bush_stands_where_it_says(tmp_path):
    """On the line between its nodes, by S; anywhere, by OCID: as between nodes there, rigidly tied."""
    spring = "PBUSH,70,K,1.-3,2.-3,3.-3,.1,.2,.3"
    cord = "CORD2R,5,0,0.,0.,1.,0.,0.,2.,+\n+,0.,1.,1."  # x of 5 is y
    on_line = bushed(tmp_path, "CBUSH,70,70,100,101,,,,0,+\n+,.25", spring)
    by_point = bushed(tmp_path, "CBUSH,70,70,100,101,,,,0,+\n+,,0,32.5,5.,5.", spring)
    np.testing.assert_allclose(on_line, by_point, rtol=1e-9)
    off = bushed(tmp_path, "CBUSH,70,70,100,101,,,,0,+\n+,,5,9.,-35.,1.", spring, cord)
    extra = [f"GRID,{n},,35.,9.,2." for n in (200, 201)]
    tied = ["RBE2,62,100,123456,200", "RBE2,63,101,123456,201", "CBUSH,70,70,200,201,,,,0"]
    np.testing.assert_allclose(off, bushed(tmp_path, *extra, *tied, spring), rtol=1e-6)
    assert np.abs(off / on_line - 1.0).max() > 1e-3


def test_a_bush_along_its_line_needs_no_axes(tmp_path):
    others = ["CBUSH,72,72,100,101,,,,0,+\n+,0.", "PBUSH,72,K,,1.-3,1.-3,,.2,.3"]
    along = bushed(tmp_path, *others, "CBUSH,70,70,100,101", "PBUSH,70,K,1.-3,,,.1")
    springs = ["CELAS2,70,1.-3,100,1,101,1", "CELAS2,71,.1,100,4,101,4"]
    np.testing.assert_allclose(along, bushed(tmp_path, *others, *springs), rtol=1e-6)
    ends = [
        f"RBE2,60,100,123456,{','.join(map(str, END))}",
        f"RBE2,61,101,123456,{','.join(map(str, OTHER))}",
    ]
    text = two_bars(HUB, "GRID,101,,40.,5.,5.", *ends, "CBUSH,70,70,100,101", "PBUSH,70,K,1.-3,2.-3")
    assert "CBUSH without axes" in refused(tmp_path, text)[0].what


def test_rotations_of_solid_nodes_in_a_mean_are_warned_of(tmp_path):
    def warned(directions):
        mean = f"RBE3,60,,100,123456,1.,{directions},{END[0]},{END[1]},+\n+,{END[2]},{END[3]}"
        modal = body(tmp_path, nastran(HUB, CONM2, mean))
        return modal, [
            item for item in modal.quality["warnings"] if "rotations of nodes of solids" in str(item)
        ]

    (with_turns, said), (without, none) = warned("123456"), warned("123")
    assert len(said) == 1 and "RBE3 60 (4 nodes)" in str(said) and not none
    np.testing.assert_allclose(with_turns.integrals.inertia, without.integrals.inertia, rtol=1e-12)


def test_a_density_of_nothing_is_one_that_is_missing(tmp_path):
    steel = {"density": "7850 kg/m^3", "unit_system": "mm"}
    modal = body(tmp_path, nastran(material="MAT1,1,2.1+5,,.3,0."), **steel)
    check_inertia(modal, [bar()])
    other = refused(tmp_path, nastran(material="MAT1,1,2.1+5,,.3,2.7-9"), **steel)
    assert other[0].code == "deck.contradiction"


def test_decks_may_end_in_fem_as_those_of_optistruct(tmp_path):
    check_inertia(body(tmp_path, nastran(), "bar.fem"), [bar()])
    found = refused(tmp_path, "** MBDyn modal element data, made by flexmbs\n", "body.fem")[0]
    assert found.code == "mesh.format" and "flexmbs import" in found.remedy


def test_a_truss_that_its_deck_holds_says_so(tmp_path):
    """Two rods in a line are a mechanism; the deck holds them at the ends, and sideways in the middle, which
    moves alone: k = 2 E A / L, m = 2/3 rho A L."""
    grids = [f"GRID,{k + 1},,{100.0 * k},0.,0." for k in range(3)]
    rods = [f"CROD,{k + 1},1,{k + 1},{k + 2}" for k in range(2)]
    held = ["SPC1,1,123,1,3", "SPC1,1,23,2", "PROD,1,1,20.", "MAT1,1,2.1+5,,.3,7.85-9"]
    text = "\n".join(["SOL 103", "CEND", "SPC = 1", "BEGIN BULK", *grids, *rods, *held, "ENDDATA", ""])
    found = refused(tmp_path, text, modes=1)
    assert found[0].code == "fe.mechanism" and "beginning at [m] (0, 0, 0), (" in found[0].what
    assert any(item.code == "deck.held" and item.remedy == "--supports fix" for item in found)
    modal = body(tmp_path, text, modes=1, supports="fix")
    omega2 = (2 * 2.1e11 / 0.1) / (2 / 3 * 7850 * 0.1)
    np.testing.assert_allclose(modal.frequency_hz[0], np.sqrt(omega2) / (2 * np.pi), rtol=1e-6)


def test_lines_of_commas_go_on_behind_their_last_field(tmp_path):
    """What stands there was left out without a word once: nodes of a rigid element."""
    apart = f"RBE2,60,100,123456,{','.join(map(str, END))},{FIRST[0]},+\n+,{','.join(map(str, FIRST[1:]))}"
    expected = body(tmp_path, nastran(HUB, apart), modes=2)
    assert not [item for item in expected.quality["warnings"] if "eight fields" in item]
    whole = f"RBE2,60,100,123456,{','.join(map(str, END + FIRST))}"
    large = f"RBE2*,60,100,123456,{','.join(map(str, END + FIRST))}"
    for text in (whole, large):
        found = body(tmp_path, nastran(HUB, text), modes=2)
        np.testing.assert_array_equal(found.frequency_hz, expected.frequency_hz)
        assert [item for item in found.quality["warnings"] if "1 lines of commas hold more than" in item]
    marked = f"RBE2,60,100,123456,{','.join(map(str, END))},,+A,1\n+A,{','.join(map(str, FIRST))}"
    found = refused(tmp_path, nastran(HUB, marked))[0]
    assert "fields behind the mark +A" in found.what and "line of its own" in found.remedy


def test_what_holds_the_body_stops(tmp_path):
    assert refused(tmp_path, nastran(f"CELAS2,70,1.,{END[0]},1"))[0].code == "deck.grounded"
    assert refused(tmp_path, nastran(HUB, "CONM2,50,100,,2.-3"))[0].code == "deck.links"
    mpc = nastran(f"MPC,1,{END[0]},1,1.,{END[1]},1,-2.").replace("CEND", "CEND\nMPC=1")
    assert refused(tmp_path, mpc, modes=2)[0].code == "deck.grounded"
    twice = [f"RBE2,60,100,123,{END[0]}", f"RBE2,61,100,123,{END[0]}"]
    assert refused(tmp_path, nastran(HUB, *twice))[0].code == "deck.links"


def test_supports_without_a_number_are_a_group_of_their_own(tmp_path):
    """As openFEDEM writes them."""
    text = nastran(f"SPC1,,123,{','.join(map(str, FIRST))}")
    free = body(tmp_path, text[text.index("BEGIN BULK") :], modes=2)
    assert any("spc_0 (4 nodes, x y z)" in x for x in free.quality["notes"])


def test_supports_are_dropped_offered_or_fixed(tmp_path):
    text = nastran(f"SPC1,4,123,{','.join(map(str, FIRST))}").replace("CEND", "CEND\nSPC = 4")
    free = body(tmp_path, text, modes=2)
    assert free.quality["rigid_modes"] == 6 and any(
        "spc_4 (4 nodes, x y z)" in x for x in free.quality["notes"]
    )
    assert set(body(tmp_path, text, supports="interfaces").interfaces) == {"spc_4"}
    held = body(tmp_path, text, modes=2, supports="fix")
    assert held.quality["rigid_modes"] == 0 and held.frequency_hz[0] > 0


def test_a_support_at_a_reference_node_holds_what_follows_it(tmp_path):
    """As holding the nodes themselves; before, nodes without a cell were left free without a word."""
    case, spc = ("CEND", "CEND\nSPC = 4"), f"SPC1,4,123456,{','.join(map(str, END))}"
    plain = body(tmp_path, nastran(spc).replace(*case), modes=4, supports="fix")
    hub = nastran(HUB, f"RBE2,60,100,123456,{','.join(map(str, END))}", "SPC1,4,123456,100").replace(*case)
    held = body(tmp_path, hub, modes=4, supports="fix")
    assert held.quality["rigid_modes"] == 0
    np.testing.assert_allclose(held.frequency_hz, plain.frequency_hz, rtol=1e-9)
    assert list(body(tmp_path, hub, modes=2, supports="interfaces").interfaces) == ["spc_4"]
    turning = body(tmp_path, hub.replace("SPC1,4,123456", "SPC1,4,12346"), modes=2, supports="fix")
    assert turning.quality["rigid_modes"] == 1
    mean = [f"RBE3,60,,100,123456,1.,123,{END[0]},{END[1]}", f"+,{END[2]},{END[3]}", "SPC1,4,123456,100"]
    found = refused(tmp_path, nastran(HUB, *mean).replace(*case), modes=2, supports="fix")
    assert found[0].code == "deck.links" and "rbe:100" in found[0].remedy


# ------------------------------------------------------------------ Abaqus, CalculiX

NODES = "*NSET, NSET=END\n" + ", ".join(map(str, END))
REF = "*NODE\n100, 30., 5., 5."
POINT = "*ELEMENT, TYPE=MASS, ELSET=HUB\n90, 100\n*MASS, ELSET=HUB\n2.E-3"
SURFACE = "*SURFACE, NAME=FACE, TYPE=NODE\nEND"


@pytest.mark.parametrize(
    "link",
    [
        "*RIGID BODY, NSET=END, REF NODE=100",
        "*KINEMATIC COUPLING, REF NODE=100\nEND, 1, 6",
        f"{SURFACE}\n*COUPLING, CONSTRAINT NAME=C, REF NODE=100, SURFACE=FACE\n*KINEMATIC",
        f"{SURFACE}\n*COUPLING, CONSTRAINT NAME=C, REF NODE=100, SURFACE=FACE\n*DISTRIBUTING",
        "*SURFACE, NAME=F\n2, S4\n*COUPLING, CONSTRAINT NAME=C, REF NODE=100, SURFACE=F\n*KINEMATIC\n1, 3",
        "*ELEMENT, TYPE=DCOUP3D, ELSET=D\n91, 100\n*DISTRIBUTING COUPLING, ELSET=D\nEND, 1.",
    ],
)
def test_couplings_of_abaqus_carry_a_mass(tmp_path, link):
    modal = body(tmp_path, abaqus(NODES, REF, POINT, link), "m.inp")
    check_inertia(modal, [bar(), (2.0, np.array([0.03, 0.005, 0.005]), np.zeros((3, 3)))])
    modal = body(tmp_path, abaqus(NODES, REF, POINT, link), "m.inp", interfaces=["rbe:100"], modes=2)
    np.testing.assert_allclose(modal.interfaces["rbe:100"].position, [0.03, 0.005, 0.005], atol=1e-15)


def test_programs_agree_on_a_rigid_body(tmp_path):
    rigid = f"RBE2,60,100,123456,{','.join(map(str, END))}"
    one = body(tmp_path, nastran(HUB, "CONM2,50,100,,2.-3", rigid), modes=4)
    other = body(tmp_path, abaqus(NODES, REF, POINT, "*RIGID BODY, NSET=END, REF NODE=100"), "m.inp", modes=4)
    np.testing.assert_allclose(one.frequency_hz, other.frequency_hz, rtol=1e-8)


def test_supports_of_abaqus(tmp_path):
    text = abaqus(NODES, "*BOUNDARY\nEND, 1, 3\n1, 2, 2", "*STEP\n*STATIC\n*CLOAD\n1, 1, 5.\n*END STEP")
    modal = body(tmp_path, text, "m.inp")
    note = next(x for x in modal.quality["notes"] if "held in the deck" in x)
    assert "bc_END (4 nodes, x y z)" in note and "bc_held (1 nodes, y)" in note
    assert modal.quality["warnings"] == ["without effect on the body: 1 *CLOAD, 1 *STATIC, 1 *STEP"]


@pytest.mark.parametrize("card", ["*RIGIDBODY, nset=END, refnode=100", "*rigid body,NSET=END,REF NODE=100"])
def test_keywords_of_calculix_need_no_blanks(tmp_path, card):
    modal = body(tmp_path, abaqus(NODES, REF, POINT, card), "m.inp")
    np.testing.assert_allclose(modal.integrals.mass, MASS + 2.0, rtol=1e-10)


def test_cards_without_effect_need_no_blanks_either(tmp_path):
    (tmp_path / "m.inp").write_text(abaqus("*DESIGNVARIABLES, TYPE=COORDINATE\nEND"))
    found = read_mesh(tmp_path / "m.inp").deck
    assert found.no_effect == {"*DESIGNVARIABLES": 1} and not found.not_understood


@pytest.mark.parametrize("lines", ["\n5.E-3", "5.E-3"])
def test_spring_of_abaqus_along_its_line(tmp_path, lines):
    """CalculiX needs no blank line in front of the stiffness; an axial spring alone leaves parts loose."""
    cards = ["*ELEMENT, TYPE=SPRINGA, ELSET=S\n95, 1, 100", f"*SPRING, ELSET=S\n{lines}"]
    (tmp_path / "m.inp").write_text(abaqus(REF, *cards))
    (spring,) = read_mesh(tmp_path / "m.inp").deck.springs
    d = np.array([30.0, 5.0, 5.0]) / np.sqrt(950.0)
    assert spring.stiffness == 5e-3 and [node for node, _ in spring.terms] == [1, 100]
    np.testing.assert_allclose([v[:3] for _, v in spring.terms], [d, -d], rtol=1e-14)


def test_equations_in_axes_of_their_own(tmp_path):
    """All three directions of a node in turned axes are those in the axes of the deck."""
    pair = f"*EQUATION\n2\n{END[0]}, {{0}}, 1., {END[1]}, {{0}}, -1."
    cards = [pair.format(k) for k in (1, 2, 3)]
    turned = "*TRANSFORM, TYPE=R, NSET=END\n1., 2., 0., -1., 1., 1."
    plain = body(
        tmp_path, abaqus(NODES, *cards, "*STEP"), "m.inp", supports="drop", ignore=["EQUATION"], modes=3
    )
    with pytest.raises(fm.InputError, match="hold the body"):  # equal motion of two nodes forbids turning
        body(tmp_path, abaqus(NODES, *cards), "m.inp", modes=3)
    with pytest.raises(fm.InputError, match="hold the body"):
        body(tmp_path, abaqus(NODES, turned, *cards), "m.inp", modes=3)
    assert plain.quality["rigid_modes"] == 6


def frequencies_of(tmp_path, *entries):
    return body(
        tmp_path, nastran(HUB, *entries), modes=6, stress="none", geometric_stiffness=False
    ).frequency_hz


def test_rbe1_is_rbe2_in_other_words(tmp_path):
    """Six directions anywhere on the rigid part determine the rest."""
    a, b, c, d = END
    rigid = frequencies_of(tmp_path, f"RBE2,60,100,123456,{a},{b},{c},{d}")
    by_hub = f"RBE1,60,100,123456,,,,,,+\n+,UM,{a},123,{b},123,{c},123,,+\n+,,{d},123"
    np.testing.assert_allclose(frequencies_of(tmp_path, by_hub), rigid, rtol=1e-9)
    spread = f"RBE1,60,{a},123,{b},12,{c},1,,+\n+,UM,{b},3,{c},23,{d},123,,+\n+,,100,123456"
    np.testing.assert_allclose(frequencies_of(tmp_path, spread), rigid, rtol=1e-9)
    few = refused(tmp_path, nastran(HUB, f"RBE1,60,{a},123,{b},1,{c},1,,+\n+,UM,{d},123"))
    assert "its 5 independent directions do not determine" in few[0].what


def test_rbar_with_freedoms_at_both_ends(tmp_path):
    """Five directions of one end and one of the other: a mass on a rigid arm all the same."""
    hub = (f"RBE2,60,100,123456,{','.join(map(str, END))}", "GRID,101,,40.,9.,5.", "CONM2,50,101,,1.-5")
    whole = frequencies_of(tmp_path, *hub, "RBAR,61,100,101,123456")
    shared = frequencies_of(tmp_path, *hub, "RBAR,61,100,101,12345,2,6,13456")
    np.testing.assert_allclose(shared, whole, rtol=1e-9)


def test_rrod_keeps_a_distance(tmp_path):
    a, b = FIRST[0], END[3]
    modal = body(tmp_path, nastran(f"RROD,60,{a},{b},1"), modes=6)
    mesh = modal.mesh
    i, j = mesh.node_indices([a])[0], mesh.node_indices([b])[0]
    e = mesh.points[j] - mesh.points[i]
    stretch = (modal.Phi[:, j] - modal.Phi[:, i]) @ (e / np.linalg.norm(e))
    np.testing.assert_allclose(stretch, 0.0, atol=1e-9 * np.abs(modal.Phi).max())
    free = body(tmp_path, nastran(), modes=6)
    ratio = modal.frequency_hz / free.frequency_hz
    assert ratio.min() > 1 - 1e-9 and ratio.max() > 1.01
