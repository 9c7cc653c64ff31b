"""`foreword corpus` as a user meets it: a build, its card, why, diff, and the model card of what was trained on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import TINY, run

PLAN = """
[[sources]]
kind = "text"
path = "{text}"
name = "help"
licence = "PSF"

[[stages]]
kind = "clean"
rules = ["short"]

[[stages]]
kind = "dedup"

[[stages]]
kind = "language"
"""

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def corpus(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "plan.toml").write_text(PLAN.format(text=text))
    said = run("corpus", "build", folder / "plan.toml", "--out", folder / "built", "--workers", 1).right()
    assert "documents read from help" in said
    assert "removed: short" in said
    return folder / "built"


def test_the_card_is_a_page_and_a_table(corpus: Path) -> None:
    said = run("corpus", "card", corpus).right()
    assert "help" in said
    assert "PSF" in said
    page = (corpus / "report.html").read_text()
    assert "Tasks that occur by nature" in page
    assert "<svg" in page
    assert json.loads(run("corpus", "card", corpus, "--json").right())["documents"] > 10


def test_why_says_what_happened_to_a_document(corpus: Path) -> None:
    row = json.loads((corpus / "00000.jsonl").read_text().split("\n")[0])
    assert (
        f"{row['id']} (help, {row['source']}) was kept. Noted on the way: language: "
        in run("corpus", "why", corpus, row["id"]).right()
    )
    gone = json.loads((corpus / "removed/00000.0.log").read_text().split("\n")[0])
    said = run("corpus", "why", corpus, gone["begins"]).right()
    assert f"{gone['id']} (help, {gone['source']}) was removed by clean: short." in said
    assert "knows of no document '99.99'" in run("corpus", "why", corpus, "99.99").fault()
    assert "is no corpus" in run("corpus", "why", corpus.parent, "0.0").fault()


def test_two_corpora_are_compared(corpus: Path, text: Path, tmp_path: Path) -> None:
    run("corpus", "clean", text, "--rule", "javascript", "--out", tmp_path / "other", "--workers", 1).right()
    kept = json.loads((corpus / "corpus.json").read_text())["documents"]
    assert f"{kept:,} documents are in both" in run("corpus", "diff", corpus, tmp_path / "other").right()


def test_the_card_goes_with_the_model(corpus: Path, tmp_path: Path) -> None:
    run("tokens", corpus, "--tokenizer", "byte", "--splits", "0.8/0.1/0.1", "--out", tmp_path / "store").right()
    run("train", "gpt2", *TINY, "--budget", 2, "--data", tmp_path / "store", "--out", tmp_path / "run").right()
    card = next((tmp_path / "run").rglob("README.md")).read_text()
    assert "Sources: help (text, licence PSF)" in card
    assert "Stages, with the documents before and after: clean (" in card


def test_faults_of_single_stages_are_sentences(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        "there is no rule 'c5'. Did you mean c4?" in run("corpus", "clean", text, "--rule", "c5", "--out", out).fault()
    )
    assert (
        "--by line: it is one of documents, lines, sentences. Did you mean lines?"
        in run("corpus", "dedup", text, "--by", "line", "--out", out).fault()
    )
    assert (
        "no text can be told to be 'klingon'"
        in run("corpus", "language", text, "--keep", "klingon", "--out", out).fault()
    )
    assert "removed all" in run("corpus", "language", text, "--keep", "zh", "--out", out).fault()
