"""Which numbers of which reference file stand against which channels of which case.

Together with the lines of [expected] of the cases this covers the files; what is not compared is named in
`omitted.py`, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from flexmbs.verify.items import Item
from flexmbs.verify.numbers_flexible import FLEXIBLE
from flexmbs.verify.numbers_linkages import LINKAGES
from flexmbs.verify.numbers_rigid import RIGID

#: by problem
TABLES: Mapping[str, tuple[Item, ...]] = {**RIGID, **LINKAGES, **FLEXIBLE}
