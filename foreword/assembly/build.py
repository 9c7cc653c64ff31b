"""From a Recipe to the things it names: a model, and what trains it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from foreword.assembly.recipe import Recipe, kind
from foreword.basics.messages import Fault, thousands
from foreword.networks.base import Model, Network, NetworkSpec
from foreword.networks.ngrams import WithNgrams
from foreword.tokens.store import TokenStore
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.units import PLURALS, UnitsSpec
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.learner import LearnedModel
from foreword.training.memory import free_memory


def model_for(recipe: Recipe, vocabulary: Vocabulary) -> LearnedModel:
    """A network with its heads, or a count model, before it has learned anything."""
    if isinstance(recipe.network, NetworkSpec):
        if not torch.empty(0).is_meta:  # who asks for a shape alone needs no memory
            with torch.random.fork_rng(devices=[]):
                check_fits(shape_of(recipe, vocabulary), recipe.name)
        return network_for(recipe, vocabulary)
    return recipe.network.build(vocabulary)


def check_fits(shape: Model, name: str) -> None:
    """Weights that the memory cannot hold are refused before any of them is drawn."""
    needed, free = sum(weight.nbytes for weight in shape.weights().values()), free_memory("cpu")
    if needed > free:
        raise Fault(
            f"{name}: its {thousands(shape.parameter_count())} parameters take {needed / 1e9:,.1f} GB; "
            f"{free / 1e9:,.1f} GB are free here.",
            f"foreword plan {name}  says what every size needs; a smaller one: --size laptop, or --set network.KEY=VALUE.",
        )


def network_for(recipe: Recipe, vocabulary: Vocabulary) -> Model:
    """The network of a recipe, with the heads that its objective asks for."""
    spec, head = recipe.network, recipe.head
    if not isinstance(spec, NetworkSpec) or head is None:
        raise Fault(f"{recipe.name} is no network: it learns by {spec.trained_by}.")
    made: Network = spec.build(vocabulary)
    if spec.ngrams is not None:
        made = WithNgrams(made, spec.ngrams)

    def token_head(width: int | None = None, table: Tensor | None = None) -> nn.Module:
        shared = made.table() if table is None and head.tied else table
        return head.over(width or made.width, vocabulary, shared)

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
    if device == "cpu":
        check_fits(made, recipe.name)
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


def check_marks(recipe: Recipe, stores: Sequence[TokenStore]) -> None:
    """A store that does not know the words, phrases or entities which the objective hides is refused."""
    for store in stores:
        missing = [name for name in recipe.objective.marks if name not in store.marks]
        if missing:
            spec = recipe.units or UnitsSpec()
            more = f" --phrases {spec.phrases or 0.5}" if "phrase" in recipe.objective.marks else ""
            more += " --entities auto" if "entity" in recipe.objective.marks else ""
            more += " --capitals" if "capital" in recipe.objective.marks else ""
            raise Fault(
                f"{store.folder} does not know where its {' and '.join(PLURALS.get(name, name) for name in missing)} begin; "
                f"the objective {kind(recipe.objective)!r} has to know.",
                f"Note them in it:  foreword marks {store.folder} --words {spec.words}{more}",
            )


def check_memory(recipe: Recipe, stores: Sequence[TokenStore]) -> None:
    """A memory that the text could never fill is refused: it would only take room."""
    memory, tokens = getattr(recipe.network, "memory", 0), sum(store.tokens for store in stores)
    if memory >= tokens:
        raise Fault(
            f"{stores[0].folder} has {tokens:,} tokens: a memory of {memory:,} positions is longer than the text.",
            "Give more text, or a shorter one:  --set network.memory=...",
        )


def check_tokenizer(recipe: Recipe, tokenizer: Tokenizer, where: str) -> None:
    """A tokenizer that lacks a special token the objective needs is refused before any work is done."""
    missing = [name for name in recipe.objective.specials if not tokenizer.has(name)]
    if missing:
        raise Fault(
            f"{where} was made with {tokenizer.name}, which has no {', '.join(missing)}; "
            f"the objective {kind(recipe.objective)!r} needs them.",
            f"Make a store that has them:  foreword tokens TEXT --tokenizer {kind(recipe.tokenizer)} --out STORE",
        )
