"""Typesets the formulas of the manual while it is built: indented text becomes MathML, as do names in prose.

Browsers draw that by themselves, and sources stay readable: `N_i = C_i^T M*_i C_i`. An indented line with
the number of an equation is a formula; on some pages all indented text is, and what looks so in sentences.
Subscripts follow `_`, superscripts `^`, `~` is a skew matrix, `_dot` a rate, `hat` and `bar` end a name, and
matrices stand between bars.
"""

import re
from html import escape

PAGES = ("formulation.md", "worked_double_wishbone.md", "worked_three_links.md")
#: pages with formulas in sentences alone
SENTENCES = ("matrices.md", "worked_particles.md")

_GREEK = dict(
    zip(
        (
            "alpha beta gamma delta epsilon eps eta theta lambda mu nu xi rho sigma tau phi omega pi Phi Psi "
            "Theta"
        ).split(),
        "αβγδεεηθλμνξρστφωπΦΨΘ",
        strict=True,
    )
)
_SIGNS = {"int": "∫", "sum": "∑", "prod": "∏"}
_FUNCTIONS = {"exp", "log", "tr", "cos", "sin", "Im", "det", "rank"}
#: names of several letters; other words are text
_NAMES = set("Ms Sh bh gh kh am af ap Jt Jl Hk Hq Tr nf acc dV mat geo".split())
_ACCENTS = {"barbar": "‗", "bar": "¯", "hat": "^"}
#: what is no prose: code, targets of links, tags
_KEPT = re.compile(r"(`[^`]+`|\]\([^)]*\)|<[^>]+>)")
_CODE = re.compile(r"[\"'#:{]|\.\w|\(F\d")
_LETTER = rf"(?:{'|'.join(_GREEK)}|[A-Za-z])(?:hat|barbar|bar)?|{'|'.join(_NAMES)}|[av]rel"
_SCRIPT = r"~|_d?dot|_[A-Za-z0-9]+(?:,[A-Za-z0-9]+)*|\^-?(?:[A-Za-z0-9]+)"
_BARRED = r"(?:Hbar|hbar|kbar|vbar|abar|Mhat|vhat|ahat|arel|vrel)"
#: what is a formula wherever it stands, and what is one beside it: letters but for words, numbers
_SURE = rf"(?:(?:{_LETTER})\d*(?:{_SCRIPT})+|(?:{'|'.join(_GREEK)})(?:hat|barbar|bar)?\d*|{_BARRED})"
_PERHAPS = rf"(?:[AIa]\d+|[B-HJ-Zb-z]\d*|\d+(?:\.\d+)?|{'|'.join(_NAMES)})"
_END = r"(?![\w/(=]|[-.]\w)"
_ATOM = rf"-?(?:{_SURE}|{_PERHAPS}){_END}"
_BETWEEN = r"(?: (?:[-+=/*<>]|\+=|-=|!=|<=|>=) | )"
_LIST = rf"{_ATOM}(?:(?:{_BETWEEN}|[;,] ){_ATOM})*"
_BRACKETS = rf"[(\[](?!F\d){_LIST}[)\]](?:\^-?\w+)?(?![\w(])"
_PART = rf"(?:{_ATOM}|-?{_BRACKETS})"
_IN_PROSE = re.compile(
    rf"(?<![\w/.^~(\[-]){_PART}(?:{_BETWEEN}{_PART})*|(?<![\w/.^~-]){_ATOM}(?:{_BETWEEN}{_ATOM})*"
)
_CERTAIN = re.compile(rf"(?<![A-Za-z]){_SURE}(?![A-Za-z])|[)\]]\^")
_TOKEN = re.compile(r"\s+|\d+(?:\.\d+)?|[A-Za-z]+|\(\+\)|<-|->|\+=|-=|!=|<=|>=|.")
_NUMBER = re.compile(r"\s+\((F\d+[a-z]?(?:-F\d+[a-z]?)?)\)\s*$")
_BAR = re.compile(r"(?:(?<=\s)|^)\|(?=\s|$)")


def on_page_markdown(markdown, page, **_):
    """The hook of mkdocs: indented blocks, and sentences of the pages with formulas."""
    name = page.file.src_uri
    pieces = re.split(r"^(```.*?^```$)", markdown, flags=re.M | re.S)
    for k in range(0, len(pieces), 2):
        pieces[k] = _blocks(pieces[k], every=name in PAGES)
        if name in PAGES + SENTENCES:
            pieces[k] = _inline(pieces[k], name == "formulation.md")
    return "".join(pieces)


def _inline(text, quoted):
    """Formulas within sentences: names with scripts, Greek letters; with `quoted` also those in backticks."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith(("#", "<table")) else _sentence(line, quoted) for line in lines)


def _sentence(line, quoted):
    pieces = _KEPT.split(line)
    for k, piece in enumerate(pieces):
        if k % 2 == 0:
            pieces[k] = _IN_PROSE.sub(_sure, piece)
        elif quoted and piece[0] == "`" and not _CODE.search(piece) and "<mtext>" not in mathml(piece[1:-1]):
            pieces[k] = _within(piece[1:-1])
    return "".join(pieces)


def _sure(found):
    """A run of letters and numbers, typeset where one of them is a formula for sure."""
    return _within(found[0]) if _CERTAIN.search(found[0]) else found[0]


def _within(text):
    # a tag of its own ends a paragraph where it begins a line
    return f'<span><math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{mathml(text)}</mrow></math></span>'


def _blocks(text, every):
    def made(found):
        formula = every or any(map(_NUMBER.search, found[1].split("\n")))
        return "\n" + block(found[1]) + "\n" if formula else found[0]

    return re.sub(r"(?<=\n)\n((?:    .*\n)+(?=\n|$))", made, text)


def block(text):
    """A block of formulas as a table: formula, number of the equation."""
    lines = [line[4:].rstrip() for line in text.rstrip("\n").split("\n")]
    rows, k = [], 0
    while k < len(lines):
        end = k + 1
        while end < len(lines) and len(_bars(lines[k]) & _bars(lines[end])) > 1:
            end += 1
        rows.append(_row(lines[k:end]))
        k = end
    return f'<table class="formulas">{"".join(rows)}</table>\n'


def _bars(line):
    """Places of the bars of matrices in a line."""
    return {found.start() for found in _BAR.finditer(line)}


def _row(lines):
    numbers = [found[1] for line in lines if (found := _NUMBER.search(line))]
    lines = [_NUMBER.sub("", line) for line in lines]
    # parts of a line that stand apart may go to the next one
    bodies = [matrices(lines)] if len(lines) > 1 else map(mathml, re.split(r"\s{3,}(?!=)", lines[0]))
    number = f"({numbers[0]})" if numbers else ""
    anchor = f' id="{numbers[0]}"' if numbers else ""
    math = '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block"><mrow>{}</mrow></math>'
    return f"<tr{anchor}><td>{' '.join(map(math.format, bodies))}</td><td>{number}</td></tr>"


def mathml(text):
    """One line of a formula."""
    tokens = _TOKEN.findall(text.strip())
    out, k = [], 0
    while k < len(tokens):
        token = tokens[k]
        if token.isspace():
            if out and k + 1 < len(tokens):
                out.append(f'<mspace width="{"1.5em" if len(token) > 1 else "0.2em"}"/>')
            k += 1
            continue
        item, k = _item(tokens, k)
        out.append(item)
    return "".join(out)


def _item(tokens, k):
    """A name with its scripts, a number, or a sign; and where it ends."""
    token = tokens[k]
    if token[0].isalpha():
        item, scripted = _name(token)
    elif token[0].isdigit():
        item, scripted = f"<mn>{token}</mn>", True
    else:
        return _sign(tokens, k)
    return _scripts(tokens, k + 1, item) if scripted else (item, k + 1)


def _sign(tokens, k):
    token = {
        "(+)": "⊕",
        "<-": "←",
        "->": "→",
        "!=": "≠",
        "<=": "≤",
        ">=": "≥",
        "-": "−",
        "-=": "−=",
        "*": "·",
    }.get(tokens[k], tokens[k])
    item = f'<mo stretchy="false">{escape(token)}</mo>'
    return _scripts(tokens, k + 1, item) if tokens[k] in ")]|" else (item, k + 1)


def _name(word):
    """MathML of a name, and whether scripts may follow: words do not take any."""
    if word in _SIGNS:
        return f'<mo movablelimits="false">{_SIGNS[word]}</mo>', True
    if word in _FUNCTIONS:
        return f"<mi>{word}</mi>", True
    for ending, sign in _ACCENTS.items():
        stem = word.removesuffix(ending)
        if stem != word and (len(stem) == 1 or stem in _GREEK):
            accent = "¯" if ending == "barbar" else sign
            inner = f'<mover>{_letter(stem)}<mo stretchy="false">{accent}</mo></mover>'
            return (
                f'<mover>{inner}<mo stretchy="false">¯</mo></mover>' if ending == "barbar" else inner
            ), True
    if word in ("arel", "vrel"):
        return f"<msup><mi>{word[0]}</mi><mi>rel</mi></msup>", True
    if len(word) == 1 or word in _GREEK or word in _NAMES:
        return _letter(word), True
    return f"<mtext>{word}</mtext>", False


def _letter(word):
    return f"<mi>{_GREEK.get(word, word)}</mi>"


def _scripts(tokens, k, item):
    """Subscripts, superscripts, accents and marks that stand at a thing without a space."""
    low, high = [], []
    while k < len(tokens):
        token, behind = tokens[k], tokens[k + 1] if k + 1 < len(tokens) else " "
        if token.isdigit() and not item.startswith("<mn>") and not low and not high:
            low.append(f"<mn>{token}</mn>")
            k += 1
        elif token == "_" and behind in ("dot", "ddot"):
            item, low, high = _placed(item, low, high), [], []
            item = f'<mover>{item}<mo stretchy="false">{"˙" if behind == "dot" else "¨"}</mo></mover>'
            k += 2
        elif token == "_" and not behind.isspace():
            found, k = _script(tokens, k + 1)
            low.append(found)
        elif token == "^" and not behind.isspace():
            found, k = _script(tokens, k + 1)
            high.append(found)
        elif token == "~":
            item, low, high = _placed(item, low, high), [], []
            item = f'<mover><mrow>{item}</mrow><mo stretchy="false">~</mo></mover>'
            k += 1
        elif (
            token in "*+"
            and (behind.isspace() or behind in "_),;(" or behind == "~")
            and item.find("<mn>") != 0
        ):
            high.append(f"<mo>{'∗' if token == '*' else '+'}</mo>")
            k += 1
        else:
            break
    return _placed(item, low, high), k


def _placed(item, low, high):
    low, high = (f"<mrow>{''.join(part)}</mrow>" if part else "" for part in (low, high))
    if low and high:
        return f"<msubsup>{item}{low}{high}</msubsup>"
    return f"<msub>{item}{low}</msub>" if low else f"<msup>{item}{high}</msup>" if high else item


def _script(tokens, k):
    """What stands below or above: a group in braces, or letters, digits and commas up to anything else."""
    out = []
    if tokens[k] == "{":
        end = tokens.index("}", k)
        return mathml("".join(tokens[k + 1 : end])), end + 1
    if tokens[k] == "-":
        out.append("<mo>−</mo>")
        k += 1
    while k < len(tokens):
        token, behind = tokens[k], tokens[k + 1] if k + 1 < len(tokens) else " "
        if token.isalnum():
            out.append(f"<mn>{token}</mn>" if token.isdigit() else _letter(token))
        elif token == "," and behind.isalnum():
            out.append("<mo>,</mo>")
        else:
            break
        k += 1
    return "".join(out), k


def matrices(lines):
    """Lines with matrices between bars, and what stands between these."""
    width = max(map(len, lines))
    lines = [line.ljust(width) for line in lines]
    bars = sorted(set().union(*map(_bars, lines)))
    out, at = [], 0
    for left, right in zip(bars[::2], bars[1::2], strict=True):
        out.append(_outside(lines, at, left))
        rows = [line[left + 1 : right] for line in lines if line[left] == line[right] == "|"]
        out.append(_matrix(rows))
        at = right + 1
    out.append(_outside(lines, at, width))
    return "".join(out)


def _outside(lines, start, end):
    text = " ".join(line[start:end].strip() for line in lines).strip()
    return f'<mspace width="0.3em"/>{mathml(text)}<mspace width="0.3em"/>' if text else ""


def _matrix(rows):
    found = [[(m.start(), m.end(), m[0]) for m in re.finditer(r"\S+(?: \S+)*", row)] for row in rows]
    most = max(map(len, found))
    for k, cells in enumerate(found):
        single = [(m.start(), m.end(), m[0]) for m in re.finditer(r"\S+", rows[k])]
        if len(cells) < most == len(single):  # numbers may stand closer
            found[k] = single
    columns = []
    for start, end, _ in sorted(cell for cells in found for cell in cells):
        if columns and start < columns[-1][1]:
            columns[-1][1] = max(end, columns[-1][1])
        else:
            columns.append([start, end])
    body = ""
    for cells in found:
        texts = ["".join(t for s, e, t in cells if s < hi and e > lo) for lo, hi in columns]
        body += "<mtr>" + "".join(f"<mtd>{mathml(text)}</mtd>" for text in texts) + "</mtr>"
    return f'<mtable class="matrix">{body}</mtable>'  # fonts without long brackets draw none
