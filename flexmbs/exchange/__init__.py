"""Bodies and mechanisms of other programs: written from modal data, read as modal data and cases."""

from flexmbs.exchange.bodies import FORMATS, export_body, import_body
from flexmbs.exchange.robots import import_robot

__all__ = ["FORMATS", "export_body", "import_body", "import_robot"]
