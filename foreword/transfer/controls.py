"""Controls beside the result of a fine-tuned run: its texts in random order, and what simpler models do within the labels."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.basics.seeds import chance, number_of
from foreword.networks.base import Model
from foreword.networks.features import trunk_of
from foreword.runs.folder import RunFolder
from foreword.tasks.example import Example, groups
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import difference, value
from foreword.text.words import mostly_chinese
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.transfer import baselines
from foreword.transfer.finetune import PUBLISHED, finetune
from foreword.transfer.kinds.base import read_predictions
from foreword.transfer.label_subset import label_subset
from foreword.transfer.labelled_run import opened
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings

MOST_ASKED = 2000  # test examples of the control
FOLDS = 3
LABELS = (200, 2000)  # with fewer, cross-validation cannot tell five points; with more it takes long


# --- words in random order ----------------------------------------------------------------------------------------------


def in_random_order(example: Example) -> Example:
    """The same words of each text (characters, of Chinese), anywhere in it."""
    texts = []
    for number, text in enumerate(example.texts):
        chinese = mostly_chinese([text])
        parts = list(text) if chinese else text.split()
        order = chance(number_of("order", example.id, number)).permutation(len(parts))
        texts.append(("" if chinese else " ").join(parts[place] for place in order))
    return replace(example, texts=tuple(texts))


def word_order(run: RunFolder, task: LabelledTask) -> JsonObject:
    """How much worse a run is where the words of its test stand in random order: nothing, if it reads a bag of them."""
    some = task.test[:MOST_ASKED]
    said = [row["answer"] for row in read_predictions(run.path)][: len(some)]
    shuffled = Predictor(run.path).predict([in_random_order(one) for one in some]).labels
    measure = task.measure
    mine, theirs = measure.judge(some, said), measure.judge(some, shuffled)
    apart = difference(measure.metric, mine, theirs)
    return {
        "metric": task.metrics[0],
        "shuffled": value(measure.metric, theirs),
        "shown": measure.metric.shown(value(measure.metric, theirs)),
        "change": apart.value,
        "interval": list(apart.interval),
        "cells": list(apart.cells),
        "sign": apart.sign,
    }


def order_in_words(found: JsonObject) -> str:
    change, between = found["cells"]
    meaning = {
        -1: "it reads more than which words there are.",
        0: "that it reads more than which words there are cannot be seen.",
        1: "it is better without their order.",
    }[found["sign"]]
    said = f"{found['metric']} {found['shown']} ({change}, 95% {between})"
    return f"Control, the words of each text in random order: {said}: {meaning}"


# --- which to use, by cross-validation within the labels ----------------------------------------------------------------


def bag_of(model: Model, tokenizer: Tokenizer) -> baselines.Embed:
    """The mean of the vectors that a network's table has for the tokens of a text, in whatever order."""
    table = model.network.table().detach().float().cpu().numpy()

    def vectors(texts: Sequence[str]) -> np.ndarray:
        ids = tokenizer.encode_many(list(texts))
        return np.stack([table[one].mean(0) if len(one) else np.zeros(table.shape[1], np.float32) for one in ids])

    return vectors


def can_recommend(run: RunFolder, task: LabelledTask, how: FinetuneSettings) -> bool:
    """A small network, texts that a regression can be fitted to, and neither too few labels to tell nor too many to wait."""
    width = getattr(trunk_of(run.recipe().network), "width", PUBLISHED)
    labels = how.labels or len(groups(task.train))
    return width < PUBLISHED and baselines.fits_texts(task.kind) and LABELS[0] <= labels <= LABELS[1]


def recommended(
    model: str | Path, task: LabelledTask, how: FinetuneSettings, hardware: Hardware | None = None
) -> JsonObject:
    """Each third of the labels judged by what learned from the others: the network, TF-IDF, and a bag of its token vectors."""
    task, start = label_subset(task, how.labels, how.seed), opened(model, how)
    assert isinstance(start.model, Model)
    assert start.tokenizer is not None
    names, fold_of = sorted(groups(task.train)), {}
    for place, number in enumerate(chance(number_of("folds", how.seed)).permutation(len(names))):
        fold_of[names[number]] = place % FOLDS
    examples, judged = groups(task.train), dict[str, list[Any]]()
    for fold in range(FOLDS):
        say(f"which to use: fold {fold + 1} of {FOLDS} of cross-validation within the labels")
        on, off = (
            tuple(task.train[place] for name in names if (fold_of[name] == fold) is there for place in examples[name])
            for there in (False, True)
        )
        part = replace(task, train=on, test=off)
        for name, answers in _answers(model, part, how, start.model, start.tokenizer, hardware).items():
            judged.setdefault(name, []).extend(task.measure.judge(part.test, answers))
    metric = task.measure.metric
    best = max(judged, key=lambda name: value(metric, judged[name]))
    rivals = {name: difference(metric, judged[name], judged[best]) for name in judged if name != best}
    return {
        "use": best,
        "metric": task.metrics[0],
        "labels": len(names),
        "each": {
            name: {"value": value(metric, one), "shown": metric.shown(value(metric, one))}
            for name, one in judged.items()
        },
        "ahead": {name: {"cells": list(one.cells), "interval": list(one.interval)} for name, one in rivals.items()},
    }


def _answers(
    model: str | Path,
    part: LabelledTask,
    how: FinetuneSettings,
    start: Model,
    tokenizer: Tokenizer,
    hardware: Hardware | None,
) -> dict[str, Sequence[object]]:
    with tempfile.TemporaryDirectory() as folder:
        run = finetune(model, part, Path(folder) / "fold", replace(how, labels=None), hardware)
        found: dict[str, Sequence[Any]] = {"the network": [row["answer"] for row in read_predictions(run.path)]}
    try:
        found["TF-IDF"] = baselines.words(part).predictions
        found["the bag of its token vectors"] = baselines.vectors(part, bag_of(start, tokenizer)).predictions
    except Fault as fault:
        say(f"no baseline on words: {fault.what}")
    return found


def recommended_in_words(found: JsonObject) -> str:
    scores = ", ".join(f"{name} {one['shown']}" for name, one in found["each"].items())
    ahead = "; ".join(f"{one['cells'][0]} to {name}, 95% {one['cells'][1]}" for name, one in found["ahead"].items())
    return (
        f"Use {found['use']}: {found['metric']} in cross-validation within the {found['labels']:,} labels is {scores} "
        f"({found['use']} {ahead})."
    )
