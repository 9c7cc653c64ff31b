"""GPT-3's removal of test text: the 13 words and 200 characters on either side go, and what is then too short."""

from __future__ import annotations

from pathlib import Path

from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally
from foreword.text.stages.decontaminate import Decontaminate

TEST = "one two three four five six seven eight nine ten eleven twelve thirteen"


def through(text: str, tmp_path: Path, **settings: int) -> tuple[list[str], Tally]:
    (tmp_path / "test.txt").write_text(f"Question: {TEST}?")
    stage, tally = Decontaminate(against=[str(tmp_path / "test.txt")], **settings), Tally()
    stage.prepare(tmp_path)
    return [one.text for one in stage.run(iter([CorpusDocument(text)]), tally, tmp_path)], tally


def test_what_is_shared_goes_with_its_surroundings(tmp_path: Path) -> None:
    before, after = "a" * 500 + " ", " " + "b" * 450
    kept, tally = through(before + TEST.upper() + after, tmp_path)
    assert kept == ["a" * 301 + "\n" + "b" * 251]
    assert sum(tally.changed.values()) == 1


def test_twelve_words_are_no_overlap_and_short_pieces_go(tmp_path: Path) -> None:
    twelve = TEST.rsplit(" ", 1)[0]
    assert through(f"{twelve} fourteen", tmp_path)[0] == [f"{twelve} fourteen"]
    kept, tally = through("a" * 300 + f" {TEST} " + "b" * 300, tmp_path)
    assert kept == []
    assert tally.removed == {"no long piece without test text": 1}


def test_a_document_in_too_many_pieces_goes(tmp_path: Path) -> None:
    text = f" {TEST} ".join("abcdefghijkl"[n] * 20 for n in range(12))
    kept, tally = through(text, tmp_path, window=0, shortest=5)
    assert kept == []
    assert tally.removed == {"in too many pieces": 1}
