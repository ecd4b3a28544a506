"""From a case file to the model: TOML -> checked tables -> `Model` -> `System`; and to its result."""

from __future__ import annotations

from typing import Any

from flexmbs.case.case import Case

__all__ = ["Case", "run", "simulation"]


def run(case: Any, path: Any = None, **parameters: Any) -> Any:
    """Run a case (or case file) and return its result; see `flexmbs.case.runner.run`."""
    from flexmbs.case.runner import run as run_case

    return run_case(case, path, **parameters)


def simulation(case: Any, **parameters: Any) -> Any:
    """A case to be stepped by the caller; see `flexmbs.case.runner.simulation`."""
    from flexmbs.case.runner import simulation as simulation_of_case

    return simulation_of_case(case, **parameters)
