"""A Spec is a typed section of a recipe: frozen, checked, and refusing settings it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from foreword.basics.registry import Registry

Kind = TypeVar("Kind")


def of_kind(part: object, kind: type[Kind]) -> Kind:
    """The part itself. Whoever asks knows its kind; a recipe knows only that there is one."""
    if not isinstance(part, kind):
        raise TypeError(f"{type(part).__name__} is no {kind.__name__}")
    return part


class Spec(BaseModel):
    """The settings of one part. A recipe section with the same keys becomes exactly this object."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", protected_namespaces=(), arbitrary_types_allowed=True, allow_inf_nan=False
    )

    chosen: ClassVar[Mapping[str, Registry]] = {}  # fields that hold another part, chosen by its `kind` from a table

    retired: ClassVar[
        Mapping[str, object]
    ] = {}  # settings of earlier versions: read with this value, which changed nothing

    def faults(self) -> list[tuple[str, str]]:
        """What is wrong with settings that are each valid but do not fit together: (setting, message) pairs."""
        return []
