"""The numbers that settings can be: each setting says which of these it is, and what lies outside is told with its line."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

MOST = 2**24  # of whatever a network, a batch or a row is made of

Size = Annotated[int, Field(ge=1, le=MOST)]  # at least one
Whole = Annotated[int, Field(ge=0, le=2**31 - 1)]  # how many, or none
Layers = Annotated[int, Field(ge=1, le=4096)]
Order = Annotated[int, Field(ge=0, le=64)]  # of n-grams; 0 counts nothing
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # generators are given 64 bits
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Unbounded = Annotated[float, Field(ge=0, allow_inf_nan=True)]  # may be infinite where that means something
Share = Annotated[float, Field(ge=0, le=1)]
Below1 = Annotated[float, Field(ge=0, lt=1)]  # a rate of dropout, what a mean keeps of the past
