"""Any linear relation of joint coordinates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from flexmbs.input.registered import CoordinateName
from flexmbs.input.values import Plain, Table
from flexmbs.model.couplings.base import Coupling, Law, Term, coordinate_number, coupling


@coupling("linear")
@dataclass(kw_only=True)
class Linear(Coupling):
    """Sum of factor times coordinate = const; keys are `joint` or `joint.coordinate` (F19)."""

    class Keys(Table):
        """Linear relation: the sum of factor times joint coordinate keeps its value at the start."""

        terms: Annotated[dict[CoordinateName, Plain], Field(min_length=1)]

    terms: Mapping[str, float]

    def law(self, model: Any) -> Law:
        return Law(
            terms=tuple(Term(float(c), *coordinate_number(model, path)) for path, c in self.terms.items())
        )
