"""A case or recipe names files of its root only, and leaves nothing behind that was not asked for."""

import os

import pytest

import flexmbs as fm
from flexmbs.case.build import cache
from flexmbs.case.runner import result_path, settings
from flexmbs.cli.main import main
from flexmbs.disk import MARKER, OutsideError, inside, root_of
from flexmbs.errors import InputError
from flexmbs.reduce import load_recipe

BODY = '[bodies.a]\ntype = "rigid"\nmass = 1\n[joints.j]\ntype = "revolute"\nfrom = "ground"\nto = "a"\n'
FLEXIBLE = '[bodies.a]\ntype = "flexible"\n{}\n[joints.j]\ntype = "fixed"\nfrom = "ground"\nto = "a"\n'
RECIPE = """\
modes = 1
interfaces = ["x_min"]
material = "steel"
mesh = { shape = "box", size = [1, 0.1, 0.1], divisions = [1, 1, 1], element = "hex8" }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FLEXMBS_CACHE", str(tmp_path / "cache"))
    for name in ("mine/cases", "mine/meshes", "theirs"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def case(folder, text):
    path = folder / "mine" / "cases" / "a.toml"
    path.write_text(text)
    return path


def test_the_root_is_the_nearest_marked_folder_or_the_folder_itself(folder):
    cases = folder / "mine" / "cases"
    assert root_of(cases) == cases
    (folder / "mine" / MARKER).touch()
    assert root_of(cases) == folder / "mine"
    assert inside(root_of(cases), cases, "../meshes/a.msh") == cases / "../meshes/a.msh"
    for name in ("../../theirs/x", "/etc/passwd", "../.."):
        with pytest.raises(OutsideError, match="outside of mine"):
            inside(root_of(cases), cases, name)


@pytest.mark.parametrize("name", ["../../theirs/x.h5", "/etc/passwd", "link/x.h5"])
@pytest.mark.parametrize(
    "text, use",
    [
        (BODY + '[output]\nfile = "{}"', result_path),
        (BODY + '[analysis]\nt_end = 1\nstart = "{}.h5"', settings),
        (BODY + '[analysis]\ntype = "inverse_dynamics"\nmotion = "{}"', settings),
        (FLEXIBLE.format('modal = "{}"'), fm.Case.model),
        (FLEXIBLE.format('reduce = "{}"'), fm.Case.model),
        (BODY.replace("mass = 1", 'mass = 1\nvisual = {{ file = "{}" }}'), fm.Case.model),
        ('include = ["{}"]\n' + BODY, lambda case: None),
    ],
)
def test_a_case_names_files_of_its_root_only(folder, text, use, name):
    (folder / "mine" / "cases" / "link").symlink_to("../../theirs")
    path = case(folder, text.format(name))
    with pytest.raises(
        InputError, match=r"a.toml:\d+:\d+  error  .* lies outside of cases, the root"
    ) as caught:
        use(fm.Case.load(path))
    assert caught.value.diagnostics[0].code in ("file.outside", "case.include")


def test_a_recipe_names_files_of_its_root_only_and_options_name_any(folder):
    recipe = folder / "mine" / "cases" / "a.reduce.toml"
    steel = folder / "theirs" / "steel.toml"
    steel.write_text("young = 2e11\npoisson = 0.3\ndensity = 7800\n")
    recipe.write_text(RECIPE.replace('"steel"', f'"{steel}"'))
    with pytest.raises(InputError, match="a.reduce.toml:3:12  error  material: .* lies outside of cases"):
        fm.reduce(recipe)
    recipe.write_text(RECIPE)
    out = folder / "mine" / "a.modal.h5"
    assert main(["reduce", str(recipe), "--material", str(steel), "-o", str(out), "--quiet"]) == 0
    recipe.write_text(RECIPE.replace('"steel"', '"../../theirs/steel.toml"'))
    words = ["reduce", str(recipe), "-o", str(out), "--overwrite", "--quiet"]
    assert main(words) == 3
    assert main([*words, "--root", str(folder)]) == 0


def test_check_leaves_nothing_but_in_the_cache(folder, capsys):
    (folder / "mine" / "cases" / "rec.reduce.toml").write_text(RECIPE)
    path = case(folder, FLEXIBLE.format('reduce = "rec.reduce.toml"'))
    before = sorted(folder.rglob("*"))
    assert main(["check", str(path), "--quiet"]) == 0
    assert [item for item in sorted(folder.rglob("*")) if "cache" not in item.parts] == before
    (kept,) = cache.folder().iterdir()
    made = kept.stat().st_mtime_ns
    os.utime(kept, (1, 1))
    assert main(["check", str(path), "--quiet"]) == 0
    assert kept.stat().st_mtime_ns > 10**10 and made  # it was used, and not made again
    kept.write_bytes(b"damaged")
    assert main(["check", str(path), "--quiet"]) == 0


def test_files_on_the_command_line_lie_anywhere(folder):
    path = case(folder, BODY)
    chosen = fm.Case.load(path, **{"output.file": str(folder / "theirs" / "x.h5")})
    assert result_path(chosen) == folder / "theirs" / "x.h5"


def test_the_cache_forgets_what_was_used_longest_ago(folder, monkeypatch):
    point = {"shape": "points", "points": [[0, 0, 0]]}
    recipes = [load_recipe({"mesh": point | {"masses": [k]}, "modes": 0}, {}) for k in (1, 2, 3)]
    modal = fm.reduce(recipes[0])
    for k, recipe in enumerate(recipes[:2]):
        os.utime(cache.keep(recipe, modal), (k + 1, k + 1))
    size = cache.place(recipes[0]).stat().st_size
    monkeypatch.setattr(cache, "MOST_BYTES", int(2.5 * size))
    (cache.folder() / "notes.txt").write_text("precious")
    cache.keep(recipes[2], modal)
    assert [cache.load(recipe) is not None for recipe in recipes] == [False, True, True]
    assert (cache.folder() / "notes.txt").read_text() == "precious"
