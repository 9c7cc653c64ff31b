"""What a study tries, and what is compared with what; every fault is found before the first run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.networks.features import trunk_of
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.finetune import recipe_for
from foreword.transfer.first_model import refuse as refuse_vectors
from foreword.transfer.initial_weights import INITS
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.label_subset import training_subset
from foreword.transfer.labelled_run import opened
from foreword.transfer.multitask import folder_of
from foreword.transfer.tuning import FinetuneSettings
from foreword.vectors.words import is_vectors

SHUFFLED_LABELS = "shuffled-labels"
CONTROLS = (*INITS, SHUFFLED_LABELS)  # what --compare knows by name; everything else is a model's folder


@dataclass(frozen=True)
class Plan:
    """What is tried, and how often."""

    seeds: int = 5
    grid: bool = False  # the papers' rates and batch sizes, in the place of one of each
    curve: tuple[int | None, ...] = ()  # numbers of labels; None: all. Empty: the one of the tuning
    restarts: int = 0  # of a seed that collapsed
    compare: tuple[str, ...] = ()  # controls and other models, with the same seeds
    layers: tuple[int | None, ...] = ()  # so many transferred, from below; None: all. Empty: as the tuning says
    ensemble: bool = False
    rates: tuple[float, ...] = ()  # each in turn, with the tuning's batch size; empty: the tuning's own
    jobs: int | None = 1  # runs in parallel; None: as many as is measured to be fastest. More
    # than one are processes that import the script which asks for them
    cluster: str = ""  # the Ray cluster that they run on, as --cluster names it elsewhere
    vary: tuple[str, ...] = ()  # section.key=value,value: a contender for each combination

    def check(self, model: Path, task: LabelledTask, how: FinetuneSettings, out: Path) -> None:
        rated, kind = bool(self.rates) or how.learning_rate is not None, task.learn.in_words
        shuffles = SHUFFLED_LABELS in self.compare
        wrong = {
            f"--seeds {self.seeds}: there must be at least one.": self.seeds < 1,
            f"--jobs {self.jobs}: give at least one.": self.jobs is not None and self.jobs < 1,
            f"--set restarts={self.restarts}: it cannot be fewer than none.": self.restarts < 0,
            "--grid tries its own rates: leave out --learning-rate or --grid.": self.grid and rated,
            "a label curve has numbers of labels of its own: leave out one.": self.curve and how.labels is not None,
            f"there is no ensemble for {kind}.": self.ensemble and not transfer_kind_of(task.kind).combines,
            f"in {kind} no example can have another's label: shuffled-labels.": shuffles and not task.learn.shuffles,
            f"{out} is itself a run; several would be mixed with it: choose another --out.": RunFolder(out).exists(),
        }
        faults = [Fault(what) for what, holds in wrong.items() if holds]
        if self.grid and how.features:
            what = "--grid tries rates for the whole network, and with --features it is frozen."
            faults.append(Fault(what, "Leave out --grid; --learning-rate gives another rate."))
        if self.layers and how.features:
            what = "--layers re-initialises the others, and with --features they would stay so."
            faults.append(Fault(what, "--set network.trunk.layers=2 mixes the first two alone."))
        for word in dict.fromkeys(self.compare):
            if self.compare.count(word) > 1 or word == how.init or Path(word).resolve() == model.resolve():
                faults.append(Fault(f"--compare {word}: that is in the table already. Name everything once."))
            elif word not in CONTROLS and not Path(word).exists():
                known = f"one of {', '.join(CONTROLS)}, or the folder of another model.{did_you_mean(word, CONTROLS)}"
                faults.append(Fault(f"--compare {word}: it must be {known}"))
        faults += filter(None, (_refused(training_subset, task, size, how.seed) for size in self.sizes(how)))
        others = [Path(word) for word in self.compare if word not in CONTROLS and Path(word).exists()]
        for one in dict.fromkeys([model, *others]):
            faults += filter(None, [_refused(self._check_model, one, task, how)])
        if beside_counts(model, how):
            faults += filter(None, [_refused(self._check_vectors, model, how)])
        if faults:
            raise Faults(faults)

    def _check_model(self, model: Path, task: LabelledTask, how: FinetuneSettings) -> None:
        """What would otherwise be found only when its first run begins."""
        if beside_counts(model, how):
            refuse_vectors(str(model), task)
            return
        recipe_for(opened(folder_of(model, task), how), task, how)
        there = depth(model) if self.layers else 0
        if more := [layers for layers in self.layers if layers is not None and layers > there]:
            raise Fault(f"--layers {more[0]}: {model} has {there}.", "Give no more, or 'all'.")

    def _check_vectors(self, model: Path, how: FinetuneSettings) -> None:
        """Of the first contender: what is asked of it and says nothing about a table of vectors."""
        inits = [word for word in (how.init, *self.compare) if word in INITS[1:]]
        idle = {"--layers": self.layers, "--features": how.features, "--set ensemble": self.ensemble}
        idle |= {f"init {word}": word for word in inits} | {f"--vary {one}": one for one in self.vary}
        if said := [name for name, value in idle.items() if value]:
            raise Fault(
                f"{' and '.join(said)}: {model} is a table of word vectors, which is put beside TF-IDF and has no layers to set.",
                "Leave it out (shuffled-labels is its control), or make a network of it: --set network=lstm.",
            )

    def sizes(self, how: FinetuneSettings) -> tuple[int | None, ...]:
        return self.curve or (how.labels,)


def beside_counts(model: Path, how: FinetuneSettings) -> bool:
    """Word vectors that are put beside TF-IDF, and not the table of a network."""
    return not how.network and is_vectors(model)


def _refused(do: Callable[..., object], *given: object) -> Fault | None:
    try:
        do(*given)
    except Fault as fault:
        return fault
    return None


@dataclass(frozen=True)
class Contender:
    """A row of the table, whatever the number of labels: initial weights, and how they are fine-tuned."""

    name: str
    model: Path
    how: FinetuneSettings
    place: str = ""  # its folder below the study's
    shuffled_labels: bool = False  # a control: its labels say nothing
    layers: int | None = None  # that are transferred, where this is what is asked


def contenders(model: Path, task: LabelledTask, how: FinetuneSettings, plan: Plan) -> list[Contender]:
    """The first, and what it is compared with."""
    others = [Path(word) for word in plan.compare if word not in CONTROLS]
    names = _names([model, *others])
    *fewer, most = sorted(plan.layers, key=lambda layers: math.inf if layers is None else layers) or [how.layers]
    first_values, *varied = combinations(plan.vary)
    how = replace(how, settings=(*how.settings, *first_values))
    name = names[model] if others else ", ".join(first_values) or how.init
    first = Contender(name, folder_of(model, task), replace(how, layers=most))
    found = [replace(first, layers=depth(model) if most is None else most) if fewer else first]

    def add(name: str, place: str, other: FinetuneSettings = first.how, **differs: Any) -> None:
        found.append(replace(first, name=name, place=place, how=other, **differs))

    for layers in fewer:
        called = f"{layers} layer{'' if layers == 1 else 's'}"
        add(called, f"layers-{layers}", replace(how, layers=layers), layers=layers)
    for values in varied:
        settings = (*(one for one in how.settings if one not in first_values), *values)
        add(", ".join(values), short_name(values), replace(first.how, settings=settings))
    for word in plan.compare:
        if word in INITS:
            add(word, word, replace(first.how, init=word))
        elif word == SHUFFLED_LABELS:
            add(word, word, shuffled_labels=True)
        else:
            add(names[Path(word)], f"model-{names[Path(word)]}", model=folder_of(Path(word), task))
    return found


def combinations(vary: Sequence[str]) -> list[tuple[str, ...]]:
    """['a.b=1,2', 'c.d=x,y'] -> every combination, each as settings."""
    choices = []
    for one in vary:
        key, equals, several = one.partition("=")
        values = [value.strip() for value in several.split(",") if value.strip()]
        if not equals or not key.strip() or not values:
            raise Fault(f"--vary {one}: write section.key=value,value,...")
        choices.append([f"{key.strip()}={value}" for value in values])
    return list(itertools.product(*choices))


def short_name(values: Sequence[str]) -> str:
    """Settings as part of a folder's name: 'training.optimizer.learning_rate=1e-3' -> 'learning-rate-1e-3'."""
    named = [f"{key.rsplit('.', 1)[-1]}-{value}" for key, _, value in (one.partition("=") for one in values)]
    return "_".join("".join(c if c.isalnum() or c in ".-" else "-" for c in name) for name in named)


def depth(model: Path) -> int:
    return int(getattr(trunk_of(open_model(model).recipe.network), "layers", 0))


def _names(models: Sequence[Path]) -> dict[Path, str]:
    """The last part of each path; all of it where two would be called the same."""
    short = [path.resolve().name for path in models]
    return {
        path: name if short.count(name) == 1 else str(path).strip("/").replace("/", "-")
        for path, name in zip(models, short)
    }
