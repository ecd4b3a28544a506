"""Options that several commands share, from text to values."""

from __future__ import annotations

from collections.abc import Sequence

from flexmbs.errors import Diagnostic, UsageError


def pairs(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise UsageError(Diagnostic("usage.pair", option, f'"{text}" is not of the form {form}'))
        found[name.strip()] = value.strip()
    return found
