"""From a Recipe to the things it names: a model, and what trains it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from foreword.assembly.recipe import Recipe, kind
from foreword.basics.messages import Fault
from foreword.networks.base import Model
from foreword.networks.language_model import LanguageModel
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary


def model_for(recipe: Recipe, vocabulary: Vocabulary) -> Any:
    """A network with its heads, or a count model."""
    made = recipe.network.build(vocabulary)        # type: ignore[attr-defined]
    head = recipe.head
    if head is None:
        return made

    def token_head(width: int | None = None, table: Tensor | None = None) -> nn.Module:
        return head.build(width or made.width, vocabulary.size, made.table() if table is None else table)

    heads = recipe.objective.heads(made, token_head)
    for module in heads.values():
        made.draw(module)
    return Model(made, heads)


def blank_model(recipe: Recipe, vocabulary: Vocabulary, device: str = "cpu") -> Any:
    """The same without drawing any weight: for weights that are about to be read from a file."""
    made = shape_of(recipe, vocabulary)
    if not isinstance(made, Model):
        return made
    if any(buffer.is_meta for buffer in made.computed()):
        with torch.random.fork_rng(devices=[]):        # what is computed and not saved (a table of sinusoids) is computed again
            return model_for(recipe, vocabulary).to(device)
    return allotted(made, device)


def shape_of(recipe: Recipe, vocabulary: Vocabulary) -> Any:
    """The same without weights: every tensor has its shape and takes no memory."""
    with torch.device("meta"):
        return model_for(recipe, vocabulary)


def allotted(made: Model, device: str = "cpu") -> Model:
    """A shape, given the memory for its weights and buffers."""
    real: dict[int, Tensor] = {}
    for module in made.modules():
        for name, weight in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            if not weight.is_meta:
                continue
            if id(weight) not in real:      # once for each weight, so that what was tied stays tied
                empty = torch.empty(weight.shape, dtype=weight.dtype, device=device)
                real[id(weight)] = nn.Parameter(empty) if isinstance(weight, nn.Parameter) else empty
            setattr(module, name, real[id(weight)])
    return made


def language_model(model: Any, vocabulary: Vocabulary) -> LanguageModel:
    """What can be asked for next-token probabilities: a count model itself, or a network through its head."""
    if isinstance(model, Model):
        return model.network.language_model(model.heads["tokens"], vocabulary)
    return model


def check_tokenizer(recipe: Recipe, tokenizer: Tokenizer, where: str) -> None:
    """A tokenizer that lacks a special token the objective needs is refused before any work is done."""
    missing = [name for name in recipe.objective.specials if not tokenizer.has(name)]
    if missing:
        raise Fault(f"{where} was made with {tokenizer.name}, which has no {', '.join(missing)}; "
                    f"the objective {kind(recipe.objective)!r} needs them.",
                    f"Make a store that has them:  foreword tokens TEXT --tokenizer {kind(recipe.tokenizer)} --out STORE")
