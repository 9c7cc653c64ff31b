"""How to fine-tune: what the papers leave to a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from foreword.basics.messages import Fault, did_you_mean
from foreword.transfer.features import layers_and_reader
from foreword.transfer.initial_weights import INITS


@dataclass(frozen=True)
class FinetuneSettings:
    epochs: float = 3.0
    batch_size: int = 32
    learning_rate: float | None = None  # None: the published one, in proportion larger for a narrower network
    seed: int = 0
    labels: int | None = None  # so many training examples, with the shares of the classes kept; None: all
    init: str = "pretrained"
    layers: int | None = None  # blocks that are transferred, from below; the others are re-initialised. None: all
    aux: float = 0.0  # weight of guessing the tokens of the examples as well (Radford et al.: 0.5)
    patience: int | None = None  # evaluations without a better one after which it ends; None: it never does
    settings: tuple[str, ...] = ()  # as --set
    network: str = ""  # of word vectors: the recipe whose token table they become, with its size as gpt2:laptop
    features: str = ""  # the trunk is frozen, and its layers, combined, are read so: mix, concat-4:bilstm

    def check(self) -> None:
        faults = [
            f"{name} must be {words} (it says {value})."
            for name, words, value, right in (
                ("epochs", "more than 0", self.epochs, 0 < self.epochs < math.inf),
                ("aux", "at least 0", self.aux, 0 <= self.aux < math.inf),
                ("patience", "at least 1", self.patience, (self.patience or 1) > 0),
                ("layers", "at least 0", self.layers, (self.layers or 0) >= 0),
            )
            if not right
        ]
        if self.init not in INITS:
            faults.append(f"init must be one of {', '.join(INITS)}.{did_you_mean(self.init, INITS)}")
        if faults:
            raise Fault(" ".join(faults))
        if self.features:
            layers_and_reader(self.features)
