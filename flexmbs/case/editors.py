"""What editors need to help with cases and recipes: schemas, settings of the TOML servers taplo and tombi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flexmbs import disk
from flexmbs.input.document import json_schema

SCHEMAS = ".flexmbs"
#: recipes are named so; other TOML files with bodies or joints are cases
RECIPES = "**/*.reduce.toml"

_TAPLO = """# made by flexmbs schema --install, for taplo: the server of Even Better TOML and of Neovim
[[rule]]
include = ["**/*.toml"]
exclude = ["{recipes}", "**/pyproject.toml", ".taplo.toml", "tombi.toml"]
schema = {{ path = "./{folder}/case.schema.json", enabled = true }}

[[rule]]
include = ["{recipes}"]
schema = {{ path = "./{folder}/recipe.schema.json", enabled = true }}
"""
_TOMBI = """# made by flexmbs schema --install: the TOML server tombi
[[schemas]]
path = "{folder}/recipe.schema.json"
include = ["{recipes}"]

[[schemas]]
path = "{folder}/case.schema.json"
include = ["*.toml", "**/*.toml"]
"""
_EXTENSIONS = {"recommendations": ["tamasfe.even-better-toml"]}


def schema_of(kind: str) -> dict[str, Any]:
    """JSON Schema of "case" or "recipe" files."""
    if kind == "recipe":
        from flexmbs.reduce.tables import RecipeFile

        return json_schema(RecipeFile, kind)
    from flexmbs.case.schema.casefile import CaseFile

    return json_schema(CaseFile, kind)


def install(folder: str | Path, *, overwrite: bool = False) -> list[str]:
    """Set up a folder; returns the files. Settings that are there already are refused without `overwrite`."""
    folder = Path(folder)
    words = {"recipes": RECIPES, "folder": SCHEMAS}
    texts = {
        **{
            f"{SCHEMAS}/{kind}.schema.json": json.dumps(schema_of(kind), indent=2)
            for kind in ("case", "recipe")
        },
        ".taplo.toml": _TAPLO.format(**words),
        "tombi.toml": _TOMBI.format(**words),
        ".vscode/extensions.json": json.dumps(_EXTENSIONS, indent=2),
    }
    if (folder / ".vscode/extensions.json").exists():
        del texts[".vscode/extensions.json"]  # somebody's own; it is advice and no more
    for name in texts:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        disk.check_target(folder / name, overwrite or name.startswith(SCHEMAS))
    for name, text in texts.items():
        with disk.atomic_file(folder / name, overwrite or name.startswith(SCHEMAS)) as raw:
            raw.write((text.rstrip() + "\n").encode())
    return list(texts)
