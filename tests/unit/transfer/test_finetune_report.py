"""A result never stands alone: baselines beside it, and whether the difference could be chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.transfer import finetune_report
from foreword.transfer.baselines import fits_texts
from foreword.transfer.finetune import finetune
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import KINDS, folder, task

QUICK = FinetuneSettings(epochs=1, batch_size=16, learning_rate=3e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_baselines_beside_its_result(kind: str, tmp_path: Path) -> None:
    whole = task(kind, 24, 9, 9)
    run = finetune(folder("gpt2", tmp_path / "base"), whole, tmp_path / "run", QUICK)
    report = finetune_report.report(run, {"": whole})
    found = report.values["baselines"]
    assert len(found) == 2 + fits_texts(kind), "one answer to all, words, and the bag of its token vectors"
    assert whole.learn.constant in found
    mine = report.values["scores"]["test"][whole.metrics[0]]["value"]
    for name, one in found.items():
        assert one["model_minus_baseline"]["value"] == pytest.approx(mine - one[whole.metrics[0]]["value"])
        assert f"{name} {one[whole.metrics[0]]['shown']}" in report.lead[0]
        assert f"<td>{name}</td>" in report.html()


def test_the_verdict_is_that_of_the_paired_interval() -> None:
    whole = task("classify", 40, 10, 40)
    right = [str(one.label) for one in whole.test]
    wrong = [{"good": "bad", "bad": "good"}[label] for label in right]
    scores = {"test": {"accuracy": {"value": 1.0, "shown": "100.0", "interval": [0.9, 1.0], "count": 40}}}
    said = [
        finetune_report._result(whole, scores, finetune_report.compared(whole, answers))
        for answers in (wrong, ["good"] * 40)
    ]
    assert said[0].endswith("TF-IDF 90.0: TF-IDF is better.")
    alone = finetune_report.compared(whole, right)[:1]
    assert finetune_report._result(whole, scores, alone).endswith("majority 50.0: it is above that.")
    chance = finetune_report.compared(whole, ["good"] * 40)[:1]
    assert finetune_report._result(whole, scores, chance).endswith("no significant difference from majority.")


def test_baselines_learn_from_the_labels_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, seen = task("classify", 64, 8, 8), []
    kind = type(finetune_report.transfer_kind_of("classify"))
    real = kind.baseline
    monkeypatch.setattr(kind, "baseline", lambda self, some: seen.append(len(some.train)) or real(self, some))
    run = finetune(folder("gpt2", tmp_path / "base"), whole, tmp_path / "run", replace(QUICK, labels=16))
    finetune_report.report(run, {"": whole})
    assert seen == [16]
    monkeypatch.setattr(finetune_report, "MOST", 8)
    finetune_report.report(run, {"": whole})
    assert seen == [16, 8], "a large set is cut, so that it takes seconds"


def test_without_scikit_learn_the_constant_answer_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(self: object, some: object) -> object:
        raise Fault("baselines need the package scikit-learn.")

    monkeypatch.setattr(type(finetune_report.transfer_kind_of("classify")), "baseline", missing)
    assert [one.name for one in finetune_report.simple_baselines(task("classify", 24, 8, 8))] == ["majority"]
    assert "baselines need the package scikit-learn" in capsys.readouterr().err


def test_a_small_network_read_at_one_token_is_told_of_the_mean(tmp_path: Path) -> None:
    whole, base = task("classify", 24, 9, 9), folder("gpt2", tmp_path / "base")
    for name, settings, told in (("place", (), True), ("mean", ("objective.read=mean",), False)):
        run = finetune(base, whole, tmp_path / name, replace(QUICK, settings=settings))
        assert any("objective.read=mean" in line for line in finetune_report.report(run, {"": whole}).lead) == told
