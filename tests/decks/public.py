"""Counts what becomes of decks that nobody here wrote.

python -m tests.decks.public FOLDER [--per 24] [--seed 1] [--list] [--calculix]

Every folder of FOLDER is a repository. Of each, up to `--per` decks are drawn with the seed, each is reduced
in a process of its own, and what the message asks for (units, density, material) is given once. Decks that
are no body (an include that is not there, surfaces without a thickness, parts that are apart) are counted by
themselves.
"""

import argparse
import multiprocessing
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import flexmbs as fm
from flexmbs.errors import FlexmbsError

ENDINGS = {".bdf", ".dat", ".nas", ".inp", ".fem", ".cdb", ".unv", ".ftl", ".mail"}
SECONDS = 180.0
LEAN = {"modes": 6, "stress": "none", "geometric_stiffness": False}
#: what a deck holds: the first that is found in its text, solids beside anything else are solids
KINDS = {
    "solids": r"^ *(CTETRA|CHEXA|CPENTA|CPYRAM|TET(4|10)|HEX(8|20)|PENT?(6|15))|TYPE *= *(C3D|F3D|DC3D)",
    "shells": r"^ *(CQUAD|CTRIA|TRI[36]|QUAD[48])|TYPE *= *(S[34689]|STRI|M3D|CPS|CPE|CAX)",
    "beams and rods": r"^ *(CBAR|CBEAM|CROD|CONROD|CTUBE|BEAM2)|TYPE *= *(B3|B2|T3D|T2D|PIPE)",
}
#: options that answer a message
ANSWERS = (
    (r"give --density|has no density", {"density": "7850 kg/m^3"}),
    (r"deck\.no_material", {"material": "steel"}),
    (r"deck\.units|unit-system", {"unit_system": "mm"}),
    (r"--supports fix", {"supports": "fix"}),
)


#: messages on decks that are no body: parts that are not published or apart, surfaces and lines without a
#: section, meshes torn on purpose, files of other things
NO_BODY = re.compile(
    r"included file|leaves the folder|mesh\.no_solids|parts that are not connected|falls into"
    r"|has no thickness"
    r"|expected a positive|is used and not defined|need \d+ nodes each|inverted or tangled|collapsed"
    r"|have no volume|hold no uniform thickness|without an entry before"
)


def kind_of(text):
    found = [name for name, cards in KINDS.items() if re.search(cards, text, re.I | re.M)]
    return found[0] if found else "other"


def outcome(path):
    """ "whole", "given", or the code and message of the error."""
    options = dict(LEAN)
    for attempt in range(len(ANSWERS) + 1):
        try:
            fm.reduce(path, **options)
            return "given" if attempt else "whole"
        except FlexmbsError as error:
            first = error.diagnostics[0]
            said = "; ".join(f"{item.code} {item.what}; {item.remedy}" for item in error.diagnostics)
            more = [answer for pattern, answer in ANSWERS if re.search(pattern, said)]
            more = [answer for answer in more if not set(answer) & set(options)]
            if not more:
                return f"{first.code}: {first.what}"
            options |= more[0]
    raise AssertionError("every answer is given once")


def by_calculix(path):
    """Largest difference of the first frequencies of the free body to CalculiX on the deck, or why not.

    Where it is above 1 %, also with the elements that ours are, in place of plain and reduced ones.
    """
    text = path.read_text("latin-1")
    found = _by_calculix(path, text)
    like = re.sub(r"(?i)(TYPE *= *)(C3D8|C3D20)R?(?= *(,|$))", _like_ours, text, flags=re.M)
    if like == text or not re.match(r"\d", found) or float(found.split()[0]) < 0.01:
        return found
    return f"{found}, {_by_calculix(path, like)} with our elements"


def _like_ours(card):
    return card[1] + {"C3D8": "C3D8I", "C3D20": "C3D20"}[card[2].upper()]


def _by_calculix(path, text):
    cards = [card for card in re.split(r"(?m)^(?=\*(?!\*))", re.split(r"(?im)^\*step\b", text)[0])]
    kept = [card for card in cards if not re.match(r"\*(boundary|initial|amplitude|physical)", card, re.I)]
    with tempfile.TemporaryDirectory() as folder:
        for other in path.parent.iterdir():
            if other.is_file():
                shutil.copy(other, folder)
        deck = Path(folder, "free.inp")
        for modes in (14, 11, 8):  # small meshes do not have as many
            deck.write_text("".join(kept).rstrip() + f"\n*STEP\n*FREQUENCY\n{modes}\n*END STEP\n", "latin-1")
            done = subprocess.run(
                ["ccx", "free"], cwd=folder, capture_output=True, text=True, timeout=SECONDS
            )
            lines = deck.with_suffix(".dat").read_text()
            found = re.findall(r"^ +\d+ +\S+ +\S+ +(\S+) +\S+ *$", lines, re.M)
            if "aupd: info" not in done.stdout:
                break
    if not any(float(word) > 0.0 for word in found):
        return " ".join(re.findall(r"\*ERROR[^\n]*", done.stdout)[:1]) or "CalculiX has no frequencies"
    ours = fm.reduce(path, **LEAN | {"modes": 8}).frequency_hz
    theirs = np.sort([float(word) for word in found])
    theirs = theirs[theirs > 1e-3 * theirs.max()][:4]
    n = min(len(ours), len(theirs))
    return f"{np.abs(ours[:n] / theirs[:n] - 1.0).max():.1e} of the first {n}" if n else "no elastic modes"


def told(path):
    try:
        return by_calculix(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def drawn(folder, per, seed):
    for repository in sorted(path for path in folder.iterdir() if path.is_dir()):
        decks = sorted(path for path in repository.rglob("*") if path.suffix.lower() in ENDINGS)
        yield from sorted(random.Random(seed).sample(decks, min(per, len(decks))))


def main(folder, per, seed, listed, calculix):
    counts, stopped = Counter(), Counter()
    box = {"shape": "box", "size": [1, 1, 1], "divisions": [2, 2, 2], "element": "hex8"}
    fm.reduce({"mesh": box, "material": "steel", **LEAN})  # imports, which the others inherit
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for path in drawn(folder, per, seed):
            kind = kind_of(path.read_text("latin-1"))
            try:
                found = pool.apply_async(outcome, (path,)).get(SECONDS)
            except multiprocessing.TimeoutError:
                found = f"longer than {SECONDS:g} s"
            except Exception as error:  # what must not be
                found = f"FAILED {type(error).__name__}: {error}"
            end = found if found in ("whole", "given") else "no body" if NO_BODY.search(found) else "stopped"
            counts[kind, end] += 1
            if found not in ("whole", "given"):
                stopped[kind, found.split(":")[0]] += 1
            if calculix and found == "whole" and path.suffix.lower() == ".inp":
                found += f"\t{pool.apply(told, (path,))}"
            if listed or calculix:
                print(f"{kind}\t{path.relative_to(folder)}\t{found}", flush=True)
    ends = ("whole", "given", "stopped", "no body")
    print(f"| decks with | reduced | after giving what was asked | stopped | are no body |\n{'| --- ' * 5}|")
    for kind in (*KINDS, "other"):
        row = [str(counts[kind, end]) for end in ends]
        print(f"| {kind} | {' | '.join(row)} |")
    for (kind, code), number in sorted(stopped.items()):
        print(f"{kind}: {number} stopped with {code}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--per", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument(
        "--calculix", action="store_true", help="compare .inp decks that are reduced as they are"
    )
    args = parser.parse_args()
    main(args.folder, args.per, args.seed, args.list, args.calculix)
