"""Shells, beams, masses and rigid elements of openFEDEM."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.readers import read_mesh
from tests.decks.test_deck_materials import refused


def made(tmp_path, text, name, modes):
    (tmp_path / name).write_text(text)
    return fm.reduce(tmp_path / name, modes=modes)


def ftl(*records):
    return "FTLVERSION{7 ASCII}\n" + "\n".join(records) + "\n"


ALLOY = "PMAT{1 7e10 2.631579e10 0.33 2700}"


@pytest.mark.parametrize("kind", ["QUAD4", "TRI3", "QUAD8", "TRI6"])
def test_shells_of_openfedem(tmp_path, kind):
    """A plate with more mass on it: that of the same mesh in Nastran."""
    sides = 3 if kind[:3] == "TRI" else 4
    quadratic, n, index, cells = kind[-1] in "68", (4, 3), {}, []
    for i, j in np.ndindex(n):
        ring = [(2 * i, 2 * j), (2 * i + 2, 2 * j), (2 * i + 2, 2 * j + 2), (2 * i, 2 * j + 2)]
        for corners in [ring] if sides == 4 else [ring[:3], [ring[0], ring[2], ring[3]]]:
            ends = zip(corners, corners[1:] + corners[:1], strict=True)
            mids = [tuple((np.add(p, q) // 2).tolist()) for p, q in ends] if quadratic else []
            cells.append([index.setdefault(place, len(index) + 1) for place in corners + mids])
    places = {k: (0.05 * a, 0.04 * b) for (a, b), k in index.items()}
    lines = [f"NODE{{{k} 0 {x} {y} 0}}" for k, (x, y) in places.items()]
    for e, row in enumerate(cells):
        pairs = zip(row[:sides], row[sides:], strict=True) if quadratic else []
        around = [k for pair in pairs for k in pair] or row
        lines.append(f"{kind}{{{e + 1} {' '.join(map(str, around))} {{PTHICK 2}} {{PMAT 1}} {{PNSM 3}}}}")
    own = made(tmp_path, ftl(*lines, "PTHICK{2 0.002}", "PNSM{3 1.5 1}", ALLOY), "p.ftl", modes=6)
    name = {"QUAD4": "CQUAD4", "TRI3": "CTRIA3", "QUAD8": "CQUAD8", "TRI6": "CTRIA6"}[kind]
    bulk = [f"GRID,{k},,{x},{y},0." for k, (x, y) in places.items()]
    for e, row in enumerate(cells):
        words = [name, str(e + 1), "1", *map(str, row)]
        parts = [words[:9], ["+", *words[9:]]] if len(words) > 9 else [words]
        bulk.append(",+\n".join(",".join(part) for part in parts))
    bulk += ["PSHELL,1,1,.002,1,,1,,1.5", "MAT1,1,7.+10,,.33,2700.", "ENDDATA", ""]
    same = made(tmp_path, "\n".join(bulk), "p.bdf", modes=6)
    assert own.integrals.mass == pytest.approx((2700 * 0.002 + 1.5) * 0.4 * 0.24, rel=1e-9)
    np.testing.assert_allclose(own.frequency_hz, same.frequency_hz, rtol=1e-5)  # digits of G, shear rule


def frame_of_beams(*more, attributes="", section="PBEAMSECTION{1 4e-4 3e-8 1e-8 2e-8}"):
    lines = [f"NODE{{{k + 1} {int(k == 0)} {0.1 * k} 0 0}}" for k in range(11)]
    lines += [
        f"BEAM2{{{k} {k} {k + 1} {{PMAT 1}} {{PBEAMSECTION 1}} {{PORIENT 1}}{attributes}}}"
        for k in range(1, 11)
    ]
    return ftl(*lines, section, "PORIENT{1 0 0 1}", ALLOY, *more)


def test_beams_of_openfedem(tmp_path):
    """Their Iy is that of bending towards y; PORIENT is the z axis; phi turns the principal axes."""
    modal = made(tmp_path, frame_of_beams(), "b.ftl", modes=4)
    for I, direction in ((3e-8, 1), (1e-8, 2)):
        expected = 22.3733 / (2 * np.pi) * np.sqrt(7e10 * I / (2700 * 4e-4))
        mode = int(np.argmin(np.abs(modal.frequency_hz - expected)))
        assert modal.frequency_hz[mode] == pytest.approx(expected, rel=1e-3)
        assert np.abs(modal.Phi[mode]).max(axis=0).argmax() == direction
    turned = frame_of_beams(section="PBEAMSECTION{1 4e-4 3e-8 1e-8 2e-8 0 0 0 0 90}")
    other = made(tmp_path, turned, "t.ftl", modes=4)
    np.testing.assert_allclose(other.frequency_hz, modal.frequency_hz, rtol=1e-9)
    assert np.abs(other.Phi[0]).max(axis=0).argmax() == 1 and np.abs(modal.Phi[0]).max(axis=0).argmax() == 2
    bare = made(tmp_path, frame_of_beams().replace(" {PORIENT 1}", ""), "g.ftl", modes=4)
    np.testing.assert_allclose(np.abs(bare.Phi), np.abs(modal.Phi), atol=1e-9)
    off = frame_of_beams("PBEAMECCENT{1 0 0.01 0 0 0.01 0}", attributes=" {PBEAMECCENT 1}")
    assert made(tmp_path, off, "o.ftl", modes=4).integrals.com[1] == pytest.approx(0.01)
    sheared = frame_of_beams(section="PBEAMSECTION{1 4e-4 3e-8 1e-8 2e-8 .4 .4 0 0 0}")
    assert made(tmp_path, sheared, "s.ftl", modes=1).frequency_hz[0] < modal.frequency_hz[0]
    pinned = frame_of_beams("PBEAMPIN{1 0 56}").replace("5 5 6 {PMAT 1}", "5 5 6 {PMAT 1} {PBEAMPIN 1}")
    (tmp_path / "n.ftl").write_text(pinned)
    assert np.flatnonzero(read_mesh(tmp_path / "n.ftl").deck.beam_cells.released[4]).tolist() == [10, 11]


def lower(M):
    return " ".join(f"{M[i, j]:.9g}" for i in range(6) for j in range(i + 1))


def test_masses_and_rigid_bars_of_openfedem(tmp_path):
    m, c, J = 2.0, np.array([0.01, 0.02, -0.03]), np.diag([1e-3, 2e-3, 2.5e-3])
    skew = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    M = np.block([[m * np.eye(3), -m * skew], [m * skew, J + m * skew @ skew.T]])
    records = [
        "NODE{20 1 1.5 0 0}",
        "RBAR{30 20 11 {PRBAR 1}}",
        "PRBAR{1 123456 0 0 123456}",
        "CMASS{31 20 {PMASS 1}}",
    ]
    bare = made(tmp_path, frame_of_beams(), "b.ftl", modes=1).integrals
    found = made(tmp_path, frame_of_beams(*records, f"PMASS{{1 {lower(M)}}}"), "m.ftl", modes=1).integrals
    place = np.array([1.5, 0, 0]) + c
    assert found.mass == pytest.approx(bare.mass + m)
    np.testing.assert_allclose(found.S_O, bare.S_O + m * place, rtol=1e-9, atol=1e-12)
    J_O = J + m * (place @ place * np.eye(3) - np.outer(place, place))
    np.testing.assert_allclose(found.inertia, bare.inertia + J_O, rtol=1e-7, atol=1e-9)
    M[0, 0] = 3.0
    uneven = frame_of_beams(*records, f"PMASS{{1 {lower(M)}}}")
    assert "not that of a rigid body" in refused(tmp_path, uneven, "u.ftl")[0].what


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (frame_of_beams("SPRING{40 1 2 {PSPRING 1}}"), "SPRING"),
        (frame_of_beams("WAVGM{40 1 2 3 {PWAVGM 1}}"), "WAVGM with PWAVGM"),
        (frame_of_beams(attributes=" {PCOMP 1}"), "BEAM2 with PCOMP"),
        (frame_of_beams(attributes=" {PNSM 9}"), "there is no PNSM 9"),
        (frame_of_beams().replace("2.631579e10", "1e10"), "G is not that"),
        (frame_of_beams(section="PBEAMSECTION{1 4e-4 0 0 2e-8}"), "must have A"),
        (frame_of_beams("RBAR{40 1 2 {PRBAR 1}}", "PRBAR{1 123 456 0 0}"), "RBAR with freedoms"),
        (frame_of_beams("TRI3{41 1 2 3 {PMAT 1}}"), "has no thickness"),
        (frame_of_beams().replace("BEAM2{3 3 4", "BEAM2{3 3 77"), "there is no node 77"),
    ],
)  # fmt: skip
def test_what_is_not_read_of_openfedem_stops(tmp_path, text, says):
    assert says in " ".join(item.what for item in refused(tmp_path, text, "x.ftl"))


def test_supports_and_rigid_directions_of_openfedem(tmp_path):
    text = frame_of_beams(
        "NODE{20 -7 1 0.1 0}",
        "NODE{21 0 1 -0.1 0}",
        "RGD{30 11 20 21 {PRGD 1}}",
        "PRGD{1 123}",
        "CMASS{31 20 {PMASS 1}}",
        "CMASS{32 21 {PMASS 1}}",
        "PMASS{1 .5}",
        "STRCT3{50 1 2 3 {PHEIGHT 1}}",
    )
    modal = made(tmp_path, text, "h.ftl", modes=1)
    assert modal.integrals.mass == pytest.approx(2700 * 4e-4 + 1.0)
    assert any("held_123 (1 nodes" in note for note in modal.quality["notes"])
