"""GLUE (Wang et al. 2018): a model fine-tuned on every task whose data is there, its scores, their mean, and files to submit."""

from __future__ import annotations

from pathlib import Path

from foreword.basics.files import write_text
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.report import Report, Section, Table, Text
from foreword.runs.folder import RunFolder
from foreword.tasks import task as task_files
from foreword.tasks.files import Missing
from foreword.tasks.labelled.classify import ClassLabels
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.tasks.task import Submission, Task
from foreword.training.hardware import Hardware
from foreword.transfer import finetune_report
from foreword.transfer.finetune import finetune
from foreword.transfer.multitask import folder_of
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings

GLUE = "glue"
HEAD = ("task", "metrics", "score on test", "baselines", "predictions")


def tasks() -> list[Task]:
    """The known tasks that are part of it."""
    every = [one for name in task_files.known() for one in task_files.opened(name)]
    return [one for one in every if one.spec.submission and one.spec.submission.benchmark == GLUE]


def report(
    model: Path, out: Path, data: Path | None, how: FinetuneSettings, hardware: Hardware | None = None
) -> Report:
    """Every task in a run of its own below `out`; what is finished is not done again."""
    rows, scores, missing, runs = [HEAD], dict[str, float](), list[str](), dict[str, str]()
    for known in tasks():
        try:
            task = load(known.name, data)
        except Missing as fault:
            missing.append(f"{known.name} is left out: {fault.what}")
            say(missing[-1])
            continue
        asked = known.spec.submission
        assert asked is not None
        run = finetune(folder_of(model, task), task, out / task.name, how, hardware)
        metrics = asked.metrics or task.metrics[:1]
        found = {name: run.passport()["scores"]["test"][name]["value"] for name in metrics}
        scores[task.name], runs[task.name] = sum(found.values()) / len(found), str(run.path)
        written = submit(run, task, asked, task_files.opened(known.name, data)[0], out / "submission")
        page = finetune_report.report(run, {"": task})
        page.save(run.path)
        measured = ", ".join(f"{name} {100 * value:.1f}" for name, value in found.items())
        beside, score = _baselines(page, task.metrics[0]), f"{100 * scores[task.name]:.1f}"
        rows.append((task.name, measured, score, beside, ", ".join(written)))
    if not scores:
        raise Fault("no task of GLUE has its data here.", "\n    ".join(missing))
    mean = sum(scores.values()) / len(scores)
    rows.append(("mean", f"of {len(scores)} tasks", f"{100 * mean:.1f}", "", ""))
    notes = [
        "Test is the published dev file: GLUE keeps the labels of its own test.",
        f"Predictions to submit are in {out / 'submission'}.",
        *missing,
    ]
    made = Report(
        f"{model.name} on GLUE",
        [f"{100 * mean:.1f}, the mean of {len(scores)} of {len(tasks())} tasks."],
        [Section("Results", Table(rows, left=(0, 1, 3, 4)), Text(notes, note=True))],
        {"scores": scores, "mean": mean, "runs": runs, "submission": str(out / "submission")},
    )
    made.save(out)
    return made


def _baselines(page: Report, metric: str) -> str:
    assert isinstance(page.values, dict)
    return ", ".join(f"{name} {one[metric]['shown']}" for name, one in page.values["baselines"].items())


def submit(run: RunFolder, task: LabelledTask, asked: Submission, known: Task, folder: Path) -> list[str]:
    """Write index and prediction for every file without labels that is there; the names of what was written."""
    done = []
    for name, file in asked.files.items():
        try:
            path = known.data.find(file)
        except Missing:
            continue
        opened = Predictor(run.path)
        examples = opened.examples(path)
        lines = [
            f"{number}\t{as_written(task, answer)}" for number, answer in enumerate(opened.predict(examples).labels)
        ]
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{name}.tsv", "\n".join(["index\tprediction", *lines]) + "\n")
        done.append(f"{name}.tsv")
    return done


def as_written(task: LabelledTask, answer: object) -> str:
    """An answer in the words of the published files."""
    if isinstance(task.learn, ClassLabels) and answer in task.learn.names.values():
        return next(said for said, meant in task.learn.names.items() if meant == answer)
    return f"{min(5.0, max(0.0, answer)):.3f}" if isinstance(answer, float) else str(answer)
