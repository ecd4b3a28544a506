"""What is wrong in a file of another program, or cannot be in one, is told with its place and what to do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.io import savemat

from flexmbs.errors import FlexmbsError, InputError, UsageError
from flexmbs.exchange import export_body, extptfm, import_body, mbdyn, sid
from tests.exchange.test_bodies import BY_HAND, body

SID = {
    "a negative number of modes": ("nelastq                         = 4", "nelastq = -4", "modes up to"),
    "modes that are no number": ("nelastq                         = 4", "nelastq = few", "modes up to"),
    "a block of other modes": ("nq                         = 4", "nq = 3", "nq = 3.*expected nq = 4"),
    "a size that is no number": ("nrow                       = 3", "nrow = many", "a line of origin"),
    "an entry outside": ("m0(   3,   1)", "m0(   4,   1)", "m0"),
    "an entry of an order that is not there": ("order                      = 1", "order = 0", "m1"),
    "no sizes before the end": (" origin\n", " origin\n end origin\n", "before it"),
    "no mass": ("  mass                            =", "  weight =", "no mass"),
    "no shapes at all": ("phi\n", "chi\n", "node 1 has no phi"),
}  # fmt: skip


@pytest.mark.parametrize("case", SID)
def test_faults_of_sid_files(tmp_path, case):
    old, new, said = SID[case]
    export_body(body(geo=True)[1], tmp_path / "b.SID_FEM")
    text = (tmp_path / "b.SID_FEM").read_text()
    assert old in text
    count = -1 if case == "no shapes at all" else 1
    (tmp_path / "b.SID_FEM").write_text(text.replace(old, new, count))
    with pytest.raises(FlexmbsError, match=said):
        import_body(tmp_path / "b.SID_FEM")


def test_what_sid_files_leave_out_is_said(tmp_path):
    """Order 0 throughout: no geometric stiffness by rotation or accelerations."""
    export_body(body(geo=False)[1], tmp_path / "b.SID_FEM")
    lines, name, kept = (tmp_path / "b.SID_FEM").read_text().splitlines(keepends=True), "", []
    for line in lines:
        word = line.strip()
        name = word if word in ("Oe", "Ct") else "" if word.startswith("end ") else name
        if name and word.startswith("m1"):
            continue
        kept.append(line.replace("= 1", "= 0") if name and word.startswith("order") else line)
    (tmp_path / "b.SID_FEM").write_text("".join(kept))
    notes = import_body(tmp_path / "b.SID_FEM")[1]
    for said in ("neither centrifugal softening nor", "no geometric stiffness by accelerations"):
        assert any(said in note for note in notes), said
    with pytest.raises(FlexmbsError, match="inertia order"):
        import_body(tmp_path / "b.SID_FEM", inertia_order="zx-xy-yz")


FEM = {
    "a group without a number": ("RECORD GROUP 5", "RECORD GROUP five", "RECORD GROUP and a number"),
    "a group twice": ("RECORD GROUP 6", "RECORD GROUP 5", "record group 5 again"),
    "a group that is missing": ("** RECORD GROUP 7, Z\n 0\n 0\n 0\n", "", "record group 7 is missing"),
    "a label twice": (" 11 12 13", " 11 12 12", "2 different node labels"),
    "a header that says nothing": ("      REV0         3         2", "      REV0    x    2", "expected"),
    "rejected modes": ("0         0         0\n", "0         0         1\n", "1 rejected modes"),
    "more modes than lines": ("REV0         3         2", "REV0         3         2000", "as many lines"),
    "a mass that differs by direction": ("2 2 2 .5", "2 3 2 .5", "differ by direction"),
}


@pytest.mark.parametrize("case", FEM)
def test_faults_of_mbdyn_files(tmp_path, case):
    old, new, said = FEM[case]
    assert old in BY_HAND
    (tmp_path / "b.fem").write_text(BY_HAND.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        import_body(tmp_path / "b.fem")


PILE = """!Mass Matrix
!Dimension: 6
{M}!Stiffness Matrix
!Dimension: 6
{K}!Damping Matrix
!Dimension: 6
{K}"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("!Damping", "!Remark", "there is no !damping"),
        ("Matrix\n!Dimension: 6\n", "Matrix\n", "expected !Dimension"),
        ("Dimension: 6", "Dimension: 0", "expected a size up to"),
        ("Dimension: 6", "Dimension: 7", "6 numbers.*expected a row of 7"),
    ],
)
def test_faults_of_superelements(tmp_path, old, new, said):
    rows = ["".join(" ".join(map(str, row)) + "\n" for row in A) for A in (np.eye(6), np.zeros((6, 6)))]
    text = PILE.format(M=rows[0], K=rows[1])
    assert old in text
    (tmp_path / "b.extptfm").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=f"(?i){said}"):
        import_body(tmp_path / "b.extptfm")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"K": None}, "there is no K"),
        ({"M": np.full((12, 12), 1e300)}, "M has numbers that are not finite"),
        ({"P": np.zeros((2, 2))}, "P \\(2, 2\\)"),
    ],
)
def test_faults_of_simscape_files(tmp_path, change, said):
    arrays = {"P": np.zeros((2, 3)), "K": np.eye(12), "M": np.eye(12)} | change
    savemat(tmp_path / "b.simscape.mat", {name: A for name, A in arrays.items() if A is not None})
    with pytest.raises(InputError, match=said):
        import_body(tmp_path / "b.simscape.mat")


def test_bodies_that_a_format_cannot_hold(tmp_path):
    _, modal = body(geo=False)
    bare = replace(modal, interfaces={})
    for file, options in (("b.fem", {"invariants": True}), ("b.simscape.mat", {})):
        with pytest.raises(UsageError, match="the body has no interface"):
            export_body(bare, tmp_path / file, **options)
    with pytest.raises(UsageError, match="2 interfaces.*exactly one"):
        export_body(modal, tmp_path / "b.extptfm")
    with pytest.raises(UsageError, match="OpenFAST 3"):
        export_body(modal, tmp_path / "b.extptfm", openfast=3)
    with pytest.raises(UsageError, match="4 modes do not move 2 interfaces in all directions"):
        export_body(modal, tmp_path / "b.simscape.mat")


def test_files_too_large_to_be_bodies(tmp_path, monkeypatch):
    for module, name in ((sid, "b.SID_FEM"), (mbdyn, "b.fem")):
        monkeypatch.setattr(module, "MAX_BYTES", 10)
        (tmp_path / name).write_text("x" * 11)
        with pytest.raises(InputError, match="GiB"):
            import_body(tmp_path / name)
    monkeypatch.setattr(extptfm, "MOST", 5)
    (tmp_path / "b.extptfm").write_text("!Mass\n!Dimension: 6\n")
    with pytest.raises(InputError, match="expected a size up to 5"):
        import_body(tmp_path / "b.extptfm")
