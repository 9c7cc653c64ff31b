"""A run begun from a model has that model's weights, and says all that keeps one from fitting."""

import pytest
import torch

from foreword.basics.messages import Fault
from foreword.exchange import hugging_face
from foreword.runs.folder import RunFolder
from foreword.runs.starting import check_same_start, start_from
from foreword.tokens.extension import extended, old_pieces
from foreword.tokens.tokenizer import Tokenizer
from tests.tiny import drawn, tiny


@pytest.fixture
def folder(tmp_path, store):
    """A GPT-2 in Hugging Face's layout."""
    tokenizer = store("dialogues").tokenizer
    hugging_face.write(tmp_path / "gpt2", tiny("gpt2"), drawn(tiny("gpt2"), tokenizer, 3), tokenizer)
    return tmp_path / "gpt2"


def test_every_weight_is_the_others_and_the_start_is_known_by_its_content(folder, store):
    tokenizer = store("dialogues").tokenizer
    model, theirs = drawn(tiny("dialogpt"), tokenizer, 5), drawn(tiny("gpt2"), tokenizer, 3)
    assert any(not torch.equal(model.weights()[name], weight) for name, weight in theirs.weights().items())
    start = start_from(folder, tiny("dialogpt"), model, Tokenizer.load(folder))
    assert all(torch.equal(model.weights()[name], weight) for name, weight in theirs.weights().items())
    assert model.network.table() is model.heads["tokens"].out.weight, "what was tied stays tied"
    again = start_from(folder, tiny("dialogpt"), drawn(tiny("dialogpt"), tokenizer, 6), tokenizer)
    assert again == start


def test_all_that_does_not_fit_is_said_at_once_and_nothing_is_changed(folder, store):
    recipe, other = tiny("dialogpt", "network.layers=1", "network.norm=after"), store("byte").tokenizer
    model = drawn(recipe, other)
    before = {name: weight.clone() for name, weight in model.weights().items()}
    with pytest.raises(Fault) as caught:
        start_from(folder, recipe, model, other)
    for word in ("byte-bpe-512", "byte-257", "network.layers: 2 -> 1", 'network.norm: "before" -> "after"'):
        assert word in str(caught.value)
    assert all(torch.equal(before[name], weight) for name, weight in model.weights().items())


def test_dropout_may_differ(folder, store):
    tokenizer = store("dialogues").tokenizer
    start_from(folder, tiny("dialogpt", "network.dropout.residual=0.3"), drawn(tiny("dialogpt"), tokenizer), tokenizer)


def test_counts_are_not_trained_further(folder, store):
    with pytest.raises(Fault, match="only networks"):
        start_from(folder, tiny("bigram"), object(), store().tokenizer)


def test_a_run_goes_on_only_from_what_it_was_begun_from(tmp_path):
    run = RunFolder(tmp_path / "run")
    check_same_start(run, {"path": "a", "weights": "1"})  # there is no run yet
    run.claim(tiny("dialogpt"), "data")
    run.sign(start={"path": "a", "weights": "1"})
    check_same_start(run, {"path": "moved", "weights": "1"})
    with pytest.raises(Fault, match="begun from a, not from nothing"):
        check_same_start(run, {})


@pytest.mark.parametrize("name", ["bert", "gpt-bert"])
def test_new_tokens_begin_as_the_mean_of_the_pieces_they_were(name, store, store_of, tmp_path):
    """Of what has a row for each token, the table and an output of its own; all else is the other's."""
    recipe = tiny(name, *(["head.tied=false"] if name == "gpt-bert" else []))
    old = store_of(recipe).tokenizer
    theirs = drawn(recipe, old, 3)
    hugging_face.write(tmp_path / "old", recipe, theirs, old)
    new = extended(old, ["the glomerulonephritis of a nephron"] * 9, 12)
    pieces, model = old_pieces(old, new), drawn(recipe, new, 5)
    start = start_from(tmp_path / "old", recipe, model, new)
    assert int(start["new_tokens"]) == len(new) - len(old) == len(pieces)
    rows = 0
    for weight_name, weight in model.weights().items():
        before = theirs.weights()[weight_name]
        if weight.shape == before.shape:
            assert torch.equal(weight, before)
            continue
        assert torch.equal(weight[: len(old)], before)
        means = torch.stack([before[torch.from_numpy(one)].mean(0) for one in pieces])
        assert torch.equal(weight[len(old) :], means)
        rows += 1
    assert rows == 2, "a table, and its bias or an output of its own"
