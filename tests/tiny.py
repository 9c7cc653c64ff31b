"""Every recipe at a size that learns in a second, and text that is on any machine.

A recipe is made small by the settings it has, never by its name: a new recipe file gets its tests by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import pytest
import torch

from foreword.assembly import catalogue, loader
from foreword.assembly.build import model_for
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Interrupted
from foreword.basics.seeds import chance
from foreword.batches.stream import Stream
from foreword.networks.base import Model
from foreword.runs.loop import RunLoop
from foreword.tokens.store import TokenStore
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.turns import SKIPPED
from foreword.training.hardware import Hardware

SYSTEMS = {path.stem: str(path) for path in sorted((Path(__file__).parent / "systems").glob("*.toml"))}
FROM_LABELS = [
    name for name in catalogue.built_in() if loader.load(name).objective.labelled
]  # their data are labelled tasks
RECIPES = [*(name for name in catalogue.built_in() if name not in FROM_LABELS), *SYSTEMS]  # their data is text
WITH_SIZES = [(entry.name, size) for entry in catalogue.entries() for size in ("", *entry.sizes)]
CHINESE = (
    "今天天气很好。",
    "我们去公园看花。",
    "他在家里看书。",
    "你好吗？",
    "我很好，你呢？",
    "天上有大大的云。",
    "花园里有很多人。",
    "书上的字很小。",
)


def documents() -> Iterator[str]:
    """English from Python's own help, and a little Chinese in ever different order."""
    for name in sorted(topics)[:48]:
        yield topics[name][:3000]
    for number in range(16):
        draw = chance(7, number)
        yield "".join(CHINESE[i] for i in draw.integers(len(CHINESE), size=12))


def dialogues() -> Iterator[list[str]]:
    """A question and its answer, several times over, from the same text: who reads the question knows the answer."""
    words = sorted({word for text in documents() for word in text.split() if word.isalpha()})[:40]
    for number in range(240):
        draw = chance(11, number)
        asked = [words[i] for i in draw.integers(len(words), size=3)]
        yield [turn for word in asked for turn in (f"what is {word}?", f"{word} is {word[::-1]}.")]


def settings_for(recipe: Recipe) -> list[str]:
    """What makes this recipe small, by the settings that it has."""
    network, training, found = recipe.network, recipe.training, []

    def has(section: Any, *names: str) -> bool:
        return all(name in getattr(type(section), "model_fields", ()) for name in names)

    if has(network, "layers", "heads"):
        found += ["network.layers=2", "network.heads=2", "network.inner=64"]
        found += ["network.context=32"] if network.context else ["network.memory=16", "batches.length=8"]
        found += ["network.evaluation_memory=16"] if getattr(network, "evaluation_memory", None) else []
        found += ["network.head_size=8"] if network.head_size else []
        found += ["network.depth.passes=3"] if network.depth else []
        found += ["network.embedding=24"] if network.embedding else []
        if has(getattr(network, "visible", None), "window"):
            found += ["network.visible.window=4"]  # narrower than the texts of the tests
    elif has(network, "layers"):
        found += [f"network.layers={min(network.layers, 2)}"]
    if has(network, "width"):
        found += ["network.width=32"]
    if (
        has(network, "embedding", "initial")
        and has(network, "width")
        and not has(network, "cell")
        and not has(network, "window")
        and not has(network, "heads")  # a head that shares its table reads vectors as wide as the table's
    ):
        found += ["network.embedding=16"]
    if has(getattr(network, "cell", None), "projection") and network.cell.projection:
        found += ["network.cell.projection=16", "network.embedding=16"]
    if has(getattr(network, "words", None), "filters"):
        found += ["network.words.filters=[[1, 8], [3, 8]]"]
    if has(getattr(network, "between", None), "experts"):
        found += ["network.between.experts=4", "network.between.active=2", "network.between.hidden=16"]
        found += ["network.between.groups=2"] if network.between.groups > 1 else []
    if getattr(network, "ngrams", None):
        found += ["network.ngrams.slots=61"]
    if has(recipe.head, "samples"):
        found += ["head.samples=512"]
    if has(network, "order"):
        found += [f"network.order={min(network.order, 3)}"]
    if getattr(recipe.batches, "tokens", None):
        found += ["batches.tokens=160"]
    if has(recipe.batches, "excerpts"):
        found += ["batches.sentences=4", "batches.excerpts=3"]
    if recipe.batches.length is not None and not has(network, "context"):
        short = 40 if recipe.batches.ragged else 8  # where rows differ in length, they must not all be cut to the same
        found += [f"batches.length={short if has(network, 'width') else 5000}"]
    if has(recipe.batches, "reuse"):  # what is remembered, and two texts with three specials
        found += ["batches.length=24", "batches.reuse=8"]
    found += ['training.save="3"', "training.log=2", "training.valid_batches=2"]
    if recipe.network.trained_by != "counting":
        found += ["training.batch_size=8", 'training.budget="9"', 'training.evaluate="4"']
    if has(training, "phases") and training.phases:
        found += ["training.phases=[{ length = 16, until = 5 }]"]
    if has(training, "ramp") and training.ramp:
        found += ['training.ramp={ start = 2, over = "1ktok" }']
    if has(training, "schedule") and isinstance(training.schedule.warmup, int | str) and training.schedule.warmup:
        found += ["training.schedule.warmup=2"]
    return found


def whole(name: str) -> Recipe:
    """A recipe by its name, as it is."""
    return loader.load(SYSTEMS.get(name, name))


@functools.cache
def _tiny(name: str, more: tuple[str, ...]) -> Recipe:
    return loader.load(SYSTEMS.get(name, name), "", [*settings_for(whole(name)), *more])


def tiny(name: str, *more: str) -> Recipe:
    """A recipe, small; `more` are further settings (`training.seed=3`)."""
    return _tiny(name, tuple(more))


def trained_by(kind: str) -> list[str]:
    """The recipes that learn by this kind of training."""
    return [name for name in RECIPES if whole(name).network.trained_by == kind]


def able_to(ability: str) -> list[str]:
    """The recipes whose models declare this ability."""
    return [name for name in RECIPES if ability in whole(name).abilities()]


GRADIENT, COUNTING = trained_by("gradient"), trained_by("counting")
READERS = able_to("score")  # left to right: they can be asked for next tokens


def store_kind(recipe: Recipe) -> str:
    """The store whose tokenizer has the special tokens that the recipe's objective cannot do without."""
    if SKIPPED in recipe.batches.marks:
        return "dialogues"
    if recipe.network.trained_by == "gradient" and getattr(recipe.batches, "kind", "") == "documents":
        return "paragraphs"  # rows of unequal length
    if "[span0]" in recipe.objective.specials:
        return "spans"
    if "[cls]" in recipe.objective.specials:
        return "tagged" if getattr(recipe.tokenizer, "specials", None) else "wordpiece"
    return "byte_bpe"


def drawn(recipe: Recipe, tokenizer: Tokenizer, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
    """A model of the recipe with weights far enough from zero that every path through it shows in the numbers."""
    torch.manual_seed(seed)
    model = model_for(recipe, tokenizer.vocabulary())
    if isinstance(model, Model):
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 0.3)
                else:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
            if getattr(recipe.network, "embedding_scale", False):
                model.network.table().div_(
                    model.network.table().size(1) ** 0.5
                )  # as they enter, as large as any others
        model.to(dtype).eval()
    return model


def counted(recipe: Recipe, store: TokenStore, held_out: TokenStore | None = None) -> Any:
    """A count model that has read a store."""
    model = model_for(recipe, store.tokenizer.vocabulary())
    model.count(store.read(0, store.tokens))
    model.estimate(None if held_out is None else held_out.read(0, held_out.tokens))
    return model


def reader(name: str, store: TokenStore, held_out: TokenStore | None = None) -> Any:
    """What answers questions about next tokens for a recipe: random weights, or counts of the store."""
    recipe = tiny(name)
    model = drawn(recipe, store.tokenizer) if recipe.head is not None else counted(recipe, store, held_out)
    return model.language_model(store.tokenizer.vocabulary())


def learner_for(
    recipe: Recipe,
    store: TokenStore,
    dtype: torch.dtype = torch.float32,
    hardware: Hardware | None = None,
    seed: int = 0,
) -> tuple[Any, Stream]:
    """A learner as a run makes it, and its batches."""
    spec = recipe.training
    torch.manual_seed(seed)
    model = model_for(recipe, store.vocabulary())
    if isinstance(model, Model):
        model.to(dtype)
    learner = spec.learner(model, recipe.objective, store.tokenizer, hardware)
    cutter = recipe.batches.over(store, spec.batch_size, spec.seed)
    return learner, Stream(cutter, learner.collate, spec.batch_size)


def take_steps(learner: Any, stream: Stream, steps: Sequence[int], same: bool = False) -> list[dict[str, float]]:
    """The reports of some steps; with `same`, all of them on the first batch."""
    return [learner.step(stream.batch(0 if same else step), step, 0.0).values for step in steps]


@contextmanager
def interrupted_at(last: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What trains in here is stopped in this step, as by Ctrl-C."""
    resume = RunLoop.resume

    def resumed(loop: RunLoop) -> None:
        resume(loop)
        real = loop.learner.step

        def step(batch: Any, number: int, spent: float, tokens: int) -> Any:
            loop.trainer.stopping = number == last
            return real(batch, number, spent, tokens)

        loop.learner.step = step

    with monkeypatch.context() as patch:
        patch.setattr(RunLoop, "resume", resumed)
        with pytest.raises(Interrupted):
            yield
