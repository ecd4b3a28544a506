"""The structure of the program: rooms import only from rooms above, equations exist, one door per library."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "flexmbs"

# in this order; a room imports only from rooms listed above it (or from itself)
ROOMS = [
    "_kernel_links", "errors", "interrupts", "registry", "_handles", "_bound", "_trial", "_jit", "_dispatch",
    "_trial_kernels", "_simd", "resources", "disk", "hdf5", "toml_file", "units", "expressions", "channels",
    "spatial", "input", "fe", "modal", "ffrf", "modaldata", "certificate", "reduce", "exchange",
    "model", "dynamics", "integrate", "results", "simulate", "case", "study", "fmu",
    "post", "view", "verify", "demo", "cli",
]  # fmt: skip

#: budgets: a change that needs more first makes room
LONGEST_CHAIN = 20
KERNEL_LINES = 4987
MOST_ARGUMENTS = 8

ONLY_IMPORTER = {
    "numba": {"_bound", "_dispatch", "_handles", "_jit", "_simd"},
    "h5py": {"hdf5"},
    "meshio": {"fe"},
    "skfem": {"fe"},
    "matplotlib": {"post"},
    "tomllib": {"toml_file"},
}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "flexmbs":
                yield from (f"flexmbs.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_above(path):
    here = room(path)
    if here in ("__init__", "data"):
        return
    assert here in ROOMS, f"{here} is not in the list of rooms"
    for name in imported(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] == "flexmbs" and len(parts) > 1 and parts[1] in ROOMS:
            assert ROOMS.index(parts[1]) <= ROOMS.index(here), f"{path.name} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_one_door_per_library(path):
    for name in imported(ast.parse(path.read_text())):
        allowed = ONLY_IMPORTER.get(name.split(".")[0])
        assert allowed is None or room(path) in allowed, f"{path.name} imports {name}"


def test_cited_equations_exist():
    formulation = (ROOT / "docs" / "formulation.md").read_text()
    known = set(re.findall(r"\(F(\d+a?)(?:-F\d+a?)?\)", formulation))
    for low, high in re.findall(r"\(F(\d+)a?-F(\d+)a?\)", formulation):
        known.update(f"{number}{letter}" for number in range(int(low), int(high) + 1) for letter in ("", "a"))
    for path in modules():
        for number in re.findall(r"\(F(\d+a?)[^)]*\)", path.read_text()):
            assert number in known, f"{path.name} cites (F{number}), which is not in docs/formulation.md"


def test_no_print_or_exit_inside_the_library():
    for path in modules():
        if room(path) == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"print", "exit", "input"}, f"{path.name}:{node.lineno}"


CHECK = (
    "import sys; from flexmbs.cli.main import main; assert main(['check', sys.argv[1]]) == 3; "
    "print(*[name for name in sys.modules if name.split('.')[0] in ('flexmbs', 'numba', 'scipy', 'h5py')])"
)


def test_a_typing_error_is_found_by_few_modules(tmp_path):
    """`flexmbs check` reads the file before it loads what mechanics needs."""
    force = "type = 'spring_damper'\nfrom = 'ground'\nto = 'a'\npreload = 3\n"
    gear = "type = 'gear'\nwheels = ['a', 'ground']\nteeth = [1, 2]\n"
    joint = "type = 'revolut'\nfrom = 'ground'\nto = 'a'\n"
    text = f"titel = 'a'\n[joints.j]\n{joint}[forces.f]\n{force}[couplings.c]\n{gear}"
    (tmp_path / "a.toml").write_text(text)
    command = [sys.executable, "-c", CHECK, tmp_path / "a.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert 'did you mean "title"' in done.stderr and 'did you mean "revolute"' in done.stderr
    found = done.stdout.split()
    assert len(found) < 60 and {name.split(".")[0] for name in found} == {"flexmbs"}, found


def imports_at_start():
    """Module -> modules of flexmbs that are loaded with it: imports outside functions and TYPE_CHECKING."""
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in modules()}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}

    def statements(body):
        for node in body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
            elif isinstance(node, ast.If | ast.Try):
                yield from statements([*node.body, *node.orelse])

    found = {name: set(statements(ast.parse(path.read_text()).body)) for name, path in files.items()}
    return {name: (wanted & set(files)) - {name} for name, wanted in found.items()}


def longest_chain(graph):
    """Longest path of imports; modules that import each other count once."""
    depth, path, low, number, stack = {}, {}, {}, {}, []

    def visit(name):
        low[name] = number[name] = len(number)
        stack.append(name)
        for other in graph[name]:
            if other not in number:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            below = max(
                {other for member in group for other in graph[member]} - set(group), key=depth.get, default=""
            )
            for member in group:
                depth[member] = 1 + depth.get(below, 0)
                path[member] = [name, *path.get(below, [])]

    for name in graph:
        if name not in number:
            visit(name)
    return path[max(depth, key=depth.get)]


def test_no_chain_of_imports_is_long():
    chain = longest_chain(imports_at_start())
    assert len(chain) <= LONGEST_CHAIN, " -> ".join(chain)


def test_the_longest_chain_is_found():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"b", "e"}, "d": {"e"}, "e": set()}
    assert longest_chain(graph) == ["a", "b", "d", "e"]


@pytest.mark.parametrize("here", ["model", "dynamics", "integrate", "simulate"])
def test_a_tolerance_has_one_name_in_its_room(here):
    """Constants that are fractions: what two modules need, one of them or `tolerances.py` has."""
    found = {}
    for path in (PACKAGE / here).rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.Assign):
                continue
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = zip(target.elts, value.elts, strict=True)
            for name, number in pairs:
                if isinstance(number, ast.Constant) and isinstance(number.value, float):
                    found.setdefault(ast.unparse(name), []).append(path.name)
    assert found and not {name: files for name, files in found.items() if len(files) > 1}


def kernels():
    """Room, name, number of lines and of arguments of every compiled function."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                if any(ast.unparse(item).partition("(")[0] == "kernel" for item in node.decorator_list):
                    yield room(path), node.name, node.end_lineno - node.lineno + 1, len(node.args.args)


def test_kernels_stay_within_their_budget():
    """Every line costs a first start 5 ms; the numbers go down, never up."""
    found = list(kernels())
    lines = sum(size for here, _, size, _ in found if here in ("model", "dynamics", "integrate", "simulate"))
    assert lines <= KERNEL_LINES, "kernel lines of stage 2"
    many = sorted(f"{name} ({n})" for _, name, _, n in found if n > MOST_ARGUMENTS)
    assert not many, many
