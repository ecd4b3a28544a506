"""Python functions as laws of forces: only with the user's leave, only from files of the case's folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from flexmbs.case.build.report import Report
from flexmbs.expressions import confined
from flexmbs.input.laws import PythonLaw
from flexmbs.input.source import Path_


def load_function(report: Report, path: Path_, law: PythonLaw) -> Callable[..., Any] | None:
    """The function that `file.py:name` names; None when that fails (the report says why)."""
    if not report.allow_python:
        report.fail(
            path,
            f'the Python function "{law.function}" runs only with --allow-python',
            "give that option if you trust the file",
            code="case.python",
        )
        return None
    file, _, name = law.function.rpartition(":")
    with report.at((*path, "function")):
        target = confined(report.source.folder, file, report.source.root)
        spec = importlib.util.spec_from_file_location(f"flexmbs_law_{target.stem}", target)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # whatever a user's file does wrong is an error of the case
            report.fail((*path, "function"), f"{file} cannot be loaded: {type(error).__name__}: {error}")
            return None
        function = getattr(module, name, None)
        if not callable(function):
            report.fail((*path, "function"), f'{file} has no function "{name}"')
            return None
        return function
    return None
