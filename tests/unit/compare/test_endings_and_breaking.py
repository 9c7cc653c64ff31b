"""Endings by style and by likelihood, pairs with one word changed, and the easy and the hard half of a test set."""

from __future__ import annotations

import json

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.compare import artefacts, breaking, endings
from foreword.compare.cross_dataset import cross, of_baseline
from foreword.runs.train import train
from foreword.tasks.example import Example
from foreword.tasks.generators.endings import Endings, paragraphs
from foreword.tasks.labelled.choice import MultipleChoice
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.transfer.baselines import words
from tests.tiny import tiny

# --- endings ------------------------------------------------------------------------------------------------------------


def stories(cue: bool, sizes=(150, 60, 200)) -> LabelledTask:
    """Two endings of drawn words; with a cue, the wrong ones end in an exclamation of their own."""
    splits = []
    for split, size in enumerate(sizes):
        made = []
        for number in range(size):
            rng = np.random.default_rng([split, number])
            right = int(rng.integers(2))
            texts = [" ".join(f"w{word}" for word in rng.integers(40, size=5)) + "." for _ in range(2)]
            texts[1 - right] += " Oh dear!" * cue
            made.append(Example(str(number), (f"story {number}",), right, tuple(texts)))
        splits.append(tuple(made))
    learn = MultipleChoice(context="{story}", choices="{endings}", gold="{right}")
    return LabelledTask("stories", learn, (), *splits)


def test_style_finds_a_cue_and_nothing_where_there_is_none():
    given = endings.probe(stories(True))
    named = {one.name: one.test[0].value for one in given.rows}
    assert named["style: the choice alone"] > 0.97
    assert 0.35 < named["style, right choices by lot"] < 0.65 or named["style, right choices by lot"] < 0.05
    assert given.style.sign == 1
    assert "is given away" in endings.report(given, given.task).lead[0]
    clean = endings.probe(stories(False))
    assert clean.style.sign == 0
    assert "no sign" in endings.report(clean, clean.task).lead[0]


def test_exchanging_the_endings_exchanges_the_answers():
    task = stories(True)
    style = endings.classified(task, [endings.EndingStyle()], "style")
    turned = [Example(one.id, one.texts, 1 - one.label, one.choices[::-1]) for one in task.test]
    assert [1 - said for said in style.predict(turned)] == list(style.predictions)


def test_features_that_are_too_seldom_do_not_count():
    often = [Example(str(n), ("s",), 0, ("seen five times" if n < 5 else "x", "y")) for n in range(9)]
    assert "seen" in endings.EndingStyle().fit(often).parts[0].vocabulary_
    seldom = [Example(str(n), ("s",), 0, ("seen four times" if n < 4 else "x", "y")) for n in range(9)]
    assert "seen" not in endings.EndingStyle().fit(seldom).parts[0].vocabulary_


def test_what_an_ending_costs_after_its_story(stores, tmp_path):
    """log p(e|s) is log p(se) - log p(s), and the third number is the difference of the first two."""
    train(tiny("lstm", 'training.budget="2"'), stores["byte_bpe"], tmp_path / "run")
    model = foreword.load(tmp_path / "run")
    example = Example("0", ("A class", "definition"), 0, ("is here.", "is there now."))
    found = endings.LikelihoodFeatures(model).raw([example])
    assert np.allclose(found[:, 2], found[:, 0] - found[:, 1])
    tokenizer, score = model.tokenizer, model.language_model.score
    end, story = tokenizer.special("[end]"), tokenizer.encode("A class definition")
    for row, choice in zip(found, example.choices):
        whole = np.asarray([end, *story, *tokenizer.encode(f" {choice}")])
        both, first = (float(score([ids], [1])[0].sum()) for ids in (whole, whole[: len(story) + 1]))
        assert row[0] == pytest.approx(both - first, abs=1e-4)


def test_stories_are_five_sentences_in_a_row(tmp_path):
    text = "\n".join(" ".join(f"Sentence {n} of paragraph {p} is here." for n in range(11)) for p in range(9))
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    (tmp_path / "other.txt").write_text("Quite another author wrote all of this.\n", encoding="utf-8")
    from foreword.tasks.files import SearchPath

    where = SearchPath(tmp_path)
    rows = Endings(text="book.txt").drawn(where)
    assert rows == Endings(text="book.txt").drawn(where)
    assert len(rows) == 18
    own = {sentence for part in paragraphs(text) for sentence in part}
    for row in rows:
        right, wrong = row["endings"][row["right"]], row["endings"][1 - row["right"]]
        assert f"{row['story']} {right}" in text
        assert wrong in own
        assert wrong != right
    assert {row["right"] for row in rows} == {0, 1}
    away = Endings(text="book.txt", other="other.txt").drawn(where)
    assert all("another author" in row["endings"][1 - row["right"]] for row in away)


# --- pairs with one word changed ----------------------------------------------------------------------------------------

SENTENCES = [
    "A man plays a guitar in the kitchen.",
    "Two dogs run outside.",
    "An old woman drinks red wine",
    "Nothing here",
]


def test_pairs_differ_in_one_word_and_its_article():
    found = breaking.pairs(SENTENCES)
    assert found == breaking.pairs(SENTENCES)
    assert found != breaking.pairs(SENTENCES, seed=1)
    assert len({pair[:2] for pair in found}) == len(found)
    known = breaking.lexicon()
    for premise, hypothesis, label, kind in found:
        one, other = premise.split(), hypothesis.split()
        assert len(one) == len(other)
        apart = [(a, b) for a, b in zip(one, other) if a != b]
        content = [(a, b) for a, b in apart if {a.lower(), b.lower()} != {"a", "an"}]
        assert len(content) == 1
        word, new = (part.rstrip(".,") for part in content[0])
        entries = known.get(word, known.get(word.lower()))
        assert (new, label, kind) in entries or (new.lower(), label, kind) in entries
    assert {label for _, _, label, _ in found} == {"contradiction", "entailment"}
    assert any("holding an instrument" in pair[1] for pair in found)
    assert any("very glad" in pair[1] for pair in found)
    assert all(sum(pair[2] == label for pair in breaking.pairs(SENTENCES, most=3)) <= 3 for label in ("entailment",))


def snli_like(tmp_path, count=600):
    cues = {"yes": "outdoors", "maybe": "tall", "no": "nobody"}
    rows = ["premise,hypothesis,label"]
    for number in range(count):
        rng = np.random.default_rng(number)
        label = list(cues)[int(rng.integers(3))]
        said = [f"w{n}" for n in rng.integers(30, size=5)] + ([cues[label]] if rng.random() < 0.5 else [])
        rows.append(f"a man with a red guitar number {number},{' '.join(said)},{label}")
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return load(str(path))


def test_pairs_are_written_for_foreword_test(tmp_path):
    said = breaking.write(snli_like(tmp_path), tmp_path / "breaking.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "breaking.jsonl").read_text(encoding="utf-8").splitlines()]
    assert f"{len(rows):,} pairs" in said
    assert set(rows[0]) == {"sentence1", "sentence2", "gold_label", "category"}
    assert any(row["sentence1"].startswith("a man with a red guitar") for row in rows)
    with pytest.raises(Fault, match="pairs are made of the first texts of a task of pairs"):
        breaking.write(stories(False), tmp_path / "other.jsonl")


def test_the_halves_are_what_the_blind_classifier_gets_right_and_wrong(tmp_path):
    task = snli_like(tmp_path)
    whole = cross(of_baseline(task, words(task)), task)
    easy, hard = artefacts.halves(whole, task)
    assert (easy.task, hard.task) == ("pairs, easy", "pairs, hard")
    counts = [one.scores[0].count for one in (easy, hard)]
    assert sum(counts) == len(task.test)
    right = sum(one.scores[0].value * count for one, count in zip((easy, hard), counts))
    assert right / sum(counts) == pytest.approx(whole.scores[0].value)
    blind = artefacts.blind(task)
    assert counts == [len(blind.easy), len(blind.hard)]
    assert easy.scores[0].value > hard.scores[0].value
