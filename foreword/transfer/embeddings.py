"""One vector for a text: the mean of a pretrained model's last vectors, for baselines that are fitted on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.batches.encoded import EncodedExample
from foreword.batches.examples import Examples
from foreword.exchange.hugging_face import network_of
from foreword.objectives.examples import laid_out
from foreword.runs.opening import open_model
from foreword.transfer.encoding import UNLIMITED, Encoder, input_format_of

AT_ONCE = 64  # texts in a batch


class MeanEmbeddings:
    """The mean of the last vectors of all positions of a text, which stands as it would in pretraining.

    A text is read once, however often it is asked for.
    """

    def __init__(self, model: Path):
        loaded = open_model(model)
        self.input_format = input_format_of(loaded.recipe)
        if loaded.tokenizer is None:
            raise Fault(
                f"{model} has no tokenizer.", "Copy the files of its tokenizer (tokenizer.json) into the folder."
            )
        self.network, self.tokenizer = network_of(loaded).network, loaded.tokenizer
        self.encoder = Encoder(self.input_format, self.tokenizer, Examples(length=self.network.context or UNLIMITED))
        self.known: dict[str, np.ndarray] = {}

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """[texts, width]"""
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        self.encoder.tokenize(new)
        encoded = {
            text: self.input_format.alone(self.encoder.tokens(text)[0], self.tokenizer, self.encoder.length)
            for text in new
        }
        new.sort(key=lambda text: len(encoded[text].ids))  # those of like length are read together
        for start in range(0, len(new), AT_ONCE):
            some = new[start : start + AT_ONCE]
            self.known |= zip(some, self._means([EncodedExample((0,), (encoded[text],)) for text in some]))
        return np.stack([self.known[text] for text in texts])

    @torch.no_grad()
    def _means(self, encoded: Sequence[EncodedExample]) -> np.ndarray:
        batch = laid_out(encoded, self.tokenizer, self.input_format.reading, {}, {})
        last, there = self.network(batch.inputs).last, batch.there[..., None]
        return (last.masked_fill(~there, 0.0).sum(1) / there.sum(1)).float().numpy()
