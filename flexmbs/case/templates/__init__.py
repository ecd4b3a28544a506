"""What `flexmbs new` begins with: templates, each a folder here, and the shipped cases with their files."""

from __future__ import annotations

import re
from pathlib import Path

from flexmbs.errors import Diagnostic, InputError, UsageError, nearest
from flexmbs.resources import resource
from flexmbs.toml_file import read_toml

_HERE = Path(__file__).resolve().parent


def names() -> list[str]:
    """Names of the templates."""
    return sorted(item.name for item in _HERE.iterdir() if item.is_dir() and (item / "README.md").is_file())


def cases() -> dict[str, str]:
    """Names and titles of the shipped cases."""
    found = {}
    for path in sorted(resource("cases").glob("*.toml")):
        if not path.name.endswith(".reduce.toml"):
            found[path.stem] = str(read_toml(path).data.get("title", ""))
    return found


def listed() -> dict[str, str]:
    """What `flexmbs new` can begin with: templates, and `case:NAME` of every shipped case; with titles."""
    own = {}
    for name in names():
        heading = (_HERE / name / "README.md").read_text("utf-8").splitlines()[0]
        own[name] = heading.lstrip("# ")
    return own | {f"case:{name}": title for name, title in cases().items()}


def create(template: str, folder: str | Path) -> list[str]:
    """Fill a new folder from a template or a shipped case, `case:NAME`; returns the names of its files."""
    name = template.removeprefix("case:")
    if template.startswith("case:") and name in cases():
        files = files_of_case(resource("cases", f"{name}.toml"))
    elif template in names():
        files = {item.name: item.read_bytes() for item in (_HERE / template).iterdir() if item.is_file()}
    else:
        remedy = nearest(template, list(listed()))
        raise UsageError(Diagnostic("new.template", "new", f'there is no template "{template}"', remedy))
    target = Path(folder)
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            what = "exists and is not an empty folder"
            raise InputError(Diagnostic("new.exists", str(target), what, "choose another name"))
        target.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (target / file).write_bytes(content)
    except OSError as error:
        raise InputError(
            Diagnostic("file.write", str(target), f"cannot be written: {error.strerror}")
        ) from None
    return sorted(files)


#: a text in a TOML file that names another file
_FILE = re.compile(r'"([^"\n]*\.(?:toml|msh|inp|vtu|csv|py|h5|stl|k2|mtx))"')


def files_of_case(path: Path) -> dict[str, bytes]:
    """A case and all files that it names, and those that these name, side by side in one folder."""
    found: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        content = file.read_bytes()
        if file.suffix == ".toml":
            text = content.decode("utf-8")
            for name in set(_FILE.findall(text)):
                other = file.parent / name
                if name.startswith("../results/"):
                    text = text.replace(f'"{name}"', f'"{other.name}"')  # what it writes
                elif other.is_file():
                    text = text.replace(f'"{name}"', f'"{other.name}"')
                    waiting += [other] if other.name not in found else []
            content = text.encode("utf-8")
        found[file.name] = content
    return found
