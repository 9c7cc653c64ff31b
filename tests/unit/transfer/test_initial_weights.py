"""What a fine-tuned model begins with: exactly the layers that were asked for, and a table that has grown by the specials."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from foreword.assembly.build import model_for
from foreword.basics.messages import Fault
from foreword.exchange import hugging_face
from foreword.exchange.hugging_face import LoadedFolder
from foreword.networks.base import Inputs, Model
from foreword.training.optimizers import AdamW, depths
from foreword.transfer.finetune import recipe_for
from foreword.transfer.initial_weights import fingerprint, initial_model
from foreword.transfer.label_subset import shared_out, training_subset
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import base, input_format, task, tokenizer

DEEP = "network.layers=3"


def begun(family: str, loaded: LoadedFolder, *settings: str, **how: object) -> Model:
    recipe = recipe_for(loaded, task("classify"), FinetuneSettings(settings=settings, seed=1))
    return initial_model(recipe, loaded, input_format(family).extended(tokenizer(family)), **how)  # type: ignore[arg-type]


def block(model: Model, number: int) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.network.blocks[number].parameters()])


@pytest.mark.parametrize("layers", [0, 1, 2, 3])
@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_so_many_layers_are_transferred_and_no_other(family: str, layers: int) -> None:
    loaded = base(family, DEEP)
    fresh, made = begun(family, loaded, init="scratch"), begun(family, loaded, layers=layers)
    for number in range(3):
        source = loaded.model if number < layers else fresh
        assert torch.equal(block(made, number), block(source, number)), number
        assert not torch.equal(block(loaded.model, number), block(fresh, number))
    known = len(tokenizer(family))
    assert torch.equal(made.network.table()[:known], loaded.model.network.table())


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_the_first_layers_are_a_network_of_their_own(family: str) -> None:
    loaded = base(family, DEEP)
    short = begun(family, loaded, "network.layers=2").eval()
    ids = torch.arange(6, 20)[None]
    with torch.no_grad():
        whole = loaded.model.eval().network(Inputs(ids)).layers
        mine = short.network(Inputs(ids)).layers
    assert len(mine) == 3 < len(whole)
    for a, b in zip(mine, whole):
        assert torch.allclose(a, b, atol=1e-6)


def test_the_table_grows_by_the_specials_alone() -> None:
    loaded = base("gpt2")
    made, other = begun("gpt2", loaded), begun("gpt2", loaded, init="scratch")
    known = len(tokenizer("gpt2"))
    assert made.network.table().shape == (known + 3, 32)
    assert torch.equal(made.network.table()[known:], other.network.table()[known:])
    ids = torch.arange(3, 40)[None]
    with torch.no_grad():
        assert torch.allclose(
            made.eval().network(Inputs(ids)).last, loaded.model.eval().network(Inputs(ids)).last, atol=1e-6
        )


def test_a_head_with_weights_of_its_own_grows_too() -> None:
    loaded = base("gpt2", "head.tied=false")
    recipe = recipe_for(loaded, task("classify"), FinetuneSettings(aux=0.5))
    made = initial_model(recipe, loaded, input_format("gpt2").extended(tokenizer("gpt2")))
    known = len(tokenizer("gpt2"))
    assert made.heads["tokens"].out.weight.size(0) == known + 3
    assert torch.equal(made.heads["tokens"].out.weight[:known], loaded.model.heads["tokens"].out.weight)


def test_a_table_that_has_spare_rows_keeps_its_size() -> None:
    loaded = base("gpt2")
    vocabulary = tokenizer("gpt2").vocabulary()
    padded = LoadedFolder(
        loaded.recipe, model_for(loaded.recipe, replace(vocabulary, size=vocabulary.size + 64)), loaded.tokenizer
    )
    made, fresh = begun("gpt2", padded).network.table(), begun("gpt2", padded, init="scratch").network.table()
    assert made.size(0) == vocabulary.size + 64
    new = slice(vocabulary.size, vocabulary.size + 3)
    assert torch.equal(made[new], fresh[new]), (
        "a spare row was learned by nobody, but it is not what a special begins with"
    )
    assert torch.equal(made[new.stop :], padded.model.network.table()[new.stop :])


def test_shuffled_weights_are_the_same_numbers_elsewhere() -> None:
    loaded = base("bert")
    made, shuffled = begun("bert", loaded), begun("bert", loaded, init="shuffled")
    for (name, a), b in zip(made.network.named_parameters(), shuffled.network.parameters()):
        assert torch.equal(a.flatten().sort().values, b.flatten().sort().values), name
    assert not torch.equal(made.network.table(), shuffled.network.table())
    assert fingerprint(shuffled) == fingerprint(begun("bert", loaded, init="shuffled")) != fingerprint(made)


def test_what_read_sentences_before_reads_them_again(tmp_path) -> None:
    """The pooler of BERT: from the head that learned which sentence follows, or from a folder where no head uses it."""
    loaded = base("bert")
    pool = loaded.model.heads["next_sentence"].pool
    assert torch.equal(begun("bert", loaded).heads["classify"].pool.weight, pool.weight)
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertModel(
        transformers.BertConfig(
            vocab_size=len(tokenizer("bert")),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
        )
    )
    theirs.save_pretrained(tmp_path)
    opened = hugging_face.read(tmp_path)
    made = begun("bert", replace(opened, tokenizer=tokenizer("bert")))
    assert torch.equal(made.heads["classify"].pool.weight, theirs.pooler.dense.weight)


def test_another_shape_cannot_be_transferred() -> None:
    with pytest.raises(Fault, match="must have the shape"):
        begun("gpt2", base("gpt2"), "network.width=64")
    assert begun("gpt2", base("gpt2"), "network.width=64", init="scratch").network.width == 64
    with pytest.raises(Fault, match="positions"):
        begun("gpt2", base("gpt2"), "network.context=96")
    assert begun("gpt2", base("gpt2"), "network.context=24").network.context == 24


def test_a_network_that_looks_both_ways_guesses_no_tokens() -> None:
    with pytest.raises(Fault, match="is bidirectional"):
        recipe_for(base("bert"), task("classify"), FinetuneSettings(aux=0.5))


def test_each_layer_learns_slower_than_the_one_above() -> None:
    model = begun("gpt2", base("gpt2", DEEP))
    names = {id(p): name for name, p in model.named_parameters()}
    (optimizer,) = AdamW(learning_rate=1.0, layer_decay=0.5).build(model)
    rates = {names[id(p)]: group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert rates.keys() == set(names.values())
    for name, rate in rates.items():
        under = 4 if "embeddings" in name else 3 - int(name.split(".")[2]) if "blocks" in name else 0
        assert rate == 0.5**under, name
    assert [under for _, under in depths(model)] == [0, 1, 2, 3, 4]
    (plain,) = AdamW(learning_rate=1.0).build(model)
    assert {group["lr"] for group in plain.param_groups} == {1.0}


# --- a few labels ----------------------------------------------------------------------------------------------------


def test_fewer_labels_are_among_more_and_keep_the_shares() -> None:
    whole = task("classify", 90)
    label_subset, more = training_subset(whole, 10, 0), training_subset(whole, 30, 0)
    assert set(label_subset) < set(more) < set(whole.train)
    assert [sum(one.label == "good" for one in some) for some in (label_subset, more)] == [5, 15]
    assert training_subset(whole, 10, 1) != label_subset
    assert training_subset(whole, None, 0) == whole.train
    queries = training_subset(task("rank", 30), 4, 0)
    assert len(queries) == 12
    assert len({one.group for one in queries}) == 4


@pytest.mark.parametrize(("sizes", "count"), [([90, 9, 1], 10), ([5, 5], 3), ([1, 1, 1], 3), ([98, 1, 1], 3)])
def test_every_class_has_its_share(sizes: list[int], count: int) -> None:
    parts = shared_out(sizes, count)
    assert sum(parts) == count
    assert all(1 <= part <= size for part, size in zip(parts, sizes))


@pytest.mark.parametrize("count", [0, 1, 91])
def test_labels_that_cannot_be_drawn_are_refused(count: int) -> None:
    with pytest.raises(Fault, match="--labels"):
        training_subset(task("classify", 90), count, 0)


def test_a_head_that_says_something_else_is_drawn_anew() -> None:
    """Two labels become three, or two others: the trunk and the dense layer go on, the last layer does not."""
    how, first = FinetuneSettings(), base("bert")
    recipe = recipe_for(first, task("classify"), how)
    loaded = LoadedFolder(recipe, initial_model(recipe, first, first.tokenizer), first.tokenizer)
    for labels, same in ((("bad", "good"), True), (("good", "bad"), False), (("bad", "fine", "good"), False)):
        model = initial_model(
            recipe_for(loaded, replace(task("classify"), labels=labels), replace(how, seed=1)), loaded, loaded.tokenizer
        )
        old, new = loaded.model.heads["classify"], model.heads["classify"]
        assert (new.out.weight.shape == old.out.weight.shape and torch.equal(new.out.weight, old.out.weight)) == same
        assert torch.equal(new.pool.weight, old.pool.weight)
        assert torch.equal(model.network.table(), loaded.model.network.table())
