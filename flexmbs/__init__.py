"""flexmbs: flexible multibody dynamics, from a mesh to modal data and from a mechanism to motion."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from flexmbs._kernel_links import link_where_read_only

__version__ = "0.1.0"

# public name -> module that holds it; imported at first use, so that `import flexmbs` costs nothing
_PUBLIC = {
    "reduce": "flexmbs.reduce",
    "ModalData": "flexmbs.modaldata",
    "export_body": "flexmbs.exchange",
    "import_body": "flexmbs.exchange",
    "import_robot": "flexmbs.exchange",
    "Case": "flexmbs.case",
    "Model": "flexmbs.case.fluent",
    "run": "flexmbs.case",
    "simulation": "flexmbs.case",
    "Result": "flexmbs.results",
    "Study": "flexmbs.study.study",
    "sweep": "flexmbs.study.run",
    "run_one": "flexmbs.study.run",
    "slopes": "flexmbs.study.slopes",
    "fit": "flexmbs.study.fit",
    "optimise": "flexmbs.study.optimise",
    "Limits": "flexmbs.fe.pieces.route",
    "FlexmbsError": "flexmbs.errors",
    "InputError": "flexmbs.errors",
    "SolverError": "flexmbs.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        if name.startswith("_"):
            raise AttributeError(name)
        from flexmbs.errors import unknown_name

        raise unknown_name("flexmbs", name, __all__)
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `flexmbs.reduce` the function: importing its module would bind the module over it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
link_where_read_only()
