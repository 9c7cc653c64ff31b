"""GLUE: the tasks whose data is there are learned, their mean is said, and predictions are written as it asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.transfer import glue
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder

QUICK = FinetuneSettings(epochs=1, batch_size=16)
NAMES = {"CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI-m", "MNLI-mm", "QNLI", "RTE", "WNLI", "AX"}


def write(path: Path, head: str, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*([head] if head else []), *rows]) + "\n", encoding="utf-8")


def test_what_is_there_is_learned_scored_and_written(tmp_path: Path) -> None:
    data = tmp_path / "glue_data"
    for file, count in (("train", 40), ("dev", 12)):
        write(
            data / "CoLA" / f"{file}.tsv",
            "",
            [f"x\t{n % 2}\t*\tthe film {n} was {'good' if n % 2 else 'bad'}" for n in range(count)],
        )
        write(
            data / "STS-B" / f"{file}.tsv",
            "index\tsentence1\tsentence2\tscore",
            [f"{n}\ta day {n}\ta house\t{n % 5}" for n in range(count)],
        )
    write(data / "CoLA" / "test.tsv", "index\tsentence", [f"{n}\tthe film {n}" for n in range(5)])
    made = glue.report(folder("bert", tmp_path / "base"), tmp_path / "out", data, QUICK)
    scores = made.values["scores"]
    assert set(scores) == {"cola", "stsb"}
    assert made.values["mean"] == pytest.approx(sum(scores.values()) / 2)
    lines = (tmp_path / "out" / "submission" / "CoLA.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "index\tprediction"
    assert [line.split("\t")[0] for line in lines[1:]] == ["0", "1", "2", "3", "4"]
    assert {line.split("\t")[1] for line in lines[1:]} <= {"0", "1"}, "as the published files write the labels"
    assert not (tmp_path / "out" / "submission" / "STS-B.tsv").exists()
    assert "mean  of 2 tasks" in "\n".join(made.lines())
    assert any("TF-IDF" in line for line in made.lines()), "baselines stand beside every result"
    assert (tmp_path / "out" / "cola" / "report.html").is_file()
    again = glue.report(tmp_path / "base", tmp_path / "out", data, QUICK)
    assert again.values == made.values


def test_without_any_data_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="no task of GLUE has its data here"):
        glue.report(folder("bert", tmp_path / "base"), tmp_path / "out", tmp_path, QUICK)


def test_every_file_that_glue_asks_for_is_written_by_some_task() -> None:
    asked = [one.spec.submission for one in glue.tasks()]
    assert {name for one in asked if one for name in one.files} == NAMES
