"""A family: how one kind of model is written in Hugging Face's layout, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from foreword.assembly.recipe import Recipe, kind
from foreword.basics.files import JsonObject
from foreword.networks.base import Model
from foreword.networks.causal import CausalTransformerSpec
from foreword.parts.heads import Softmax
from foreword.parts.positions import Learned
from foreword.parts.stack import StackSpec
from foreword.parts.task_heads import Reading
from foreword.tokens.tokenizer import Tokenizer

Activations = {"gelu_tanh": "gelu_new", "gelu_erf": "gelu", "relu": "relu", "relu_squared": "relu2"}
ActivationsBack = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu_erf",
    "relu": "relu",
    "relu2": "relu_squared",
}


@dataclass(frozen=True)
class Name:
    """One of our tensors and theirs. Several of theirs are stacked to make ours."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False  # they keep [inputs, outputs]
    rows: tuple[
        int, ...
    ] = ()  # which row of theirs each of ours is, an order that is its own inverse; nothing: the same
    scales: tuple[float, ...] = ()  # how many times theirs each part of ours is; nothing: they are equal
    leading: bool = False  # they keep a first dimension of one
    heads: int = 0  # they keep what the heads have in two dimensions, [heads, size], last; 0: in one


@dataclass(frozen=True)
class TaskClass:
    """One of their classes for labelled tasks: what it calls the last layer of its head, and the dense layer before it."""

    architecture: str
    out: str
    pool: str = ""  # nothing: there is none
    bias: bool = True

    def names(self, head: str) -> list[Name]:
        found = [Name(f"heads.{head}.out.weight", (f"{self.out}.weight",))]
        found += [Name(f"heads.{head}.out.bias", (f"{self.out}.bias",))] if self.bias else []
        return found + (
            [Name(f"heads.{head}.pool.{part}", (f"{self.pool}.{part}",)) for part in ("weight", "bias")]
            if self.pool
            else []
        )


@dataclass(frozen=True)
class Family:
    model_type: str
    base: str  # the recipe that knows everything else
    prefix: str  # what their task classes put before the names
    fits: Callable[[Recipe], bool]
    architecture: Callable[[Model], str]
    names: Callable[[Recipe, set[str]], list[Name]]  # for the heads that are there
    config: Callable[[Recipe, Tokenizer | None], JsonObject]  # recipe -> config.json
    settings: Callable[[JsonObject, set[str]], JsonObject]  # config.json and the heads -> sections of the recipe
    unsupported: Callable[[JsonObject], list[str]]  # what config.json asks that we do not have
    constants: tuple[str, ...] = ()  # tensors that hold no learned value
    copies: tuple[tuple[str, str], ...] = ()  # their second names for a tied tensor
    unread: tuple[str, ...] = ()  # tensors to leave aside when their head is not there
    tasks: Mapping[str, TaskClass] = field(default_factory=dict)  # by the kind of our objective
    joined: tuple[str, ...] = ()  # ends of names of theirs that hold two of ours, which we name .0 and .1
    generates: bool = True
    reading: Reading = "first"  # where their classes for tasks read a sequence; those that generate: at the last token
    heads: Callable[[set[str]], set[str]] = lambda there: {"tokens"}  # which heads the given tensors make up

    def every_name(self, recipe: Recipe, heads: set[str]) -> list[Name]:
        """Those of the network, of its own heads and of a task's."""
        tasks = [self.tasks[head].names(head) for head in sorted(heads & set(self.tasks))]
        return [*self.names(recipe, heads), *chain.from_iterable(tasks)]


def task_of(recipe: Recipe) -> Any:
    """The objective of labelled examples, which comes first where something is learned beside it; None: there is none."""
    return getattr(recipe.objective, "parts", [recipe.objective])[0] if recipe.objective.labelled else None


def stack_of(recipe: Recipe) -> StackSpec:
    """The settings of the recipe's Transformer blocks."""
    if not isinstance(recipe.network, StackSpec):
        raise TypeError(f"{kind(recipe.network)} is no stack of Transformer blocks")
    return recipe.network


def task_classes(name: str, *others: str) -> dict[str, TaskClass]:
    """GPT's classes for labelled tasks, which all families name alike; `others` beside sequence classification."""
    sequence = TaskClass(f"{name}ForSequenceClassification", "score", bias=False)
    known = {
        "choose": TaskClass(f"{name}DoubleHeadsModel", "multiple_choice_head.summary"),
        "tag": TaskClass(f"{name}ForTokenClassification", "classifier"),
        "span": TaskClass(f"{name}ForQuestionAnswering", "qa_outputs"),
    }
    return {"classify": sequence, "regress": sequence, "rank": sequence, **{kind: known[kind] for kind in others}}


def plain_causal(recipe: Recipe) -> CausalTransformerSpec | None:
    """The network, if it is a causal Transformer read by a softmax without a bias."""
    network, head = recipe.network, recipe.head
    if not isinstance(network, CausalTransformerSpec) or network.kind != "causal_transformer":
        return None  # a network that is causal in some rows only has no class of theirs
    return network if isinstance(head, Softmax) and not head.bias and looks_back(recipe) else None


def looks_back(recipe: Recipe) -> bool:
    return "generate" in recipe.abilities() or recipe.objective.labelled


def classic(network: StackSpec) -> bool:
    """A stack as all of them were until 2020: learned positions, layer norms, biases, and every layer sees everything."""
    return learned_and_layered(network) and network.qkv_bias and not any(windows(network))


def learned_and_layered(network: StackSpec) -> bool:
    return (
        network.positions == Learned()
        and network.norm_kind == "layer"
        and network.bias
        and not network.qk_norm
        and not network.gated
        and getattr(network, "first_norm", True)
        and not getattr(network, "embedding_norm", False)
        and usual_widths(network)
    )


def usual_widths(network: StackSpec) -> bool:
    """Token vectors as wide as the blocks, heads that share that width, scores scaled by their size."""
    return network.embedding is None and network.head_size is None and network.attention_scale is None


def windows(network: StackSpec) -> list[int | None]:
    """What each layer sees of the past; a network that looks both ways has no such setting, and sees everything."""
    visible = getattr(network, "visible", None)
    return visible.windows(network.layers, network.context) if visible is not None else [None] * network.layers
