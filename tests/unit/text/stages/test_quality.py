"""GPT-3's filter: keep rates are the closed form; good and bad are told apart; with shuffled labels they are not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally
from foreword.text.stages.classifier import auc
from foreword.text.stages.quality import Quality, pareto


def keep_rate(score: float, shape: float = 9) -> float:
    """The closed form of how often a document with this score is kept."""
    return (2 - score) ** -shape


@pytest.mark.parametrize("score", [0.0, 0.3, 0.7, 0.95])
def test_a_score_is_kept_as_often_as_the_closed_form_says(score: float) -> None:
    number = 40_000
    kept = sum(pareto(f"text {one}", 0, 9.0) > 1 - score for one in range(number))
    expected = keep_rate(score)
    assert abs(kept / number - expected) < 4 * (expected * (1 - expected) / number) ** 0.5
    assert keep_rate(0) == 1 / 512
    assert keep_rate(1) == 1


def test_a_draw_depends_on_the_text_and_the_seed_alone() -> None:
    assert pareto("a text", 0, 9.0) == pareto("a text", 0, 9.0) != pareto("a text", 1, 9.0)


def test_auc_by_hand() -> None:
    # good 0.9 and 0.4, bad 0.4 and 0.1: of four pairs three are right and one is even
    assert auc(np.asarray([0.9, 0.4, 0.4, 0.1]), np.asarray([True, True, False, False])) == pytest.approx(3.5 / 4)


def write(path: Path, seed: int, words: list[str], number: int = 300) -> str:
    chance = np.random.default_rng(seed)
    rows = (json.dumps({"text": " ".join(chance.choice(words, 40))}) + "\n" for _ in range(number))
    path.write_text("".join(rows))
    return str(path)


def test_good_and_bad_are_told_apart_and_shuffled_labels_are_not(tmp_path: Path) -> None:
    common = [f"word{one}" for one in range(100)]
    good = write(tmp_path / "good.jsonl", 0, [*common, "reason", "because", "chapter", "proof", "history", "author"])
    bad = write(tmp_path / "bad.jsonl", 1, [*common, "cheap", "click", "buy", "win", "free", "offer"])
    stage = Quality(good=[good], bad=[bad])
    told = stage.prepare(tmp_path)["held_out"]
    assert told["auc"] > 0.9  # nine in ten documents have a word that tells: 0.995 would be the best there is
    assert abs(told["auc_shuffled"] - 0.5) < 0.15  # some 120 samples: four standard errors
    tally = Tally()
    texts = ["because the reason is in the chapter " * 3, "click here to buy cheap " * 3]
    kept = list(stage.run(map(CorpusDocument, texts), tally, tmp_path))
    scores = [one.passed["quality"] for one in kept] + [row["passed"]["quality"] for row in tally.gone]
    assert max(scores) > 0.8
    assert min(scores) < 0.2


def test_too_few_samples_are_a_fault(tmp_path: Path) -> None:
    few = write(tmp_path / "few.jsonl", 0, ["a"], 3)
    with pytest.raises(Fault, match="3 good and 3 bad samples"):
        Quality(good=[few], bad=[few]).prepare(tmp_path)
