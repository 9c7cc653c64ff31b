"""What a study tries: seeds, numbers of labels, rates, and who is compared with whom. All that is wrong with it, said before."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.progress import say
from foreword.networks.features import trunk_of
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.tasks.example import groups
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.finetune import Tuning, recipe_for
from foreword.transfer.initial_weights import INITS
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.label_subset import strata, training_subset
from foreword.transfer.multitask import folder_of

EXCHANGED = "shuffled-labels"
CONTROLS = (*INITS, EXCHANGED)                       # what --compare knows by name; everything else is a model's folder


@dataclass(frozen=True)
class Plan:
    """What is tried, and how often."""

    seeds: int = 5
    grid: bool = False                               # the papers' rates and batch sizes, in the place of one of each
    curve: tuple[int | None, ...] = ()               # numbers of labels; None: all. Empty: the one of the tuning
    restarts: int = 0                                # of a seed that collapsed
    compare: tuple[str, ...] = ()                    # controls and other models, with the same seeds
    layers: tuple[int | None, ...] = ()              # so many transferred, from below; None: all. Empty: as the tuning says
    ensemble: bool = False
    rates: tuple[float, ...] = ()                    # each in turn, with the tuning's batch size; empty: the tuning's own
    at_once: int | None = 1                          # runs at a time; None: as many as is measured to be quickest. More than
                                                     # one are processes that import the script which asks for them

    def check(self, model: Path, task: LabelledTask, how: Tuning, out: Path) -> None:
        wrong = [
            (self.seeds < 1, f"--seeds {self.seeds}: there must be at least one.", ""),
            (self.at_once is not None and self.at_once < 1, f"--at-once {self.at_once}: there must be at least one.", ""),
            (self.restarts < 0, f"--restarts {self.restarts}: it cannot be fewer than none.", ""),
            (self.grid and (self.rates or how.learning_rate is not None), "--grid tries its own rates.",
             "Leave out --learning-rate or --grid."),
            (self.grid and how.features, "--grid tries rates for the whole network, and with --features it is frozen.",
             "Leave out --grid; --learning-rate gives another rate."),
            (self.layers and how.features, "--layers draws the others, and with --features they would stay as they are drawn.",
             "--set network.trunk.layers=2 mixes the first two alone."),
            (self.curve and how.labels is not None, "--curve says the numbers of labels.", "Leave out --labels or --curve."),
            (self.ensemble and not transfer_kind_of(task.kind).combines, f"there is no ensemble for {task.learn.in_words}.", ""),
            (EXCHANGED in self.compare and not task.learn.shuffles,
             f"--compare {EXCHANGED}: in {task.learn.in_words} no example can have another's label.", "Leave it out."),
            (RunFolder(out).exists(), f"{out} is itself a run; several would be mixed with it.", "Choose another --out.")]
        faults = [Fault(what, do) for holds, what, do in wrong if holds]
        for word in dict.fromkeys(self.compare):
            if self.compare.count(word) > 1 or word == how.init or Path(word).resolve() == model.resolve():
                faults.append(Fault(f"--compare {word}: that is in the table already.", "Name every other beginning once."))
            elif word not in CONTROLS and not Path(word).exists():
                faults.append(Fault(f"--compare {word}: it must be one of {', '.join(CONTROLS)}, or the folder of another model."
                                    + did_you_mean(word, CONTROLS)))
        faults += filter(None, (_refused(training_subset, task, size, how.seed) for size in self.sizes(how)))
        others = [Path(word) for word in self.compare if word not in CONTROLS and Path(word).exists()]
        for one in dict.fromkeys([model, *others]):
            faults += filter(None, [_refused(self._check_model, one, task, how)])
        if faults:
            raise Faults(faults)

    def _check_model(self, model: Path, task: LabelledTask, how: Tuning) -> None:
        """What would else be found when all runs before its first are done."""
        recipe_for(open_model(folder_of(model, task)), task, how)
        there = depth(model) if self.layers else 0
        if more := [layers for layers in self.layers if layers is not None and layers > there]:
            raise Fault(f"--layers {more[0]}: {model} has {there}.", "Give no more, or 'all'.")

    def sizes(self, how: Tuning) -> tuple[int | None, ...]:
        return self.curve or (how.labels,)


def _refused(do: Callable[..., Any], *given: Any) -> Fault | None:
    try:
        do(*given)
    except Fault as fault:
        return fault
    return None


def curve_of(text: str, task: LabelledTask) -> tuple[int | None, ...]:
    """'16,10%,all' -> (16, a tenth of the training examples, None)."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    there, classes = len(groups(task.train)), len(strata(task.train))
    found: list[int | None] = []
    for word in words or [""]:
        number = float(word.rstrip("%")) if re.fullmatch(r"\d+|\d+(\.\d+)?%", word) else 0.0
        if word != "all" and (not number or (number > 100 and "%" in word)):
            raise Fault(f"--curve {text}: it must be numbers of labels or percents of them, parted by commas, and 'all'.",
                        "For instance: 16,64,256,all or 1%,10%,100%")
        size = None if word == "all" else round(number / 100 * there) if "%" in word else int(number)
        if "%" in word and size is not None:
            if size < classes:
                least = math.ceil(1e4 * (classes - 0.5) / there) / 100
                raise Fault(f"--curve {word}: of {there:,} training examples that is {size}, and {task.name} has {classes} "
                            f"class{'es' if classes > 1 else ''}, each of which needs one.", f"Give at least {least:g}%.")
            say(f"{word} of {there:,} training examples: {size:,}")
            size = size if size < there else None
        found.append(size)
    return tuple(dict.fromkeys(found))


def rates_of(text: str) -> tuple[float, ...]:
    """'3e-4,1e-3' -> (3e-4, 1e-3)."""
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < rate < math.inf for rate in found):
        raise Fault(f"--learning-rate {text}: it must be a number above 0; several, parted by commas, are a study.",
                    "For instance: 1e-3 or 3e-4,1e-3,3e-3")
    return tuple(dict.fromkeys(found))


def layers_of(text: str) -> tuple[int | None, ...]:
    """'0,2,all' -> (0, 2, None)."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(word == "all" or word.isdecimal() for word in words):
        raise Fault(f"--layers {text}: it must be a number of layers; several, parted by commas, are a study.",
                    "For instance: 2 or 0,1,2,all")
    return tuple(dict.fromkeys(None if word == "all" else int(word) for word in words))


@dataclass(frozen=True)
class Contender:
    """What a row of the table is about, whatever the number of labels: a beginning, and how it is tuned."""

    name: str
    model: Path
    how: Tuning
    place: str = ""                                  # its folder below the study's
    exchanged: bool = False                          # it learns from labels that say nothing
    layers: int | None = None                        # that are transferred, where this is what is asked


def contenders(model: Path, task: LabelledTask, how: Tuning, plan: Plan) -> list[Contender]:
    """The one that all is about, and what it is compared with."""
    others = [Path(word) for word in plan.compare if word not in CONTROLS]
    names = _names([model, *others])
    *fewer, most = sorted(plan.layers, key=lambda layers: math.inf if layers is None else layers) or [how.layers]
    first = Contender(names[model] if others else how.init, folder_of(model, task), replace(how, layers=most))
    found = [replace(first, layers=depth(model) if most is None else most) if fewer else first]
    for layers in fewer:
        found.append(replace(first, name=f"{layers} layer{'' if layers == 1 else 's'}", how=replace(how, layers=layers),
                             place=f"layers-{layers}", layers=layers))
    for word in plan.compare:
        if word in INITS:
            found.append(replace(first, name=word, how=replace(first.how, init=word), place=word))
        elif word == EXCHANGED:
            found.append(replace(first, name=word, place=word, exchanged=True))
        else:
            name = names[Path(word)]
            found.append(replace(first, name=name, model=folder_of(Path(word), task), place=f"model-{name}"))
    return found


def depth(model: Path) -> int:
    return int(getattr(trunk_of(open_model(model).recipe.network), "layers", 0))


def _names(models: Sequence[Path]) -> dict[Path, str]:
    """The last part of each path; all of it where two would be called the same."""
    short = [path.resolve().name for path in models]
    return {path: name if short.count(name) == 1 else str(path).strip("/").replace("/", "-") for path, name in zip(models, short)}
