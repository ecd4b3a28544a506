"""Tolerances that several files of this room share, each with one name and one value."""

#: rows of constraints depend on each other where a pivot or singular value is below this share of the largest
RANK_OF_ROWS = 1e-8
#: the same of motions and balances
RANK = 1e-9
#: a change of positions below this is rounding
ROUNDED = 1e-13
#: a gap of positions that is none where loops are closed again and again [rad, m]
GAP = 1e-9
#: keeps quotients defined where there is nothing
NOTHING = 1e-300
#: friction and reactions belong together when the loads change by no more than this part; rounds to find them
FRICTION_TOLERANCE, FRICTION_ROUNDS = 1e-12, 60
