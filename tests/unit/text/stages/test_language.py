"""Languages: text that is here is told apart; samples of your own can be learned; short lines as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally
from foreword.text.stages.language import Language, by_function_words

ENGLISH = "The children of the village went down to the river when it was hot, and they were there all day."
GERMAN = "Die Kinder aus dem Dorf gingen an den Fluss, wenn es heiß war, und sie blieben den ganzen Tag."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        (GERMAN, "de"),
        ("天气热的时候，村里的孩子们都到河边去，一整天都在那里。", "zh"),
        ("川のほとりで子供たちが遊んでいました。", "ja"),
        ("Les enfants du village sont allés à la rivière et ils y sont restés toute la journée avec leur chien.", "fr"),
        ("Дети из деревни пошли к реке.", "ru"),
        ("Bach BWV 1080 Contrapunctus 14 Fuga", "other"),
        ("123 456", "other"),
    ],
)
def test_a_language_is_told_by_script_and_function_words(text: str, language: str) -> None:
    assert by_function_words(text)[0] == language


def kept(stage: Language, texts: list[str], folder: Path) -> tuple[list[str], Tally]:
    tally = Tally()
    stage.prepare(folder)
    return [one.passed["language"] for one in stage.run(map(CorpusDocument, texts), tally, folder)], tally


def test_those_wanted_are_kept_and_the_others_counted_by_name(tmp_path: Path) -> None:
    found, tally = kept(Language(keep=["en"], least=0.9), [ENGLISH, GERMAN, "1 2"], tmp_path)
    assert found == ["en"]
    assert tally.removed == {"de": 1, "other": 1}


def test_samples_of_your_own_are_learned(tmp_path: Path) -> None:
    for name, text in (("en", ENGLISH), ("de", GERMAN)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f'"{" ".join(text.split()[n:])} {n}"\n' for n in range(8)))
    stage = Language(samples={name: [str(tmp_path / f"{name}.jsonl")] for name in ("en", "de")})
    assert kept(
        stage, ["They went to the village when they were hot.", "Wenn es heiß ist, gehen die Kinder."], tmp_path
    )[0] == ["en", "de"]
    (tmp_path / "de.jsonl").write_text('"Nur ein Satz."\n')
    with pytest.raises(Fault, match="at least five"):
        stage.prepare(tmp_path)


@pytest.mark.thorough
def test_documents_over_200_characters_are_right_99_times_in_100() -> None:
    if "FOREWORD_DATA" not in os.environ:
        pytest.skip("FOREWORD_DATA is not set: no published text to try languages on")
    data = Path(os.environ["FOREWORD_DATA"])
    chinese = (data / "zh/hongloumeng/hongloumeng_slice.txt").read_text()
    files = {
        "en": [data / "wikitext-2/test.txt", data / "multi30k/val.en"],
        "de": [data / "multi30k/val.de", data / "multi30k/test_2016_flickr.de"],
    }
    texts = {name: "\n".join(path.read_text() for path in some) for name, some in files.items()} | {"zh": chinese}
    for name, text in texts.items():
        pieces = [text[at : at + 250] for at in range(0, len(text), 250)]
        right = sum(by_function_words(piece)[0] == name for piece in pieces if len(piece) > 200)
        print(f"{name}: {right} of {len(pieces)} pieces of 250 characters")
        assert right >= 0.99 * (len(pieces) - 1)
        lines = [line for line in text.split("\n") if 0 < len(line.strip()) <= 200]
        short = sum(by_function_words(line)[0] == name for line in lines)
        print(f"{name}: {short} of {len(lines)} lines up to 200 characters")
