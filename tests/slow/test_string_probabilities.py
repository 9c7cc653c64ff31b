"""What the probability of a string is good for, on held-out WikiText-2 and SST-2, each with a model that must fail.

The Penn Treebank that the literature takes is not free to pass on; agreement pairs and lists are made of WikiText-2 by the same rules.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.evaluate.rescoring import JUDGES, Weights, choose, fit, language_model_scores
from foreword.model import LoadedModel, load
from foreword.runs.train import train
from foreword.tasks.n_best import NBest
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Word

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("data")]

AGREEMENT = {"is": "are", "was": "were", "has": "have"}
SWAPPED = {**AGREEMENT, **{plural: singular for singular, plural in AGREEMENT.items()}}


def sentences(path: Path) -> list[list[str]]:
    found = [line.split() for line in re.split(r"\n| (?<=\. )", path.read_text(encoding="utf-8")) if "=" not in line]
    return [words for words in found if 5 <= len(words) <= 30 and "<unk>" not in words]


def trained(recipe: str, lines: list[str], folder: Path, *settings: str, size: str = "") -> LoadedModel:
    text = folder.parent / f"{folder.name}.txt"
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    build_store([text], folder.parent / f"{folder.name}-store", Word(vocabulary=40_000), documents="line", workers=1)
    train(loader.load(recipe, size, list(settings)), folder.parent / f"{folder.name}-store", folder)
    return load(folder)


@pytest.fixture(scope="module")
def wikitext(data) -> tuple[list[list[str]], list[list[str]]]:
    folder = data / "wikitext-2"
    return sentences(folder / "train.part1.txt") + sentences(folder / "train.part2.txt"), sentences(folder / "test.txt")


@pytest.fixture(scope="module")
def models(wikitext, tmp_path_factory) -> dict[str, LoadedModel]:
    folder, lines = tmp_path_factory.mktemp("models"), [" ".join(words) for words in wikitext[0]]
    words = [word for sentence in wikitext[0] for word in sentence]
    np.random.default_rng(0).shuffle(words)
    cuts = np.cumsum([len(sentence) for sentence in wikitext[0]])[:-1]
    shuffled = [" ".join(part) for part in np.split(np.array(words, object), cuts)]
    return {
        "trigrams": trained("kneser-ney", lines, folder / "trigrams", "network.order=3"),
        "unigrams": trained("unigram", lines, folder / "unigrams"),
        "shuffled": trained("kneser-ney", shuffled, folder / "shuffled", "network.order=3"),
    }


def pairs(test: list[list[str]]) -> list[tuple[str, str]]:
    """As many of each direction, so that liking the more frequent form gains nothing."""
    found: dict[str, list[tuple[str, str]]] = {word: [] for word in SWAPPED}
    for words in test:
        for place, word in enumerate(words):
            if word in SWAPPED:
                other = [*words[:place], SWAPPED[word], *words[place + 1 :]]
                found[word].append((" ".join(words), " ".join(other)))
    both = [(found[one], found[other]) for one, other in AGREEMENT.items()]
    return [pair for one, other in both for side in (one, other) for pair in side[: min(len(one), len(other))]]


def preferred(model: LoadedModel, asked: list[tuple[str, str]]) -> np.ndarray:
    good, bad = (model.score([pair[side] for pair in asked]) for side in (0, 1))
    return np.array([a.nats < b.nats for a, b in zip(good, bad)])


def test_trigrams_know_agreement_and_a_model_of_shuffled_words_does_not(models, wikitext):
    asked = pairs(wikitext[1])
    known, control = (preferred(models[name], asked) for name in ("trigrams", "shuffled"))
    print(f"\nagreement, {len(asked)} pairs: trigrams {known.mean():.3f}, of shuffled words {control.mean():.3f}")
    assert len(asked) > 200
    assert known.mean() > 0.6
    assert abs(control.mean() - 0.5) < 0.03


def heard(test: list[list[str]], count: int, seed: int, near: dict[str, list[str]]) -> list[NBest]:
    """Lists of ten by a channel that hears a word of the same first letter and length for one in six, and says how likely it was."""
    rng, found = np.random.default_rng(seed), []
    for number in rng.choice(len(test), count, replace=False):
        words = test[number][:15]
        texts, scores = [" ".join(words)], [0.0]
        for _ in range(9):
            wrong = rng.random(len(words)) < 1 / 6
            said = [str(rng.choice(near[word])) if bad and word in near else word for word, bad in zip(words, wrong)]
            texts.append(" ".join(said))
            scores.append(0.0)
        # the channel's score of a hypothesis given what was heard: right in the mean, and noisy
        noise = rng.normal(0, 3, len(texts))
        errors = [sum(a != b for a, b in zip(words, text.split())) for text in texts]
        found.append(NBest(tuple(texts), noise - np.array(errors), (" ".join(words),)))
    return found


def test_rescoring_helps_and_trigrams_help_more_than_unigrams(models, wikitext):
    vocabulary = sorted({word for words in wikitext[0] for word in words})
    groups: dict[tuple[str, int], list[str]] = {}
    for word in vocabulary:
        groups.setdefault((word[0], len(word)), []).append(word)
    near = {word: group for group in groups.values() if len(group) > 1 for word in group}
    dev, test, judge = heard(wikitext[1], 300, 1, near), heard(wikitext[1], 1000, 2, near), JUDGES["wer"]
    columns = judge.columns(test)
    before = judge.of(columns, choose(test, [one.scores for one in test], Weights()))
    after = {}
    for name, model in models.items():
        weights = fit(dev, language_model_scores(model, dev), judge)
        after[name] = judge.of(columns, choose(test, language_model_scores(model, test), weights))
    print(f"\nWER: {before:.2f} without, {after}, oracle and worst {judge.limits(columns)}")
    assert after["trigrams"] < after["unigrams"] <= before
    assert after["trigrams"] < 0.9 * before


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """The share of pairs of a good and a bad review that stand in the right order; a tie is half."""
    apart = scores[positive][:, None] - scores[~positive][None]
    return float((apart > 0).mean() + (apart == 0).mean() / 2)


def test_ratings_separate_reviews_and_a_unigram_model_cannot(data, tmp_path):
    def rows(name: str) -> list[tuple[str, bool]]:
        lines = (data / "glue/SST-2" / name).read_text(encoding="utf-8").splitlines()[1:]
        return [(line.split("\t")[0].strip(), line.split("\t")[1] == "1") for line in lines]

    options = ("terrible rating", "wonderful rating")
    lines = [f"{text} {options[good]}" for text, good in rows("train.tsv")]
    asked = rows("dev.tsv")
    labels = np.array([good for _, good in asked])
    found = {}
    small = ("network.width=96", "training.budget=1epochs")
    for recipe, size, settings in (("lstm", "laptop", small), ("kneser-ney", "", ()), ("unigram", "", ())):
        model = trained(recipe, lines, tmp_path / recipe, *settings, size=size)
        end, (bad,), (good,) = model.tokenizer.special("[end]"), *map(model.tokenizer.encode, ("terrible", "wonderful"))

        def preference(text: str, model=model, end=end, bad=bad, good=good) -> float:
            logs = model.language_model.begin([np.array([end, *model.tokenizer.encode(text)])])[0][0]
            return float(logs[good] - logs[bad])

        found[recipe] = auc(np.array([preference(text) for text, _ in asked]), labels)
        if recipe == "lstm":  # the words of the review decide
            assert preference("that movie was wonderful !") > preference("that movie was terrible !")
    print(f"\nAUC of the two ratings: {found}")
    assert found["lstm"] > 0.6
    assert found["unigram"] == 0.5
