"""Every field of the cards that attach masses, springs and rigid parts: what is read, and what is said."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.readers import read_mesh
from tests.decks.samples import NUMBER, abaqus, nastran

END = [NUMBER[2, y, z] for y in (0, 1) for z in (0, 1)]
A, B, C, D = END
HUB = "GRID,100,,30.,5.,5."
TURNED = "CORD2R,7,,1.,2.,3.,1.,2.,9.,+\n+,1.,8.,3."  # z as the basic one, x along its y, origin 1 2 3
R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def deck(tmp_path, text, name="m.bdf"):
    (tmp_path / name).write_text(text)
    return read_mesh(tmp_path / name).deck


def refused(tmp_path, text, name="m.bdf"):
    with pytest.raises(fm.InputError) as caught:
        deck(tmp_path, text, name)
    return str(caught.value)


# ------------------------------------------------------------------ Nastran


@pytest.mark.parametrize(
    "entries, said",
    [
        (["CONM2,50,999,,2."], "CONM2 50 names node 999, which does not exist"),
        (["RBE2,60,999,123,1"], "RBE2 60 names node 999, which does not exist"),
        (["RBE2,60,1,123,999"], "RBE2 60 names node 999, which does not exist"),
        (["RBE2,60,1,127,2"], 'RBE2 60: "127" are no directions'),
        (["RBE2,60,1,123,2,X,3"], 'RBE2 60: "X" is no node'),
        (["RBE2,60,1,123,2,THRU,3000000"], "3 THRU 3000000 are more than 1000000 nodes"),
        (["RBE3,60,,1,123,1.,123,999"], "RBE3 60 names nodes that do not exist ([999])"),
        (["RBE3,60,,1,123,1.,123"], "RBE3 60 names nodes that do not exist ([])"),
        (["RBE1,60,999,123456,,,,,,+", "+,UM,2,123"], "RBE1 60 names node 999, which does not exist"),
        (["CELAS1,70,71,1,1"], "CELAS1 70: its PELAS does not exist"),
        (["CBUSH,70,71,1,2"], "CBUSH 70: its PBUSH does not exist"),
        (["MPC,1,999,1,1.,2,1,-1."], "MPC 1 names node 999, which does not exist"),
    ],
)
def test_nastran_names_the_card_and_what_is_wrong(tmp_path, entries, said):
    assert said in refused(tmp_path, nastran(*entries).replace("CEND", "CEND\nMPC = 1"))


@pytest.mark.parametrize(
    "entries, said",
    [
        ([f"CONM1,50,{A},,1.,,2.,,,+", "+,3."], "CONM1 that is no rigid body"),
        ([f"CELAS2,70,1.,{A},"], "CELAS2 at a scalar point"),
        ([f"CBUSH,70,70,{A},{B}", "PBUSH,70,K,1.,2."], "CBUSH without axes"),
        ([f"CBUSH,70,70,{A},{B},1.,0.,0.", "PBUSH,70,K,1."], None),
        ([f"CBUSH,70,70,{A},{C},0.,1.,0.", "PBUSH,70,K,1."], "CBUSH without axes"),
        ([f"CBUSH,70,70,{A},{B},,,,0", "PBUSH,70,B,1."], "PBUSH without K"),
        ([HUB, f"RBE3,60,,100,123456,1.,123,{A},{B},+", f"+,{C},UM,{A},123"], "RBE3 with UM"),
        ([HUB, f"RBE3,60,,100,123456,1.,12,{A},{B},+", f"+,{C}"], "RBE3 of single directions"),
        ([TURNED, "GRID,100,,30.,5.,5.,7", f"RBE3,60,,100,1,1.,123,{A},{B},+", f"+,{C}"],
         "RBE3 of single directions"),
        ([f"MPC,1,{A},,1.,{B},1,-1."], "MPC at a scalar point"),
        (["MPCAX,1"], "MPCAX"),
    ],
)  # fmt: skip
def test_what_is_not_understood_of_nastran_is_counted_by_name(tmp_path, entries, said):
    found = deck(tmp_path, nastran(*entries).replace("CEND", "CEND\nMPC = 1"))
    assert found.not_understood == ({said: 1} if said else {})


def test_conm2_in_axes_of_its_own(tmp_path):
    """Offsets and inertia in system 7; with -1 the offset is a place in the basic system."""
    J = "2.,.1,3.,.2,.3,4."
    found = deck(
        tmp_path,
        nastran(
            TURNED, HUB, f"CONM2,50,100,7,2.,1.,2.,3.,,+\n+,{J}", f"CONM2,51,100,-1,2.,1.,2.,3.,,+\n+,{J}"
        ),
    )
    tensor = np.array([[2.0, -0.1, -0.2], [-0.1, 3.0, -0.3], [-0.2, -0.3, 4.0]])
    own, basic = found.masses
    np.testing.assert_allclose(own.offset, R @ [1.0, 2.0, 3.0], atol=1e-14)
    np.testing.assert_allclose(own.inertia, R @ tensor @ R.T, atol=1e-14)
    np.testing.assert_allclose(basic.offset, [1.0 - 30.0, 2.0 - 5.0, 3.0 - 5.0], atol=1e-14)
    np.testing.assert_allclose(basic.inertia, tensor, atol=1e-14)


@pytest.mark.parametrize("system", [0, 7])
def test_conm1_of_a_rigid_body(tmp_path, system):
    """Its six by six matrix from mass, place of the centre and inertia about it."""
    m, c, J = 3.0, np.array([0.5, -1.0, 2.0]), np.diag([2.0, 3.0, 4.0])
    S = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    M = np.block([[m * np.eye(3), -m * S], [m * S, J - m * S @ S]])
    words = [f"{value:.8g}" if "." in f"{value:.8g}" else f"{value:.8g}." for value in M[np.tril_indices(6)]]
    text = ",".join(["CONM1", "50", "100", str(system) if system else "", *words[:5], "+"]) + "\n"
    text += ",".join(["+", *words[5:13], "+"]) + "\n" + ",".join(["+", *words[13:]])
    (found,) = deck(tmp_path, nastran(TURNED, HUB, text)).masses
    turn = R if system else np.eye(3)
    assert found.mass == pytest.approx(m) and found.card == "CONM1 50"
    np.testing.assert_allclose(found.offset, turn @ c, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.inertia, turn @ J @ turn.T, rtol=1e-6, atol=1e-6)


def test_springs_between_directions_of_nodes(tmp_path):
    found = deck(
        tmp_path,
        nastran(
            TURNED,
            "GRID,100,,30.,5.,5.,7",
            "PELAS,8,5.,,,9,6.",  # two properties in one entry
            f"CELAS1,9,,100,1,{A},2",
            f"CELAS1,71,8,100,5,{A},5",
            "CELAS2,72,7.,100,3",
            f"CELAS2,73,0.,100,3,{A},3",
        ),
    )
    nine, turning, grounded = found.springs  # one without stiffness is none
    assert (nine.stiffness, turning.stiffness, grounded.stiffness) == (6.0, 5.0, 7.0)
    assert (nine.turning, turning.turning, grounded.turning) == (False, True, False)
    (hub, own), (node, other) = nine.terms
    assert (hub, node) == (100, A)
    np.testing.assert_allclose(
        own, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-15
    )  # x of system 7 is the basic y
    np.testing.assert_allclose(other, [0.0, -1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(turning.terms[0][1], [0.0, 0.0, 0.0, -1.0, 0.0, 0.0], atol=1e-15)
    assert [n for n, _ in grounded.terms] == [100]


@pytest.mark.parametrize("axes", ["{C},,,", "0.,1.,0.,", ",,,7", ",,,0"])
def test_bushes_act_at_their_place_in_their_axes(tmp_path, axes):
    """The energy of any small motion is that of six springs between two arms that meet at the place."""
    hub = np.array([50.0, 0.0, 0.0])
    X = {A: np.array([20.0, 0.0, 0.0]), C: np.array([20.0, 10.0, 0.0])}
    entries = ["GRID,100,,50.,0.,0.", TURNED, f"CBUSH,70,70,{A},100,{axes.format(C=C)},+\n+,.25"]
    springs = deck(tmp_path, nastran(*entries, "PBUSH,70,K,1.,2.,3.,4.,5.,6.")).springs
    E = R if axes.endswith("7") else np.eye(3)
    place = X[A] + 0.25 * (hub - X[A])
    rng = np.random.default_rng(3)
    motion = {A: rng.standard_normal(6), 100: rng.standard_normal(6)}
    gap = np.zeros(6)
    for sign, node, x in ((1.0, A, X[A]), (-1.0, 100, hub)):
        u, phi = motion[node][:3], motion[node][3:]
        gap += sign * np.concatenate([E.T @ (u + np.cross(phi, place - x)), E.T @ phi])
    energy = sum(
        0.5 * spring.stiffness * sum(vector @ motion[node] for node, vector in spring.terms) ** 2
        for spring in springs
    )
    assert energy == pytest.approx(0.5 * np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) @ gap**2, rel=1e-12)


def test_a_bush_to_the_ground(tmp_path):
    springs = deck(tmp_path, nastran(f"CBUSH,70,70,{A},,,,,0", "PBUSH,70,K,1.,,3.")).springs
    assert [(s.stiffness, [n for n, _ in s.terms]) for s in springs] == [(1.0, [A]), (3.0, [A])]


@pytest.mark.parametrize(
    "words, nodes",
    [
        (f"{A},THRU,{C}", range(A, C + 1)),
        (f"{A},{C},1.2-5", [A, C]),  # a coefficient of thermal expansion behind them
    ],
)
def test_nodes_of_a_rigid_element(tmp_path, words, nodes):
    (link,) = deck(tmp_path, nastran(HUB, f"RBE2,60,100,123456,{words}")).links
    assert link.node == 100 and sorted(link.nodes) == list(nodes) and link.dofs == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    "fields, leads, follows, dofs",
    [
        ("123456", 100, A, range(6)),
        (",123456", A, 100, range(6)),
        ("123456,,,123", 100, A, range(3)),
        (",123456,46", A, 100, (3, 5)),
    ],
)
def test_a_rigid_bar_follows_the_end_that_is_free(tmp_path, fields, leads, follows, dofs):
    (link,) = deck(tmp_path, nastran(HUB, f"RBAR,60,100,{A},{fields}")).links
    assert (link.node, list(link.nodes), link.dofs) == (leads, [follows], tuple(dofs))


def rigid_motion(x, about=(3.0, -2.0, 1.0), turn=(0.2, -0.5, 0.7), shift=(1.0, 2.0, -3.0)):
    return np.concatenate([np.array(shift) + np.cross(turn, np.asarray(x) - about), turn])


def misfit(deck, X):
    """Largest violation of the equations by a motion of all as one rigid body."""
    return max(abs(sum(v @ rigid_motion(X[n]) for n, v in link.terms)) for link in deck.links)


def test_rbe1_and_rrod_let_a_rigid_body_move(tmp_path):
    """A coefficient of thermal expansion behind the last pair says nothing."""
    X = {n: 10.0 * np.array(place) for place, n in NUMBER.items()} | {100: np.array([30.0, 5.0, 5.0])}
    text = f"RBE1,60,100,123456,,,,,,+\n+,UM,{A},123,{B},12,1.-5"
    found = deck(tmp_path, nastran(HUB, text))
    assert len(found.links) == 5 and misfit(found, X) < 1e-12
    for fields in (f"100,{A},1", f"100,{A},,1"):
        found = deck(tmp_path, nastran(HUB, f"RROD,61,{fields}"))
        assert len(found.links) == 1 and misfit(found, X) < 1e-12


def test_an_average_with_thermal_expansion(tmp_path):
    text = f"RBE3,60,,100,123456,1.,123,{A},{B},+\n+,2.,123456,{C},ALPHA,1.-5"
    (link,) = deck(tmp_path, nastran(HUB, text)).links
    assert list(link.nodes) == [A, B, C] and list(link.weights) == [1.0, 1.0, 2.0]


CASE = ("CEND", "CEND\nSPC = 4\nMPC = 5")


def test_sets_of_sets_are_taken(tmp_path):
    """SPCADD and MPCADD; a set that the case control does not name has no effect, and is counted."""
    entries = [
        "SPCADD,4,41,42", f"SPC,41,{A},123,,{B},2", f"SPC1,42,3,{C}", f"SPC1,43,3,{D}", "SPC1,42,0,1",
        "SPC,41,999,1",
        "MPCADD,5,51", f"MPC,51,{A},1,1.,{B},1,-1.,,+", f"+,,{C},1,2.", f"MPC,52,{A},1,1.,{B},1,-1.",
    ]  # fmt: skip
    found = deck(tmp_path, nastran(*entries).replace(*CASE))
    held = {(tuple(s.nodes), s.dofs) for s in found.supports}
    assert held == {((A,), (0, 1, 2)), ((B,), (1,)), ((C,), (2,))}
    (link,) = found.links
    assert [(n, v[0]) for n, v in link.terms] == [(A, 1.0), (B, -1.0), (C, 2.0)]
    assert found.no_effect == {"SPC1 of a set not taken": 1, "MPC of a set not taken": 1}


def test_directions_that_a_grid_entry_holds(tmp_path):
    found = deck(tmp_path, nastran("GRID,100,,30.,5.,5.,,1 26", f"RBE2,60,{A},123456,100"))
    (held,) = found.supports
    assert (held.name, list(held.nodes), held.dofs) == ("grid_1 26", [100], (0, 1, 5))


# ------------------------------------------------------------------ Abaqus and CalculiX

NODES = "*NSET, NSET=END\n" + ", ".join(map(str, END))
REF = "*NODE\n100, 30., 5., 5."
SPRING2 = "*ELEMENT, TYPE=SPRING2, ELSET=S\n95, 1, 100"
COUPLING = "*SURFACE, NAME=F, TYPE=NODE\nEND\n*COUPLING, CONSTRAINT NAME=C, REF NODE=100, SURFACE=F"


@pytest.mark.parametrize(
    "cards, said",
    [
        ([f"{SPRING2}\n*SPRING, ELSET=S\n1, 1"], "*SPRING has no stiffness behind the line of its"),
        ([f"{SPRING2}\n*SPRING, ELSET=S\n1\n5."], "*SPRING of SPRING2 names 1 directions"),
        ([f"{SPRING2}\n*SPRING, ELSET=S\n7, 1\n5."], "*SPRING: there is no direction 7"),
        ([SPRING2.replace("2", "A").replace("100", "1") + "\n*SPRING, ELSET=S\n\n5."],
         "95 of type SPRINGA has no length"),
        (["*RIGID BODY, NSET=END, REF NODE=END"], 'the reference node "END" is 4 nodes'),
        (["*KINEMATIC\n1, 3"], "*KINEMATIC without *COUPLING"),
        (["*DISTRIBUTING"], "*DISTRIBUTING without *COUPLING"),
        (["*DISTRIBUTING COUPLING, ELSET=BAR\nEND, 1."], "needs one element of type DCOUP3D"),
        (["*EQUATION\n2\n1, 1, 1."], "*EQUATION ends inside its terms"),
        (["*NSET, NSET=TWO\n1, 2", "*EQUATION\n2\nEND, 1, 1., TWO, 1, -1."],
         "between sets of different sizes"),
        (["*TRANSFORM, TYPE=R, NSET=END\n1., 0., 0."], "*TRANSFORM needs two points"),
        (["*TRANSFORM, TYPE=C, NSET=END\n20., 0., 0., 20., 0., 1.", f"*EQUATION\n2\n{A}, 1, 1., {B}, 1, -1."],
         f"node {A} lies on the axis of its *TRANSFORM"),
        (["*TIE, NAME=T\nEND"], "*TIE needs two surfaces"),
    ],
)  # fmt: skip
def test_abaqus_names_the_card_and_what_is_wrong(tmp_path, cards, said):
    assert said in refused(tmp_path, abaqus(NODES, REF, *cards), "m.inp")


@pytest.mark.parametrize(
    "cards, said",
    [
        (["*ELEMENT, TYPE=ROTARYI, ELSET=I\n95, 100\n*ROTARY INERTIA, ELSET=I, ORIENTATION=O\n1., 1., 1."],
         "*ROTARY INERTIA, ORIENTATION"),
        ([f"{SPRING2}\n*SPRING, ELSET=S, NONLINEAR\n1, 1\n5., 0."], "*SPRING, NONLINEAR or with axes"),
        ([f"{COUPLING}, ORIENTATION=O\n*KINEMATIC\n1, 1"], "*COUPLING, ORIENTATION"),
        ([f"{COUPLING}\n*DISTRIBUTING, WEIGHTING METHOD=LINEAR"], "*DISTRIBUTING, WEIGHTING METHOD"),
        ([f"*MPC\nSLIDER, {A}, {B}"], "*MPC of type SLIDER"),
        (["*SURFACE, NAME=F, TYPE=NODE\nEND\n*TIE, NAME=T, CYCLIC SYMMETRY\nF, F"],
         "*TIE of cyclic symmetry"),
    ],
)  # fmt: skip
def test_what_is_not_understood_of_abaqus_is_counted_by_name(tmp_path, cards, said):
    assert deck(tmp_path, abaqus(NODES, REF, *cards), "m.inp").not_understood == {said: 1}


def test_rotary_inertia(tmp_path):
    card = "*ELEMENT, TYPE=ROTARYI, ELSET=I\n95, 100\n*ROTARY INERTIA, ELSET=I\n2., 3., 4., .1, .2, .3"
    (found,) = deck(tmp_path, abaqus(REF, card), "m.inp").masses
    assert found.mass == 0.0 and found.node == 100
    np.testing.assert_array_equal(found.inertia, [[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]])


def test_springs_of_abaqus_in_directions(tmp_path):
    """To the ground, and between two nodes of which one has turned axes."""
    turned = "*NSET, NSET=REF\n100\n*TRANSFORM, TYPE=R, NSET=REF\n0., 1., 0., -1., 0., 0."
    cards = [
        "*ELEMENT, TYPE=SPRING1, ELSET=G\n96, 1\n*SPRING, ELSET=G\n5\n7.",
        f"{SPRING2}\n*SPRING, ELSET=S\n2, 1\n5.",
    ]
    ground, between = deck(tmp_path, abaqus(REF, turned, *cards), "m.inp").springs
    assert ground.stiffness == 7.0 and ground.turning and not between.turning
    np.testing.assert_array_equal(ground.terms[0][1], np.eye(6)[4])
    assert len(ground.terms) == 1
    np.testing.assert_allclose(between.terms[0][1], np.eye(6)[1], atol=1e-15)
    np.testing.assert_allclose(
        between.terms[1][1], -np.eye(6)[1], atol=1e-15
    )  # x of the node is the global y


@pytest.mark.parametrize(
    "kind, points, expected",
    [
        ("C", "0., 0., 5., 1., 0., 5.", [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
        ("S", "30., 0., 5., 30., 0., 6.", [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    ],
)
def test_axes_around_a_cylinder_and_a_sphere(tmp_path, kind, points, expected):
    """The columns that equations see: radial, around, along; on the sphere radial, around, polar."""
    cards = [f"*NSET, NSET=REF\n100\n*TRANSFORM, TYPE={kind}, NSET=REF\n{points}"]
    cards += [f"*EQUATION\n2\n100, {k}, 1., 1, {k}, -1." for k in (1, 2, 3)]
    links = deck(tmp_path, abaqus(REF, *cards), "m.inp").links
    found = np.array([link.terms[0][1][:3] for link in links])
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-15)
    np.testing.assert_allclose(np.cross(found[0], found[1]), found[2], atol=1e-15)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-15)


@pytest.mark.parametrize(
    "card, groups",
    [
        ("*RIGID BODY, TIE NSET=END, REF NODE=100, ROT NODE=101", [(END, 6)]),
        ("*RIGID BODY, PIN NSET=END, REF NODE=100", [(END, 3)]),
        (
            f"*NSET, NSET=ONE\n{A}\n*RIGID BODY, TIE NSET=ONE, PIN NSET=END, REF NODE=100",
            [([A], 6), (END[1:], 3)],
        ),
        ("*RIGID BODY, ELSET=BAR, REF NODE=100", [(sorted(NUMBER.values()), 6)]),
        (f"*KINEMATIC COUPLING, REF NODE=100\n{A}\n{B}, 1, 3", [([A], 6), ([B], 3)]),
        (f"*MPC\nBEAM, {A}, 100", [([A], 6)]),
    ],
)
def test_rigid_parts_of_abaqus(tmp_path, card, groups):
    text = abaqus(NODES, REF, "*NODE\n101, 30., 5., 5.", card)
    links = deck(tmp_path, text, "m.inp").links
    assert [(sorted(link.nodes), len(link.dofs)) for link in links] == [(sorted(n), k) for n, k in groups]
    assert all(link.node == 100 for link in links)


@pytest.mark.parametrize("kind, rows", [("PIN", 3), ("TIE", 6)])
def test_nodes_that_share_motion(tmp_path, kind, rows):
    links = deck(tmp_path, abaqus(NODES, REF, f"*MPC\n{kind}, END, 100"), "m.inp").links
    assert len(links) == 4 * rows
    for k, link in enumerate(links):
        (one, v), (other, w) = link.terms
        assert (one, other) == (END[k // rows], 100)
        np.testing.assert_array_equal(v, np.eye(6)[k % rows])
        np.testing.assert_array_equal(w, -v)


def test_equations_over_sets_and_lines(tmp_path):
    """One equation for each node of the sets; a single node is in all of them."""
    text = abaqus(NODES, REF, "*EQUATION\n3\nEND, 1, 1., 100, 1, -2.,\n1, 2, .5")
    links = deck(tmp_path, text, "m.inp").links
    assert [[n for n, _ in link.terms] for link in links] == [[node, 100, 1] for node in END]
    assert [v[k] for (_, v), k in zip(links[0].terms, (0, 0, 1), strict=True)] == [1.0, -2.0, 0.5]


def test_distributed_weights(tmp_path):
    card = f"*ELEMENT, TYPE=DCOUP3D, ELSET=D\n91, 100\n*DISTRIBUTING COUPLING, ELSET=D\n{A}, 1.\n{B}\n{C}, 3."
    (link,) = deck(tmp_path, abaqus(REF, card), "m.inp").links
    assert list(link.nodes) == [A, B, C] and list(link.weights) == [1.0, 1.0, 3.0] and len(link.dofs) == 6
    two = card.replace(f"\n{C}, 3.", "")
    (link,) = deck(tmp_path, abaqus(REF, two), "m.inp").links
    assert link.dofs == (0, 1, 2)  # two nodes know nothing of a turn about their line


def test_boundaries_of_a_name_are_joined(tmp_path):
    """By name, by one direction or a range; the same nodes join directions, the same directions nodes."""
    lines = f"END, ENCASTRE\n{A}, 1\n{B}, 1, 1, 0.\n{B}, 2, 3\n{C}, XSYMM\n{D}\n{D}, 11, 11"
    found = deck(tmp_path, abaqus(NODES, f"*BOUNDARY\n{lines}"), "m.inp").supports
    assert [(s.name, s.nodes.tolist(), [d + 1 for d in s.dofs]) for s in found if s.dofs] == [
        ("bc_END", END, [1, 2, 3, 4, 5, 6]),
        ("bc_held", [A, B], [1]),
        ("bc_held_3", [B], [2, 3]),
        ("bc_held_4", [C], [1, 5, 6]),
    ]
    again = deck(tmp_path, abaqus(NODES, "*BOUNDARY\nEND, 1\nEND, 3, 3"), "m.inp").supports
    assert [(s.name, s.dofs) for s in again] == [("bc_END", (0, 2))]


@pytest.mark.parametrize(
    "card", [f"*EQUATION\n2\n999, 1, 1., {A}, 1, -1.", "*RIGID BODY, NSET=END, REF NODE=999"]
)
def test_nodes_that_nothing_defines(tmp_path, card):
    with pytest.raises(fm.InputError, match="999"):
        (tmp_path / "m.inp").write_text(abaqus(NODES, card))
        fm.reduce(tmp_path / "m.inp", modes=1)
