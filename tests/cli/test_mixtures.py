"""Several sources with weights on the command line: as stores, as text, and what is said when they do not fit."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from foreword.runs.folder import RunFolder
from foreword.tokens.store import TokenStore
from tests.cli.program import LSTM, TINY, Program, run, write_as


@pytest.fixture(scope="module")
def two(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The two halves of the text as files."""
    folder = tmp_path_factory.mktemp("two")
    made = []
    for name, part in (("web", texts[::2]), ("books", texts[1::2])):
        (folder / name).mkdir()
        made.append(write_as("jsonl", part, folder / name))
    return made[0].rename(folder / "web.jsonl"), made[1].rename(folder / "books.jsonl")


@pytest.fixture(scope="module")
def halves(two: tuple[Path, Path], made, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same as stores that share a tokenizer."""
    folder = tmp_path_factory.mktemp("halves")
    for text in two:
        run("tokens", text, "--tokenizer", made("bpe"), "--splits", "0.8/0.1/0.1", "--out", folder / text.stem).right()
    return folder / "web", folder / "books"


SHORT = [*TINY, "--budget", 10, "--set", 'training.evaluate="5"']


def test_weights_are_given_with_the_paths(tmp_path, halves) -> None:
    """Repeated, or one after another; weights need not add up to one."""
    web, books = halves
    said = run("train", "gpt2", *SHORT, "--data", f"{web}=0.6", "--data", f"{books}=0.2", "--out", tmp_path / "one")
    said.right()
    assert "a mixture: of the tokens read, 75.0% web, 25.0% books" in said.err
    assert "read of each source: web " in said.err
    run("train", "gpt2", "--data", f"{web}=3", f"{books}=1", *SHORT, "--out", tmp_path / "other").right()
    one, other = RunFolder(tmp_path / "one"), RunFolder(tmp_path / "other")
    assert (one.model / "model.safetensors").read_bytes() == (other.model / "model.safetensors").read_bytes()
    sources = one.passport()["sources"]
    assert [source["name"] for source in sources] == ["web", "books"]
    assert sum(source["rows"] for source in sources) == 40
    assert {name for record in one.metrics() if "valid" in record for name in record["sources"]} == {"web", "books"}
    assert "There is no text to evaluate on" not in run("evaluate", one.path, "--data", books).right()
    assert "no text to evaluate on" in run("evaluate", one.path).fault()


def test_text_is_made_into_stores_with_one_tokenizer(tmp_path, two, halves) -> None:
    words = [
        "train",
        "gpt2",
        *SHORT,
        "--set",
        "tokenizer.vocabulary=400",
        "--set",
        "tokenizer.minimum=1",
        "--out",
        tmp_path / "run",
    ]
    said = run(*words, "--data", f"{two[0]}=1", "--data", f"{two[1]}=1")
    said.right()
    assert "one tokenizer is learned from the text of all sources together" in said.err
    stores = [TokenStore.open(Path(source["store"])) for source in RunFolder(tmp_path / "run").passport()["sources"]]
    assert stores[0].fingerprint == stores[1].fingerprint
    assert len(stores[0].tokenizer) == 400
    again = run(*words, "--data", f"{two[0]}=1", "--data", f"{two[1]}=1")
    assert "this run is finished" in again.err
    assert "is learned" not in again.err
    mixed = run(
        "train", "gpt2", *SHORT, "--data", f"{two[0]}=1", "--data", f"{halves[1]}=1", "--out", tmp_path / "mixed"
    )
    mixed.right()
    assert f"the tokenizer of {halves[1]} is used for all sources" in mixed.err


def test_a_path_with_an_equals_sign_is_a_path(tmp_path, halves) -> None:
    invalid = tmp_path / "part=1"
    invalid.symlink_to(halves[0])
    run("train", "gpt2", *SHORT, "--data", invalid, "--out", tmp_path / "alone").right()
    assert "sources" not in RunFolder(tmp_path / "alone").passport()
    run(
        "train", "gpt2", *SHORT, "--data", f"{invalid}=0.5", "--data", f"{halves[1]}=0.5", "--out", tmp_path / "mixed"
    ).right()
    assert RunFolder(tmp_path / "mixed").passport()["sources"][0]["weight"] == 0.5


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["{web}=0.5", "{books}"], "of several sources each needs its weight"),
        (["{web}=half", "{books}=1"], "'half' is not a weight"),
        (["{web}=0", "{books}=1"], "'0' is not a weight"),
        (["{web}=nan", "{books}=1"], "'nan' is not a weight"),
        (["{web}=1", "nowhere=1"], "nowhere is not there"),
        (["{web}=1", "{web}=2"], "is given more than once"),
    ],
)
def test_what_is_wrong_with_sources_is_said(tmp_path, halves, given, told) -> None:
    words = [word.format(web=halves[0], books=halves[1]) for word in given]
    assert (
        told in run("train", "gpt2", *SHORT, "--data", words[0], "--data", words[1], "--out", tmp_path / "run").fault()
    )
    assert not (tmp_path / "run").exists()


def test_stores_that_do_not_fit_together_are_refused(tmp_path, halves, made) -> None:
    said = run(
        "train", "gpt2", *SHORT, "--data", f"{halves[0]}=1", "--data", f"{made('bytes')}=1", "--out", tmp_path / "run"
    ).fault()
    assert "stores that are mixed must share a tokenizer" in said
    assert str(halves[0]) in said
    assert str(made("bytes")) in said
    said = run(
        "train", "lstm", *LSTM, "--data", f"{halves[0]}=1", "--data", f"{halves[1]}=1", "--out", tmp_path / "run"
    ).fault()
    assert "cannot be mixed" in said
    assert not (tmp_path / "run").exists()


def test_a_mixture_can_be_looked_at(halves) -> None:
    said = run("preview", "gpt2", *TINY, "--data", f"{halves[0]}=3", "--data", f"{halves[1]}=1").right()
    assert "a mixture: of the tokens read, 75.0% web, 25.0% books" in said
    assert "row 2 of step 0" in said


def test_a_killed_run_on_a_mixture_with_a_ramp_goes_on_to_the_same_weights(tmp_path, halves) -> None:
    words = [
        "train",
        "gpt2",
        *TINY,
        "--budget",
        "40ktok",
        "--data",
        f"{halves[0]}=3",
        f"{halves[1]}=1",
        "--set",
        'training.save="20"',
        "--set",
        'training.ramp={ start = 1, over = "15ktok" }',
        "--set",
        'training.schedule.warmup="5ktok"',
        "--set",
        'training.evaluate="100"',
        "--compile",
        "off",
    ]
    folder = RunFolder(tmp_path / "run")
    killed = Program(*words, "--out", folder.path).when(lambda: len(folder.checkpoints()) > 1, signal.SIGKILL)
    assert killed.code == -signal.SIGKILL
    said = run(*words, "--out", folder.path)
    said.right()
    assert "goes on from step" in said.err
    run(*words, "--out", tmp_path / "unbroken").right()
    one, other = (RunFolder(path) for path in (folder.path, tmp_path / "unbroken"))
    assert (one.model / "model.safetensors").read_bytes() == (other.model / "model.safetensors").read_bytes()

    def records(run: RunFolder) -> list[str]:
        return [json.dumps({**record, "seconds": None}) for record in run.metrics()]

    assert records(one) == records(other)
