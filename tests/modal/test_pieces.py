"""Bodies whose stiffness is eliminated in pieces against the same bodies with the factor in memory."""

from functools import partial

import numpy as np
import pytest

from flexmbs.certificate.proofs import count_below
from flexmbs.fe.pieces.factor import PiecesFactor
from flexmbs.fe.solve.solvers import factorise
from flexmbs.modal.eigen import modes_of
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import tie
from flexmbs.reduce import load_recipe
from flexmbs.reduce.source import read_source
from flexmbs.resources import resource

BEAM = {
    "mesh": {"shape": "beam", "length": 1.0, "divisions": 60,
             "section": {"A": 7e-5, "Iy": 8e-9, "Iz": 1.3e-8, "J": 2e-8}},
    "material": "steel", "modes": 5,
    "interfaces": {"left": {"set": "x_min"}, "right": {"set": "x_max", "tie": "rbe3"}},
}  # fmt: skip
BLOCK = {
    "mesh": {"shape": "box", "element": "hex20", "size": [0.4, 0.1, 0.1], "divisions": [8, 3, 3]},
    "material": "aluminium", "modes": 5,
}  # fmt: skip

#: solids with interfaces of both kinds, shells, beams, a free body, a supported one
BODIES = {
    "solid": ("rod.reduce.toml", {}, 700),
    "shell": ("arm.reduce.toml", {}, 900),
    "free": ("plate.reduce.toml", {"interfaces": [], "modes": 5}, 300),
    "beam": (BEAM, {}, 30),
    "supported": (BLOCK, {"fix": {"x_min": "x y z"}}, 100),
    "half supported": (BLOCK, {"fix": {"x_min": "x"}}, 100),
}


def body(name):
    """Tied model of one of them, and the freedoms of a piece."""
    recipe, options, freedoms = BODIES[name]
    recipe = resource("meshes", recipe) if isinstance(recipe, str) else recipe
    source = read_source(load_recipe(recipe, options))
    fe = source.fe
    model = tie(fe.K_fe, fe.M_fe, source.mesh.points, fe.n_per_node, source.interfaces, source.fixed)
    return model, freedoms


def in_pieces(folder, freedoms, A, kind, node_of):
    return PiecesFactor(A, node_of, folder=folder, freedoms=freedoms)


@pytest.mark.parametrize("name", BODIES)
def test_responses_modes_and_counts_are_those_of_the_direct_route(tmp_path, name):
    model, freedoms = body(name)
    direct = Statics(model)
    pieces = Statics(model, partial(in_pieces, tmp_path, freedoms))
    assert len(pieces.factor.plan.pieces) > 5
    other = Statics(model, partial(factorise, solver="superlu"))
    F = np.random.default_rng(1).normal(size=(model.n, 30))
    for C in {0: None, model.boundary.shape[0]: model.boundary}.values():
        for name, loads in (("F", F), ("d", np.eye(0 if C is None else C.shape[0]))):
            if not loads.shape[1]:
                continue
            ours, theirs, third = (
                statics.holding(C).respond(**{name: loads}) for statics in (pieces, direct, other)
            )
            rounding = np.abs(third - theirs).max()  # a thin free plate has more of it than 1e-10
            assert np.abs(ours - theirs).max() < max(1e-10 * np.abs(theirs).max(), 2.0 * rounding)
    modes = [modes_of(statics.holding(model.boundary), 12, None).omega2 for statics in (pieces, direct)]
    np.testing.assert_allclose(modes[0], modes[1], rtol=1e-9)
    held = [statics.holding(model.boundary) for statics in (pieces, direct)]
    for factor in (0.4, 1.3):
        shift = modes[1][9] * factor
        expected = int(np.sum(modes[1] < shift)) + held[0].loose.shape[1]
        if shift < modes[1][-1]:
            assert [count_below(item, shift) for item in held] == [expected, expected]
            held = [Statics(model, s._factorise).holding(model.boundary) for s in (pieces, direct)]
