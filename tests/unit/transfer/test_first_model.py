"""Word vectors and TF-IDF side by side: what each is good for, and what is kept of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import foreword
from foreword.basics.files import write_json
from foreword.basics.messages import Fault
from foreword.runs.folder import RunFolder
from foreword.tasks.labelled_task import load
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Words
from foreword.transfer import vector_classifier
from foreword.transfer.first_model import LabelledFit, answers, difference, fit_labels, unlabelled, with_dev
from foreword.transfer.vector_classifier import Scale, fitted, folds, self_trained
from foreword.vectors.table import VectorTable
from foreword.vectors.words import WordVectors

NAMES = {0: "bad", 1: "good"}


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Of the weights and strengths, the ends: seconds instead of minutes."""
    monkeypatch.setattr(vector_classifier, "WEIGHTS", (0.1, 1.0))
    monkeypatch.setattr(vector_classifier, "STRENGTHS", (1.0, 100.0))


def sentences(places: range, count: int, seed: int) -> list[tuple[str, str]]:
    """Texts of four words of one of two topics; which of a topic's words, `places` says."""
    draw, found = np.random.default_rng(seed), []
    for number in range(count):
        topic = number % 2
        words = [f"{'ab'[topic]}{chr(99 + place)}{chr(99 + place)}" for place in draw.choice(places, 4)]
        found.append((" ".join(words), NAMES[topic]))
    return found


def table(seed: int | None) -> WordVectors:
    """Vectors that tell the topics apart; with a seed, vectors that tell nothing."""
    tokenizer = Words().train(iter([text for text, _ in sentences(range(20), 500, 9)]))
    made = VectorTable(tokenizer.vocabulary(), 6)
    made.begin(0 if seed is None else seed)
    if seed is None:
        for id in range(len(tokenizer)):
            made.vectors[id, 0] = {"a": 1, "b": -1}.get(tokenizer.pieces([id])[0][0], 0)
    return WordVectors("planted", made, tokenizer)


SEEN, OTHERS = sentences(range(8), 60, 1), sentences(range(8, 20), 200, 2)
TEXTS, LABELS = zip(*SEEN)


def right(made) -> float:
    texts, labels = zip(*OTHERS)
    return float(np.mean(np.asarray(made.predict(texts)) == np.asarray(labels)))


def test_vectors_know_words_that_no_label_was_seen_with():
    vectors = table(None)
    both = fitted(TEXTS, LABELS, Scale.over(vectors, [text for text, _ in OTHERS]))
    assert right(both) == 1.0
    assert right(fitted(TEXTS, LABELS, None, characters=False)) == pytest.approx(0.5, abs=0.1)


def test_vectors_that_say_nothing_weigh_little_and_do_no_harm():
    """Where the counts know it all, cross-validation gives random vectors little weight."""
    same = sentences(range(8), 200, 3)
    texts, labels = zip(*same)
    scale = Scale.over(table(5), texts)
    both, counts = fitted(TEXTS, LABELS, scale), fitted(TEXTS, LABELS, None)
    assert both.weight < 1
    assert (
        np.mean(np.asarray(both.predict(texts)) == labels)
        >= np.mean(np.asarray(counts.predict(texts)) == labels) - 0.01
    )
    control = fitted(TEXTS, LABELS, Scale.over(table(5), [text for text, _ in OTHERS]), characters=False)
    assert right(control) < 0.75


def test_self_training_is_used_only_where_cross_validation_says_so(monkeypatch):
    monkeypatch.setattr(vector_classifier, "SUREST", 1.0)
    words = {name: [f"{letter}{chr(99 + n)}" for n in range(8)] for letter, name in (("a", "bad"), ("b", "good"))}
    texts, labels = zip(*((word, name) for name, some in words.items() for word in some))  # each word once
    more = [f"{one} {other}" for some in words.values() for one in some for other in some]  # and beside its own
    teacher = fitted(texts, labels, None, characters=False)
    student, (alone, taught) = self_trained(teacher, texts, labels, more)
    assert (student is not teacher) == (taught > alone)
    assert taught > alone
    sure = fitted(TEXTS, LABELS, Scale.over(table(None), TEXTS))
    assert self_trained(sure, TEXTS, LABELS, more)[0] is sure  # nothing is left to gain


def test_few_examples_of_a_class_are_no_traceback():
    assert folds(np.asarray(["a", "b"]), 0) == []
    assert fitted(["one two", "three four", "five"], ["a", "b", "b"], None).labels == ("a", "b")
    assert fitted(["!!!", "???"], ["a", "b"], None).predict(["", "x"])


def test_a_label_with_one_example_does_not_end_cross_validation():
    labels = [*LABELS, "rare"]
    made = fitted([*TEXTS, "something else"], labels, Scale.over(table(None), TEXTS))
    assert len(folds(np.asarray(labels), 0)) == 5
    assert made.labels == ("bad", "good", "rare")
    assert np.isfinite(made.cost)
    assert made.right == pytest.approx(len(LABELS) / len(labels))  # only the rare one is wrong


def test_a_paired_interval_holds_what_differs():
    draw = np.random.default_rng(0)
    first = draw.random((3, 400)) < 0.8
    second = first & (draw.random((3, 400)) < 0.9)
    value, low, high = difference(first, second)
    assert 0 < low < value < high
    assert difference(first, first) == (0, 0, 0)


@pytest.fixture
def files(tmp_path):
    from foreword.assembly import loader
    from foreword.exchange import hugging_face

    vectors = table(None)
    hugging_face.write(
        tmp_path / "w2v/model", loader.load("word2vec", "", ["network.width=6"]), vectors.table, vectors.tokenizer
    )
    for name, rows in (("train", sentences(range(8), 80, 1)), ("test", OTHERS)):
        (tmp_path / f"{name}.tsv").write_text(
            "text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8"
        )
    (tmp_path / "more.txt").write_text("\n".join(text for text, _ in sentences(range(20), 60, 7)), encoding="utf-8")
    return tmp_path


def test_a_run_is_fitted_kept_and_opened_again(files):
    task = load(files / "train.tsv", test=files / "test.tsv")
    wish = LabelledFit(labels=40, seeds=2, self_train=(files / "more.txt",))
    report = fit_labels(str(files / "w2v"), task, files / "run", wish)
    found = report.data()["results"]
    assert found["vectors and TF-IDF"]["mean"] == 1.0
    assert found["without self-training"]["mean"] == 1.0
    assert len(found["TF-IDF"]["accuracy"]) == 2
    assert found["TF-IDF"]["interval"][0] > 0
    run = RunFolder(files / "run")
    assert run.passport()["scores"]["test"]["accuracy"]["value"] == 1.0
    assert (run.path / "report.html").is_file()
    assert len((run.path / "predictions.jsonl").read_text().splitlines()) == len(task.dev) + len(task.test)
    (files / "new.txt").write_text("acc add\n\nbee bff\n")
    assert [(one["id"], one["answer"]) for one in answers(run.path, files / "new.txt")] == [("1", "bad"), ("3", "good")]
    assert [one["answer"] for one in answers(run.path, files / "test.tsv")] == [label for _, label in OTHERS]
    made = foreword.load(run.path)
    assert made.predict(["acc add", "bee bff"]) == ["bad", "good"]
    with pytest.raises(Fault, match="is already there"):
        fit_labels(str(files / "w2v"), task, files / "run", LabelledFit())


def test_what_is_tested_on_teaches_nothing_and_other_kinds_are_refused(files, monkeypatch):
    task = load(files / "train.tsv", test=files / "test.tsv")
    (files / "more.txt").write_text("\n".join(text for text, _ in OTHERS), encoding="utf-8")
    seen = []
    monkeypatch.setattr("foreword.transfer.first_model.self_trained", lambda *given: seen.append(given))
    fit_labels(str(files / "w2v"), task, files / "run", LabelledFit(self_train=(files / "more.txt",)))
    assert not seen  # nothing is left of the text
    (files / "vectors.txt").write_text("good 1 2\nbad 2 1\n", encoding="utf-8")
    with pytest.raises(Fault, match="is a file of vectors"):
        fit_labels(str(files / "vectors.txt"), task, files / "other", LabelledFit())
    other = replace(task, learn=task.learn.model_copy(update={"kind": "pair"}))
    with pytest.raises(Fault, match="learns to label single texts"):
        fit_labels(str(files / "w2v"), other, files / "other", LabelledFit())
    assert unlabelled(files / "w2v", ["as given"]) == ["as given"]


def test_numbers_are_brought_to_scale_on_lines_however_the_text_was_cut_into_documents(tmp_path):
    texts = [text for text, _ in OTHERS]
    (tmp_path / "text.txt").write_text("\n".join(texts), encoding="utf-8")
    build_store([tmp_path / "text.txt"], tmp_path / "store", Words(), documents="file", fractions=(1.0, 0.0, 0.0))
    write_json(tmp_path / "passport.json", {"store": str(tmp_path / "store")})
    assert unlabelled(tmp_path, ["as given"]) == texts
    (tmp_path / "text.txt").write_text("one two\n", encoding="utf-8")
    build_store([tmp_path / "text.txt"], tmp_path / "little", Words(), fractions=(1.0, 0.0, 0.0))
    write_json(tmp_path / "passport.json", {"store": str(tmp_path / "little")})
    assert unlabelled(tmp_path, ["as given"]) == ["one two", "as given"]


@pytest.mark.thorough
def test_the_commands_need_no_torch(files):
    code = (
        "import sys\nfrom foreword.cli.main import main\n"
        "for words in (['finetune', 'w2v', 'train.tsv', '--out', 'run'], ['predict', 'run', 'test.tsv', '--json']):\n"
        "    sys.argv = ['foreword', *words]\n"
        "    try:\n        main()\n    except SystemExit as ended:\n        assert not ended.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=files)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])["answer"] in ("good", "bad")


# --- which labels are learned from ------------------------------------------------------------------------------------


def test_all_labels_but_those_of_the_test_are_learned_from(files):
    whole = load(files / "train.tsv")
    joined = with_dev(whole)
    assert {one.texts for one in joined.train} == {one.texts for one in (*whole.train, *whole.dev)}
    assert len(joined.train) == len(whole.train) + len(whole.dev)
    assert not joined.dev
    report = fit_labels(str(files / "w2v"), joined, files / "run", LabelledFit())
    assert set(RunFolder(files / "run").passport()["scores"]) == {
        "test"
    }  # a score on what was learned from says nothing
    assert report.data()["results"]["vectors and TF-IDF"]["mean"] > 0.9
    same = with_dev(load(files / "train.tsv", dev=files / "test.tsv", test=files / "test.tsv"))
    assert not {one.texts for one in same.train} & {one.texts for one in same.test}  # dev that is test teaches nothing


def test_a_class_that_only_the_test_has_is_counted_wrong(files):
    rows = [*sentences(range(20), 60, 1), ("abc abd", "seldom")]
    told = load_where_the_rare_one_is_tested(files, rows)
    assert any("no example in train has the label 'seldom': in test" in note for note in told.notes)
    fit_labels(str(files / "w2v"), with_dev(told), files / "run", LabelledFit())
    found = RunFolder(files / "run").passport()["scores"]["test"]["accuracy"]["value"]
    assert found == pytest.approx(1 - 1 / len(told.test))  # all others are right
    (files / "other.tsv").write_text("text\tlabel\nacc\tseldom\n", encoding="utf-8")
    with pytest.raises(Fault, match="in no training example"):  # in a file of its own it may be a slip
        load(files / "train.tsv", test=files / "other.tsv")


def load_where_the_rare_one_is_tested(folder, rows):
    """Which example goes where, its text decides: the rare one gets other words until it is tested."""
    for number in range(1000):
        *others, (_, label) = rows
        lines = [*others, (f"abc abd {chr(99 + number % 20) * (number // 20 + 1)}", label)]
        (folder / "rare.tsv").write_text("text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in lines), encoding="utf-8")
        task = load(folder / "rare.tsv")
        if any(one.label == label for one in task.test):
            return task
    raise AssertionError


def test_weight_and_strength_are_the_same_in_few_coordinates(monkeypatch):
    """Inner products are all that logistic regression sees: a rotation changes nothing, other lengths do."""
    counts = vector_classifier.WordCounts(False).fit(TEXTS).of(TEXTS)
    vectors = Scale.over(table(None), TEXTS).of(TEXTS)
    few = vector_classifier.coordinates(counts, vectors, 0.3)
    whole = vector_classifier.beside(counts, vectors, 0.3)
    assert few.shape[1] <= len(TEXTS) < whole.shape[1]
    assert np.abs(few @ few.T - (whole @ whole.T).toarray()).max() < 1e-6
    other = vector_classifier.coordinates(counts, vectors, 1.0)
    assert np.abs(other @ other.T - (whole @ whole.T).toarray()).max() > 0.1
    scale = Scale.over(table(5), TEXTS)
    chosen = fitted(TEXTS, LABELS, scale)
    monkeypatch.setattr(vector_classifier, "FEW_TEXTS", 0)
    again = fitted(TEXTS, LABELS, scale)
    assert (chosen.weight, chosen.strength) == (again.weight, again.strength)
    assert chosen.cost == pytest.approx(again.cost, abs=1e-3)
