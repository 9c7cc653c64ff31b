"""From a Recipe to the things it names: a model, and what trains it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from foreword.assembly.recipe import Recipe, kind
from foreword.basics.messages import Fault
from foreword.networks.base import Model, NetworkSpec
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.learner import LearnedModel


def model_for(recipe: Recipe, vocabulary: Vocabulary) -> LearnedModel:
    """A network with its heads, or a count model, before it has learned anything."""
    if isinstance(recipe.network, NetworkSpec):
        return network_for(recipe, vocabulary)
    return recipe.network.build(vocabulary)


def network_for(recipe: Recipe, vocabulary: Vocabulary) -> Model:
    """The network of a recipe, with the heads that its objective asks for."""
    spec, head = recipe.network, recipe.head
    if not isinstance(spec, NetworkSpec) or head is None:
        raise Fault(f"{recipe.name} is no network: it learns by {spec.trained_by}.")
    made = spec.build(vocabulary)

    def token_head(width: int | None = None, table: Tensor | None = None) -> nn.Module:
        return head.build(width or made.width, vocabulary.size, made.table() if table is None else table)

    heads = recipe.objective.heads(made, token_head)
    for module in heads.values():
        made.draw(module)
    return Model(made, heads)


def blank_model(recipe: Recipe, vocabulary: Vocabulary, device: str = "cpu") -> LearnedModel:
    """The same without drawing any weight: for weights that are about to be read from a file."""
    return (
        blank_network(recipe, vocabulary, device)
        if isinstance(recipe.network, NetworkSpec)
        else model_for(recipe, vocabulary)
    )


def blank_network(recipe: Recipe, vocabulary: Vocabulary, device: str = "cpu") -> Model:
    made = shape_of(recipe, vocabulary)
    if any(buffer.is_meta for buffer in made.computed()):
        with torch.random.fork_rng(
            devices=[]
        ):  # what is computed and not saved (a table of sinusoids) is computed again
            return network_for(recipe, vocabulary).to(device)
    return allotted(made, device)


def shape_of(recipe: Recipe, vocabulary: Vocabulary) -> Model:
    """The network without weights: every tensor has its shape and takes no memory."""
    with torch.device("meta"):
        return network_for(recipe, vocabulary)


def allotted(made: Model, device: str = "cpu") -> Model:
    """A shape, given the memory for its weights and buffers."""
    real: dict[int, Tensor] = {}
    for module in made.modules():
        for name, weight in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            if not weight.is_meta:
                continue
            if id(weight) not in real:  # once for each weight, so that what was tied stays tied
                empty = torch.empty(weight.shape, dtype=weight.dtype, device=device)
                real[id(weight)] = nn.Parameter(empty) if isinstance(weight, nn.Parameter) else empty
            setattr(module, name, real[id(weight)])
    return made


def check_tokenizer(recipe: Recipe, tokenizer: Tokenizer, where: str) -> None:
    """A tokenizer that lacks a special token the objective needs is refused before any work is done."""
    missing = [name for name in recipe.objective.specials if not tokenizer.has(name)]
    if missing:
        raise Fault(
            f"{where} was made with {tokenizer.name}, which has no {', '.join(missing)}; "
            f"the objective {kind(recipe.objective)!r} needs them.",
            f"Make a store that has them:  foreword tokens TEXT --tokenizer {kind(recipe.tokenizer)} --out STORE",
        )
