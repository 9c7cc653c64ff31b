"""`foreword evaluate`: bits per byte of held-out text, or tasks, without any training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Column, Documents, Json
from foreword.cli.preparing import models_there

if TYPE_CHECKING:
    from foreword.evaluate.held_out import Corpus
    from foreword.model import LoadedModel
    from foreword.report import Report


def evaluate(
    models: Annotated[
        list[str],
        typer.Argument(help="Runs or model folders; and tasks or task files, to ask these instead of scoring text."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="A store or text; for tasks, the folder of their data. [default: the run's own store]"
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="train, valid or test of a store; all, of text.")] = "",
    stride: Annotated[int | None, typer.Option(help="Tokens scored per window. [default: half the context]")] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many bytes of text; of a task, examples.")] = None,
    charge_ends: Annotated[
        bool, typer.Option("--charge-ends", help="Score the ends of documents too, as published perplexities do.")
    ] = False,
    mix: Annotated[
        bool, typer.Option("--mix", help="Also a mixture of the models, weighted on validation text.")
    ] = False,
    precision: Annotated[
        str, typer.Option(help="float32; int8 scores in both and prints what int8 costs.")
    ] = "float32",
    shots: Annotated[
        int | None, typer.Option(min=0, help="Solved examples in the prompt. [default: the task's own]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the shots.")] = 0,
    examples: Annotated[
        Path | None, typer.Option("--examples", help="Write every prompt and answer here, as jsonl.")
    ] = None,
    show_prompt: Annotated[bool, typer.Option("--show-prompt", help="Print the first prompt of each task.")] = False,
    overlap: Annotated[
        str,
        typer.Option(
            help="Training text: scores of the examples found in it, and of the others. none: do not look. "
            "[default: a run's own store, if it is small]"
        ),
    ] = "",
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Bits per byte of whole documents: every token scored once, what it could see printed with the number.

    Or tasks (`foreword list tasks`): accuracy and the like, with intervals, chance and shots. `foreword test` scores
    fine-tuned runs, `foreword dialogue` replies.
    """
    refuse_others(models)
    words = sort_words(models)
    models_there(*words.models)
    if words.tasks:
        refuse("tasks", {"--split": split, "--stride": stride, "--mix": mix, "--charge-ends": charge_ends})
    else:
        refuse(
            "bits",
            {"--shots": shots is not None, "--examples": examples, "--show-prompt": show_prompt, "--overlap": overlap},
        )
    if not words.models:
        raise typer.BadParameter("give at least one run or model folder")
    if words.tasks:
        asking = Asking(data, shots, seed, limit, examples, show_prompt, precision, overlap)
        ask_tasks(words, asking).show(as_json)
        return
    from foreword.evaluate.held_out import Corpus
    from foreword.model import load
    from foreword.parts.frozen import check_precision

    check_precision(precision)
    opened = {path: load(path) for path in words.models}
    corpus = replace(Corpus.find(data, words.models, split, documents, column, limit), ends=charge_ends)
    score_text(opened, corpus, stride, mix, precision).show(as_json)


def score_text(opened: dict[str, LoadedModel], corpus: Corpus, stride: int | None, mix: bool, precision: str) -> Report:
    """Bits per byte of every model, of their mixture, and what a coarser precision costs."""
    from foreword.basics.progress import ticking
    from foreword.evaluate.bits_report import precision_costs, results
    from foreword.evaluate.held_out import score_corpus, score_mixture
    from foreword.evaluate.score import check_alike, check_comparable
    from foreword.parts.frozen import left_in_float32
    from foreword.report import Report, Section, Text

    coarse = (
        {f"{path}, {precision}": model.at(precision) for path, model in opened.items()}
        if precision != "float32"
        else {}
    )
    check_alike({name: model.nature for name, model in opened.items()})
    with ticking("evaluate") as ticker:
        answers = {name: score_corpus(model, corpus, stride, ticker) for name, model in {**opened, **coarse}.items()}
    scores = {name: answer.score for name, answer in answers.items()}
    costs = precision_costs(scores, list(opened), precision) if coarse else {}
    weights: dict[str, float] = {}
    if len(scores) > 1:
        check_comparable(scores)
    if mix:
        scores["mixture"], weights = score_mixture(opened, answers, corpus, stride)
    lines = []
    for name, cost in costs.items():
        whole = left_in_float32(coarse[f"{name}, {precision}"].with_heads)
        left = f"; {', '.join(whole)} stays float32" if whole else ""
        lines.append(
            f"{name}: {precision} costs {round(cost['cost'], 4) + 0.0:.4f} {cost['unit']}{left}"
        )  # never -0.0000
    table = results(scores, corpus.name, weights)
    return Report(
        "Bits per byte",
        [],
        [Section(table.title, *table.blocks, Text(lines) if lines else None)],
        {
            "text": corpus.name,
            "scores": {name: score.values() for name, score in scores.items()},
            "weights": weights,
            **({"precision": {"name": precision, "costs": costs}} if coarse else {}),
        },
    )


def refuse_others(models: list[str]) -> None:
    """What other verbs evaluate."""
    from foreword.basics.messages import Fault

    if "dialogue" in models:
        rest = " ".join(word for word in models if word != "dialogue")
        raise Fault("dialogue is a verb of its own.", f"foreword dialogue {rest} --data DIALOGUES")
    folders = [word for word in models if Path(word).is_dir()]
    if not folders:
        return
    from foreword.transfer.predict import is_tuned

    if tuned := [word for word in folders if is_tuned(Path(word))]:
        sets = [word for word in models if not Path(word).is_dir()]
        raise Fault(
            f"{tuned[0]} is fine-tuned: it answers a labelled task, and no longer predicts text.",
            f"Score it on labelled data:  foreword test {' '.join([*tuned, *(sets or ['TASK'])])}",
        )


@dataclass(frozen=True)
class Subjects:
    """What stands on the command line: models and tasks, in the order given."""

    models: list[str]
    tasks: list[str]


def sort_words(given: list[str]) -> Subjects:
    """A folder that exists is a model, what is known as a task is one; anything else is said to be neither."""
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.runs.place import is_model
    from foreword.tasks.task import is_task, known

    tasks = [word for word in given if is_task(word) and not Path(word).is_dir()]
    models = [word for word in given if word not in tasks and word != "bits"]
    unknown = [word for word in models if not is_model(word)]
    models_there(
        *(word for word in unknown if "@" in word and Path(word.rpartition("@")[0]).is_dir())
    )  # a step is missing
    if unknown and len(given) > len(unknown):
        near = next((word for word in unknown if did_you_mean(word, known())), unknown[0])
        raise Fault(
            f"{near!r} is neither a model that is there nor a task.{did_you_mean(near, known())}",
            "Models are runs or folders; `foreword list tasks` shows the tasks.",
        )
    if tasks and "bits" in given:
        raise Fault(
            "bits asks about text and tasks about examples; --data and --limit mean another thing to each.",
            "Give two commands.",
        )
    return Subjects(models, tasks)


def refuse(asked: str, given: dict[str, object]) -> None:
    """Options that would change nothing about what is asked are said, not ignored."""
    from foreword.basics.messages import Fault

    if idle := [name for name, value in given.items() if value]:
        raise Fault(
            f"{' and '.join(idle)} {'means' if len(idle) == 1 else 'mean'} nothing to {asked}.", "Leave it out."
        )


@dataclass(frozen=True)
class Asking:
    """How tasks are asked, from the options."""

    data: Path | None
    shots: int | None
    seed: int
    limit: int | None
    examples: Path | None
    show_prompt: bool
    precision: str
    overlap: str


def ask_tasks(words: Subjects, how: Asking) -> Report:
    """Every task of every model, and how sure the numbers are."""
    from foreword.basics.progress import ticking
    from foreword.evaluate import contamination, prompted_report
    from foreword.evaluate.prompted import TaskResult, run_task, shots_for
    from foreword.evaluate.requests import PromptedModel
    from foreword.model import load
    from foreword.report import Report, Section, Text
    from foreword.tasks import task as tasks

    loaded = [task for word in words.tasks for task in tasks.load(word, how.data)]
    for task in loaded:
        (first, *_), _ = task.examples(
            1
        )  # a missing file, or shots that are not there, are said before anything is asked
        task.prompt(first, shots_for(task, first, how.shots), how.seed)
    opened = [load(path, how.precision) for path in words.models]
    asked = [PromptedModel(one.name, one.language_model, one.tokenizer) for one in opened]
    found: dict[str, list[TaskResult]] = {one.name: [] for one in asked}
    with ticking("evaluate") as ticker:
        for place, (one, task) in enumerate((one, task) for one in asked for task in loaded):

            def tell(done: float, place: int = place, name: str = f"{one.name}  {task.name}") -> None:
                ticker.update((place + done) / (len(asked) * len(loaded)), name)

            found[one.name].append(run_task(task, one, how.shots, how.limit, how.seed, tell))
    everything = [result for several in found.values() for result in several]
    trained = contamination.training_texts(words.models, how.overlap)
    overlaps = {
        name: [contamination.CleanAndDirty.of(result, text) for result in found[name]] for name, text in trained.items()
    }
    if how.examples is not None:
        prompted_report.write_examples(everything, how.examples)
    prompts = (
        [line for one in next(iter(found.values())) for line in prompted_report.prompt(one)] if how.show_prompt else []
    )
    tables = prompted_report.sections(found)
    if how.precision != "float32":
        tables[-1] = Section(tables[-1].title, *tables[-1].blocks, Text([f"asked in {how.precision}"]))
    dirty = [
        contamination.section(several, trained[name].name + (f" ({name})" if len(found) > 1 else ""))
        for name, several in overlaps.items()
    ]
    return Report(
        "Tasks",
        [],
        [Section("Prompts", Text(prompts)), *tables, *dirty],
        {
            "precision": how.precision,
            "scores": list(map(prompted_report.values, everything)),
            "differences": prompted_report.differences(found),
            "overlap": {
                name: {"training": trained[name].name, "tasks": {one.result.task.name: one.values() for one in several}}
                for name, several in overlaps.items()
            },
        },
    )
