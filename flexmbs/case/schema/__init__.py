"""Classes of a case file, one per table: the Python API and the JSON Schema of `flexmbs schema`."""

from flexmbs.case.schema.casefile import CaseFile
from flexmbs.input.values import Context

__all__ = ["CaseFile", "Context"]
