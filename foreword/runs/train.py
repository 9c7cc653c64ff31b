"""Train a recipe on a store of text, in a run folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from foreword.assembly import loader
from foreword.assembly.build import check_marks, check_memory, check_tokenizer, model_for
from foreword.assembly.recipe import Recipe, kind
from foreword.assembly.token_vectors import said, start_tokens
from foreword.basics.budget import Budget
from foreword.basics.files import JsonObject, cache_folder
from foreword.basics.messages import Fault, duration, thousands
from foreword.basics.packages import needed
from foreword.basics.progress import say
from foreword.basics.seeds import number_of
from foreword.batches.cuts import Cutter
from foreword.batches.mixture import (
    Data,
    Mixture,
    MixtureCutter,
    MixtureSource,
    cutter_over,
    open_data,
    open_if_there,
    stores_of,
)
from foreword.batches.phases import PhasedCutter, PhaseSpan
from foreword.batches.stream import Stream
from foreword.networks.base import Model, NetworkSpec
from foreword.parts.ngrams import numbers_by_rows
from foreword.runs.card import card
from foreword.runs.folder import RunFolder
from foreword.runs.halves import Halves
from foreword.runs.loop import Evaluation, RunLoop, check_same
from foreword.runs.needs import needs, positions_in
from foreword.runs.pace import pace
from foreword.runs.starting import check_same_start, start_from
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.gradient import GradientTraining
from foreword.training.hardware import Hardware

Ask = Callable[[Model, Tokenizer], dict[str, dict[str, float]]]  # task -> metric -> value


def train(
    recipe: Recipe,
    data: Path | Sequence[MixtureSource],
    out: Path,
    tensorboard: bool = False,
    hardware: Hardware | None = None,
    start: Path | Halves | None = None,
    ask: Ask | None = None,
) -> RunFolder:
    """Train until the recipe's budget is spent. A run that stopped before goes on from its last checkpoint.

    `start`: a run or model folder whose weights are the first, or one for each half of an
    encoder-decoder. `ask`: called at each evaluation; metrics.jsonl keeps its answer.
    """
    if tensorboard:
        needed("tensorboard", "track", "--tensorboard needs")
    store, valid = open_data(data, "train"), open_if_there(data, "valid")
    recipe = with_own_vectors(recipe, store, hardware)
    recipe = with_tables_that_pay(recipe, store, RunFolder(out), hardware or Hardware())
    check_tokenizer(recipe, store.tokenizer, str(store.folder))
    check_marks(recipe, stores_of(store))
    check_memory(recipe, stores_of(store))
    check_same(hardware, recipe, store.data)
    run = RunFolder(out)
    loop = text_run(recipe, store, valid, run, hardware, ask)  # what can be wrong is found before the folder is made
    if isinstance(start, Halves):
        begun = start.give(loop.model, loop.tokenizer)
    else:
        begun = start_from(start, recipe, loop.model, loop.tokenizer) if start else {}
    loop.ranks.check_same({"the weights to begin with": str(begun)})
    check_same_start(run, begun)
    with run.held():
        _trained(run, loop, recipe, store.data, begun, tensorboard)
    return run


def _trained(
    run: RunFolder, loop: RunLoop, recipe: Recipe, data: str, begun: dict[str, str], tensorboard: bool
) -> None:
    with loop.ranks.first_rank_first():
        if not run.claim(recipe, data, **({"start": begun} if begun else {})) and begun:
            say(f"{run.path}: trains {begun['path']} further")
    loop.resume()
    ended = loop.trainer.spent() >= 1.0 or loop.trainer.progress.halving.get("over")
    if run.passport().get("finished") and ended:
        more = (
            "A budget in steps, tokens or epochs would go on with it"
            if loop.trainer.passes_done()
            else "A larger --budget would go on with it"
        )
        say(f"{run.path}: this run is finished; nothing is left to do. {more}.")
    else:
        loop.go(tensorboard)


def with_own_vectors(recipe: Recipe, store: Data, hardware: Hardware | None) -> Recipe:
    """network.tokens_from = "text": vectors of this very text, learned now by skip-gram and kept for the next time."""
    if getattr(recipe.network, "tokens_from", None) != "text":
        return recipe
    if isinstance(store, Mixture):
        raise Fault(
            'network.tokens_from = "text" learns from one store, and this is a mixture.',
            "Learn them first:  foreword train word2vec --data STORE --out V, and --set network.tokens_from=V",
        )
    width: int = getattr(recipe.network, "embedding", None) or recipe.network.width  # type: ignore[union-attr]
    folder = cache_folder() / "vectors" / f"{store.data[:12]}-{store.fingerprint[:8]}-{width}"
    learned = loader.load("word2vec", "", [f"network.width={width}"])
    with (hardware or Hardware()).ranks.first_rank_first():
        if not RunFolder(folder).passport().get("finished"):
            say(f"vectors of {width} numbers are learned from {store.folder} first, in {folder}")
            train(learned, store.folder, folder)
    return recipe.model_copy(update={"network": recipe.network.model_copy(update={"tokens_from": str(folder)})})


def with_tables_that_pay(recipe: Recipe, store: Data, run: RunFolder, hardware: Hardware) -> Recipe:
    """Tables of n-grams learn by heart what is read several times: then the run does without. One that goes on stays as it is."""
    ngrams = getattr(recipe.network, "ngrams", None)
    if ngrams is None or not isinstance(recipe.network, NetworkSpec):
        return recipe
    if run.exists():
        keep = getattr(run.recipe().network, "ngrams", None) is not None
    else:
        read = hardware.ranks.first(expected_passes(recipe, store, hardware))
        keep = read <= ngrams.passes
        if not keep:
            say(
                f"the text will be read about {read:.1f} times: tables of n-grams would learn it by heart, and are left out "
                f"(network.ngrams.passes = {ngrams.passes:g}). More text would bring them back."
            )
    return recipe if keep else recipe.model_copy(update={"network": recipe.network.model_copy(update={"ngrams": None})})


def expected_passes(recipe: Recipe, store: Data, hardware: Hardware) -> float:
    """How often the text will be read; if the budget is time, by the pace of a few steps."""
    budget, spec = Budget.parse(recipe.training.budget), recipe.training
    if budget.unit == "epochs":
        return budget.amount
    if budget.unit == "steps":
        return budget.amount * spec.batch_size * positions_in(recipe) / store.tokens
    if budget.unit == "tokens":
        return budget.amount / store.tokens
    vocabulary = store.vocabulary()
    found = pace(recipe, vocabulary, needs(recipe, vocabulary, hardware), hardware).tokens_a_second
    seconds = budget.amount / torch.get_num_threads() if budget.cores else budget.amount * hardware.ranks.world
    return min(found * seconds / store.tokens, spec.passes or math.inf)


def text_run(
    recipe: Recipe,
    store: Data,
    valid: Data | None,
    run: RunFolder,
    hardware: Hardware | None = None,
    ask: Ask | None = None,
) -> RunLoop:
    """All is there to begin, and nothing written."""
    spec = recipe.training
    torch.manual_seed(number_of("weights", spec.seed))
    model = model_for(recipe, store.vocabulary())
    given: str | None = getattr(recipe.network, "tokens_from", None)
    tokens: JsonObject = {}
    if isinstance(model, Model) and given and not run.checkpoints():  # a run that goes on has its own by now
        tokens = start_tokens(model.network, store.tokenizer, given)
    cutter = in_phases(recipe, store)
    text = TextWorkload(store, valid, ask, tokens)
    loop = RunLoop(recipe, model, store.tokenizer, cutter, text, run, hardware)
    loop.trainer.held_out = lambda: text.held_out(loop, valid)
    return loop


def in_phases(recipe: Recipe, store: Data) -> Cutter:
    """The text as the recipe cuts it, in its first steps into shorter rows if it says so."""
    spec = recipe.training
    last = cutter_over(store, recipe.batches, spec.batch_size, spec.seed)
    if not isinstance(spec, GradientTraining) or not spec.phases:
        return last
    stretches, first = [], 0
    for number, (phase, end) in enumerate(zip(spec.phases, spec.phase_ends())):
        size, seed = phase.batch_size or spec.batch_size, number_of("phase", spec.seed, number)
        stretches.append(
            PhaseSpan(
                first,
                cutter_over(store, recipe.cut(min(phase.length, recipe.batches.length or phase.length)), size, seed),
                size,
            )
        )
        first = end
    return PhasedCutter([*stretches, PhaseSpan(first, last, spec.batch_size)], spec.batch_size)


class TextWorkload:
    """Training on text, judged by what held-out text costs."""

    def __init__(self, store: Data, valid: Data | None, ask: Ask | None = None, tokens: JsonObject | None = None):
        self.store, self.valid, self.ask = store, valid, ask
        self.tokens = tokens or {}  # the word vectors that the token table begins with

    def held_out(self, loop: RunLoop, valid: Data | None) -> Iterator[Any]:
        """The same few batches of validation text every time; of a mixture, those of each source; nothing if there is none."""
        if valid is None:
            return
        if isinstance(valid, Mixture):
            for store in valid.stores:
                yield from self.held_out(loop, store)
            return
        spec, batches = loop.recipe.training, loop.recipe.batches
        try:
            rows = batches.over(valid, 1, 0).epoch
        except Fault as fault:
            say(f"not evaluated: {fault.what}")
            return
        size, ranks = max(1, min(spec.batch_size, int(rows))), loop.ranks
        place = (ranks.rank, ranks.world) if size >= ranks.world else (0, 1)  # too few to share: all ranks read all
        stream = Stream(batches.over(valid, size, 0), loop.learner.collate, size, *place)
        for step in range(max(1, min(spec.valid_batches, int(rows) // size))):
            yield stream.batch(step)

    def evaluate(self, loop: RunLoop) -> Evaluation | None:
        """What held-out text costs; of a mixture the mean by shares, and what that of each source costs."""
        more: JsonObject = {}
        if isinstance(self.valid, Mixture):
            each = {
                name: loop.learner.measure(self.held_out(loop, store))
                for name, store in zip(self.valid.names, self.valid.stores)
            }
            found = self.valid.mean(each)
            more["sources"] = {name: one for name, one in each.items() if one}
        else:
            found = loop.learner.measure(loop.trainer.held_out())
        if found and self.ask:
            whole = loop.whole_model()
            more["asked"] = loop.ranks.first(None if whole is None else self.ask(whole, loop.tokenizer))
        return Evaluation(found, more) if found else None

    def sources(self, loop: RunLoop) -> list[JsonObject]:
        """What has been read of each source of a mixture so far: exact counts, nothing for a single store."""
        if not isinstance(self.store, Mixture):
            return []
        step = loop.trainer.progress.step
        alone = [(loop.cutter, loop.trainer.stream.rows(step))]
        read = loop.cutter.read(step) if isinstance(loop.cutter, PhasedCutter) else alone
        each = [(cutter.drawn(rows), cutter.epochs(rows)) for cutter, rows in read if isinstance(cutter, MixtureCutter)]
        if not each:
            return []
        return [
            {
                "name": name,
                "store": str(store.folder.resolve()),
                "weight": weight,
                "tokens": store.tokens,
                "rows": drawn,
                "epochs": epochs,
            }
            for name, store, weight, drawn, epochs in zip(
                self.store.names,
                self.store.stores,
                self.store.weights,
                [sum(rows) for rows in zip(*(drawn for drawn, _ in each))],
                [sum(passes) for passes in zip(*(epochs for _, epochs in each))],
            )
        ]

    def logged(self, loop: RunLoop) -> JsonObject:
        sources = self.sources(loop)
        return {"epochs": {source["name"]: source["epochs"] for source in sources}} if sources else {}

    def publish(self, loop: RunLoop) -> None:
        about, model = card(loop.recipe, loop.trainer.progress, self.store, self.sources(loop)), loop.whole_model()
        if model is not None:
            loop.run.publish(loop.recipe, model, loop.tokenizer, about)

    def introduce(self, loop: RunLoop) -> JsonObject:
        recipe, network = loop.recipe, isinstance(loop.model, Model)
        learned = loop.model.parameter_count()
        size = f"{thousands(learned)} parameters" if learned else "counts"
        say(
            f"{recipe.name}{' ' + recipe.size if recipe.size else ''}: {size}, {loop.tokenizer.name}, "
            f"{thousands(self.store.tokens)} tokens of training text, budget {loop.trainer.budget.written}"
            + (f", on {loop.hardware}" if network else "")
        )
        if (meant := kind(recipe.tokenizer)) != loop.tokenizer.kind:
            say(f"the recipe means a {meant} tokenizer; the store's {loop.tokenizer.name} is used.")
        if self.valid is None and network:
            say("there is no validation text: nothing is evaluated on the way, and the last weights are the model.")
        facts: JsonObject = {"tokens_from": self.tokens} if self.tokens else {}
        if self.tokens:
            say(said(self.tokens))
        if isinstance(self.store, Mixture):
            say(str(self.store))
            return {**facts, "sources": self.sources(loop)}
        return {**facts, "store": str(self.store.folder.resolve())}

    def finish(self, loop: RunLoop) -> JsonObject:
        progress, trainer = loop.trainer.progress, loop.trainer
        facts: JsonObject = {}
        if sources := self.sources(loop):
            facts["sources"] = sources
            say("read of each source: " + ", ".join(f"{one['name']} {one['epochs']:.2f} epochs" for one in sources))
        if isinstance(loop.model, Model):
            facts["flops"] = 6 * (loop.model.parameter_count() - numbers_by_rows(loop.model)) * progress.tokens
        if trainer.passes_done():
            say(
                f"the text was read {trainer.passes:g} times, and more would be learned by heart: it ends before its budget "
                f"of {loop.recipe.training.budget} (training.passes). More text, or a larger network, would use the rest."
            )
        say(
            f"{loop.recipe.name}: {thousands(progress.tokens)} tokens in {duration(progress.seconds)}; "
            f"model in {loop.run.path / 'model'}"
        )
        return facts
