"""The manual is true: its cases are loaded, checked and run, its commands and Python blocks are executed."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flexmbs.case import Case
from flexmbs.cli.main import build_parser, main
from flexmbs.model.couplings.base import COUPLINGS
from flexmbs.model.forces.base import FORCES
from flexmbs.model.joints.base import JOINTS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
README = "../README.md"
PAGES = [*sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")), README]
#: what sets up an environment; .ci/run does it from the wheel, and a test of tests/test_docs.py is part of it
SETUP = ("sudo apt-get install ", "python3 -m venv ", "pip install ", "python -m pytest")
HEAVY_COMMANDS = {"run", "reduce", "demo", "stress", "animate", "report", "verify", "sweep", "mesh"}
HEAVY_PYTHON = ("fm.run(", "fm.reduce(", ".system(")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the file name in its first line, `# name.toml: ...`."""

    page: str
    kind: str
    text: str
    name: str = ""


def blocks_of(page: str) -> list[Block]:
    text = (DOCS / page).read_text("utf-8")
    found = []
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        named = re.match(r"# ([\w-]+(?:\.reduce)?\.(?:toml|py|csv))\b", match[2])
        found.append(Block(page, match[1], match[2], named[1] if named else ""))
    return found


def lines_of(block: Block) -> list[str]:
    """Commands of a shell block, each on a line, as in an environment that is active."""
    text = block.text.replace("\\\n", " ").replace(".venv/bin/", "")
    return [line.strip() for joined in text.splitlines() for line in joined.split("&&") if line.strip()]


def commands(block: Block) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in lines_of(block) if line.startswith("flexmbs ")]


def is_heavy(page: str) -> bool:
    for block in blocks_of(page):
        if block.kind == "shell" and any(words[1] in HEAVY_COMMANDS for words in commands(block)):
            return True
        if block.kind == "python" and any(sign in block.text for sign in HEAVY_PYTHON):
            return True
    return False


def is_recipe(block: Block) -> bool:
    return block.name.endswith(".reduce.toml")


def is_case(block: Block) -> bool:
    return block.kind == "toml" and bool(block.name) and not is_recipe(block)


CASES = [pytest.param(b, id=f"{b.page}:{b.name}") for page in PAGES for b in blocks_of(page) if is_case(b)]
#: cases of the pages of elements are small and check themselves; others are run by the commands of their page
SELF_CHECKING = [item for item in CASES if "[expected]" in item.values[0].text]
#: pages that show other libraries
NEEDED = {
    "how_to_optimisers.md": ("optuna", "pymoo"),
    "from_urdf.md": ("yourdfpy",),
    "from_mjcf.md": ("mujoco",),
}
STORIES = [
    pytest.param(
        page,
        marks=[
            *([pytest.mark.slow] if is_heavy(page) else []),
            *([pytest.mark.needs(*NEEDED[page])] if page in NEEDED else []),
        ],
    )
    for page in PAGES
    if any(block.kind in ("shell", "python") for block in blocks_of(page))
]


def write_files(folder: Path, page: str) -> None:
    """The files that a page may use: the shipped ones, and those that it shows."""
    for name in ("meshes", "cases"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.modal.h5", "reference"))
    shutil.copy(ROOT / ".flexmbs-root", folder)
    for block in blocks_of(page):
        if block.name:
            (folder / block.name).write_text(block.text, "utf-8")


def test_there_is_something_to_test() -> None:
    assert len(CASES) > 20 and len(STORIES) > 5


@pytest.mark.parametrize("page", PAGES)
def test_toml_blocks_are_toml(page: str) -> None:
    for block in blocks_of(page):
        if block.kind == "toml":
            tomllib.loads(block.text)


@pytest.mark.parametrize("page", PAGES)
def test_commands_have_these_options(page: str) -> None:
    """Also commands in indented text, where a name in capitals stands for a file."""
    parser = build_parser()
    for line in (DOCS / page).read_text("utf-8").splitlines():
        found = re.match(r"(?:    +)?(?:\.venv/bin/)?flexmbs (?!=)(.*)$", line)
        if found and "|" not in found[1] and "[" not in found[1]:
            words = shlex.split(re.split(r"\s{5,}", found[1])[0].rstrip("\\"), comments=True)
            parser.parse_args(words)


@pytest.mark.parametrize("block", CASES)
def test_case_builds(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, block.page)
    monkeypatch.chdir(tmp_path)
    case = Case.load(block.name, allow_python=True)
    made = [*case.spec.bodies.values(), *case.spec.inputs.values()]  # by commands of the page
    if not any(getattr(item, "type", None) in ("flexible", "fmu") for item in made):
        assert case.model().bodies


@pytest.mark.slow
@pytest.mark.parametrize("block", SELF_CHECKING)
def test_case_gives_what_the_page_says(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, block.page)
    monkeypatch.chdir(tmp_path)
    python = ["--allow-python"] if "function =" in block.text else []
    assert main(["run", block.name, "--quiet", "-o", "out.h5", *python]) == 0


@pytest.mark.parametrize("page", STORIES)
def test_page_runs_from_top_to_bottom(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Commands and Python of a page, in order, in one folder; a comment `# exit 3` names another ending."""
    write_files(tmp_path, page)
    monkeypatch.chdir(tmp_path)
    # gmsh of a page lets a broken connection of any later test end the process without a word
    request.addfinalizer(lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
    space: dict[str, object] = {"__name__": "manual"}
    for block in blocks_of(page):
        if block.kind == "python" and not block.name:
            exec(compile(block.text, f"docs/{page}", "exec", dont_inherit=True), space)
        for line in lines_of(block) if block.kind == "shell" else ():
            words = shlex.split(line, comments=True)
            if words[0] == "flexmbs":
                said = re.search(r"# exit (\d+)", line)
                assert main(words[1:]) == (int(said[1]) if said else 0), line
            elif words[0] == "cp":
                shutil.copy(*words[1:])
            else:
                assert line.startswith(SETUP), f"{page}: nothing executes {line}"


@pytest.mark.parametrize("page", PAGES)
def test_no_block_escapes_the_tests(page: str) -> None:
    """Code stands in fenced blocks of kinds that are executed; indented text is output or mathematics."""
    text = (DOCS / page).read_text("utf-8")
    fences = re.findall(r"^```(\w*)$", text, re.M)
    assert set(fences[::2]) <= {"toml", "python", "shell"} and not any(fences[1::2]), (
        "an unknown kind of block"
    )
    for block in blocks_of(page):
        assert block.kind != "toml" or block.name, f"without a name nothing runs it: {block.text[:60]}"
        runs = is_case(block) and "[expected]" in block.text
        used = not block.name or runs or block.name in text.replace(block.text, "")
        assert used, f"no command of the page uses {block.name}"
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    code = r"^ {4,}(?:flexmbs |pip |python3? |import |from \w+ import|\[[\w.\"]+\]$|\w+ += +[{\"])"
    assert not re.findall(code, prose, re.M), "code in indented text"


@pytest.mark.parametrize(
    "group, registry", [("joints", JOINTS), ("couplings", COUPLINGS), ("forces", FORCES)]
)
def test_every_type_has_a_page_with_sketch_equations_and_a_case(group: str, registry: Iterable[str]) -> None:
    """A sketch, an equation of the formulation, and a case that runs; linked from the page of the group."""
    overview = (DOCS / f"{group}.md").read_text("utf-8")
    pages = {path: path.read_text("utf-8") for path in (DOCS / group).glob("*.md")}
    for name in registry:
        found = [path for path, text in pages.items() if re.search(rf"\b{name}\b", text.splitlines()[0])]
        assert len(found) == 1, f"one page of docs/{group}/ has {name} in its title, found {found}"
        text = pages[found[0]]
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        sketch = re.search(r"^!\[.*\]\(\.\./(sketches/\w+\.svg)\)", prose, re.M)
        assert sketch and (DOCS / sketch[1]).is_file(), f"{name}: no sketch"
        assert re.search(r"\(F\d+", prose), f"{name}: no equation"
        assert re.search(r"^```toml\n# [\w-]+\.toml", text, re.M), f"{name}: no case"
        assert f"[`{name}`]({group}/{found[0].name})" in overview, f"{name} is not linked in docs/{group}.md"


def anchors_of(path: Path) -> set[str]:
    """Names that mkdocs gives to the headings of a page."""
    prose = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.*)$", prose, re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", (DOCS / page).read_text("utf-8")):
        if "://" not in target:
            name, _, anchor = target.partition("#")
            path = (DOCS / page).parent / name if name else DOCS / page
            assert path.is_file(), f"{page}: {target}"
            assert not anchor or anchor in anchors_of(path), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES)
def test_stars_of_formulas_are_not_taken_for_emphasis(page: str) -> None:
    """Two stars in a paragraph are eaten by Markdown, as in M* and f*, unless they stand in code."""
    prose = re.sub(r"^```.*?^```$", "", (DOCS / page).read_text("utf-8"), flags=re.M | re.S)
    prose = re.sub(r"^    .*$|^\s*\* |`[^`\n]*`|\*\*|\\\*", "", prose, flags=re.M)
    for paragraph in re.split(r"\n\s*\n", prose):
        for found in re.finditer(r"\*[^*]+\*", paragraph):
            assert not paragraph[: found.start()][-1:].isalnum(), paragraph


def test_every_page_is_in_the_contents() -> None:
    contents = (DOCS / "mkdocs.yml").read_text("utf-8")
    assert [page for page in PAGES if page != README and f"{page}\n" not in contents] == []


def test_cited_equations_exist() -> None:
    numbers = set(re.findall(r"\bF\d+[a-z]?\b", (DOCS / "formulation.md").read_text("utf-8")))
    for page in PAGES:
        cited = set(re.findall(r"\bF\d+[a-z]?\b", (DOCS / page).read_text("utf-8")))
        assert cited <= numbers, (page, cited - numbers)


def test_all_commands_and_options_are_on_the_page() -> None:
    text = (DOCS / "commands.md").read_text("utf-8")
    parser = build_parser()
    missing = []
    for name, sub in parser.commands.items():  # type: ignore[attr-defined]
        section = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", text, re.M | re.S)
        if section is None:
            missing.append(name)
            continue
        for action in sub._actions:
            hidden = action.help == "==SUPPRESS==" or action.dest in (
                "help", "json", "quiet", "verbose", "log", "traceback", "color",
            )  # fmt: skip
            options = [option for option in action.option_strings if option.startswith("--")]
            if not hidden and options and f"`{options[0]}" not in section[1]:
                missing.append(f"{name} {options[0]}")
    assert not missing, "add to docs/commands.md: " + ", ".join(missing)
