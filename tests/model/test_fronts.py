"""Tables that models of one structure share: fronts follow from integers alone."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.generate import four_bars
from flexmbs.input.values import Context, read_expression
from flexmbs.model import fronts


@pytest.fixture(scope="module")
def system():
    return Case.from_dict(four_bars(2)).system()


def test_models_that_differ_in_numbers_have_the_same_fronts(system):
    heavy = four_bars(2)
    for body in heavy["bodies"].values():
        body["mass"] = 7.0
    other = Case.from_dict(heavy).system()
    assert other.tables.body.block_data.tolist() != system.tables.body.block_data.tolist()
    parts = [
        (part, name) for part in ("front", "slot", "path") for name in getattr(system.tables, part)._fields
    ]
    made = fronts._front_tables.__wrapped__(system.tables)
    for part, name in parts:
        here, there = (getattr(getattr(x.tables, part), name) for x in (system, other))
        assert here is there and not here.flags.writeable
        fresh = getattr(made[("front", "slot", "path").index(part)], name)
        np.testing.assert_array_equal(fresh, here)


@pytest.mark.parametrize("part", fronts.FOLLOWS_FROM)
def test_another_structure_has_fronts_of_its_own(system, part):
    known = fronts._Structure(system.tables)
    assert known == fronts._Structure(system.tables)
    for name in fronts.FOLLOWS_FROM[part]:
        values = np.append(getattr(getattr(system.tables, part), name), 1)
        parts = {key: getattr(system.tables, key) for key in fronts.FOLLOWS_FROM}
        changed = SimpleNamespace(**{**parts, part: parts[part]._replace(**{name: values})})
        assert fronts._Structure(changed) != known, name


def test_expressions_with_equal_numbers_of_other_bits_are_others():
    found = [read_expression("=atan2(a, -1)", Context({"a": a})).number() for a in (0.0, -0.0, 0.0)]
    assert found == [math.pi, -math.pi, math.pi]
