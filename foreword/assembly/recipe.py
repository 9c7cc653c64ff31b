"""Recipe: one system as data. Each section is the typed settings of the part it names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, ClassVar

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from foreword import batches, counts, networks, objectives, parts, tokens, training, vectors
from foreword.basics.files import JsonObject
from foreword.basics.registry import Registry
from foreword.basics.spec import Spec
from foreword.batches.cuts import Cut, RowSize
from foreword.counts.model import CountSpec
from foreword.networks.base import NetworkSpec
from foreword.objectives.base import Objective
from foreword.parts.heads import HeadSpec
from foreword.tokens.kinds import TokenizerSpec
from foreword.tokens.units import UnitsSpec
from foreword.training.learner import TrainingSpec
from foreword.vectors.table import VectorTableSpec

NETWORKS = Registry(
    "network", {**networks.KINDS.places, **networks.OVER.places, **counts.KINDS.places, **vectors.KINDS.places}
)
# a run is named after its recipe: a name is one part of a path, and stays where it is put
_NAME = r"[^\s/\\.\x00-\x1f]([^/\\\x00-\x1f]*[^\s/\\\x00-\x1f])?"
Name = Annotated[str, Field(pattern=f"^{_NAME}$", max_length=100)]
MaybeName = Annotated[str, Field(pattern=f"^({_NAME})?$", max_length=100)]
CUTS = Registry("cut", {**batches.CUTS.places, **vectors.CUTS.places, **batches.LABELLED.places})


class Recipe(Spec):
    """Everything that makes a system what it is. `size` and `extends` tell where the values came from."""

    chosen: ClassVar[Mapping[str, Registry]] = {
        "network": NETWORKS,
        "head": parts.HEADS,
        "objective": objectives.EVERY,
        "batches": CUTS,
        "tokenizer": tokens.KINDS,
        "training": training.KINDS,
    }
    name: Name
    paper: str = ""
    extends: str = ""
    size: MaybeName = ""
    network: SerializeAsAny[NetworkSpec | CountSpec | VectorTableSpec]
    head: SerializeAsAny[HeadSpec] | None = None  # count models have none: they answer for themselves
    objective: SerializeAsAny[Objective]
    batches: SerializeAsAny[Cut]
    tokenizer: SerializeAsAny[TokenizerSpec]
    training: SerializeAsAny[TrainingSpec]
    units: UnitsSpec | None = None  # words, phrases and entities to mark, when a store is made for it

    @field_validator("batches")
    @classmethod
    def _as_long_as_the_context(cls, cut: Cut, info: ValidationInfo) -> Cut:
        """A row fills the network's context unless the recipe says otherwise; how many ids that is, the objective knows."""
        objective, length = info.data.get("objective"), cut.length or getattr(info.data.get("network"), "context", None)
        if objective is None or length is None:
            return cut
        return sized(cut, length, objective)

    def cut(self, length: int) -> Cut:
        """How text is cut into rows of this many positions."""
        return sized(self.batches, length, self.objective)

    def abilities(self, heads: Collection[str] | None = None) -> frozenset[str]:
        """What a model of this recipe can do, if it has all of its heads or only these."""
        by_head = self.objective.abilities()
        return self.network.abilities.union(*(by_head[name] for name in by_head if heads is None or name in heads))

    def faults(self) -> list[tuple[str, str]]:
        """What is wrong with parts that are each right but do not fit together."""
        found = self._ngram_faults()
        if unread := set(self.objective.writes) - set(self.network.reads):
            found.append(
                (
                    "objective",
                    f"objective.kind = {kind(self.objective)!r} fills {sorted(unread)}, which "
                    f"network.kind = {kind(self.network)!r} does not read.",
                )
            )
        wanted = self.objective.networks
        if kind(self.network) not in wanted if wanted else isinstance(self.network, VectorTableSpec):
            fitting = f"is for network.kind = {' or '.join(map(repr, wanted))}" if wanted else "is for networks"
            found.append(
                ("objective", f"objective.kind = {kind(self.objective)!r} {fitting}, not for {kind(self.network)!r}.")
            )
        if self.objective.cuts and kind(self.batches) not in self.objective.cuts:
            fitting = " or ".join(map(repr, self.objective.cuts))
            found.append(
                ("batches", f"objective.kind = {kind(self.objective)!r} learns from batches.kind = {fitting} only.")
            )
        context, length = getattr(self.network, "context", None), self.batches.length
        if context and length and length > context:
            found.append(
                (
                    "batches.length",
                    f"rows of {length} positions do not fit the network's context of {context}: "
                    f"length can be at most {context}.",
                )
            )
        if self.batches.carries and getattr(self.training, "phases", None):
            found.append(("training.phases", f"{kind(self.batches)!r} go on from row to row: they keep their length."))
        if context and self.batches.carries:
            found.append(
                (
                    "batches.kind",
                    f"{kind(self.batches)!r} go on from row to row without end, but "
                    f"{kind(self.network)!r} remembers at most its context of {context}.",
                )
            )
        if (self.batches.carries or self.batches.whole_batches) and getattr(self.training, "ramp", None):
            found.append(
                (
                    "training.ramp",
                    f"{kind(self.batches)!r} are as many as the rows of a batch from first to last: "
                    "their batches cannot grow.",
                )
            )
        if self.network.trained_by != kind(self.training):
            found.append(
                (
                    "training.kind",
                    f"network.kind = {kind(self.network)!r} is trained by {self.network.trained_by!r}, "
                    f"not by {kind(self.training)!r}.",
                )
            )
        if self.network.trained_by == "gradient" and self.head is None:
            found.append(("head", 'a network needs a head to guess tokens: [head] kind = "softmax".'))
        return found

    def _ngram_faults(self) -> list[tuple[str, str]]:
        ngrams = getattr(self.network, "ngrams", None)
        if ngrams is None:
            return []
        found = [(f"network.ngrams.{name}", what) for name, what in ngrams.faults()]
        if "added" not in self.network.reads:
            what = f"network.kind = {kind(self.network)!r} has no n-gram tables: they are for networks that read tokens in order."
            found.append(("network.ngrams", what))
        return found

    def values(self) -> JsonObject:
        """The recipe as plain values, the form in which it is written and read."""
        return self.model_dump(mode="json", exclude_none=True)


def sized(cut: Cut, length: int, objective: Objective) -> Cut:
    return cut.sized(
        length, RowSize(objective.row_ids(length, cut.texts), objective.overlap, objective.backward), objective.marks
    )


def kind(spec: Spec) -> str:
    return getattr(spec, "kind", type(spec).__name__)
