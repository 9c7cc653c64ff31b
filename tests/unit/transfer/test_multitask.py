"""Several tasks in one run: what it leaves opens, goes on where it stopped, and is a beginning for each task alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from foreword.assembly import loader
from foreword.basics.messages import Fault, Interrupted
from foreword.objectives.by_task import ByTask, head_of
from foreword.runs.folder import RunFolder
from foreword.runs.loop import RunLoop
from foreword.runs.opening import open_model
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.gradient import GradientLearner
from foreword.transfer.finetune import finetune
from foreword.transfer.multitask import folder_of, multitask, recipe_for_tasks
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import base, folder, task

QUICK = ('training.budget="2epochs"', "training.batch_size=16", "training.optimizer.learning_rate=3e-3")
ONCE = (*QUICK, 'training.budget="1epochs"')
STILL = (*ONCE, "training.optimizer.learning_rate=1e-12")
ALONE = FinetuneSettings(epochs=1, batch_size=16, learning_rate=1e-12)


def tasks(train: int = 32) -> list[LabelledTask]:
    sizes = {"classify": train, "pair": train // 2, "similarity": train, "rank": train}
    return [replace(task(kind, count, 9, 9), name=f"toy-{kind}") for kind, count in sizes.items()]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    path = tmp_path_factory.mktemp("shared")
    return multitask(folder("bert", path / "base"), tasks(), path / "run", QUICK)


def test_it_leaves_a_run_with_scores_and_answers_of_every_task(shared: RunFolder) -> None:
    passport = shared.passport()
    assert passport["finished"]
    assert list(passport["scores"]) == list(passport["tasks"]) == [one.name for one in tasks()]
    assert passport["step"] == 2 * (2 + 1 + 2 + 1)  # candidates of one query are one example: 11 of them
    for one in tasks():
        assert {split: list(found) for split, found in passport["scores"][one.name].items()} == {
            "dev": list(one.metrics),
            "test": list(one.metrics),
        }
    lines = [json.loads(line) for line in (shared.path / "predictions.jsonl").read_text("utf-8").splitlines()]
    for one in tasks():
        assert [line["id"] for line in lines if (line["task"], line["split"]) == (one.name, "test")] == [
            e.id for e in one.test
        ]


def test_it_opens_whole_and_task_by_task(shared: RunFolder) -> None:
    whole = open_model(shared.path)
    assert isinstance(whole.recipe.objective, ByTask)
    for one in tasks():
        alone = open_model(shared.path / f"model-{one.name}")
        assert alone.tokenizer.fingerprint == whole.tokenizer.fingerprint
        for name, weight in alone.model.network.named_parameters():
            assert torch.equal(weight, whole.model.network.get_parameter(name)), name
        (head,) = alone.model.heads.values()
        for name, weight in head.named_parameters():
            assert torch.equal(weight, whole.model.heads[head_of(one.name)].get_parameter(name)), name
    kinds = {one.name: open_model(shared.path / f"model-{one.name}").recipe.objective.kind for one in tasks()}
    assert kinds == {
        "toy-classify": "classify",
        "toy-pair": "stepwise",
        "toy-similarity": "regress",
        "toy-rank": "rank",
    }


@pytest.mark.thorough
def test_their_library_opens_the_folder_of_a_task(shared: RunFolder) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(shared.path / "model-toy-classify")
    ours = open_model(shared.path / "model-toy-classify").model
    assert torch.equal(theirs.classifier.weight, ours.heads["classify"].out.weight)


def test_what_is_published_is_what_is_not_said(shared: RunFolder) -> None:
    """Liu et al. 2019, section 4.2; the rate is for a network of width 768."""
    wide = base("bert", "network.width=768", "network.heads=12")
    named = [
        replace(task(kind, 8, 4, 4), name=name)
        for kind, name in (("pair", "mnli"), ("classify", "cola"), ("pair", "rte"))
    ]
    recipe = recipe_for_tasks(loader.load("mt-dnn"), wide, named)
    training = recipe.training
    assert (training.optimizer.kind, training.optimizer.learning_rate, training.batch_size) == ("adamax", 5e-5, 32)
    assert (training.budget, training.clip, training.schedule.kind, training.schedule.warmup) == (
        "5epochs",
        1.0,
        "linear",
        0.1,
    )
    assert [one.dropout for one in recipe.objective.tasks] == [0.3, 0.05, 0.1]
    assert [one.kind for one in recipe.objective.tasks] == ["stepwise", "classify", "stepwise"]
    narrow = recipe_for_tasks(loader.load("mt-dnn"), base("bert"), named).training
    assert narrow.optimizer.learning_rate == 5e-5 * 768 / 32, "in proportion larger"
    assert (shared.recipe().name, shared.recipe().training.optimizer.learning_rate) == ("mt-dnn", 3e-3)


def test_the_dropout_of_a_task_is_really_in_its_head(tmp_path: Path) -> None:
    named = [
        replace(task(kind, 8, 4, 4), name=name)
        for kind, name in (("pair", "mnli"), ("classify", "cola"), ("pair", "rte"))
    ]
    run = multitask(folder("bert", tmp_path / "base"), named, tmp_path / "run", STILL)
    heads = open_model(run.path).model.heads
    assert {name: heads[head_of(name)].drop.p for name in ("mnli", "cola", "rte")} == {
        "mnli": 0.3,
        "cola": 0.05,
        "rte": 0.1,
    }
    one = open_model(finetune(folder_of(run.path, named[0]), named[0], tmp_path / "alone", ALONE).path)
    assert one.model.heads["stepwise"].drop.p == 0.3


@pytest.mark.parametrize("place", range(4))
def test_every_kind_of_head_goes_on_in_the_task_alone(shared: RunFolder, place: int, tmp_path: Path) -> None:
    """Also the one in steps, which nobody begins with who fine-tunes on pairs alone."""
    one = tasks()[place]
    where = folder_of(shared.path, one)
    run = finetune(where, one, tmp_path / "run", ALONE)
    begun, ended = (open_model(path).model for path in (where, run.path))
    assert set(begun.heads) == set(ended.heads)
    for name, weight in ended.named_parameters():
        assert torch.allclose(weight, begun.get_parameter(name), atol=1e-6), name
    assert run.passport()["scores"] == shared.passport()["scores"][one.name]


def test_a_task_it_never_saw_begins_with_the_trunk(shared: RunFolder, tmp_path: Path) -> None:
    new = replace(task("tag", 16, 9, 9), name="new")
    assert folder_of(shared.path, new) == shared.path
    run = finetune(shared.path, new, tmp_path / "run", ALONE)
    trunk, ended = open_model(shared.path).model.network, open_model(run.path).model.network
    assert all(
        torch.allclose(weight, trunk.get_parameter(name), atol=1e-6) for name, weight in ended.named_parameters()
    )


@pytest.mark.parametrize("places", [[1], [3, 2, 1, 0]])
def test_some_of_the_tasks_go_on_from_it_with_their_own_heads(
    shared: RunFolder, places: list[int], tmp_path: Path
) -> None:
    some = [tasks()[place] for place in places]
    run = multitask(shared.path, some, tmp_path / "run", STILL)
    begun, ended = (open_model(path).model for path in (shared.path, run.path))
    assert set(ended.heads) == {head_of(one.name) for one in some}
    assert all(
        torch.allclose(weight, begun.get_parameter(name), atol=1e-6) for name, weight in ended.named_parameters()
    )
    assert all(
        run.passport()["scores"][one.name] == shared.passport()["scores"][one.name]
        for one in some
        if one.kind == "pair"
    )


def test_one_task_with_the_same_head_is_the_control(tmp_path: Path) -> None:
    run = multitask(folder("bert", tmp_path / "base"), [tasks()[1]], tmp_path / "run", ONCE)
    assert open_model(run.path / "model-toy-pair").model.heads["stepwise"].steps == 5


def test_a_resumed_run_equals_an_unbroken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start, some = folder("bert", tmp_path / "base"), tasks(16)
    unbroken = multitask(start, some, tmp_path / "unbroken", QUICK)
    evaluate = RunLoop.evaluate

    def and_stop(self: RunLoop, anyway: bool = False) -> None:
        evaluate(self, anyway)
        self.trainer.stopping = True

    monkeypatch.setattr(RunLoop, "evaluate", and_stop)
    with pytest.raises(Interrupted):
        multitask(start, some, tmp_path / "broken", QUICK)
    monkeypatch.undo()
    broken = multitask(start, some, tmp_path / "broken", QUICK)
    a, b = (run.latest() for run in (unbroken, broken))
    assert a[0].keys() == b[0].keys()
    assert [name for name in a[0] if not torch.equal(a[0][name], b[0][name])] == []
    assert unbroken.passport()["scores"] == broken.passport()["scores"]
    assert multitask(start, some, tmp_path / "broken", QUICK).passport()["finished"]
    with pytest.raises(Fault, match="holds another run"):
        multitask(start, some[::-1], tmp_path / "broken", QUICK)


def test_dropout_is_on_again_after_an_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asleep: list[list[bool]] = []
    step = GradientLearner._gradients

    def and_look(self: GradientLearner, *given: Any) -> dict[str, float]:
        asleep.append([not part.training for part in self.model.modules()])
        return step(self, *given)

    monkeypatch.setattr(GradientLearner, "_gradients", and_look)
    multitask(folder("bert", tmp_path / "base"), tasks(16)[:2], tmp_path / "run", QUICK)
    assert len(asleep) == 4
    assert not any(any(parts) for parts in asleep)


def test_a_network_that_looks_back_learns_several_tasks_too(tmp_path: Path) -> None:
    run = multitask(folder("gpt2", tmp_path / "base"), tasks(16)[:2], tmp_path / "run", ONCE)
    assert open_model(run.path / "model-toy-pair").recipe.objective.kind == "classify"


@pytest.mark.thorough
def test_what_can_be_learned_is_learned_in_one_trunk(tmp_path: Path) -> None:
    some = [replace(task(kind, 160, 24, 60), name=kind) for kind in ("classify", "pair")]
    run = multitask(folder("bert", tmp_path / "base"), some, tmp_path / "run", (*QUICK, 'training.budget="10epochs"'))
    found = {name: scores["test"]["accuracy"]["value"] for name, scores in run.passport()["scores"].items()}
    assert min(found.values()) > 0.85, found


@pytest.mark.parametrize(
    ("recipe", "names", "words"),
    [
        ("mt-dnn", [], "there must be a task"),
        ("mt-dnn", ["one", "one"], "a name of its own"),
        ("bert", ["one", "two"], "bert does not learn from labelled tasks"),
    ],
)
def test_what_cannot_be_is_refused(recipe: str, names: list[str], words: str) -> None:
    with pytest.raises(Fault, match=words):
        recipe_for_tasks(
            loader.load(recipe), base("bert"), [replace(task("classify", 8, 4, 4), name=name) for name in names]
        )
