"""Feature-based transfer: every kind of task over a trunk that is the same before and after, whatever it is made of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from foreword.assembly.build import model_for
from foreword.basics.messages import Fault, Interrupted
from foreword.batches.examples import row_of
from foreword.compare.contenders import Plan
from foreword.compare.study import study
from foreword.exchange import hugging_face
from foreword.exchange.hugging_face import LoadedFolder
from foreword.networks.base import Inputs
from foreword.networks.features import Features
from foreword.runs.loop import RunLoop
from foreword.runs.opening import open_model
from foreword.transfer.features import layers_and_reader
from foreword.transfer.finetune import finetune, recipe_for
from foreword.transfer.inference import head_scores
from foreword.transfer.initial_weights import initial_model
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.multitask import multitask
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import KINDS, base, encoder, examples, input_format, task, tokenizer
from tests.trunks import FAMILIES, folder, trunk

QUICK = FinetuneSettings(epochs=2, batch_size=16, learning_rate=3e-3, features="bilstm")


def unchanged(before: LoadedFolder, after: LoadedFolder) -> bool:
    """All that was given is in the trunk, bit for bit; a table may have rows more."""
    mine = dict(after.model.network.trunk.named_parameters())
    return all(
        torch.equal(weight, mine[name][: len(weight)]) for name, weight in before.model.network.named_parameters()
    )


EVERY = [(family, reader, kind) for kind in KINDS for family, reader in (("gpt2", "bilstm"), ("bert", "linear"))]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("family", "reader", "kind"),
    [
        *EVERY,
        ("gpt2", "linear", "classify"),
        ("bert", "bilstm", "tag"),
        ("lstm", "linear", "tag"),
        ("lstm", "bilstm", "similarity"),
    ],
)
def test_every_kind_of_task_is_learned_over_a_trunk_that_stays_as_it_was(
    family: str, reader: str, kind: str, tmp_path: Path
) -> None:
    whole = task(kind, 24, 9, 9)
    run = finetune(folder(family, tmp_path / "base"), whole, tmp_path / "run", replace(QUICK, features=reader))
    opened = open_model(run.path)
    network = opened.model.network
    assert isinstance(network, Features)
    assert unchanged(open_model(tmp_path / "base"), opened)
    assert network.mix.weight.any(), "the mix has learned nothing"
    config = json.loads((run.model / "config.json").read_text())
    assert (config["model_type"], config["architectures"]) == ("foreword", ["Features"])
    assert "No class of `transformers`" in (run.model / "README.md").read_text()
    assert run.passport()["tuning"]["features"] == reader
    lines = [json.loads(line) for line in (run.path / "predictions.jsonl").read_text("utf-8").splitlines()]
    said = Predictor(run.path).predict(list(whole.test))
    answers = [list(one) if isinstance(one, tuple) else one for one in said.labels]
    assert answers == [line["answer"] for line in lines if line["split"] == "test"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_trunk_is_in_no_optimizer_and_gets_no_slopes(family: str) -> None:
    loaded = trunk(family)
    recipe = recipe_for(loaded, task("classify"), QUICK)
    tokens = FAMILIES[family]
    fitted = input_format(tokens).extended(tokenizer(tokens))
    model = initial_model(recipe, loaded, fitted)
    learner = recipe.training.learner(model, recipe.objective, fitted)  # type: ignore[attr-defined]
    names = {id(weight): name for name, weight in model.named_parameters()}
    learned = {names[id(p)] for each in learner.optimizers for group in each.param_groups for p in group["params"]}
    assert learned == {name for name in names.values() if not name.startswith("network.trunk.")}
    encoded = transfer_kind_of("classify").encode(examples("classify", 8), ("bad", "good"), encoder(tokens))
    batch = learner.collate([row_of(one) for one in encoded])
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    learner._gradients(batch, batch.guesses, batch.size, 0)
    assert {name for name, weight in model.named_parameters() if weight.grad is not None} == learned
    for step in range(3):
        learner.step(batch, step, step / 3)
    moved = {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])}
    assert {"network.mix.weight", "network.mix.scale"} < moved <= learned


@pytest.mark.parametrize("reader", ["linear", "bilstm"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["classify", "similarity", "choice", "span", "tag"])
def test_padding_and_other_rows_change_no_prediction(kind: str, family: str, reader: str) -> None:
    loaded, tokens = trunk(family), FAMILIES[family]
    recipe = recipe_for(loaded, task(kind), replace(QUICK, features=reader))
    fitted = input_format(tokens).extended(tokenizer(tokens))
    model = initial_model(recipe, loaded, fitted).double()
    encoded = transfer_kind_of(kind).encode(examples(kind, 10), task(kind).labels, encoder(tokens))
    found = []
    for room in (model.network.kept.room, 0):  # type: ignore[union-attr]
        model.network.kept.room = room  # type: ignore[union-attr]
        found += [head_scores(model, recipe.objective, encoded, fitted, at_once=at_once)[0] for at_once in (64, 1)]  # type: ignore[arg-type]
    assert len({one.length for one in encoded}) > 1, "nothing was padded"
    for each in zip(*found):
        assert max(np.abs(each[0] - other).max() for other in each[1:]) < 1e-9


def test_a_resumed_run_equals_an_unbroken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, start = task("classify", 48), folder("gpt2", tmp_path / "base")
    unbroken = finetune(start, whole, tmp_path / "unbroken", replace(QUICK, epochs=3))
    evaluate = RunLoop.evaluate

    def and_stop(self: RunLoop, anyway: bool = False) -> None:
        evaluate(self, anyway)
        self.trainer.stopping = True

    monkeypatch.setattr(RunLoop, "evaluate", and_stop)
    with pytest.raises(Interrupted):
        finetune(start, whole, tmp_path / "broken", replace(QUICK, epochs=3))
    monkeypatch.undo()
    broken = finetune(start, whole, tmp_path / "broken", replace(QUICK, epochs=3))
    a, b = (run.latest()[0] for run in (unbroken, broken))  # type: ignore[index]
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.thorough
def test_what_can_be_told_apart_is_learned(tmp_path: Path) -> None:
    how = FinetuneSettings(epochs=12, batch_size=16, learning_rate=3e-3, features="bilstm")
    run = finetune(folder("gpt2", tmp_path / "base"), task("span", 240, 40, 60), tmp_path / "run", how)
    assert run.passport()["scores"]["test"]["span_f1"]["value"] > 0.8


def test_the_rate_is_not_that_of_fine_tuning() -> None:
    training = recipe_for(base("gpt2"), task("classify"), FinetuneSettings(features="linear")).training
    assert (training.optimizer.kind, training.optimizer.learning_rate) == ("adam", 1e-3)  # type: ignore[attr-defined]
    assert training.schedule.kind == "constant"  # type: ignore[attr-defined]
    said = recipe_for(base("gpt2"), task("classify"), FinetuneSettings(features="linear", learning_rate=0.1)).training
    assert said.optimizer.learning_rate == 0.1  # type: ignore[attr-defined]


def test_settings_reach_the_mix_the_reader_and_the_trunk() -> None:
    recipe = recipe_for(
        base("gpt2", "network.layers=3"),
        task("classify"),
        replace(
            QUICK,
            settings=(
                "network.norm=true",
                "network.reader.layers=1",
                "network.reader.width=10",
                "network.trunk.layers=2",
            ),
        ),
    )
    made = initial_model(recipe, base("gpt2", "network.layers=3"), input_format("gpt2").extended(tokenizer("gpt2")))
    network = made.network
    assert isinstance(network, Features)
    assert network.mix.norm
    assert network.mix.weight.numel() == 3, "the first two layers alone, and what they are made of"
    text = Inputs(torch.arange(6, 20)[None])
    whole = base("gpt2", "network.layers=3").model.eval().network(text).layers
    assert all(
        torch.allclose(mine, theirs, atol=1e-6) for mine, theirs in zip(network.trunk(text).layers, whole, strict=False)
    )
    assert network.width == network.reader.lstm.hidden_size * 2 == 10
    with pytest.raises(Fault, match="width must be even"):
        recipe_for(base("gpt2"), task("classify"), replace(QUICK, settings=("network.reader.width=7",)))


@pytest.mark.thorough
def test_nothing_learned_is_a_control_for_features_too(tmp_path: Path) -> None:
    loaded = base("gpt2")
    recipe = recipe_for(loaded, task("classify"), QUICK)
    fitted = input_format("gpt2").extended(tokenizer("gpt2"))
    for init in ("scratch", "shuffled"):
        made = initial_model(recipe, loaded, fitted, init)
        assert not any(weight.requires_grad for weight in made.network.trunk.parameters())  # type: ignore[union-attr]
        assert not torch.equal(made.network.table()[:100], loaded.model.network.table()[:100])
    found = study(
        folder("gpt2", tmp_path / "base"),
        task("classify", 48),
        tmp_path / "out",
        QUICK,
        Plan(2, curve=(16, None), compare=("scratch",)),
    )
    assert [row.name for row in found.results[:2]] == ["pretrained", "scratch"]
    assert {row.rate for row in found.find("scratch")} == {3e-3}


def test_a_table_with_spare_rows_opens_again(tmp_path: Path) -> None:
    loaded = base("bert")
    vocabulary = tokenizer("bert").vocabulary()
    roomy = model_for(loaded.recipe, replace(vocabulary, size=vocabulary.size + 8))
    hugging_face.write(tmp_path / "base", loaded.recipe, roomy, loaded.tokenizer)
    run = finetune(tmp_path / "base", task("classify", 24, 9, 9), tmp_path / "run", QUICK)
    assert open_model(run.path).model.network.table().size(0) == vocabulary.size + 8


def test_a_run_over_features_can_be_learned_from_again(tmp_path: Path) -> None:
    start = folder("bert", tmp_path / "base")
    first = finetune(start, task("classify", 24, 9, 9), tmp_path / "first", QUICK)
    same = finetune(first.path, task("tag", 24, 9, 9), tmp_path / "same", replace(QUICK, features=""))
    assert same.recipe().network.reader.kind == "bilstm"  # type: ignore[attr-defined]
    other = finetune(first.path, task("tag", 24, 9, 9), tmp_path / "other", replace(QUICK, features="linear"))
    assert other.recipe().network.reader.kind == "linear"  # type: ignore[attr-defined]
    for run in (same, other):
        assert unchanged(open_model(start), open_model(run.path))


def test_several_tasks_over_one_frozen_trunk_are_refused(tmp_path: Path) -> None:
    tasks = [replace(task("classify", 24, 9, 9), name="one"), replace(task("pair", 24, 9, 9), name="two")]
    with pytest.raises(Fault, match="tasks have nothing to share"):
        multitask(
            finetune(folder("bert", tmp_path / "base"), tasks[0], tmp_path / "frozen", QUICK).path,
            tasks,
            tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (FinetuneSettings(features="bilstn"), "Did you mean bilstm?"),
        (FinetuneSettings(features="linear", aux=0.5), "--aux 0.5"),
        (FinetuneSettings(features="linear", layers=1), "--set network.trunk.layers=1"),
    ],
)
def test_what_cannot_be_is_refused(how: FinetuneSettings, words: str) -> None:
    with pytest.raises(Fault) as found:
        recipe_for(base("gpt2"), task("classify"), how)
    assert words in str(found.value)


def test_a_study_refuses_what_is_for_whole_networks(tmp_path: Path) -> None:
    with pytest.raises(Fault) as found:
        study(
            folder("gpt2", tmp_path / "base"),
            task("classify", 24, 9, 9),
            tmp_path / "out",
            replace(QUICK, learning_rate=None),
            Plan(2, grid=True, layers=(0, 1)),
        )
    assert "--grid tries rates for the whole network" in str(found.value)
    assert "--layers re-initialises the others" in str(found.value)
    assert not (tmp_path / "out").exists()


def test_layers_and_readers_are_said_in_either_order() -> None:
    assert [layers_and_reader(words) for words in ("mix", "bilstm", "concat-4:bilstm", "esim:first")] == [
        ("mix", "linear"),
        ("mix", "bilstm"),
        ("concat-4", "bilstm"),
        ("first", "esim"),
    ]
    with pytest.raises(Fault, match="'second' is not one of"):
        FinetuneSettings(features="second").check()
    with pytest.raises(Fault, match="sum-4 reads 4 layers, and this network has 2"):
        recipe_for(base("gpt2"), task("classify"), FinetuneSettings(features="sum-4"))
    with pytest.raises(Fault, match="esim aligns two texts, and .* is single-text classification"):
        recipe_for(base("gpt2"), task("classify"), FinetuneSettings(features="esim"))


@pytest.mark.thorough
@pytest.mark.parametrize("family", ["gpt2", "bert", "lstm"])
def test_two_texts_are_aligned_over_any_trunk(family: str, tmp_path: Path) -> None:
    how = replace(QUICK, features="first:esim", settings=("network.reader.width=8",))
    run = finetune(folder(family, tmp_path / "base"), task("pair"), tmp_path / "run", how)
    assert run.passport()["finished"]
    assert len(Predictor(run.path).predict(task("pair").test).labels) == len(task("pair").test)
