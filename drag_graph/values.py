"""What the domain model is made of: the base of its values, and numbers, texts and ids within their limits.

A confidence lies in [0, 1], a cosine in [-1, 1], a teacher's relevance score in [1, 10].
"""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Finite = Annotated[float, Field(allow_inf_nan=False)]
Confidence = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Cosine = Annotated[float, Field(ge=-1.0, le=1.0, allow_inf_nan=False)]
Relevance = Annotated[float, Field(ge=1.0, le=10.0, allow_inf_nan=False)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""A count within the signed 64 bits that every store supports."""
Ids = Annotated[tuple[Text, ...], AfterValidator(lambda ids: tuple(sorted(set(ids))))]
"""A set of ids or other names, sorted."""


class Value(BaseModel):
    """A frozen value without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
