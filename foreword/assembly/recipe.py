"""Recipe: one system as data. Each section is the typed settings of the part it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import SerializeAsAny, ValidationInfo, field_validator

from foreword import batches, counts, networks, objectives, parts, tokens, training
from foreword.basics.registry import Table
from foreword.basics.spec import Spec
from foreword.batches.cuts import Cut
from foreword.objectives.base import Objective
from foreword.parts.heads import HeadSpec
from foreword.training.learner import TrainingSpec

NETWORKS = Table("network", {**networks.KINDS.places, **networks.OVER.places, **counts.KINDS.places})
CUTS = Table("cut", {**batches.CUTS.places, **batches.LABELLED.places})


class Recipe(Spec):
    """Everything that makes a system what it is. `size` and `extends` tell where the values came from."""

    chosen: ClassVar[Mapping[str, Table]] = {
        "network": NETWORKS, "head": parts.HEADS, "objective": objectives.EVERY, "batches": CUTS,
        "tokenizer": tokens.KINDS, "training": training.KINDS,
    }
    name: str
    paper: str = ""
    extends: str = ""
    size: str = ""
    network: SerializeAsAny[Spec]
    head: SerializeAsAny[HeadSpec] | None = None        # count models have none: they answer for themselves
    objective: SerializeAsAny[Objective]
    batches: SerializeAsAny[Cut]
    tokenizer: SerializeAsAny[Spec]
    training: SerializeAsAny[TrainingSpec]

    @field_validator("batches")
    @classmethod
    def _as_long_as_the_context(cls, cut: Cut, info: ValidationInfo) -> Cut:
        context = getattr(info.data.get("network"), "context", None)
        return cut.model_copy(update={"length": context}) if cut.length is None and context else cut

    def faults(self) -> list[tuple[str, str]]:
        """What is wrong with parts that are each right but do not fit together."""
        found = []
        reads: frozenset[str] = getattr(self.network, "reads", frozenset())
        if self.head is not None and (unread := set(self.objective.writes) - set(reads)):
            found.append(("objective", f"objective.kind = {kind(self.objective)!r} fills {sorted(unread)}, which "
                                       f"network.kind = {kind(self.network)!r} does not read."))
        context, length = getattr(self.network, "context", None), self.batches.length
        if context and length and (wide := self.objective.positions(*self.batches.longest())) > context:
            found.append(("batches.length", f"rows of {wide} positions do not fit the network's context of {context}: "
                                            f"length can be at most {length - (wide - context)}."))
        if context and self.batches.carries:
            found.append(("batches.kind", f"{kind(self.batches)!r} go on from row to row without end, but "
                                          f"{kind(self.network)!r} remembers at most its context of {context}."))
        if self.batches.carries and getattr(self.training, "ramp", None):
            found.append(("training.ramp", f"{kind(self.batches)!r} are as many as the rows of a batch from first to last: "
                                           "their batches cannot grow."))
        if self.batches.carries and getattr(self.training, "noise", False) and not getattr(self.training, "micro_batch", None):
            found.append(("training.noise", f"a batch of {kind(self.batches)!r} cannot be parted now and then, since each part "
                                            "carries its own state: give training.micro_batch, and every batch is."))
        counts_only = kind(self.network) in counts.KINDS.places
        if counts_only != (kind(self.training) == "counting"):
            right = "counting" if counts_only else "gradient"
            found.append(("training.kind", f"network.kind = {kind(self.network)!r} is trained by {right!r}, not by "
                                           f"{kind(self.training)!r}."))
        if not counts_only and self.head is None:
            found.append(("head", "a network needs a head to guess tokens: [head] kind = \"softmax\"."))
        return found

    def values(self) -> dict[str, Any]:
        """The recipe as plain values, the form in which it is written and read."""
        return self.model_dump(mode="json", exclude_none=True)


def kind(spec: Spec) -> str:
    return getattr(spec, "kind", type(spec).__name__)
