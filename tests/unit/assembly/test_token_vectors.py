"""Word vectors as the first token table of a network: every word has its own, the rest is drawn, and both are counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import foreword
from foreword.assembly.build import network_for
from foreword.assembly.token_vectors import start_tokens
from foreword.basics.messages import Fault
from foreword.runs import train as runs_train
from foreword.runs.train import train
from foreword.vectors.words import WordVectors
from tests.labelled import task
from tests.tiny import tiny

RECIPES = ("lstm", "rnnlm", "gpt2", "bert")


@pytest.fixture
def vectors(tmp_path, store):
    """A file of vectors for a few words that the tokenizer writes as one token, and one that it does not have."""
    tokenizer = store("byte_bpe").tokenizer
    whole = [tokenizer.decode([token]) for token in range(len(tokenizer))]
    words = [word.strip() for word in whole if word.startswith(" ") and word.strip().isalpha()][:20]
    table = np.random.default_rng(0).normal(size=(len(words) + 1, 16)).round(4)
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip([*words, "zzzyzz"], table)]
    (tmp_path / "some.vec").write_text(f"{len(lines)} 16\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "some.vec", words


def settings(name: str) -> list[str]:
    return ["network.width=16", *(["network.heads=2"] if name in ("gpt2", "bert") else [])]


@pytest.mark.parametrize("name", RECIPES)
def test_words_have_their_vectors_and_the_rest_is_drawn_as_usual(name, vectors, store):
    path, words = vectors
    tokenizer, recipe = store("byte_bpe").tokenizer, tiny(name, *settings(name))
    torch.manual_seed(0)
    plain = network_for(recipe, tokenizer.vocabulary()).network.table().detach().clone()
    torch.manual_seed(0)
    network = network_for(recipe, tokenizer.vocabulary()).network
    found = start_tokens(network, tokenizer, str(path))
    opened = WordVectors.opened(path)
    given = [
        token for token in range(len(tokenizer)) if opened.find(tokenizer.decode([token]).strip() or "?") is not None
    ]
    assert found == {"path": str(path), "found": len(given), "drawn": len(tokenizer) - len(given)}
    assert len(given) >= len(words)
    for token in range(len(tokenizer)):
        if token in given:
            wanted = opened.table.vectors[opened.find(tokenizer.decode([token]).strip())]
            np.testing.assert_array_equal(network.table()[token].detach().numpy(), wanted.astype(np.float32))
        else:
            assert torch.equal(network.table()[token], plain[token])


def test_what_does_not_fit_is_a_sentence(vectors, store, tmp_path):
    tokenizer = store("byte_bpe").tokenizer
    network = network_for(tiny("lstm", "network.width=24"), tokenizer.vocabulary()).network
    with pytest.raises(Fault, match="have 16 numbers, those of the network's tokens 24"):
        start_tokens(network, tokenizer, str(vectors[0]))
    (tmp_path / "none.vec").write_text("1 24\nzzzyzz " + " ".join(["0"] * 24) + "\n")
    with pytest.raises(Fault, match="no token of byte-bpe-512 has a vector"):
        start_tokens(network, tokenizer, str(tmp_path / "none.vec"))
    with pytest.raises(Fault, match="no table of vectors"):
        start_tokens(network, tokenizer, str(tmp_path))


@pytest.mark.parametrize("frozen", [False, True])
def test_a_run_begins_with_them_says_so_and_may_leave_them_as_they_are(frozen, vectors, store, tmp_path, capsys):
    path, words = vectors
    more = ["network.width=16", f"network.tokens_from={path}", f"training.freeze_tokens={str(frozen).lower()}"]
    run = train(tiny("lstm", *more), store("byte_bpe").folder, tmp_path / "run")
    assert f"token vectors of {path}: " in capsys.readouterr().err
    assert run.passport()["tokens_from"]["path"] == str(path)
    model, opened = foreword.load(run.path), WordVectors.opened(path)
    (token,) = model.tokenizer.encode(f" {words[0]}")
    learned = model.with_heads.network.table()[token].detach().numpy()
    assert np.array_equal(learned, opened.table.vectors[opened.find(words[0])].astype(np.float32)) == frozen
    assert len(model.neighbours(words[0], 3)) == 3
    path.unlink()  # a model that is trained does not need them
    assert foreword.load(run.path).score("import this").nats > 0


def test_a_table_of_vectors_is_fine_tuned_inside_a_network(stores, tmp_path):
    from foreword.transfer.finetune import finetune
    from foreword.transfer.labelled_run import opened
    from foreword.transfer.tuning import FinetuneSettings

    vectors = train(tiny("word2vec"), stores["byte_bpe"], tmp_path / "vectors").path
    whole = task("classify", 24, 9, 9)
    how = FinetuneSettings(epochs=1, batch_size=8, learning_rate=1e-3, network="lstm", settings=("network.width=12",))
    run = finetune(vectors, whole, tmp_path / "run", how)
    assert run.passport()["finished"]
    table = WordVectors.opened(vectors)
    token = int(np.flatnonzero(table.known)[0])
    np.testing.assert_array_equal(
        opened(vectors, how).model.network.table()[token].detach().numpy(),
        table.table.vectors[token].astype(np.float32),
    )
    with pytest.raises(Fault, match="--set network=lstm"):
        finetune(vectors, whole, tmp_path / "other", FinetuneSettings())
    with pytest.raises(Fault, match="is no network"):
        finetune(vectors, whole, tmp_path / "other", FinetuneSettings(network="katz"))


def test_vectors_of_the_text_itself_are_learned_first_and_kept(store, tmp_path, monkeypatch):
    """network.tokens_from = "text": a second run begins with the very same ones, and learns none."""
    monkeypatch.setattr(runs_train, "cache_folder", lambda: tmp_path / "cache")
    text = store("wordpiece")
    recipe = tiny("bert", "network.tokens_from=text", 'training.budget="1"')
    run = train(recipe, text.folder, tmp_path / "run")
    folder = run.recipe().network.tokens_from
    vectors = WordVectors.opened(folder)
    assert vectors.width == recipe.network.width
    facts = run.passport()["tokens_from"]
    assert facts["found"] > 100
    begun = (tmp_path / "cache").rglob("passport.json")
    times = {path: path.stat().st_mtime_ns for path in begun}
    again = train(recipe, text.folder, tmp_path / "again")
    assert again.recipe().network.tokens_from == folder
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert again.passport()["tokens_from"] == facts
