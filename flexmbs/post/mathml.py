"""Formulas in MathML Core from the few words of LaTeX that symbols need; browsers typeset it themselves."""

from __future__ import annotations

import re
from html import escape

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?|\S")
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "rho": "ρ", "sigma": "σ", "tau": "τ", "varphi": "φ", "omega": "ω",
    "Phi": "Φ", "Psi": "Ψ", "Theta": "Θ", "Omega": "Ω", "ell": "ℓ",
}  # fmt: skip
_ACCENTS = {"hat": "^", "bar": "¯", "dot": "˙", "ddot": "¨", "tilde": "~"}
_SIGNS = {"circ": "∘", "cdot": "·", "times": "×"}


def formula(latex: str, behind: str = "") -> str:
    """A `<math>` element of a formula, with MathML `behind` it."""
    found, rest = _row(_TOKEN.findall(latex), 0)
    assert rest == len(_TOKEN.findall(latex)), latex
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{found}{behind}</mrow></math>'


def number(word: str) -> str:
    """A number as it is printed, 1.5e-07 with its power of ten."""
    mantissa, e, exponent = word.strip().partition("e")
    sign, digits = ("<mo>-</mo>", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    shown = f"{sign}<mn>{digits}</mn>"
    if not e:
        return f"<mrow>{shown}</mrow>"
    return f"<mrow>{shown}<mo>·</mo><msup><mn>10</mn><mn>{int(exponent)}</mn></msup></mrow>"


def _row(tokens: list[str], k: int) -> tuple[str, int]:
    """Tokens up to the end or a closing brace, and where that is."""
    out: list[str] = []
    while k < len(tokens) and tokens[k] != "}":
        base, k = _atom(tokens, k)
        scripts: dict[str, str] = {}
        while k < len(tokens) and tokens[k] in "^_":
            place = tokens[k]
            scripts[place], k = _atom(tokens, k + 1)
        if len(scripts) == 2:
            base = f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>"
        elif scripts:
            ((place, script),) = scripts.items()
            tag = "msup" if place == "^" else "msub"
            base = f"<{tag}>{base}{script}</{tag}>"
        out.append(base)
    return "".join(out), k


def _atom(tokens: list[str], k: int) -> tuple[str, int]:
    """One thing that scripts can stand at."""
    token = tokens[k]
    word = token[1:]
    if token == "{":
        inside, k = _row(tokens, k + 1)
        return f"<mrow>{inside}</mrow>", k + 1
    if word in _ACCENTS and token[0] == "\\":
        inside, k = _atom(tokens, k + 1)
        return f'<mover>{inside}<mo stretchy="false">{_ACCENTS[word]}</mo></mover>', k
    if token[0] == "\\":
        if word in _GREEK:
            return f"<mi>{_GREEK[word]}</mi>", k + 1
        return f"<mo>{_SIGNS[word]}</mo>", k + 1
    if token[0].isdigit():
        return f"<mn>{token}</mn>", k + 1
    if token.isalpha():
        return f"<mi>{token}</mi>", k + 1
    return f"<mo>{escape(token)}</mo>", k + 1
