"""What every network promises: Inputs in, Output out, a State in between."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from foreword.basics.spec import Spec
from foreword.networks.language_model import LanguageModel, State
from foreword.parts.ngrams import NgramsSpec
from foreword.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class Inputs:
    """What a network may read; each says which fields it understands (`Network.reads`)."""

    ids: Tensor  # [batch, positions]
    real: Tensor | None = None  # [batch, positions], False at padding; None: every position is a token
    segments: Tensor | None = None  # [batch, positions], 0 for the first text, 1 for the second
    tasks: Tensor | None = None  # [batch], which of several pretraining tasks a row is of
    causal: Tensor | None = None  # [batch], True for rows in which no position looks ahead; None: as the network reads
    source: Tensor | None = None  # [batch, source positions], another sequence: what is read before `ids` are written
    source_real: Tensor | None = None  # [batch, source positions], False at padding
    order: Tensor | None = None  # [batch, positions] numbers: a position sees those that have no larger one; None: all
    visible: Tensor | None = None  # [batch, positions, positions], whom a position sees beside itself; None: all
    queries: Tensor | None = None  # [batch, guesses], positions to guess without seeing them; None: none, only to read
    backward: Tensor | None = None  # [batch], True where a row is a text from its end to its start
    recalls: Tensor | None = None  # [batch, positions], False where what is remembered is of another text
    added: Tensor | None = None  # [batch, positions, width of the token vectors], added to these; None: nothing
    remembered: int | None = None  # positions of each row, from its first, that the next rows remember; None: all

    def rows(self, start: int, stop: int) -> Inputs:
        return self._with({name: value[start:stop] for name, value in self._tensors()})

    def to(self, device: torch.device | str) -> Inputs:
        return self._with({name: value.to(device) for name, value in self._tensors()})

    def _with(self, tensors: dict[str, Any]) -> Inputs:
        return replace(self, **tensors)

    def _tensors(self) -> list[tuple[str, Tensor]]:
        return [(f.name, value) for f in fields(self) if isinstance(value := getattr(self, f.name), Tensor)]


@dataclass(frozen=True)
class Output:
    last: Tensor  # [batch, positions, width]
    layers: tuple[Tensor, ...] = ()  # after the embeddings and after each layer
    state: State = None
    costs: dict[str, Tensor] = field(default_factory=dict)  # what the network itself charges (pondering, balance)
    content: Tensor | None = (
        None  # [batch, positions, width] of what was read, where `last` is of guesses; None: `last`
    )


class Network(nn.Module):
    """Token ids in, one vector per position out, and whatever it remembers for its next call."""

    reads: ClassVar[frozenset[str]] = frozenset({"ids"})
    width: int
    context: int | None = None  # the most positions it can read at once; None: no limit

    @property
    def reach(self) -> int | None:
        """How far back a position can see, through all layers and what is remembered; None: no limit."""
        return self.context

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        raise TypeError(f"{type(self).__name__} has no forward.")

    def table(self) -> Tensor:
        """The table of token vectors, for a head that shares it."""
        return self.tables()["tokens"]

    def tables(self) -> dict[str, Tensor]:
        """Tables with a row for each token ("tokens", "target_tokens") or position ("positions").

        Their length may differ from model to model.
        """
        raise TypeError(f"{type(self).__name__} does not name its tables.")

    def vector(self, vectors: Tensor) -> Tensor:
        """One for a whole text, of what `last` has for each of its positions. [positions, width] -> [width]"""
        return vectors.mean(0)

    def levels(self) -> list[list[nn.Parameter]]:
        """Parameters by depth: those of the embeddings, then of each layer, from below; what reads the last layer is in none.

        Layer-wise rates, layer-wise transfer and freezing from below count by it.
        """
        raise TypeError(f"{type(self).__name__} does not name its layers.")

    @property
    def reads_left_to_right(self) -> bool:
        """Whether no position looks at what stands behind it, so that padding there changes nothing."""
        return type(self).language_model is not Network.language_model

    def units(self, state: State) -> Tensor | None:
        """What is carried from token to token as one vector [batch, units]; None: nothing is, or its length differs."""

    def clamped(self, values: Mapping[int, float]) -> AbstractContextManager[None]:
        """While it lasts, these units of the memory have these values."""
        raise TypeError(f"{type(self).__name__} carries no units along.")

    def draw(self, module: nn.Module) -> None:
        """Draw the weights of a head the way this network's own are drawn."""

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> LanguageModel:
        raise TypeError(f"{type(self).__name__} does not predict next tokens; it can fill gaps and give vectors.")


class NetworkSpec(Spec):
    """The settings of a network; `build` makes it for a vocabulary."""

    trained_by: ClassVar[str] = "gradient"  # the kind of training
    reads: ClassVar[frozenset[str]] = frozenset({"ids"})
    abilities: ClassVar[frozenset[str]] = frozenset({"embed"})  # whatever it was trained for; objectives add to them

    # a run or file of word vectors that the token table begins with, or "text": they are learned from the text first
    tokens_from: str | None = None
    ngrams: NgramsSpec | None = None  # tables of n-grams below the network and before its head; none by default

    def build(self, vocabulary: Vocabulary) -> Network:
        raise TypeError(f"{type(self).__name__} has no build.")

    def without_chance(self) -> Self:
        """The same without dropout, noise, and costs of a whole batch: what the parts of a batch add up to."""
        dropout = getattr(self, "dropout", None)
        still: dict[str, object] = (
            {} if dropout is None else {"dropout": 0.0 if isinstance(dropout, float) else type(dropout)()}
        )
        for name in ("between", "feedforward"):
            part: Any = getattr(self, name, None)
            if hasattr(part, "without_chance"):
                still[name] = part.without_chance()
        return self.model_copy(update=still)


class Model(nn.Module):
    """A network and the heads that read it."""

    network: Network
    heads: Any  # an nn.ModuleDict; each objective knows the type of its own

    def __init__(self, network: Network, heads: dict[str, nn.Module]):
        super().__init__()
        self.network = network
        self.heads = nn.ModuleDict(heads)

    def weights(self) -> dict[str, Tensor]:
        """Every tensor that is saved, once, by name: a tied weight appears under the first of its names."""
        computed = set(map(id, self.computed()))
        return {
            **dict(self.named_parameters()),
            **{name: buffer for name, buffer in self.named_buffers() if id(buffer) not in computed},
        }

    def computed(self) -> list[Tensor]:
        """Buffers that are not saved, because building the network computes them."""
        saved = self.state_dict()
        return [buffer for name, buffer in self.named_buffers() if name not in saved]

    def arrays(self) -> dict[str, Tensor]:
        return {name: tensor.detach() for name, tensor in self.weights().items()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        with torch.no_grad():
            for name, tensor in self.weights().items():
                tensor.copy_(torch.from_numpy(arrays[name]))

    def language_model(self, vocabulary: Vocabulary) -> LanguageModel:
        return self.network.language_model(self.heads["tokens"], vocabulary)

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())
