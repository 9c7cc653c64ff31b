"""Baselines learn from train, choose on dev, and touch test once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.tasks.example import Example
from foreword.tasks.labelled.classify import Classification, PairClassification
from foreword.tasks.labelled.similarity import Similarity
from foreword.tasks.labelled.tag import Tagging
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.transfer import baselines

DICE = np.random.default_rng(3)
FILLER = [f"w{number}" for number in range(60)]


def sentence(*words: str) -> str:
    return " ".join(DICE.permutation([*words, *DICE.choice(FILLER, 6)]))


def task(learn, make, sizes=(300, 60, 100), labels=()) -> LabelledTask:
    return LabelledTask(
        "made",
        learn,
        labels,
        *(tuple(make(f"{split}{number}") for number in range(size)) for split, size in enumerate(sizes)),
    )


def told(name: str) -> Example:
    label = str(DICE.choice(["good", "bad"]))
    return Example(name, (sentence("lovely" if label == "good" else "dreadful"),), label)


CLASSIFY = task(Classification(text="{text}", label="{label}"), told, labels=("bad", "good"))


def test_a_word_that_tells_is_found():
    commonest, words = baselines.majority(CLASSIFY), baselines.words(CLASSIFY)
    assert words.test[0].value == 1
    assert commonest.test[0].value == pytest.approx(
        np.mean([example.label == commonest.predictions[0] for example in CLASSIFY.test])
    )
    assert [one.metric for one in words.test] == ["accuracy", "macro_f1"]
    assert words.predict(CLASSIFY.test[:3]) == list(words.predictions[:3])


def test_the_test_set_changes_nothing_that_is_chosen_or_learned():
    """The same task with other test labels and texts: the same predictions on dev, the same setting."""
    other = replace(
        CLASSIFY,
        test=tuple(replace(example, label="bad", texts=("lovely unheard words",)) for example in CLASSIFY.test),
    )
    one, two = baselines.words(CLASSIFY), baselines.words(other)
    assert one.setting == two.setting
    assert one.predict(CLASSIFY.dev) == two.predict(CLASSIFY.dev)
    assert one.dev == two.dev


def test_labels_by_lot_are_at_chance():
    lots = DICE.permutation(len(CLASSIFY.train))
    mixed = replace(
        CLASSIFY,
        train=tuple(replace(example, label=CLASSIFY.train[lot].label) for example, lot in zip(CLASSIFY.train, lots)),
    )
    assert abs(baselines.words(mixed).test[0].value - 0.5) < 3.3 * 0.05


def alike(name: str) -> Example:
    label = str(DICE.choice(["same", "other"]))
    first = DICE.choice(FILLER, 6)
    second = DICE.permutation(first) if label == "same" else DICE.choice(FILLER, 6)
    return Example(name, (" ".join(first), " ".join(second)), label)


def test_pairs_are_told_apart_only_by_both_texts():
    pairs = task(PairClassification(first="{a}", second="{b}", label="{label}"), alike, labels=("other", "same"))
    assert baselines.words(pairs).test[0].value > 0.9
    for side in (0, 1):
        assert abs(baselines.words(pairs, seen=(side,)).test[0].value - 0.5) < 3.3 * 0.05


def test_similarity_by_ridge():
    def graded(name: str) -> Example:
        shared = int(DICE.integers(0, 6))
        first = DICE.choice(FILLER, 5, replace=False)
        return Example(
            name, (" ".join(first), " ".join([*first[:shared], *DICE.choice(FILLER, 5 - shared)])), float(shared)
        )

    numbers = task(Similarity(first="{a}", second="{b}", score="{score}"), graded)
    assert baselines.words(numbers).test[0].value > 0.85
    assert baselines.majority(numbers).test[0].value == 0
    assert baselines.majority(numbers).name == "mean"


def test_vectors_of_a_model_are_a_baseline_too():
    def embed(texts):
        return np.asarray([[text.count("lovely"), text.count("dreadful"), len(text)] for text in texts], np.float32)

    assert baselines.vectors(CLASSIFY, embed).test[0].value == 1
    pairs = task(PairClassification(first="{a}", second="{b}", label="{label}"), alike, labels=("other", "same"))
    width = (
        baselines.ModelVectors(embed).fit([example.texts for example in pairs.train]).of([pairs.test[0].texts]).shape[1]
    )
    assert width == 4 * 3


def test_chinese_is_counted_by_character():
    chinese = task(
        Classification(text="{text}", label="{label}"),
        lambda name: (
            lambda good: Example(
                name,
                ("".join(DICE.permutation(list("房间服务早餐位置" + ("喜" if good else "怒")))),),
                "good" if good else "bad",
            )
        )(bool(DICE.integers(2))),
        labels=("bad", "good"),
    )
    assert baselines.words(chinese).test[0].value == 1
    assert baselines.mostly_chinese(["房间 very 很好的服务员"])
    assert not baselines.mostly_chinese(["a long sentence with 一 sign"])


def test_what_cannot_be_done_is_said():
    tags = LabelledTask(
        "tags", Tagging(sentence="{words}", tags="{tags}"), ("O",), (Example("0", ("a",), ("O",)),), (), ()
    )
    with pytest.raises(Fault, match="no such baseline for token tagging"):
        baselines.words(tags)
    with pytest.raises(Fault, match="only the label 'bad'"):
        baselines.words(replace(CLASSIFY, train=tuple(replace(example, label="bad") for example in CLASSIFY.train)))


def test_cola_and_sts_b_beat_the_constant(data):
    """Real data: words tell how alike two captions are, and next to nothing of grammar."""
    numbers = baselines.words(load("stsb"))
    assert numbers.test[0].value > 0.6
    assert baselines.majority(load("cola")).test[0].value == 0, "Matthews of a constant"
