"""An encoder-decoder whose encoder, decoder or both begin as pretrained models (Rothe et al. 2020): what is new is named."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, Faults
from foreword.basics.progress import say
from foreword.exchange.hugging_face import LoadedFolder
from foreword.networks.base import Model
from foreword.networks.bidirectional import BidirectionalTransformerSpec
from foreword.networks.causal import CausalTransformerSpec
from foreword.networks.encoder_decoder import EncoderDecoderSpec
from foreword.parts.stack import StackSpec
from foreword.runs.opening import open_model
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.ranks import share

KINDS = {"encoder": BidirectionalTransformerSpec, "decoder": CausalTransformerSpec}
LEARNS = ("dropout", "initial")  # of the recipe that goes on, not of the one that pretrained


@dataclass(frozen=True)
class Halves:
    encoder: Path | None = None
    decoder: Path | None = None

    @cached_property
    def given(self) -> dict[str, tuple[Path, LoadedFolder]]:
        """What is there for each side, of the right kind and with the same tokens."""
        found = {
            side: (path, open_model(path))
            for side, path in (("encoder", self.encoder), ("decoder", self.decoder))
            if path
        }
        faults = [
            Fault(
                f"--{side}-from {path} ({loaded.recipe.name}): an {side} reads "
                + ("both ways, as bert does." if side == "encoder" else "from left to right, as gpt2 does.")
            )
            for side, (path, loaded) in found.items()
            if not isinstance(loaded.recipe.network, KINDS[side])
            or (
                isinstance(loaded.recipe.network, StackSpec)
                and loaded.recipe.network.token_width != loaded.recipe.network.width
            )
        ]
        prints = {loaded.tokenizer.fingerprint for _, loaded in found.values() if loaded.tokenizer}
        if len(prints) > 1:
            faults.append(
                Fault(
                    f"{self.encoder} and {self.decoder} were trained with different tokenizers.",
                    "Train one with the tokenizer of the other:  foreword tokens TEXT --tokenizer RUN --out STORE",
                )
            )
        if faults:
            raise Faults(faults)
        return found

    @property
    def tokenizer(self) -> Tokenizer | None:
        return next(loaded.tokenizer for _, loaded in self.given.values())

    def recipe(self, recipe: Recipe) -> Recipe:
        """The recipe with the shape of what is given; a side for which nothing is given is shaped like the other."""
        spec = recipe.network
        if not isinstance(spec, EncoderDecoderSpec) or spec.one_stack:
            raise Fault(
                f"{recipe.name} has no encoder and decoder.",
                "Recipes that have both: transformer, universal-transformer, t5.",
            )
        shapes = {side: _shape(loaded.recipe.network) for side, (_, loaded) in self.given.items()}
        first = shapes.get("encoder") or shapes["decoder"]
        if len({shape["width"] for shape in shapes.values()}) > 1:
            raise Fault(
                f"{self.encoder} is {shapes['encoder']['width']} wide, {self.decoder} {shapes['decoder']['width']}: "
                "the decoder could not look at what the encoder made."
            )
        own = {name: getattr(spec, name).model_dump(mode="json") for name in LEARNS}
        network: JsonObject = {"kind": spec.kind, **first, **own}
        if "encoder" in shapes:
            network["embedding_norm"] = True
        if len(shapes) == 2:
            network["target"] = {"kind": "stack", **shapes["decoder"], **own}
        values = {**recipe.values(), "network": network}
        cut = {"length": min(shape["context"] for shape in shapes.values())}
        return loader.from_values({**values, "batches": {**values["batches"], **cut}}, f"{recipe.name} of halves")

    def give(self, model: Model, tokenizer: Tokenizer) -> dict[str, str]:
        """Put the weights in their places; what the passport is to say of them."""
        theirs: dict[str, Tensor] = {}
        for side, (path, loaded) in self.given.items():
            if loaded.tokenizer is None or loaded.tokenizer.fingerprint != tokenizer.fingerprint:
                raise Fault(f"{path} has other tokens than the text to train on.", f"Give its:  --tokenizer {path}")
            theirs |= dict(_renamed(side, loaded, len(self.given) == 2))
        mine, digest = model.weights(), hashlib.blake2b(digest_size=16)
        with torch.no_grad():
            for name, weight in mine.items():
                if name in theirs:
                    weight.copy_(share(theirs[name], weight))
                    digest.update(theirs[name].contiguous().cpu().view(-1).view(torch.uint8).numpy().data)
        new = sorted({name.removeprefix("network.").split(".")[0] + _part(name) for name in mine if name not in theirs})
        say(f"from {' and '.join(str(path) for path, _ in self.given.values())}; new: {', '.join(new)}")
        return {"path": " and ".join(str(path) for path, _ in self.given.values()), "weights": digest.hexdigest()}


def _shape(spec: object) -> JsonObject:
    """The settings of a stack that its weights were learned with."""
    assert isinstance(spec, StackSpec)
    whole = spec.model_dump(mode="json", exclude_none=True)
    return {name: value for name, value in whole.items() if name in StackSpec.model_fields and name not in LEARNS}


def _renamed(side: str, loaded: LoadedFolder, both: bool) -> dict[str, Tensor]:
    """The weights of a network by the names that they have as one side of two."""
    assert isinstance(loaded.model, Model)
    weights = {name: weight.detach() for name, weight in loaded.model.network.named_parameters()}
    table = "embeddings" if side == "encoder" else "targets"
    found = {}
    for name, weight in weights.items():
        part, _, rest = name.partition(".")
        if part == "blocks":
            found[f"network.{side}.{rest}"] = weight
        elif name == "embeddings.tokens.weight":
            found[f"network.{table if both else 'embeddings'}.tokens.weight"] = weight
        elif name == "embeddings.segments.weight":
            continue
        elif part == "embeddings":
            found[f"network.{table}.{rest}"] = weight
        elif part == "norm":
            found[f"network.encoder_norm.{rest}" if side == "encoder" else f"network.norm.{rest}"] = weight
    segments, places = weights.get("embeddings.segments.weight"), f"network.{table}.positions.weight"
    if segments is not None and places in found:
        found[places] = found[places] + segments[0]  # every token of a source is of the first segment
    return found


def _part(name: str) -> str:
    """What is new inside the blocks of a side: all of it, or only what looks at the other."""
    return "'s cross-attention" if ".cross." in name or ".between." in name else ""
