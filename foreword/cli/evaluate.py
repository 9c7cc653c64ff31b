"""`foreword evaluate`: bits per byte of held-out text, or tasks, without any training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Cluster, Column, Documents, Json
from foreword.cli.preparing import models_there

if TYPE_CHECKING:
    from foreword.basics.shards import Pool
    from foreword.evaluate.prompted import PromptingSettings
    from foreword.model import LoadedModel
    from foreword.report import Report

Models = Annotated[
    list[str],
    typer.Argument(help="Runs or model folders; and tasks, task files or minimal pairs (tsv), to ask instead."),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="A store or text; for tasks, the folder of their data. [default: the run's own store]"),
]
ChargeEnds = Annotated[
    bool, typer.Option("--charge-ends", help="Score the ends of documents too, as published perplexities do.")
]
Dynamic = Annotated[
    float,
    typer.Option(min=0.0, help="A recurrent network goes on learning from what it has scored, at this rate (0.1)."),
]
Overlap = Annotated[
    str,
    typer.Option(
        help="Training text: scores of the examples found in it, and of the others. none: do not look. "
        "[default: a run's own store, if it is small]"
    ),
]


WRITING = "writing"  # in the place of a task


def evaluate(
    models: Models,
    data: Data = None,
    split: Annotated[str, typer.Option(help="train, valid or test of a store; all, of text; of PMI's questions.")] = "",
    stride: Annotated[int | None, typer.Option(help="Tokens scored per window. [default: half the context]")] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many bytes of text; of a task, examples.")] = None,
    charge_ends: ChargeEnds = False,
    dynamic: Dynamic = 0.0,
    mix: Annotated[bool, typer.Option("--mix", help="Also a mixture, weighted on validation text.")] = False,
    precision: Annotated[str, typer.Option(help="float32; int8 scores in both and says its cost.")] = "float32",
    shots: Annotated[int | None, typer.Option(min=0, help="Solved examples shown. [default: the task's own]")] = None,
    seed: Annotated[int, typer.Option(help="Draws the shots.")] = 0,
    examples: Annotated[Path | None, typer.Option(help="Write every prompt and answer here, as jsonl.")] = None,
    show_prompt: Annotated[bool, typer.Option("--show-prompt", help="Print the first prompt of each task.")] = False,
    overlap: Overlap = "",
    documents: Documents = "auto",
    column: Column = "text",
    workers: Annotated[int | None, typer.Option(help="Processes that score text. [default: 1]")] = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Bits per byte of whole documents: every token scored once, what it could see printed with the number.

    Or tasks (`foreword list tasks`): accuracy, intervals, chance; `writing`: how its text differs from people's. `foreword
    test` scores fine-tuned runs, `foreword dialogue` replies, `foreword cloze` hidden tokens, `foreword rank` candidates.
    """
    from foreword.vectors.words import is_vectors

    if is_vectors(Path(models[0])):
        ask_vectors(models, data, limit, examples, show_prompt, split).show(as_json)
        return
    refuse_others(models)
    if WRITING in models:
        about_writing(models, data, split, documents, column, limit, seed).show(as_json)
        return
    models_there(*(words := sort_words(models)).models)
    of_text: dict[str, object] = {"--stride": stride, "--mix": mix, "--charge-ends": charge_ends, "--dynamic": dynamic}
    of_text |= {"--split": split, "--workers": workers, "--cluster": cluster}
    of_tasks: dict[str, object] = {"--shots": shots is not None, "--examples": examples}
    of_tasks |= {"--show-prompt": show_prompt, "--overlap": overlap}
    refuse("tasks" if words.tasks else "bits", of_text if words.tasks else of_tasks)
    if not words.models:
        raise typer.BadParameter("give at least one run or model folder")
    ranks = ranks_pool(workers, cluster)
    if words.tasks:
        from foreword.evaluate.prompted import PromptingSettings

        how = PromptingSettings(shots, seed, limit, examples, show_prompt, precision, overlap)
        ask_tasks(words, data, how).show(as_json)
        return
    from foreword.basics.shards import Workers
    from foreword.evaluate import bits_report
    from foreword.evaluate.held_out import Corpus

    if dynamic and (workers or cluster or ranks):
        raise typer.BadParameter("--dynamic reads one text after the other: leave out --workers and --cluster.")
    opened = open_models(words.models, precision, dynamic)
    corpus = replace(Corpus.find(data, words.models, split, documents, column, limit), ends=charge_ends)
    with ranks or Workers(workers or (None if cluster else 1), cluster).start() as pool:
        bits_report.report(opened, corpus, stride, mix, precision, pool).show(as_json)


def open_models(models: list[str], precision: str, dynamic: float) -> dict[str, LoadedModel]:
    """By name. `dynamic`: the rate at which each goes on learning from what it has scored, or 0."""
    from foreword.model import load
    from foreword.parts.frozen import check_precision

    check_precision(precision)
    opened = {path: load(path) for path in models}
    if dynamic:
        for model in opened.values():
            model.learn_on(dynamic)
    return opened


def about_writing(
    words: list[str], data: Path | None, split: str, documents: str, column: str, limit: int | None, seed: int
) -> Report:
    """How what each model writes differs from how people's documents go on. `limit`: texts."""
    models = [one for one in words if one != WRITING]
    models_there(*models)
    if not models:
        raise typer.BadParameter("give at least one run or model folder")
    from foreword.evaluate import writing
    from foreword.evaluate.held_out import Corpus
    from foreword.model import load

    corpus = Corpus.find(data, models, split, documents, column, None)
    opened = {path: load(path) for path in models}
    return writing.report(opened, lambda one: corpus.texts(one.tokenizer, one.name), limit, seed)


def ranks_pool(workers: int | None, cluster: str) -> Pool | None:
    """The processes that torchrun started, if it did; only the first of them speaks."""
    from foreword.basics.messages import Fault
    from foreword.basics.processes import launched

    if not launched():
        return None
    if workers or cluster:
        raise Fault("torchrun has started the processes that score text.", "Leave out --workers and --cluster.")
    from foreword.training.processes import RankPool, join

    return RankPool(join())


def ask_vectors(
    words: list[str],
    data: Path | None,
    limit: int | None = None,
    examples: Path | None = None,
    show: bool = False,
    split: str = "",
) -> Report:
    """Word similarity and analogies, or multiple choice; folders are tables, and so is the first word. No torch is needed."""
    from foreword.basics.messages import Fault
    from foreword.tasks.task import is_task, load
    from foreword.vectors.evaluation import FILES, report
    from foreword.vectors.solver import report as solver_report
    from foreword.vectors.solver import solve
    from foreword.vectors.table import NO_BITS
    from foreword.vectors.words import WordVectors

    tables = [words[0], *(word for word in words[1:] if Path(word).is_dir())]
    sets = [word for word in words if word not in tables]
    if not sets:
        raise Fault(NO_BITS, f"Ask for {', '.join(FILES)}:  foreword evaluate {words[0]} {' '.join(FILES)}")
    asked = [word for word in sets if word not in FILES and (is_task(word) or word.endswith(".jsonl"))]
    if not asked:
        return report(tables, sets, data)
    if len(asked) < len(sets):
        other = next(word for word in sets if word not in asked)
        raise Fault(f"{asked[0]} asks questions, {other} measures vectors.", "Give two commands.")
    loaded = [task for word in asked for task in load(word, data)]
    opened = {table: WordVectors.opened(table) for table in tables}
    solved = [one for table in tables for task in loaded for one in solve(opened[table], task, limit, split)]
    return solver_report(solved, examples, show)


def refuse_others(models: list[str]) -> None:
    """What other verbs evaluate."""
    from foreword.basics.messages import Fault

    if "dialogue" in models:
        rest = " ".join(word for word in models if word != "dialogue")
        raise Fault("dialogue is a verb of its own.", f"foreword dialogue {rest} --data DIALOGUES")
    for file in (Path(word) for word in models if word.endswith(".jsonl") and Path(word).is_file()):
        from foreword.evaluate.entity_cloze import is_cloze
        from foreword.evaluate.ranking import is_candidates

        if verb := "cloze" if is_cloze(file) else "rank" if is_candidates(file) else "":
            raise Fault(f"{file} is for a verb of its own.", f"foreword {verb} {' '.join(models)}")
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
class ModelsAndTasks:
    """What stands on the command line: models and tasks, in the order given."""

    models: list[str]
    tasks: list[str]


def sort_words(given: list[str]) -> ModelsAndTasks:
    """A folder that exists is a model, what is known as a task is one; anything else is said to be neither."""
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.runs.place import is_model
    from foreword.tasks.task import is_pairs, is_task, known

    tasks = [word for word in given if not Path(word).is_dir() and (is_task(word) or is_pairs(word))]
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
    return ModelsAndTasks(models, tasks)


def refuse(asked: str, given: dict[str, object]) -> None:
    """Options that would change nothing about what is asked are said, not ignored."""
    from foreword.basics.messages import Fault

    if idle := [name for name, value in given.items() if value]:
        raise Fault(
            f"{' and '.join(idle)} {'means' if len(idle) == 1 else 'mean'} nothing to {asked}.", "Leave it out."
        )


def ask_tasks(words: ModelsAndTasks, data: Path | None, how: PromptingSettings) -> Report:
    """Every task of every model, and how sure the numbers are."""
    from foreword.evaluate import prompted_report
    from foreword.evaluate.prompted import check_shots
    from foreword.model import load
    from foreword.tasks import task as tasks

    loaded = [task for word in words.tasks for task in tasks.load(word, data)]
    check_shots(loaded, how)
    return prompted_report.report([load(path, how.precision) for path in words.models], loaded, how)
