"""State that a run starts from: assembled, in equilibrium, or the last one of another result (F34, F37)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.dynamics.descriptor.own_energies import bodies_with_energies, require_no_energies
from flexmbs.errors import Diagnostic, InputError, SolverError, UsageError, nearest
from flexmbs.model.rows import no_turns
from flexmbs.model.state import State
from flexmbs.results import Result
from flexmbs.simulate.motion.powers import N_QUAD
from flexmbs.simulate.record.items import coordinate_texts, own_texts, tree_texts

if TYPE_CHECKING:
    from flexmbs.simulate.settings import RunSettings

#: analyses that `simulate` offers
TYPES = ("assembly", "kinematics", "inverse_dynamics", "statics", "dynamics", "linearize")
FOLLOWED = ("kinematics", "inverse_dynamics")  # the motion is given
SINGLE = ("assembly", "statics", "linearize")  # one state
#: formulations with the analyses that they offer
OTHERS = ("assembly", "kinematics", "dynamics")
FORMULATIONS = {"recursive": TYPES, "descriptor": OTHERS, "minimal": OTHERS}


def is_followed(system: Any, settings: RunSettings) -> bool:
    """Whether the drives alone give the motion: not where elastic coordinates stay dynamic (F36)."""
    bends = bool(np.any(system.tables.body.nf > 0)) and settings.elastic == "dynamic"
    return settings.type in FOLLOWED and not (settings.type == "inverse_dynamics" and bends)


def bends(system: Any, settings: Any) -> bool:
    """Whether flexible bodies give way to their loads; else a prescribed motion holds their shape (F35)."""
    return settings.elastic == "quasi-static" or not is_followed(system, settings)


def start_state(system: Any, settings: RunSettings, warn: Callable[[str], None] | None = None) -> State:
    """The state at the start of a run, or the one state that is asked for; `warn` is told of doubts."""
    if settings.type not in TYPES:
        remedy = nearest(settings.type, TYPES)
        raise UsageError(
            Diagnostic("analysis.type", "analysis.type", f'"{settings.type}" is not offered', remedy)
        )
    check_formulation(settings)
    _check_energies(system, settings)
    state: State = system.initial_state()
    if settings.start.endswith(".h5"):
        state = from_result(system, state, Path(settings.start), warn)
    elif settings.start not in ("assembled", "equilibrium"):
        remedy = nearest(settings.start, ["assembled", "equilibrium", "other.h5"])
        raise UsageError(Diagnostic("analysis.start", "analysis.start", f'"{settings.start}"', remedy))
    if settings.type == "statics" or settings.start == "equilibrium":
        from flexmbs.dynamics.analyses.statics import equilibrium

        state = equilibrium(system, state, warn)
    if settings.type == "linearize":
        return about(system, state, settings, warn)
    return state


def about(system: Any, state: State, settings: RunSettings, warn: Callable[[str], None] | None) -> State:
    """The state about which a linear model stands: steady, unless another is asked for by name (F38)."""
    if settings.about == "equilibrium":
        from flexmbs.dynamics.analyses.steady import steady_state

        return steady_state(system, state, warn)
    if settings.about != "assembled":
        remedy = nearest(settings.about, ["assembled", "equilibrium"])
        raise UsageError(Diagnostic("analysis.about", "analysis.about", f'"{settings.about}"', remedy))
    if warn is not None:
        from flexmbs.dynamics.analyses.steady import warn_unsteady

        warn_unsteady(system, state, warn)
    return state


def has_inertia(system: Any, state: State) -> bool:
    """Whether inertia says how the mechanism would move on; where it does not, it can stand all the same."""
    try:
        system.forward_dynamics(state)
    except SolverError as error:
        return error.diagnostics[0].code != "solver.singular"
    return True


def check_formulation(settings: RunSettings) -> None:
    """Refuse what a formulation does not offer."""
    where, name = "analysis.formulation", settings.formulation
    if name not in FORMULATIONS:
        remedy = nearest(name, list(FORMULATIONS))
        raise UsageError(Diagnostic(where, where, f'formulation "{name}" is not offered', remedy))
    if settings.type not in FORMULATIONS[name] or (name != "recursive" and settings.start == "equilibrium"):
        what = f'{settings.type} from start = "{settings.start}" is not offered with formulation = "{name}"'
        raise UsageError(Diagnostic(where, where, what, 'choose "recursive"'))
    _check_stabilisation(settings)


def _check_energies(system: Any, settings: RunSettings) -> None:
    """Energies that bodies have of their own are terms of the descriptor form, and know no impacts."""
    if settings.type == "assembly":
        return
    if settings.formulation != "descriptor":
        require_no_energies(system.model, settings.formulation)
    elif np.any(system.tables.row.side) and bodies_with_energies(system.model):
        where = "analysis.formulation"
        what = "contacts that open (unilateral) do not go with energies that bodies have of their own"
        raise UsageError(Diagnostic(where, where, what, "set unilateral = false"))


def _check_stabilisation(settings: RunSettings) -> None:
    """Drift is a matter of the descriptor form."""
    where, word = "analysis.stabilisation", settings.stabilisation
    if word == "projection":
        return
    if settings.formulation != "descriptor":
        what = f'"{word}" belongs to formulation = "descriptor", not to "{settings.formulation}"'
        raise UsageError(
            Diagnostic(where, where, what, "the other formulations keep loops closed by themselves")
        )


def from_result(system: Any, state: State, path: Path, warn: Callable[[str], None] | None = None) -> State:
    """Last state of a result of the same mechanism; the time starts anew.

    Own values are those of the same name; those that the result does not have stay as in `state`, and `warn`
    is told.
    """
    result = Result.load(path)
    _same_coordinates(system, result, path)
    checkpoint = result.checkpoint()
    y = np.atleast_1d(np.asarray(checkpoint["integrator"]["y"], dtype=float))
    there = _texts(result, "own_values", path)
    n, m = system.n_pos, system.n_pos + system.n_vel
    k = m + len(there)
    last = k + N_QUAD + len(state.turns)
    wanted = last + int(np.count_nonzero(system.tables.row.side))
    if len(y) != wanted:
        what = f"has {len(y)} state values, this mechanism {wanted}"
        raise _of_another(path, what)
    own = dict(zip(there, y[m:k], strict=True))
    names = own_texts(system)
    aux = np.array([own.get(name, value) for name, value in zip(names, state.aux, strict=True)])
    missing, over = [x for x in names if x not in own], [x for x in there if x not in names]
    if missing and warn is not None:
        more = f"; not here are its {', '.join(over)}" if over else ""
        warn(f"not in {path.name}, so their initial values hold: {', '.join(missing)}{more}")
    turns = no_turns(system.tables.relation.kind) + y[k + N_QUAD : last]
    return State(0.0, y[:n].copy(), y[n:m].copy(), aux, turns)


def _same_coordinates(system: Any, result: Result, path: Path) -> None:
    """Refuse a state whose numbers mean other things: of another tree, other cuts, joints, or modes."""
    cuts = [text.partition(":")[0] for text in _texts(result, "cuts", path)]
    pairs = {
        "another tree": (_texts(result, "tree", path), tree_texts(system)),
        "other cuts": (cuts, [j.name for j in system.topology.cuts]),
        "other coordinates": (_texts(result, "coordinates", path), coordinate_texts(system)),
    }
    for what, (there, here) in pairs.items():
        if there != here:
            n = next((k for k, (a, b) in enumerate(zip(there, here, strict=False)) if a != b), None)
            n = min(len(there), len(here)) if n is None else n
            one, other = ((texts[n] if n < len(texts) else "none") for texts in (there, here))
            raise _of_another(path, f"has {what}: {one}, here {other}")


def _texts(result: Result, name: str, path: Path) -> list[str]:
    """Texts of /topology; none where they say so."""
    if f"topology/{name}" not in result.paths:
        raise _of_another(path, f"does not say what its values mean: /topology/{name} is missing")
    texts = [str(text) for text in result[f"topology/{name}"]]
    return [] if texts == ["none"] else texts


def _of_another(path: Path, what: str) -> InputError:
    remedy = "keep cuts, formulation, modes, and the order of bodies and joints; or run it again"
    return InputError(Diagnostic("analysis.start", str(path), what, remedy))
