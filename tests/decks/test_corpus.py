"""A corpus of decks of our own: each one is right in units, mass, first moment and inertia, and free."""

import numpy as np
import pytest

import flexmbs as fm
from tests.decks.corpus import decks

ALL = decks()
#: spread over all kinds
SAMPLE = ALL[:: max(len(ALL) // 24, 1)]


def check(tmp_path, name, text, body):
    (tmp_path / name).write_text(text)
    modal = fm.reduce(tmp_path / name, modes=1, stress="none", geometric_stiffness=False)
    m, S, J = body.total()
    integrals = modal.integrals
    digits = 1e-4 if "small" in name or name.startswith(("CQUADR", "CTRIAR", "PBAR-", "PBEAML")) else 1e-6
    np.testing.assert_allclose(integrals.mass, m, rtol=digits)
    np.testing.assert_allclose(integrals.S_O, S, rtol=digits, atol=digits * m * 0.05)
    slender = name.startswith(("PB", "B3", "offset"))  # inertia about the axis has its own test
    if not slender:
        np.testing.assert_allclose(integrals.inertia, J, rtol=1e-4, atol=1e-4 * np.abs(J).max())
    assert modal.quality["rigid_modes"] == 6
    assert modal.frequency_hz[0] > 1.0


def test_there_are_hundreds():
    assert len(ALL) > 250 and len({name for name, _, _ in ALL}) == len(ALL)


@pytest.mark.parametrize(("name", "text", "body"), SAMPLE, ids=[name for name, _, _ in SAMPLE])
def test_a_sample_of_the_corpus(tmp_path, name, text, body):
    check(tmp_path, name, text, body)


@pytest.mark.slow
def test_the_whole_corpus(tmp_path):
    wrong = []
    for name, text, body in ALL:
        try:
            check(tmp_path, name, text, body)
        except Exception as error:  # all of them at once
            wrong.append(f"{name}: {str(error).strip()[:300]}")
    assert not wrong, "\n".join(wrong)


UNREAD_ENTRIES = """CGAP,90,91,1,2,1.,0.,0.
CBUSH1D,90,91,1,2
CELAS3,90,91,1,2
CDAMP1,90,91,1,1,2,1
CVISC,90,91,1,2
CWELD,90,91,1,2
CFAST,90,91,PROP,1,2
CBEND,90,91,1,2,0.,0.,1.
CSHEAR,90,91,1,2,3,4
GENEL,90
RSPLINE,90,,1,123456,2,3
RSSCON,90,GRID,1,2,3
RBAR1,90,1,2
DMIG,KAAX,0,6,1,0
CMASS2,90,1.,1,1
CMASS3,90,91,1,1
CHACAB,90,91,1,2,3,4
CCONEAX,90,91,1,2
CAABSF,90,91,1
PSOLIDX,90""".splitlines()
UNREAD_KEYWORDS = """*CONTACT PAIR, INTERACTION=I
*MATRIX ASSEMBLE, STIFFNESS=K
*USER MATERIAL, CONSTANTS=2
*HYPERELASTIC, NEO HOOKE
*CYCLIC SYMMETRY MODEL, N=3
*EMBEDDED ELEMENT
*CONNECTOR SECTION, ELSET=E
*PRE-TENSION SECTION, SURFACE=S
*GASKET SECTION, ELSET=E
*REBAR LAYER
*SUBSTRUCTURE PROPERTY, ELSET=E
*TRANSVERSE SHEAR STIFFNESS
*RELEASE
*NOSUCHKEYWORD""".splitlines()


def first(start, ending):
    return next(text for name, text, _ in ALL if name.startswith(start) and name.endswith(ending))


@pytest.mark.parametrize("entry", UNREAD_ENTRIES, ids=lambda entry: entry.partition(",")[0])
def test_an_entry_that_is_not_read_stops_by_name(tmp_path, entry):
    card = entry.partition(",")[0]
    text = first("hex8-m-kg-s-nu", ".bdf").replace("ENDDATA", f"{entry}\nENDDATA")
    (tmp_path / "m.bdf").write_text(text)
    with pytest.raises(fm.InputError, match=card):
        fm.reduce(tmp_path / "m.bdf", modes=1)
    modal = fm.reduce(tmp_path / "m.bdf", modes=1, ignore=[card], stress="none", geometric_stiffness=False)
    assert any("left out by --ignore" in text and card in text for text in modal.quality["warnings"])


@pytest.mark.parametrize("card", UNREAD_KEYWORDS, ids=lambda card: card.partition(",")[0])
def test_a_keyword_that_is_not_read_stops_by_name(tmp_path, card):
    name = card[1:].partition(",")[0]
    (tmp_path / "m.inp").write_text(first("hex8-m-kg-s-ISO", ".inp") + card + "\n")
    with pytest.raises(fm.InputError, match=name):
        fm.reduce(tmp_path / "m.inp", modes=1)
    modal = fm.reduce(tmp_path / "m.inp", modes=1, ignore=[name], stress="none", geometric_stiffness=False)
    assert any("left out by --ignore" in text and name in text for text in modal.quality["warnings"])
