"""`foreword evaluate`: what held-out text costs a model, in bits per byte; or how well it does tasks, without any training."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli import evaluate_dialogue, evaluate_tuned
from foreword.cli.options import Column, Documents, Json
from foreword.cli.preparing import models_there


def evaluate(
    models: Annotated[list[str], typer.Argument(
        help="Runs or model folders, and what to ask: tasks, task files, `dialogue`, or `bits` (the default). Of fine-tuned "
             "runs: labelled sets of the kind they learned, also csv, tsv or jsonl.")],
    data: Annotated[Path | None, typer.Option(
        "--data", help="A store or text, a run's own store if not said; for tasks, the folder of their data.")] = None,
    split: Annotated[str, typer.Option(help="train, valid or test of a store; all, of text.")] = "",
    stride: Annotated[int | None, typer.Option(help="Tokens scored per window; half the context if not said.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many bytes of text; of a task, examples.")] = None,
    mix: Annotated[bool, typer.Option(
        "--mix", help="Also a mixture of all models given, its weights fitted on validation text.")] = False,
    charge_ends: Annotated[bool, typer.Option(
        "--charge-ends", help="Guess the ends of documents too, as published perplexities do.")] = False,
    precision: Annotated[str, typer.Option(help="float32; int8 asks in both and says what int8 costs.")] = "float32",
    shots: Annotated[int | None, typer.Option(
        min=0, help="Solved examples before each question; the task's own if not said.")] = None,
    seed: Annotated[int, typer.Option(help="Draws the shots.")] = 0,
    examples: Annotated[Path | None, typer.Option(
        "--examples", help="Write what each example was asked and answered, as jsonl.")] = None,
    out: Annotated[Path | None, typer.Option(
        "--out", help="Of fine-tuned runs: also write crossed.json and a matrix, crossed.svg, into this folder.")] = None,
    mmi: Annotated[str | None, typer.Option(
        "--mmi", help="For `dialogue`: a backward model, to say whether choosing replies by it helps.")] = None,
    show_prompt: Annotated[bool, typer.Option("--show-prompt", help="Print the first prompt of each task.")] = False,
    overlap: Annotated[str, typer.Option(
        help="Also scores of the examples that stand in this store or text, and of the others; a run's own store, if it is "
             "small; none: do not look.")] = "",
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Bits per byte of whole documents: every token scored once, what it could see printed with the number.

    Or tasks (`foreword list tasks`): accuracy and the like, each with its interval, what guessing gives, and the shots.
    Or, of fine-tuned runs, labelled sets: their own and others, with what is lost on the way.
    """
    if tuned := evaluate_tuned.sort_words(models):
        refuse("fine-tuned runs", {"--split": split, "--stride": stride, "--mix": mix, "--charge-ends": charge_ends, "--mmi": mmi,
                                   "--shots": shots is not None, "--show-prompt": show_prompt, "--overlap": overlap,
                                   "--precision": precision != "float32"})
        evaluate_tuned.ask_tuned(tuned, data, limit, examples, out, as_json)
        return
    refuse("models that are not fine-tuned", {"--out": out})
    if evaluate_dialogue.WORD in models:
        refuse(evaluate_dialogue.WORD, {"--stride": stride, "--mix": mix, "--charge-ends": charge_ends,
                                        "--shots": shots is not None, "--show-prompt": show_prompt, "--overlap": overlap})
        evaluate_dialogue.ask_dialogue(models, data, mmi, limit, seed, split, column, precision, examples, as_json)
        return
    words = sort_words(models)
    models_there(*words.models)
    refuse("tasks" if words.tasks else "bits",
           {"--split": split, "--stride": stride, "--mix": mix, "--charge-ends": charge_ends, "--mmi": mmi} if words.tasks else
           {"--mmi": mmi, "--shots": shots is not None, "--examples": examples, "--show-prompt": show_prompt,
            "--overlap": overlap})
    if words.tasks:
        ask_tasks(words, Asking(data, shots, seed, limit, examples, show_prompt, precision, as_json, overlap))
        return
    from foreword.basics.progress import ticking
    from foreword.evaluate.bits_report import precision_costs, results
    from foreword.evaluate.held_out import Corpus, score_corpus, score_mixture
    from foreword.evaluate.score import check_alike, check_comparable
    from foreword.model import load
    from foreword.parts.frozen import check_precision, left_in_float32

    paths = words.models
    if not paths:
        raise typer.BadParameter("give at least one run or model folder")
    check_precision(precision)
    opened = {path: load(path) for path in paths}
    coarse = {f"{path}, {precision}": model.at(precision) for path, model in opened.items()} if precision != "float32" else {}
    check_alike({name: model.nature for name, model in opened.items()})
    corpus = replace(Corpus.find(data, list(opened), split, documents, column, limit), ends=charge_ends)
    with ticking("evaluate") as ticker:
        answers = {name: score_corpus(model, corpus, stride, ticker) for name, model in {**opened, **coarse}.items()}
    scores = {name: answer.score for name, answer in answers.items()}
    costs = precision_costs(scores, list(opened), precision) if coarse else {}
    weights: dict[str, float] = {}
    if len(scores) > 1:
        check_comparable(scores)
    if mix:
        scores["mixture"], weights = score_mixture(opened, answers, corpus, stride)
    if as_json:
        more = {"precision": {"name": precision, "costs": costs}} if coarse else {}
        print(json.dumps({"text": corpus.name, "scores": {name: score.values() for name, score in scores.items()},
                          "weights": weights, **more}))
        return
    print("\n".join(results(scores, corpus.name, weights).terminal()))
    for name, cost in costs.items():
        left = f"; {', '.join(whole)} stays float32" if (whole := left_in_float32(coarse[f"{name}, {precision}"].model)) else ""
        print(f"{name}: {precision} costs {round(cost['cost'], 4) + 0.0:.4f} {cost['unit']}{left}")        # never -0.0000


@dataclass(frozen=True)
class Words:
    """What stands on the command line: models and tasks, in the order given."""

    models: list[str]
    tasks: list[str]


def sort_words(given: list[str]) -> Words:
    """A folder that exists is a model, what is known as a task is one; anything else is said to be neither."""
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.runs.place import is_model
    from foreword.tasks.task import is_task, known

    tasks = [word for word in given if is_task(word) and not Path(word).is_dir()]
    models = [word for word in given if word not in tasks and word != "bits"]
    unknown = [word for word in models if not is_model(word)]
    models_there(*(word for word in unknown if "@" in word and Path(word.rpartition("@")[0]).is_dir()))        # a step is missing
    if unknown and len(given) > len(unknown):
        near = next((word for word in unknown if did_you_mean(word, known())), unknown[0])
        raise Fault(f"{near!r} is neither a model that is there nor a task.{did_you_mean(near, known())}",
                    "Models are runs or folders; `foreword list tasks` shows the tasks.")
    if tasks and "bits" in given:
        raise Fault("bits asks about text and tasks about examples; --data and --limit mean another thing to each.",
                    "Give two commands.")
    return Words(models, tasks)


def refuse(asked: str, given: dict[str, object]) -> None:
    """Options that would change nothing about what is asked are said, not ignored."""
    from foreword.basics.messages import Fault

    if idle := [name for name, value in given.items() if value]:
        raise Fault(f"{' and '.join(idle)} {'means' if len(idle) == 1 else 'mean'} nothing to {asked}.", "Leave it out.")


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
    as_json: bool
    overlap: str = ""


def ask_tasks(words: Words, how: Asking) -> None:
    """Every task of every model, and how sure the numbers are."""
    from foreword.basics.progress import ticking
    from foreword.evaluate import prompted_report as outcomes
    from foreword.evaluate.contamination import Parted, training_texts
    from foreword.evaluate.contamination import table as clean_and_dirty
    from foreword.evaluate.prompted import TaskResult, run_task, shots_for
    from foreword.evaluate.requests import PromptedModel
    from foreword.model import load
    from foreword.tasks import task as tasks

    if not words.models:
        raise typer.BadParameter("give at least one run or model folder")
    loaded = [task for word in words.tasks for task in tasks.load(word, how.data)]
    for task in loaded:
        (first, *_), _ = task.examples(1)        # a missing file, or shots that are not there, are said before anything is asked
        task.prompt(first, shots_for(task, first, how.shots), how.seed)
    opened = [load(path, how.precision) for path in words.models]
    asked = [PromptedModel(one.name, one.language_model, one.tokenizer) for one in opened]
    found: dict[str, list[TaskResult]] = {one.name: [] for one in asked}
    with ticking("evaluate") as ticker:
        for place, (one, task) in enumerate((one, task) for one in asked for task in loaded):
            def tell(done: float, place: int = place, name: str = f"{one.name}  {task.name}") -> None:
                ticker.update((place + done) / (len(asked) * len(loaded)), name)
            found[one.name].append(run_task(task, one, how.shots, how.limit, how.seed, tell))
    everything = [outcome for several in found.values() for outcome in several]
    trained = training_texts(words.models, how.overlap)
    parted = {name: [Parted.of(outcome, text) for outcome in found[name]] for name, text in trained.items()}
    if how.examples is not None:
        outcomes.write_examples(everything, how.examples)
    if how.as_json:
        print(json.dumps({"precision": how.precision, "scores": [outcomes.values(outcome) for outcome in everything],
                          "differences": outcomes.differences(found),
                          "overlap": {name: {"training": trained[name].name, "tasks": {one.outcome.task.name: one.values()
                                             for one in several}} for name, several in parted.items()}}))
        return
    if how.show_prompt:
        for outcome in next(iter(found.values())):
            print("\n".join(outcomes.prompt(outcome)))
    for line in outcomes.side_by_side(found) if len(found) > 1 else outcomes.table(everything):
        print(line)
    if how.precision != "float32":
        print(f"asked in {how.precision}")
    for name, several in parted.items():
        for line in clean_and_dirty(several, trained[name].name if len(found) == 1 else f"{trained[name].name} ({name})"):
            print(line)
