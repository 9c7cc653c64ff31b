"""What every learner promises, and the settings of training that are the same for every model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from pydantic import field_validator
from torch import Tensor

from foreword.basics.budget import Budget
from foreword.basics.messages import Fault
from foreword.basics.numbers import Seed, Size
from foreword.basics.spec import Spec
from foreword.batches.row import Row
from foreword.objectives.base import Objective
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware

if TYPE_CHECKING:
    from foreword.networks.language_model import LanguageModel
    from foreword.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class StepReport:
    """What one step did."""

    tokens: int
    values: dict[str, float] = field(default_factory=dict)


class LearnedModel(Protocol):
    """What a network with its heads, a count model and a table of vectors have in common."""

    def parameter_count(self) -> int:
        """Numbers that were learned by gradient or example; 0 for what only counts."""

    def arrays(self) -> Mapping[str, Tensor | np.ndarray]:
        """All that was learned, by name: what a model folder holds."""

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take back what `arrays` gave."""

    def language_model(self, vocabulary: Vocabulary) -> LanguageModel:
        """What can be asked for next tokens."""


class Learner(Protocol):
    """The trainer owns the calendar; the learner owns the update."""

    def collate(self, rows: list[Row]) -> Any:
        """Rows as the batch that `step` takes."""

    def step(self, batch: Any, step: int, spent: float, tokens: int = 0) -> StepReport:
        """Learn from one batch: step number `step`, with `spent` of the budget used and `tokens` read before it."""

    def finish(self, held_out: Iterable[Any]) -> None:
        """After the last step. Some models still fit something on held-out batches."""

    def measure(self, batches: Iterable[Any]) -> dict[str, float]:
        """What held-out batches cost per guess, without learning from them."""

    def save(self) -> dict[str, Tensor]:
        """All that is needed to go on from here, as named tensors."""

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """Go on from what `save` gave."""


class TrainingSpec(Spec):
    """When to stop, evaluate and save: the part of training that is the same for every model.

    A period is a share of the budget (0.1), steps ("200") or wall clock ("60s").
    """

    accumulates: ClassVar[bool] = False  # a step can be taken in parts, and by several processes, to the same end

    budget: str = "1000"
    passes: float | None = None  # through the text at most, if the budget is wall clock: more would be learned by heart
    batch_size: Size = 1
    evaluate: float | str = 0.1
    save: float | str = "60s"
    log: Size = 10  # steps between two records in metrics.jsonl
    keep: Size = 2  # checkpoints kept
    valid_batches: Size = 20  # batches of held-out text in an evaluation
    seed: Seed = 0

    @field_validator("budget", "evaluate", "save", mode="before")
    @classmethod
    def _written(cls, value: Any) -> Any:
        return str(value) if value.__class__ is int else value  # a whole number counts steps

    def batch_sizes(self) -> dict[str, int]:
        """Rows of the batches there will be, by the setting that says so."""
        return {"batch_size": self.batch_size}

    def spending(self, tokens: float) -> Budget:
        """The budget over a text of so many tokens."""
        return Budget.parse(self.budget)

    def learner(
        self, model: Any, objective: Objective, tokenizer: Tokenizer, hardware: Hardware | None = None
    ) -> Learner:
        """What trains this model."""
        raise TypeError(f"{type(self).__name__} trains nothing.")

    def faults(self) -> list[tuple[str, str]]:
        found = []
        for name in ("budget", "evaluate", "save"):
            value = getattr(self, name)
            try:
                if isinstance(value, str):
                    Budget.parse(value)
                elif not 0 < value <= 1:
                    found.append((name, f"{name} as a share of the budget must lie between 0 and 1 (it says {value})."))
            except Fault as fault:
                found.append((name, fault.what))
        if self.passes is not None and self.passes <= 0:
            found.append(("passes", f"passes must be more than 0 (it says {self.passes:g})."))
        return found
