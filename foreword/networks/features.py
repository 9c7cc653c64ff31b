"""Features: a network that stays as it is, and what its layers say combined into one vector per position.

Mixed, over any network, in ELMo's way (Peters et al. 2018, eq. 1); or as in BERT's table 7 (Devlin et al. 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, get_args

import torch
import torch.nn.functional as F
from pydantic import SerializeAsAny
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from foreword.basics.numbers import Below1, Layers, Size
from foreword.basics.registry import Registry
from foreword.basics.spec import Spec
from foreword.networks import KINDS
from foreword.networks.base import Inputs, Network, NetworkSpec, Output, State
from foreword.tokens.vocabulary import Vocabulary

READERS = Registry(
    "reader",
    {
        "linear": "foreword.networks.features:LinearReader",
        "bilstm": "foreword.networks.features:BiLstm",
        "esim": "foreword.networks.esim:Esim",
    },
)
Combine = Literal["mix", "first", "last", "second-to-last", "sum-4", "concat-4"]
COMBINES: tuple[str, ...] = get_args(Combine)
NEEDED = {"second-to-last": 2, "sum-4": 4, "concat-4": 4}  # layers above the embeddings


class ReaderSpec(Spec):
    """What stands between the vectors of positions and a task's head."""

    texts: ClassVar[int] = 1  # that an example must have

    def width_over(self, width: int) -> int:
        """Of what it makes of vectors this wide."""
        raise TypeError(f"{type(self).__name__} has no width.")

    def build(self, width: int) -> nn.Module:
        raise TypeError(f"{type(self).__name__} has no build.")


class LinearReader(ReaderSpec):
    """Nothing: the head, which is linear, reads the mix itself."""

    kind: Literal["linear"] = "linear"

    def width_over(self, width: int) -> int:
        return width

    def build(self, width: int) -> UnchangedReader:
        return UnchangedReader()


class UnchangedReader(nn.Module):
    def forward(self, x: Tensor, real: Tensor | None, segments: Tensor | None = None) -> Tensor:
        return x


class BiLstm(ReaderSpec):
    """LSTMs from either end (Devlin et al. 2018, section 5.3: two layers, 768 wide).

    The dropout is that of AllenNLP's configuration of ELMo for names (ner_elmo.jsonnet).
    """

    kind: Literal["bilstm"] = "bilstm"
    layers: Layers = 2
    width: Size | None = None  # of both directions together; as wide as what is read by default
    dropout: Below1 = 0.5  # on what every layer reads

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if self.width is not None and (self.width < 2 or self.width % 2):
            found.append(("width", f"width must be even: half of it is of each direction (it says {self.width})."))
        return found

    def width_over(self, width: int) -> int:
        return self.width or 2 * max(width // 2, 1)

    def build(self, width: int) -> BiLstmReader:
        return BiLstmReader(width, self.width_over(width), self.layers, self.dropout)


class BiLstmReader(nn.Module):
    def __init__(self, inputs: int, width: int, layers: int, dropout: float):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.lstm = nn.LSTM(
            inputs, width // 2, layers, batch_first=True, bidirectional=True, dropout=dropout if layers > 1 else 0.0
        )

    def forward(self, x: Tensor, real: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """x [batch, positions, inputs], real [batch, positions] -> [batch, positions, width]; padding is not read."""
        x = self.drop(x)
        if real is None:
            return self.lstm(x)[0]
        order = real.int().argsort(dim=1, descending=True, stable=True)[
            ..., None
        ]  # tokens first, whichever side they are on
        lengths = real.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(x.gather(1, order.expand_as(x)), lengths, batch_first=True, enforce_sorted=False)
        made, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.size(1))
        return torch.zeros_like(made).scatter(1, order.expand_as(made), made)


class Mix(nn.Module):
    """scale * the sum of layers, each by its share; at first their plain mean."""

    def __init__(self, layers: int, norm: bool = False):
        super().__init__()
        self.weight, self.scale, self.norm = nn.Parameter(torch.zeros(layers)), nn.Parameter(torch.ones(1)), norm

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """layers, each [..., width] -> [..., width]"""
        if (
            self.norm
        ):  # of each vector (Ba et al. 2016): theirs was of a whole batch, and one row then changes another's
            layers = [F.layer_norm(layer, layer.shape[-1:]) for layer in layers]
        parts = [share * layer for share, layer in zip(self.weight.softmax(0), layers, strict=True)]
        return self.scale * torch.stack(parts).sum(0)


def combined(layers: Sequence[Tensor], how: str) -> list[Tensor]:
    """Of all layers, the embeddings first, those that this way combines; vectors as wide as the last, but for "first"."""
    alike = [layer for layer in layers if layer.size(-1) == layers[-1].size(-1)]
    return {
        "mix": alike,
        "first": [layers[0]],
        "last": [layers[-1]],
        "second-to-last": [layers[-2]] if len(layers) > 1 else [],
        "sum-4": list(layers[-4:]),
        "concat-4": list(layers[-4:]),
    }[how]


class Fixed(nn.Module):
    """Layers combined with nothing to learn."""

    def __init__(self, how: str):
        super().__init__()
        self.how = how

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """layers, each [..., width] -> [..., width], or four times as wide"""
        return torch.cat(list(layers), -1) if self.how == "concat-4" else torch.stack(list(layers)).sum(0)


class FeaturesSpec(NetworkSpec):
    kind: Literal["features"] = "features"
    chosen: ClassVar[Mapping[str, Registry]] = {"trunk": KINDS, "reader": READERS}
    trunk: SerializeAsAny[NetworkSpec]
    reader: SerializeAsAny[ReaderSpec] = LinearReader()
    combine: Combine = "mix"
    norm: bool = False  # layers are normalised before they are mixed ("in some cases it also helped", section 3.2)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return self.trunk.reads | {"segments"}  # which text is which, for a reader of two

    def faults(self) -> list[tuple[str, str]]:
        there, needed = getattr(self.trunk, "layers", None), NEEDED.get(self.combine, 0)
        if there is None or there >= needed:
            return []
        return [("combine", f"{self.combine} reads {needed} layers, and this network has {there}.")]

    @property
    def context(self) -> int | None:
        return getattr(self.trunk, "context", None)

    def build(self, vocabulary: Vocabulary) -> Features:
        return Features(self, vocabulary)


class Features(Network):
    def __init__(self, spec: FeaturesSpec, vocabulary: Vocabulary):
        super().__init__()
        self.spec, self.trunk = spec, spec.trunk.build(vocabulary).requires_grad_(False).eval()
        layers = self.shown(Inputs(torch.zeros(1, 1, dtype=torch.long)))
        wide = layers[0].size(-1) * (len(layers) if spec.combine == "concat-4" else 1)
        self.context, self.width = self.trunk.context, spec.reader.width_over(wide)
        self.mix: nn.Module = Mix(len(layers), spec.norm) if spec.combine == "mix" else Fixed(spec.combine)
        self.reader = spec.reader.build(wide)
        self.kept = FeatureCache()

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return self.spec.reads

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        layers = self.kept.of(inputs, self) if self.kept.room else self.shown(inputs)
        return Output(self.reader(self.mix(layers), inputs.real, inputs.segments), tuple(layers))

    @torch.no_grad()
    def shown(self, inputs: Inputs) -> list[Tensor]:
        """Those of the trunk's embeddings and layers that are combined."""
        output = self.trunk(inputs if "segments" in self.trunk.reads else replace(inputs, segments=None))
        return combined((*output.layers[:-1], output.last), self.spec.combine)

    def train(self, mode: bool = True) -> Features:
        super().train(mode)
        self.trunk.eval()  # what is frozen has no dropout either
        return self

    def tables(self) -> dict[str, Tensor]:
        return self.trunk.tables()

    def levels(self) -> list[list[nn.Parameter]]:
        return self.trunk.levels()

    def draw(self, module: nn.Module) -> None:
        self.trunk.draw(module)


class FeatureCache:
    """What the trunk said of rows that were read before, as long as there is room (bytes).

    A row is read alone, without its padding. So what is kept of it does not depend on the rows that came with it, and a run
    that was resumed reads the same numbers as one that was not.
    """

    def __init__(self, room: int = 0):
        self.room = room
        self.rows: dict[tuple[bytes, ...], Tensor] = {}
        self.bytes = 0
        self.version: Any = None

    def of(self, inputs: Inputs, network: Features) -> list[Tensor]:
        weights = list(network.trunk.parameters())
        version = weights[0].dtype, weights[0].device, sum(weight._version for weight in weights)
        if version != self.version:  # other weights were put in their place
            self.rows, self.bytes, self.version = {}, 0, version
        batch, positions = inputs.ids.shape
        real = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real
        each = [self._row(inputs, number, there, network) for number, there in enumerate(real)]
        whole = each[0].new_zeros(len(each[0]), batch, positions, each[0].size(-1))
        for number, (row, there) in enumerate(zip(each, real)):
            whole[:, number, there] = row
        return list(whole)

    def _row(self, inputs: Inputs, number: int, there: Tensor, network: Features) -> Tensor:
        """[layers, tokens, width]"""
        alone = Inputs(
            inputs.ids[number][there][None],
            segments=None if inputs.segments is None else inputs.segments[number][there][None],
        )
        key = tuple(part.cpu().numpy().tobytes() for part in (alone.ids, alone.segments) if part is not None)
        if key in self.rows:
            return self.rows[key]
        found = torch.cat(network.shown(alone))
        if self.bytes + found.nbytes <= self.room:
            self.rows[key], self.bytes = found, self.bytes + found.nbytes
        return found


def trunk_of(spec: Any) -> Any:
    """The settings of what reads the tokens: a network's own, or those of the one that it mixes."""
    return spec.trunk if isinstance(spec, FeaturesSpec) else spec
