"""Templates of `flexmbs new`: each is a folder here, copied as it stands."""

from __future__ import annotations

from pathlib import Path

from flexmbs.errors import Diagnostic, InputError, UsageError, nearest

_HERE = Path(__file__).resolve().parent


def names() -> list[str]:
    """Names of the templates."""
    return sorted(item.name for item in _HERE.iterdir() if item.is_dir() and (item / "README.md").is_file())


def create(template: str, folder: str | Path) -> list[str]:
    """Copy a template to a new folder; returns the names of its files."""
    if template not in names():
        remedy = nearest(template, names())
        raise UsageError(Diagnostic("new.template", "new", f'there is no template "{template}"', remedy))
    target = Path(folder)
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            what = "exists and is not an empty folder"
            raise InputError(Diagnostic("new.exists", str(target), what, "choose another name"))
        target.mkdir(parents=True, exist_ok=True)
        files = sorted(item for item in (_HERE / template).iterdir() if item.is_file())
        for item in files:
            (target / item.name).write_bytes(item.read_bytes())
    except OSError as error:
        raise InputError(
            Diagnostic("file.write", str(target), f"cannot be written: {error.strerror}")
        ) from None
    return [item.name for item in files]
