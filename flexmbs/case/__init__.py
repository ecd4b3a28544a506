"""From a case file to the model: TOML -> checked tables -> `Model` -> `System`."""

from flexmbs.case.case import Case

__all__ = ["Case"]
