"""Fine-tuning runs: they learn what can be learned, go on where they stopped, and keep what was best on dev."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault, Interrupted
from foreword.exchange import hugging_face
from foreword.runs.folder import RunFolder
from foreword.runs.loop import RunLoop
from foreword.tasks import labelled_task
from foreword.transfer import finetune as tuning
from foreword.transfer import labelled_run
from foreword.transfer.finetune import finetune
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import KINDS, folder, task

QUICK = FinetuneSettings(epochs=2, batch_size=16, learning_rate=3e-3)
LABELLED_KINDS = FinetuneSettings(epochs=10, batch_size=16, learning_rate=3e-3)


def scores(run: RunFolder, split: str = "test") -> dict[str, float]:
    return {name: one["value"] for name, one in run.passport()["scores"][split].items()}


@pytest.mark.parametrize("family", ["gpt2", "bert"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_task_trains_and_leaves_a_run(kind: str, family: str, tmp_path: Path) -> None:
    whole = task(kind, 24, 9, 9)
    run = finetune(folder(family, tmp_path / "base"), whole, tmp_path / "run", QUICK)
    passport = run.passport()
    assert passport["finished"]
    assert set(passport["scores"]) == {"dev", "test"}
    lines = [json.loads(line) for line in (run.path / "predictions.jsonl").read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines if line["split"] == "test"] == [one.id for one in whole.test]
    for metrics in passport["scores"].values():
        assert list(metrics) == list(whole.metrics)
        for one in metrics.values():
            assert one["interval"][0] <= one["value"] <= one["interval"][1] or one["value"] == pytest.approx(
                one["interval"][0]
            )
    opened = hugging_face.read(run.model)
    assert opened.recipe.objective.labelled
    assert any("dev" in record for record in run.metrics())


@pytest.mark.parametrize(("family", "read"), [("gpt2", "mean"), ("bert", "mean"), ("bert", "ends")])
def test_reading_the_mean_learns_and_opens_again_in_our_own_layout(family: str, read: str, tmp_path: Path) -> None:
    whole = task("classify", 160, 40, 80)
    how = replace(LABELLED_KINDS, settings=(f"objective.read={read}",))
    run = finetune(folder(family, tmp_path / "base"), whole, tmp_path / "run", how)
    assert scores(run)["accuracy"] > 0.75, "four deviations above chance"
    assert "no class of `transformers`" in (run.model / "README.md").read_text("utf-8").lower()
    again = Predictor(run.path).predict(whole.test).labels
    said = [
        json.loads(line)["answer"]
        for line in (run.path / "predictions.jsonl").read_text("utf-8").splitlines()
        if '"split": "test"' in line
    ]
    assert again == said


def test_what_can_be_told_apart_is_learned_and_what_cannot_is_not(tmp_path: Path) -> None:
    whole = task("classify", 160, 40, 80)
    base = folder("gpt2", tmp_path / "base")
    assert scores(finetune(base, whole, tmp_path / "right", LABELLED_KINDS))["accuracy"] > 0.9
    draw = np.random.default_rng(0)

    def mixed(examples: tuple) -> tuple:
        return tuple(
            replace(one, label=str(label))
            for one, label in zip(examples, draw.permutation([e.label for e in examples]))
        )

    noise = replace(whole, train=mixed(whole.train), dev=mixed(whole.dev))
    assert 0.25 < scores(finetune(base, noise, tmp_path / "noise", LABELLED_KINDS))["accuracy"] < 0.75


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_task_can_be_learned(kind: str, tmp_path: Path) -> None:
    how = FinetuneSettings(epochs=12, batch_size=16, learning_rate=2e-3)
    run = finetune(folder("bert", tmp_path / "base"), task(kind, 240, 40, 60), tmp_path / "run", how)
    assert next(iter(scores(run).values())) > (0.6 if kind == "similarity" else 0.9)


@pytest.mark.parametrize("aux", [0.0, 0.5])
def test_a_resumed_run_equals_an_unbroken_one(aux: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, base = task("classify", 48), folder("gpt2", tmp_path / "base")
    how = replace(QUICK, aux=aux, epochs=3)
    unbroken = finetune(base, whole, tmp_path / "unbroken", how)
    evaluate = RunLoop.evaluate

    def and_stop(self: RunLoop, anyway: bool = False) -> None:
        evaluate(self, anyway)
        self.trainer.stopping = True

    monkeypatch.setattr(RunLoop, "evaluate", and_stop)
    for _ in range(2):
        with pytest.raises(Interrupted):
            finetune(base, whole, tmp_path / "broken", how)
    monkeypatch.undo()
    broken = finetune(base, whole, tmp_path / "broken", how)
    a, b = (run.latest() for run in (unbroken, broken))
    assert a[0].keys() == b[0].keys()
    assert all(torch.equal(a[0][name], b[0][name]) for name in a[0])
    assert scores(unbroken) == scores(broken)
    assert (unbroken.path / "predictions.jsonl").read_text() == (broken.path / "predictions.jsonl").read_text()


def test_the_best_on_dev_is_kept_and_test_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dev is made to look best after the first evaluation; the model is the one of that moment."""
    whole, base = task("classify", 48), folder("gpt2", tmp_path / "base")
    asked: list[tuple] = []
    values = iter([0.9, 0.5, 0.6])
    scored, publish = labelled_task.scored, labelled_run.LabelledWorkload.publish
    kept: dict[str, torch.Tensor] = {}

    def judged(metrics, labels, examples, said, interval):
        found = scored(metrics, labels, examples, said, interval)
        if interval:  # at the end, of dev and test
            return found
        asked.append(examples)
        return [replace(one, value=value) for one, value in zip(found, [next(values), 0.0])]

    def published(self: labelled_run.LabelledWorkload, loop: RunLoop) -> None:
        if not kept:
            kept.update({name: p.detach().clone() for name, p in loop.model.network.named_parameters()})
        publish(self, loop)

    monkeypatch.setattr(labelled_task, "scored", judged)
    monkeypatch.setattr(labelled_run.LabelledWorkload, "publish", published)
    run = finetune(base, whole, tmp_path / "run", replace(QUICK, epochs=3))
    assert asked == [whole.dev] * 3
    assert run.passport()["best"]["step"] == 3
    opened = hugging_face.read(run.model).model.network
    assert all(torch.equal(p, kept[name]) for name, p in opened.named_parameters())


def test_it_ends_when_nothing_gets_better(tmp_path: Path) -> None:
    whole, base = task("classify", 32), folder("gpt2", tmp_path / "base")
    run = finetune(base, whole, tmp_path / "run", replace(QUICK, epochs=40, learning_rate=1e-9, patience=2))
    passport = run.passport()
    assert passport["finished"]
    assert passport["step"] < 80


@pytest.mark.parametrize(("epochs", "evaluations"), [(3, 3), (10, 10), (40, 10)])
def test_dev_is_asked_once_an_epoch_and_ten_times_at_most(epochs: int, evaluations: int, tmp_path: Path) -> None:
    """With 16 labels an epoch is one step: dev would be read far more often than what is learned from."""
    run = finetune(
        folder("gpt2", tmp_path / "base"),
        task("classify", 32, 8, 8),
        tmp_path / "run",
        replace(QUICK, epochs=epochs, labels=16),
    )
    at = [record["step"] for record in run.metrics() if "dev" in record]
    assert at == [round(epochs / evaluations * (turn + 1)) for turn in range(evaluations)]


def test_a_finished_run_is_left_alone_and_another_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    whole, base = task("classify", 32), folder("gpt2", tmp_path / "base")
    run = finetune(base, whole, tmp_path / "run", QUICK)
    before = (run.path / "passport.json").read_bytes()
    finetune(base, whole, tmp_path / "run", QUICK)
    assert "nothing is left to do" in capsys.readouterr().err
    assert (run.path / "passport.json").read_bytes() == before
    for wrong in (replace(QUICK, learning_rate=1e-4), replace(QUICK, init="scratch"), replace(QUICK, labels=8)):
        with pytest.raises(Fault, match="holds another run"):
            finetune(base, whole, tmp_path / "run", wrong)
    assert (run.path / "passport.json").read_bytes() == before


def test_a_fine_tuned_run_can_be_fine_tuned_again(tmp_path: Path) -> None:
    first = finetune(folder("gpt2", tmp_path / "base"), task("classify", 24, 9, 9), tmp_path / "first", QUICK)
    second = finetune(first.path, task("tag", 24, 9, 9), tmp_path / "second", QUICK)
    a, b = (hugging_face.read(run.model) for run in (first, second))
    assert len(a.tokenizer) == len(b.tokenizer)
    assert a.model.network.table().shape == b.model.network.table().shape


def test_the_rate_of_the_papers_is_for_their_width() -> None:
    from tests.labelled import base

    recipe = tuning.recipe_for(base("gpt2"), task("classify"), FinetuneSettings())
    assert recipe.training.optimizer.learning_rate == pytest.approx(6.25e-5 * 24)  # type: ignore[attr-defined]
    assert recipe.training.budget == "3epochs"
