"""The solver: n-grams near each other, the same numbers as the table's, and questions answered from text alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.cli.evaluate import ask_vectors
from foreword.runs.train import train
from foreword.tasks.confidence import at_least
from foreword.tasks.prompted.association import Associated, AssociationChoice
from foreword.tasks.task import load
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Words
from foreword.vectors.cooccurrence import CooccurrenceWindow
from foreword.vectors.passages import SKIP, TableCounts, TextCounts, ngrams
from foreword.vectors.solver import Solver, solve
from foreword.vectors.words import WordVectors
from tests.tiny import loader
from tests.unit.vectors.test_cooccurrence import BORDER, table, text

NONE = np.zeros(BORDER, bool)


def test_every_ngram_once():
    found = ngrams([7, 8, 7, 8], 3, True)
    assert found == [(7,), (8,), (7, 8), (8, 7), (7, 8, 7), (8, 7, 8), (7, SKIP, 7), (8, SKIP, 8)]
    assert ngrams([7], 3, True) == [(7,)]


@pytest.mark.parametrize("weighting", ["none", "distance"])
def test_single_words_have_the_numbers_of_the_table(weighting):
    ids, near = text(4000), CooccurrenceWindow(window=5, weighting=weighting)
    counts, kept = TextCounts(ids, near, BORDER, NONE), TableCounts(table(ids, window=5, weighting=weighting))
    assert np.allclose(counts.sums, kept.sums, rtol=1e-9)
    for one in range(0, BORDER, 3):
        assert counts.sum((one,)) == pytest.approx(kept.sum((one,)))
        for other in range(0, BORDER, 7):
            assert counts.met((one,), (other,)) == pytest.approx(kept.met((one,), (other,))), (one, other)


def test_longer_ngrams_stand_within_passages_without_overlap_and_skip_stop_words():
    stop = NONE.copy()
    stop[9] = True
    ids = np.array([1, 9, 2, 3, BORDER, 1, 2, 9, 9, 4, BORDER, 1, BORDER, 2, 4])
    counts = TextCounts(ids, CooccurrenceWindow(window=5), BORDER, stop)
    assert counts.stands((1, 2))[0].tolist() == [0, 5]  # "1 the 2" is "1 2"; none across a border
    assert counts.stands((1, SKIP, 3))[0].tolist() == [0]
    assert counts.met((1, 2), (4,)) == 1
    assert counts.met((1, 2), (2,)) == 0  # the same word of the text is not beside itself
    assert counts.met((1, 2), (3,)) == 1
    assert counts.sum((1, 2)) == 3 + 4


def test_guessing_is_right_so_often_with_this_probability():
    from math import comb

    wanted = sum(comb(40, k) * 0.25**k * 0.75 ** (40 - k) for k in range(15, 41))
    assert at_least(15, [0.25] * 40) == pytest.approx(wanted)
    assert at_least(0, [0.25, 0.5]) == 1.0
    assert at_least(2, [0.25, 0.5]) == pytest.approx(0.125)


KIND = AssociationChoice(question="{question}", choices="{choices}", gold="{gold}")


def test_a_constant_and_the_order_of_choices_change_nothing():
    row = {"question": "q", "choices": ["a", "b", "c"], "gold": 1}
    scores = [0.1, 0.7, -0.2]
    for shift in (0.0, 5.0, -5.0):
        assert KIND.judge(row, [Associated(score + shift) for score in scores]).values["accuracy"]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        turned = {**row, "choices": [row["choices"][at] for at in order], "gold": order.index(1)}
        judged = KIND.judge(turned, [Associated(scores[at]) for at in order])
        assert judged.values["accuracy"]
        assert turned["choices"][judged.shown["guess"]] == "b"


TOPICS = {
    f"thing{n}": [f"part{n}a", f"part{n}b", f"part{n}c"] for n in range(12)
}  # what belongs together is only in the text


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A run over text in which every thing stands beside its parts, and questions about it."""
    folder, draw = tmp_path_factory.mktemp("solver"), np.random.default_rng(0)
    lines = []
    for _ in range(1500):
        thing = str(draw.choice(list(TOPICS)))
        words = [thing, *draw.permutation(TOPICS[thing])[:2], *draw.choice([f"filler{n}" for n in range(40)], 5)]
        lines.append("the " + " ".join(draw.permutation(words)) + " .")
    (folder / "text.txt").write_text("\n".join(lines))
    build_store([folder / "text.txt"], folder / "store", Words(), fractions=(1.0, 0.0, 0.0))
    with open(folder / "mine.jsonl", "w") as file:
        for thing, parts in TOPICS.items():
            for part in parts:
                others = [
                    TOPICS[str(one)][0] for one in draw.permutation([name for name in TOPICS if name != thing])[:3]
                ]
                choices = [str(one) for one in draw.permutation([part, *others])]
                answer = "ABCD"[choices.index(part)]
                file.write(
                    json.dumps({"stem": f"What belongs to the {thing}?", "choices": choices, "answer": answer}) + "\n"
                )
    train(loader.load("pmi", "", ["network.width=8"]), folder / "store", folder / "run")
    return folder


def test_it_answers_from_text_and_not_from_shuffled_text(counted):
    (task,) = load(str(counted / "mine.jsonl"))
    own, control = solve(WordVectors.opened(counted / "run"), task)
    assert (own.text, control.text) == ("as it is", "shuffled")
    assert own.right == len(own.judged) == 36
    assert own.p < 1e-6
    assert control.p > 0.001
    pair = own.judged[0].shown["pairs"][own.judged[0].shown["choices"][own.judged[0].shown["gold"]]][0]
    assert pair[:2] == ("thing0", "part0a")
    assert pair[2] > 1


def test_without_its_text_the_table_in_the_model_folder_answers(counted):
    (task,) = load(str(counted / "mine.jsonl"))
    (alone,) = solve(WordVectors.opened(counted / "run" / "model"), task)
    assert alone.right == 36
    assert "not at hand" in alone.notes[0]


def test_the_report_names_chance_and_p_and_writes_the_pairs(counted, tmp_path):
    found = ask_vectors([str(counted / "run"), str(counted / "mine.jsonl")], None, 5, tmp_path / "out.jsonl", True)
    said = "\n".join(found.lines())
    assert "95% interval" in said
    assert "shuffled" in said
    assert "thing0 + part0a" in said
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 10
    assert found.values["scores"][0]["chance"] == 0.25


def test_stop_words_marks_and_unknown_words_are_part_of_nothing(counted):
    vectors = WordVectors.opened(counted / "run")
    solver = Solver(vectors, KIND, TableCounts(vectors.table.pairs))
    assert [solver.words(gram) for gram in solver.grams("The thing0, of zzz part0a.")] == ["thing0", "part0a"]
    without = Solver(vectors, KIND.model_copy(update={"stop_words": ("thing0",)}), TableCounts(vectors.table.pairs))
    assert [without.words(gram) for gram in without.grams("the thing0")] == ["the"]


def test_what_it_cannot_answer_is_a_sentence(counted, tmp_path):
    vectors = WordVectors.opened(counted / "run")
    with pytest.raises(Fault, match="offers no choices"):
        solve(vectors, load("lambada")[0])
    with pytest.raises(Fault, match=r"no split 'dev'. It has: test"):
        solve(vectors, load(str(counted / "mine.jsonl"))[0], split="dev")
    (tmp_path / "v.txt").write_text("a 1 2\nb 3 4\n")
    with pytest.raises(Fault, match=r"no table of co-occurrences.*\n.*foreword train pmi"):
        solve(WordVectors.opened(tmp_path / "v.txt"), load(str(counted / "mine.jsonl"))[0])
    (tmp_path / "bad.jsonl").write_text('{"what": "x"}\n')
    with pytest.raises(Fault, match=r"bad.jsonl:1\n.*are not those of minimal pairs"):
        load(str(tmp_path / "bad.jsonl"))
    with pytest.raises(Fault, match="Give two commands"):
        ask_vectors([str(counted / "run"), str(counted / "mine.jsonl"), "wordsim353"], None)
