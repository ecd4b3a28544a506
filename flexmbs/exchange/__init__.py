"""Reduced bodies in the files of other programs: written from modal data, and read as modal data."""

from flexmbs.exchange.bodies import FORMATS, export_body, import_body

__all__ = ["FORMATS", "export_body", "import_body"]
