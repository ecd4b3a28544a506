"""The manual: formulas become MathML that says what the source says, and nothing is loaded from elsewhere."""

import importlib.util
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
spec = importlib.util.spec_from_file_location("typeset", DOCS / "typeset.py")
typeset = importlib.util.module_from_spec(spec)
spec.loader.exec_module(typeset)

NAME = "{http://www.w3.org/1998/Math/MathML}"


def tables(page):
    """Source and typeset form of every block of formulas of a page."""
    found = []
    original = typeset.block

    def keep(text):
        found.append((text, original(text)))
        return found[-1][1]

    typeset.block = keep
    try:
        page_ = SimpleNamespace(file=SimpleNamespace(src_uri=page))
        typeset.on_page_markdown((DOCS / page).read_text("utf-8"), page_)
    finally:
        typeset.block = original
    return found


@pytest.mark.parametrize("page", typeset.PAGES)
def test_formulas_are_well_formed_and_whole(page):
    found = tables(page)
    assert found
    for source, html in found:
        shown = "".join(ElementTree.fromstring(html).itertext())
        assert sum(map(shown.count, "=≠≤≥")) == source.count("="), source
        digits = sorted(re.findall(r"\d", source))
        assert sorted(re.findall(r"\d", shown)) == digits, source


def test_all_equations_of_the_formulation_keep_their_numbers():
    source = (DOCS / "formulation.md").read_text("utf-8")
    blocks = "".join(html for _, html in tables("formulation.md"))
    numbered = re.findall(r"^    .*\s\((F\d+[a-z]?)\)\s*$", source, re.M)
    assert len(numbered) > 30
    for number in numbered:
        assert f'id="{number}"' in blocks and f"({number})" in blocks


def test_matrices_between_bars_have_their_rows_and_columns():
    text = "    M = | m_TT  m_TR |   | 1  0 |\n        |       m_RR | = | 0  2 |   (F12)\n"
    tree = ElementTree.fromstring(typeset.block(text))
    first, second = tree.iter(NAME + "mtable")
    cells = [["".join(td.itertext()) for td in row] for row in first]
    assert cells == [["mTT", "mTR"], ["", "mRR"]]
    assert [["".join(td.itertext()) for td in row] for row in second] == [["1", "0"], ["0", "2"]]


@pytest.mark.parametrize(
    "text, parts",
    [
        ("M*_p", ["<msubsup>", "∗"]),
        ("etahat_dot_i", ["η", ">^</mo>", "˙", "<msub>"]),
        ("N_i^-1", ["<msubsup>", "−"]),
        ("w_P~ d", ["<msub>", "~"]),
        ("sum_{c: p(c)=i} B_c^T", ["∑", "<msubsup>"]),
        ("x+ = x", ["<msup>"]),
        ("etabarbar", ["η", "¯"]),
        ("where a loop has one", ["<mtext>where</mtext>"]),
    ],
)
def test_names_have_their_scripts_and_accents(text, parts):
    html = typeset.mathml(text)
    assert all(part in html for part in parts), html


@pytest.mark.parametrize(
    "page, line, formulas, kept",
    [
        ("formulation.md", "with G_d, `a = v_dot + w~ v` and theta_dot", ["Gd", "a=v˙+w~v", "θ˙"], []),
        (
            "formulation.md",
            "the `rows` in G_d.py, [K](K_ff.md) and Generalised-alpha",
            [],
            ["G_d.py"],
        ),
        ("worked_three_links.md", "the joint `j23` turns by phi1, l1 w1^2", ["ϕ1", "l1w12"], ["`j23`"]),
        (
            "worked_three_links.md",
            "only m2 - (m2 p)^2 / N2 = 19.5 kg of (F12)",
            ["m2−(m2p)2/N2=19.5"],
            ["(F12)"],
        ),
        (
            "matrices.md",
            "[v; w; q_dot] is a theta - what I had, `H_min` (Hbar)",
            ["[v;w;q˙]", "θ", "(H¯)"],
            ["I had"],
        ),
        ("couplings/gear.md", "a theta here", [], ["a theta"]),
    ],
)
def test_formulas_in_sentences_are_typeset_and_code_is_not(page, line, formulas, kept):
    page = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    html = typeset.on_page_markdown(f"{line}\n", page)
    shown = ["".join(ElementTree.fromstring(m).itertext()) for m in re.findall(r"<math.*?</math>", html)]
    assert [text.replace("φ", "ϕ") for text in shown] == formulas
    assert all(word in html for word in kept)
    assert html.count("<math") == html.count("<span><math"), "a paragraph would end before it"


def test_numbered_formulas_of_all_pages_are_typeset():
    text = "One:\n\n    a + b = 1,   c = 2    (F19)\n\n    joint: NAME\n\n"
    page = SimpleNamespace(file=SimpleNamespace(src_uri="couplings/gear.md"))
    html = typeset.on_page_markdown(text, page)
    assert html.count("<math") == 2 and '<tr id="F19">' in html and "\n    joint: NAME\n" in html


@pytest.mark.slow
@pytest.mark.needs("mkdocs")
def test_the_manual_is_built_and_loads_nothing_from_elsewhere(tmp_path):
    command = ["mkdocs", "build", "-q", "--strict", "-f", "docs/mkdocs.yml", "-d", tmp_path / "site"]
    done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for path in (tmp_path / "site").rglob("*.html"):
        text = path.read_text("utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?://[^\"\s>]*)", text)
        assert not [url for url in loaded if "canonical" not in url], path
    formulation = (tmp_path / "site" / "formulation.html").read_text("utf-8")
    assert formulation.count("<math") > 400  # a third of them in sentences
    assert "explain" in (tmp_path / "site" / "api.html").read_text("utf-8")
