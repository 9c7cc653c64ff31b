"""A model that has read half of a test: the overlap is found, and its dirty examples score better than its clean ones."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from foreword.evaluate.contamination import TrainingText, overlap_with
from foreword.text.overlap import words
from tests.cli.program import run

pytest.importorskip("rbloom")
EXAMPLES = 80
TASK = """
name = "planted"
about = "Which of four words ends the sentence?"

[source]
kind = "jsonl"
test = "planted.jsonl"

[request]
kind = "choice"
context = "{sentence}"
choices = "{choices}"
gold = "{gold}"
"""


@pytest.fixture(scope="module")
def planted(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task of sentences without sense, a text that holds every other one of them with its answer, and a run on that text."""
    folder = tmp_path_factory.mktemp("planted")
    draw = random.Random(1)
    common = sorted({word for text in texts for word in words(text) if word.isalpha() and len(word) > 3})[:300]
    rows = [
        {"sentence": " ".join(draw.choices(common, k=14)), "choices": draw.sample(common, 4), "gold": draw.randrange(4)}
        for _ in range(EXAMPLES)
    ]
    (folder / "planted.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "planted.toml").write_text(TASK, encoding="utf-8")
    leaked = [
        f"{row['sentence'].title()}, {row['choices'][row['gold']].title()}!"
        if shouted
        else f"{row['sentence']} {row['choices'][row['gold']]}"
        for row in rows[::2]
        for shouted in (False, False, True)
    ]
    documents = [*texts, *("\n".join(draw.sample(leaked, len(leaked))) for _ in range(6))]
    (folder / "text.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in documents), encoding="utf-8")
    run("tokens", folder / "text.jsonl", "--vocabulary", 500, "--out", folder / "store").right()
    run("train", "kneser-ney", "--data", folder / "store", "--out", folder / "run").right()
    return folder


def test_planted_examples_are_found_and_no_others(planted: Path) -> None:
    for training in ("store", "text.jsonl"):
        said = json.loads(run("corpus", "overlap", planted / training, planted / "planted.toml", "--json").right())
        found = said["tasks"]["planted"]
        assert (found["examples"], found["dirty"], found["short"], found["size"]) == (EXAMPLES, EXAMPLES // 2, 0, 13)
        assert found["share"] == pytest.approx(0.5)
        assert said["rate"] == 1e-8
    sentences = [
        json.loads(line)["sentence"]
        for line in (planted / "planted.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    assert overlap_with(TrainingText((planted / "store",)), sentences).dirty == [True, False] * (EXAMPLES // 2)


def test_a_table_for_people_with_the_passages(planted: Path) -> None:
    said = run("corpus", "overlap", planted / "store", planted / "planted.toml", "--show", 2, "--limit", 10).right()
    assert "5 (50.0%)" in said
    assert "probability of 1e-08" in said
    first = json.loads((planted / "planted.jsonl").read_text(encoding="utf-8").split("\n")[0])
    whole = run("corpus", "overlap", planted / "store", planted / "planted.toml", "--show", 40).right()
    assert f"planted: {first['sentence']} {first['choices'][first['gold']]}" in whole


def test_any_text_can_be_looked_for(planted: Path, tmp_path: Path) -> None:
    first = json.loads((planted / "planted.jsonl").read_text(encoding="utf-8").split("\n")[0])["sentence"]
    (tmp_path / "mine.txt").write_text(
        f"nothing of this has ever been said before by anyone in that text my friend\n{first}\n", encoding="utf-8"
    )
    said = json.loads(
        run("corpus", "overlap", planted / "store", tmp_path / "mine.txt", "--documents", "line", "--json").right()
    )
    assert said["tasks"][str(tmp_path / "mine.txt")]["dirty"] == 1


def test_dirty_examples_score_better(planted: Path) -> None:
    """Without being asked: the run's passport names its store."""
    said = json.loads(run("evaluate", planted / "run", planted / "planted.toml", "--json").right())
    (found,) = said["overlap"].values()
    scores = found["tasks"]["planted"]["metrics"]["accuracy"]
    assert found["training"] == str((planted / "store").resolve())
    assert scores["dirty"] > 0.9
    assert scores["clean"] < 0.5
    assert scores["clean"] < scores["all"] < scores["dirty"]
    assert scores["all"] == pytest.approx((scores["clean"] + scores["dirty"]) / 2)


def test_the_table_shows_all_clean_and_dirty(planted: Path) -> None:
    said = run("evaluate", planted / "run", planted / "planted.toml").right()
    head = next(line for line in said.split("\n") if "clean against all" in line)
    assert head.split()[:5] == ["task", "metric", "all", "clean", "dirty"]
    assert f"{EXAMPLES // 2} of {EXAMPLES}" in said
    assert (
        "clean against all"
        not in run("evaluate", planted / "run", planted / "planted.toml", "--overlap", "none").right()
    )


def test_another_text_than_the_runs_own(planted: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text(
        "nothing of the test stands in here at all, whatever one may do about it", encoding="utf-8"
    )
    said = json.loads(
        run(
            "evaluate", planted / "run", planted / "planted.toml", "--overlap", tmp_path / "other.txt", "--json"
        ).right()
    )
    (found,) = said["overlap"].values()
    assert found["tasks"]["planted"]["dirty"] == 0
    assert found["tasks"]["planted"]["metrics"]["accuracy"]["dirty"] is None
    said = run("evaluate", planted / "run", planted / "planted.toml", "--overlap", tmp_path / "other.txt").right()
    assert (
        "planted: all examples are clean, none has 13 words in a row that are known (0.00% of the 8-grams are)" in said
    )
    said = run("evaluate", planted / "run", planted / "planted.toml", "--limit", 1).right()
    assert "planted: 100.00% of its 8-grams are known; a single text is neither clean nor dirty" in said


def test_what_is_wrong_is_said(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is not there" in run("evaluate", planted / "run", planted / "planted.toml", "--overlap", "nowhere").fault()
    assert (
        "false-positive rate"
        in run("corpus", "overlap", planted / "store", planted / "planted.toml", "--rate", 2).fault()
    )
    assert "is not there" in run("corpus", "overlap", planted / "nothing", planted / "planted.toml").fault()
    monkeypatch.setattr("foreword.evaluate.contamination.find_spec", lambda name: None)
    said = run("evaluate", planted / "run", planted / "planted.toml")
    assert "pip install 'foreword[data]'" in said.err
    assert "clean against all" not in said.right()


def test_a_store_that_was_made_again_is_not_taken_for_the_old_one(planted: Path) -> None:
    passport = planted / "run" / "passport.json"
    before = passport.read_text(encoding="utf-8")
    passport.write_text(json.dumps({**json.loads(before), "data": "another"}), encoding="utf-8")
    try:
        said = run("evaluate", planted / "run", planted / "planted.toml")
    finally:
        passport.write_text(before, encoding="utf-8")
    assert "was made again since" in said.err
    assert "clean against all" not in said.right()


def test_all_stores_of_a_mixture_are_looked_through(planted: Path, tmp_path: Path, made) -> None:
    (tmp_path / "passport.json").write_text(
        json.dumps({"sources": [{"store": str(made("bpe"))}, {"store": str(planted / "store")}]})
    )
    training = TrainingText.of_run(tmp_path)
    assert training is not None
    assert training.bytes == sum(TrainingText((path,)).bytes for path in (made("bpe"), planted / "store"))
    sentences = [
        json.loads(line)["sentence"]
        for line in (planted / "planted.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    assert overlap_with(training, sentences).dirty == [True, False] * (EXAMPLES // 2)
    (tmp_path / "passport.json").write_text(json.dumps({"sources": [{"store": str(tmp_path / "gone")}]}))
    assert TrainingText.of_run(tmp_path) is None
