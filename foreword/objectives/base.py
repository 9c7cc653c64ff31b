"""Objective, Batch and Loss: a loss is a sum and a count for each thing guessed, so that unequal batches add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._pytree import register_dataclass

from foreword.basics.spec import Spec
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output, State
from foreword.tokens.tokenizer import Tokenizer

NOTHING = -1  # a target that is not charged
T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    inputs: Inputs
    targets: dict[str, Tensor]  # by head; NOTHING where nothing is guessed
    continues: bool | None = None  # goes on from the batch before; None: batches have nothing to do with each other

    task: str = ""  # of several that share a network, the one it is of
    padding: int = (
        0  # places of a whole batch that hold no token, where the network need not know them (`real` is None)
    )

    @property
    def guesses(self) -> dict[str, int]:
        """How many guesses each charge is for: known before the network has run."""
        return by_name(self.task, {name: self.count(name, target) for name, target in self.targets.items()})

    def count(self, name: str, target: Tensor) -> int:
        """The guesses of one target."""
        return int((target != NOTHING).sum())

    @property
    def size(self) -> int:
        return self.inputs.ids.size(0)

    @property
    def tokens(self) -> int:
        return self.inputs.ids.numel() - self.padding if self.inputs.real is None else int(self.inputs.real.sum())

    def beside(self, others: Sequence[Batch]) -> Batch:
        """The same inputs, and the targets of all."""
        return replace(
            self, targets={name: target for batch in (self, *others) for name, target in batch.targets.items()}
        )

    def rows(self, start: int, stop: int) -> Batch:
        targets = {name: target[start:stop] for name, target in self.targets.items()}
        return replace(self, inputs=self.inputs.rows(start, stop), targets=targets)

    def to(self, device: torch.device | str) -> Batch:
        targets = {name: target.to(device) for name, target in self.targets.items()}
        return replace(self, inputs=self.inputs.to(device), targets=targets)


def by_name(task: str, values: dict[str, T]) -> dict[str, T]:
    """What belongs to a task under its name: the only value as the task's, several as its parts."""
    if not task:
        return values
    return {task if len(values) == 1 else f"{task}.{name}": value for name, value in values.items()}


@dataclass(frozen=True)
class Charge:
    """What the guesses of one head cost, summed over them."""

    total: Tensor
    weight: float = 1.0
    guesses: int | None = None  # how many they are, where only the forward pass knows; None: as the batch says


@dataclass(frozen=True)
class Loss:
    charges: dict[str, Charge]
    state: State = None
    costs: dict[str, Tensor] = field(default_factory=dict)

    def guesses(self) -> dict[str, int]:
        """Those that only the forward pass knows."""
        return {name: charge.guesses for name, charge in self.charges.items() if charge.guesses is not None}


register_dataclass(Charge)  # so that FSDP finds the tensors in what a pass returns
register_dataclass(Loss)


class MakeTokenHead(Protocol):
    """Makes the head that a recipe asks for: for vectors this wide, over this table; the network's own by default."""

    def __call__(self, width: int | None = None, table: Tensor | None = None) -> nn.Module: ...


class Objective(Spec):
    """What to hide from the network, and how to charge it for a wrong guess. Two halves of one idea."""

    networks: ClassVar[tuple[str, ...]] = ()  # the kinds of network it is for; (): any that reads what it writes
    cuts: ClassVar[tuple[str, ...]] = ()  # the kinds of cut it is for; (): any
    leading: ClassVar[str] = "tokens"  # the head whose guesses come first
    closes: ClassVar[bool] = False  # a text that is read for its vector ends with [end], as in training
    takes_turns: ClassVar[bool] = False  # a batch is for some of its heads only
    converses: ClassVar[bool] = False  # it learns to answer the turns of a dialogue
    guessed_before: ClassVar[int] = 0  # places before a hidden token where it is guessed
    counts_late: ClassVar[bool] = False  # some charges have guesses that only the forward pass counts

    @property
    def writes(self) -> frozenset[str]:
        """The fields of Inputs that `collate` fills."""
        return frozenset({"ids"})

    @property
    def overlap(self) -> int:
        """Ids that end a row, only guessed: the next row reads them."""
        return 0

    @property
    def specials(self) -> tuple[str, ...]:
        """The special tokens it cannot do without."""
        return ()

    @property
    def marks(self) -> tuple[str, ...]:
        """What it must know about each token of a row."""
        return ()

    @property
    def labelled(self) -> bool:
        """It learns from labelled examples, not from text."""
        return False

    @property
    def measures(self) -> tuple[str, ...]:
        """Charges that are shares, not nats: only reported, under their own names."""
        return ()

    def abilities(self) -> dict[str, frozenset[str]]:
        """What it teaches a model to do, by the head that it takes: "score", "generate", "fill", "predict", "translate"."""
        return {}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {"tokens": token_head()}

    @property
    def backward(self) -> bool:
        """Whether it reads a text from its end to its start, so that rows which go on do so that way."""
        return False

    def row_ids(self, positions: int, texts: int) -> int:
        """How many ids, in so many texts, make a row that fills this many positions of the network."""
        return positions

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        raise TypeError(f"{type(self).__name__} collates nothing.")

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        """What the guesses read off one pass of the network cost."""
        raise TypeError(f"{type(self).__name__} charges nothing.")

    def loss(self, model: Model, batch: Batch, state: State = None) -> Loss:
        output = model.network(batch.inputs, state)
        return Loss(self.charges(model, output, batch), output.state, output.costs)

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        """What is true of a large batch: counts as whole numbers, shares as fractions."""
        return {"guesses": sum(batch.guesses.values())}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        """One row of a batch as a person would check it."""
        raise TypeError(f"{type(self).__name__} has nothing to show.")


def charge_tokens(model: Model, output: Output, targets: Tensor, smoothing: float = 0.0) -> dict[str, Charge]:
    """Only positions with a target reach the vocabulary: logits are the widest tensor there is.

    `smoothing`: while learning, this share of the right answer is spread evenly over all tokens (Szegedy et al. 2016).
    """
    guessed = targets != NOTHING
    if bool(guessed.all()):  # nothing to leave out: nothing to copy
        hidden, wanted = output.last.flatten(0, -2), targets.flatten()
    else:
        hidden, wanted = output.last[guessed], targets[guessed]
    head = model.heads["tokens"]
    total = head.total(hidden, wanted)
    if smoothing and model.training:
        total = total + smoothing * head.spread(hidden, wanted)
    return {"tokens": Charge(total)}
