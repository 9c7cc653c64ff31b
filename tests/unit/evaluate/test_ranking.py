"""Candidates ranked by frozen vectors: the measures by hand, the reading of files, and what is said of faults."""

from __future__ import annotations

import json

import numpy as np
import pytest

from foreword.basics.messages import Fault, Faults
from foreword.evaluate import ranking
from foreword.tasks.example import Example
from foreword.tasks.judging import discounted_gain, scored


class Words:
    """A model that embeds: how often each letter occurs."""

    def need(self, ability):
        assert ability == "embed"

    def embed(self, texts):
        self.read = [*getattr(self, "read", []), *texts]
        return np.asarray([[text.count(letter) + 0.01 for letter in "abcdef"] for text in texts], np.float32)


def file(tmp_path, *rows):
    path = tmp_path / "candidates.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(query, candidate, relevance):
    return {"query": query, "candidate": candidate, "relevance": relevance}


GIVEN = (row("aa", "aab", 2), row("aa", "aacc", 1), row("aa", "ff", 0), row("bb", "ee", 1), row("bb", "bbb", 0))


def test_gain_is_that_of_the_definition():
    labels = np.asarray([1.0, 0.0, 2.0])
    found = 1 + 0 + 3 / np.log2(4)
    best = 3 + 1 / np.log2(3)
    assert discounted_gain(labels) == pytest.approx(found / best)
    assert discounted_gain(np.asarray([2.0, 1.0, 0.0])) == 1.0
    late = np.asarray([0.0] * 10 + [1.0])
    assert discounted_gain(late) == 0.0


def test_measures_of_a_small_file_by_hand(tmp_path):
    model = Words()
    values = ranking.report({"letters": model}, [file(tmp_path, *GIVEN)]).values
    found = values["letters"]["candidates.jsonl"]
    assert found["map"]["value"] == pytest.approx((1 + 0.5) / 2)
    assert found["mrr"]["value"] == pytest.approx((1 + 0.5) / 2)
    assert found["ndcg@10"]["value"] == pytest.approx((1 + 1 / np.log2(3)) / 2)
    assert found["map"]["count"] == 2
    assert len(model.read) == len(set(model.read)), "a text was read twice"
    assert ranking.SHARED in values


def test_knowing_nothing_earns_nothing():
    """Equal scores are ordered against us, in every measure."""
    examples = [
        Example("", ("q", text), label=label, group="q") for text, label in (("a", 0.0), ("b", 1.0), ("c", 0.0))
    ]
    found = {one.metric: one.value for one in scored(ranking.MEASURES, (), examples, [0.0] * 3)}
    assert found == {
        "map": pytest.approx(1 / 3),
        "mrr": pytest.approx(1 / 3),
        "ndcg@10": pytest.approx(1 / np.log2(4)),
    }


def test_files_are_told_apart_and_faults_name_the_line(tmp_path):
    good = file(tmp_path, *GIVEN)
    assert ranking.is_candidates(good)
    other = tmp_path / "texts.jsonl"
    other.write_text('{"text": "a"}\n')
    assert not ranking.is_candidates(other)
    with pytest.raises((Fault, Faults), match="relevan"):
        ranking.candidates(file(tmp_path, row("q", "a", 0), row("q", "b", 0)))
    with pytest.raises((Fault, Faults), match=r"candidates.jsonl:2"):
        ranking.candidates(file(tmp_path, row("q", "a", 0), row("q", "b", "very")))
