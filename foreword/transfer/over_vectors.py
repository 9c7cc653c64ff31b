"""A table of word vectors as the token table of a new network: what `foreword finetune --set network=RECIPE` trains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from foreword.assembly import loader
from foreword.assembly.token_vectors import said, start_tokens
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.basics.seeds import number_of
from foreword.exchange.hugging_face import LoadedFolder
from foreword.networks.base import Model, NetworkSpec
from foreword.vectors.words import WordVectors


def network_over(path: Path, network: str, settings: Sequence[str] = (), seed: int = 0) -> LoadedFolder:
    """The network of a recipe (`lstm`, or with its size `gpt2:laptop`) over these vectors, as if it had been trained so far."""
    name, _, size = network.partition(":")
    vectors = WordVectors.opened(path)
    recipe = loader.load(name, size, [one for one in settings if one.startswith("network.")])
    if not isinstance(recipe.network, NetworkSpec):
        raise Fault(
            f"--set network={network}: {recipe.name} is no network; it learns by {recipe.network.trained_by}.",
            "Give lstm, gpt2:laptop, or the file of a recipe of a network.",
        )
    values = recipe.values()
    values["network"] |= {"tokens_from": str(path)}
    if vectors.width != values["network"].get("width"):
        values["network"]["embedding"] = vectors.width
    recipe = loader.from_values(values, f"--set network={network}")
    assert isinstance(recipe.network, NetworkSpec)
    torch.manual_seed(number_of("weights", seed))
    made = recipe.network.build(vectors.tokenizer.vocabulary())
    say(said(start_tokens(made, vectors.tokenizer, str(path))))
    return LoadedFolder(recipe, Model(made, {}), vectors.tokenizer)
