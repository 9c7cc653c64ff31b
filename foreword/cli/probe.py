"""`foreword probe`: what a labelled set gives away by itself, and what a model knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from foreword.cli.options import Json, TaskData

if TYPE_CHECKING:
    from foreword.report import Report
    from foreword.tasks.labelled_task import LabelledTask


Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[RUN] [TASK]",
        help="A task: one that is known, hf:NAME, a task file, a csv, tsv or jsonl. Before it a model, to be probed on it.",
    ),
]
ByUnit = Annotated[
    bool, typer.Option("--units", help="Which unit follows the label? What a recurrent network carries along.")
]
AsMap = Annotated[bool, typer.Option("--map", help="Draw the texts by their vectors (PCA, t-SNE), coloured by label.")]
Near = Annotated[str, typer.Option("--near", help="The tokens nearest to this word as it stands in each --text.")]
Texts = Annotated[
    list[str] | None,
    typer.Option("--text", help="A text to colour by the unit, or with the word. May be repeated."),
]
MakeBreaking = Annotated[
    Path | None,
    typer.Option("--make-breaking", help="Write pairs that differ from the task's texts in one word, as jsonl."),
]
OtherTasks = Annotated[list[str] | None, typer.Option("--on", help="Also test here what was learned. May be repeated.")]
Side = Annotated[Literal["first", "second"], typer.Option(help="The only text that the blind classifier sees.")]
Smoothing = Annotated[float, typer.Option(min=0, help="Added to every count before PMI; smaller for small sets.")]
ReportFolder = Annotated[
    Path | None, typer.Option("--out", help="Also write report.html, probe.json and cues.svg into this folder.")
]


def probe(
    words: Words,
    units: ByUnit = False,
    as_map: AsMap = False,
    near: Near = "",
    text: Texts = None,
    layer: Annotated[int, typer.Option("--layer", help="Whose vectors are near; 0: the embeddings.")] = -1,
    labels: Annotated[int, typer.Option(min=2, help="A model is probed with so many training examples.")] = 4000,
    make_breaking: MakeBreaking = None,
    on: OtherTasks = None,
    side: Side = "second",
    top: Annotated[int, typer.Option(min=1, help="So many words for each label.")] = 10,
    smoothing: Smoothing = 100.0,
    data: TaskData = None,
    out: ReportFolder = None,
    as_json: Json = False,
) -> None:
    """Probe a task, or a model on a task.

    A task of pairs: guess labels from one text of each, find the words that go with a label, and try other sets. Of multiple
    choice: guess from the choices alone. A clean set cannot be guessed so. Words are counted in train; figures are of test.

    A model on a task: which of its layers know it (default), which unit follows the label (--units), where its vectors put the
    texts (--map), what stands near a word in its sentence (--near). On multiple choice: what its probabilities add to style.
    """
    model, name = model_and_task(words)
    if not model:
        only_with_a_model({"--units": units, "--map": as_map, "--near": near, "--text": text})
    from foreword.tasks.labelled_task import load

    task = load(name, data) if name else None
    if model:
        report = of_model(model, task, units, as_map, near, text or [], layer, labels)
    elif task is None:
        return
    elif make_breaking:
        from foreword.compare import breaking

        print(breaking.write(task, make_breaking))
        return
    else:
        report = of_task(task, [load(other, data) for other in on or []], side, top, smoothing, out)
    if out:
        report.save(out, "probe.json")
    report.show(as_json)


def of_model(
    model: str,
    task: LabelledTask | None,
    units: bool,
    as_map: bool,
    near: str,
    texts: Sequence[str],
    layer: int,
    labels: int,
) -> Report:
    from foreword import load
    from foreword.basics.messages import Fault
    from foreword.model import LoadedModel
    from foreword.transfer.label_subset import label_subset

    if near and not texts:
        raise Fault("--near compares a word in sentences.", f'Give them:  --near {near} --text "..." --text "..."')
    if not near and task is None:
        raise Fault(f"{model} is probed on a task.", f"Name one:  foreword probe {model} sst2")
    opened = load(model)
    if near and isinstance(opened, LoadedModel):
        from foreword.compare import in_context

        return in_context.report(opened, near, texts, in_context.to_search(model, task), layer)
    if near or task is None:
        raise Fault(f"{model} is a table of vectors: a word has one, wherever it stands.")
    task = label_subset(task, labels if labels < len(task.train) else None, 0)
    if as_map:
        from foreword.compare import text_map

        return text_map.draw(opened.embed, task, model)
    if not isinstance(opened, LoadedModel):
        raise Fault(
            f"{model} is a table of vectors: it has no layers and no units.",
            f"foreword probe {model} {task.name} --map",
        )
    if units:
        from foreword.compare import units as search

        reader = search.UnitReader(opened)
        return search.report(search.find(opened, task, reader), reader, texts)
    if task.learn.kind == "choice":
        from foreword.compare import endings

        return endings.report(endings.probe(task, opened), task)
    from foreword.compare import layers

    return layers.report(layers.probe(opened, task), task, model)


def of_task(
    task: LabelledTask, others: Sequence[LabelledTask], side: str, top: int, smoothing: float, out: Path | None
) -> Report:
    if task.learn.kind == "choice":
        from foreword.compare import endings

        return endings.report(endings.probe(task), task)
    from foreword.basics.files import write_text
    from foreword.compare import artefacts, cross_dataset
    from foreword.transfer.baselines import words

    for other in others:
        cross_dataset.meanings(cross_dataset.ScoredModel(task.name, (task.kind,), task.labels), other)
    found = artefacts.blind(task, side)
    both = words(task, name="both texts")
    who = cross_dataset.of_baseline(task, both)
    crossed = [cross_dataset.cross(who, other) for other in (task, *others)] if others else []
    cues = artefacts.cues(task.train, task.labels, side, smoothing, top)
    lengths = artefacts.lengths(task.train, task.labels, side)
    result = artefacts.Probe(task, found, both, cues, lengths, crossed)
    if out:
        write_text(out / "cues.svg", artefacts.cue_plot(result).svg())
    return artefacts.report(result)


def model_and_task(words: Sequence[str]) -> tuple[str, str]:
    """What is a folder is a model."""
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import models_there

    models, tasks = [word for word in words if is_model(word)], [word for word in words if not is_model(word)]
    if len(models) > 1 or len(tasks) > 1:
        raise Fault(f"{', '.join(words)}: one model and one task are probed at a time.", "foreword probe RUN TASK")
    if models:
        models_there(models[0])
    return models[0] if models else "", tasks[0] if tasks else ""


def is_model(word: str) -> bool:
    """A run, a saved step of one (runs/x@100), a file of vectors."""
    path = Path(word.rpartition("@")[0] or word)
    return path.is_dir() or path.suffix in (".vec", ".bin")


def only_with_a_model(options: dict[str, object]) -> None:
    from foreword.basics.messages import Fault

    if idle := [name for name, said in options.items() if said]:
        raise Fault(f"{' and '.join(idle)} is about a model.", "Name it:  foreword probe RUN TASK")
