"""Controls beside a result: words in random order, the bag of token vectors, and what to use by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from foreword.exchange import hugging_face
from foreword.networks.base import Inputs
from foreword.objectives.examples import ExampleBatch
from foreword.transfer import controls
from foreword.transfer.finetune import finetune, recipe_for
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder, task

QUICK = FinetuneSettings(epochs=1, batch_size=16, learning_rate=3e-3)


def test_the_words_stay_and_their_order_does_not() -> None:
    (example,) = task("classify", 1, 1, 1).train
    long = replace(example, texts=("one two three four five six seven", "今天天气很好我们去公园"))
    other = controls.in_random_order(long)
    assert other.texts != long.texts
    assert sorted(other.texts[0].split()) == sorted(long.texts[0].split())
    assert sorted(other.texts[1]) == sorted(long.texts[1])
    assert controls.in_random_order(long) == other, "the same every time"
    assert other.label == long.label


@pytest.mark.parametrize(("reads_order", "sign"), [(True, -1), (False, 0)])
def test_the_control_tells_order_from_a_bag(reads_order: bool, sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = task("classify", 8, 8, 60)
    texts = {one.texts for one in whole.test}
    right = {tuple(sorted(one.texts[0].split())): str(one.label) for one in whole.test}

    def predict(self: object, examples: list) -> SimpleNamespace:
        labels = [
            "bad" if reads_order and one.texts not in texts else right[tuple(sorted(one.texts[0].split()))]
            for one in examples
        ]
        return SimpleNamespace(labels=labels)

    monkeypatch.setattr(controls, "Predictor", lambda path: SimpleNamespace(predict=lambda some: predict(None, some)))
    monkeypatch.setattr(controls, "read_predictions", lambda path: [{"answer": str(one.label)} for one in whole.test])
    found = controls.word_order(SimpleNamespace(path=Path()), whole)
    assert found["sign"] == sign
    said = controls.order_in_words(found)
    assert ("more than which words there are." in said) == reads_order or "cannot be seen" in said


def test_every_label_is_judged_once_by_what_did_not_learn_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, seen = task("classify", 60, 12, 12), []
    real = controls._answers

    def noted(model: object, part: object, *more: object) -> dict:
        seen.append(({one.id for one in part.train}, {one.id for one in part.test}))
        return real(model, part, *more)

    monkeypatch.setattr(controls, "_answers", noted)
    found = controls.recommended(folder("bert", tmp_path / "base"), whole, QUICK)
    every = {one.id for one in whole.train}
    assert len(seen) == controls.FOLDS
    assert all(not on & off and on | off == every for on, off in seen)
    assert sum(len(off) for _, off in seen) == len(every)
    assert set(found["each"]) == {"the network", "TF-IDF", "the bag of its token vectors"}
    assert found["each"][found["use"]]["value"] == max(one["value"] for one in found["each"].values())
    assert set(found["ahead"]) == set(found["each"]) - {found["use"]}
    assert controls.recommended_in_words(found).startswith(f"Use {found['use']}: accuracy")


def test_the_bag_is_the_mean_of_the_table_in_any_order(tmp_path: Path) -> None:
    start = hugging_face.read(folder("bert", tmp_path / "base"))
    embed = controls.bag_of(start.model, start.tokenizer)
    ids = start.tokenizer.encode("a good film")
    table = start.model.network.table().detach().numpy()
    assert embed(["a good film"])[0] == pytest.approx(table[ids].mean(0), abs=1e-6)
    assert embed(["film good a"])[0] == pytest.approx(embed(["a good film"])[0], abs=1e-6)


def test_a_network_that_began_with_vectors_reads_both_ends(tmp_path: Path) -> None:
    """And another as the papers read it; a setting wins over both."""
    start, whole = hugging_face.read(folder("bert", tmp_path / "base")), task("classify", 8, 4, 4)
    assert recipe_for(start, whole, QUICK).objective.read == "place"
    network = start.recipe.network.model_copy(update={"tokens_from": "some/vectors"})
    begun = replace(start, recipe=start.recipe.model_copy(update={"network": network}))
    assert recipe_for(begun, whole, QUICK).objective.read == "ends"
    assert recipe_for(begun, whole, replace(QUICK, settings=("objective.read=place",))).objective.read == "place"


def test_both_ends_are_the_mean_of_the_last_layer_and_that_of_the_tokens(tmp_path: Path) -> None:
    start, whole = hugging_face.read(folder("bert", tmp_path / "base")), task("classify", 8, 4, 4)
    objective = recipe_for(start, whole, replace(QUICK, settings=("objective.read=ends",))).objective
    network = start.model.network
    heads = objective.heads(network, lambda: None)
    assert heads["classify"].out.in_features == 2 * network.width
    ids = torch.tensor([[5, 6, 7, 0], [8, 9, 10, 11]])
    there = torch.tensor([[True, True, True, False], [True] * 4])
    batch = ExampleBatch(Inputs(ids, there), {}, there=there, counts=(1, 1), units={})
    output = network(batch.inputs)
    states = objective.states(SimpleNamespace(heads=heads, network=network), output, batch)
    for row, length in enumerate((3, 4)):
        top, bottom = output.last[row, :length].mean(0), network.table()[ids[row, :length]].mean(0)
        assert torch.allclose(states[row], torch.cat([top, bottom]), atol=1e-6)


def test_fewer_or_more_labels_than_can_tell_are_not_asked(tmp_path: Path) -> None:
    whole = task("classify", 24, 8, 8)
    run = finetune(folder("bert", tmp_path / "base"), whole, tmp_path / "run", QUICK)
    assert not controls.can_recommend(run, whole, QUICK)
    assert controls.can_recommend(run, whole, replace(QUICK, labels=500))
    assert not controls.can_recommend(run, whole, replace(QUICK, labels=5000))
    assert np.isfinite(controls.word_order(run, whole)["change"])
