"""Results of prompted tasks: tables with intervals, paired differences between models, prompts and single examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from foreword.basics.files import write_json_lines
from foreword.basics.progress import ticking
from foreword.evaluate import contamination
from foreword.evaluate.prompted import PromptedExample, PromptingSettings, TaskResult, run_task, shots_in_words
from foreword.evaluate.requests import PromptedModel
from foreword.report import Report, Section, Table, Text
from foreword.runs.opening import TrainedModel
from foreword.tasks.metrics import between, finite, finite_bounds
from foreword.tasks.prompted.request import Request
from foreword.tasks.task import Task

Rows = list[tuple[str, ...]]


def sections(by_model: Mapping[str, Sequence[TaskResult]]) -> list[Section]:
    """A row for each metric of each task, several models side by side; then how far each is from the first."""
    if len(by_model) == 1:
        (results,) = by_model.values()
        return [Section("Tasks", _table(by_model), Text([*failed(results), *notes(results)]))]
    every = [f"{name}: {line}" for name, results in by_model.items() for line in (*failed(results), *notes(results))]
    return [
        Section("Tasks", _table(by_model)),
        Section("Differences, on the same examples", _differences(by_model), Text(every)),
    ]


def failed(results: Sequence[TaskResult]) -> list[str]:
    """The mean error of tasks that can be failed, and how many are."""
    about = [(one, 1 - one.value(next(iter(one.metrics())))) for one in results if one.task.spec.fails is not None]
    if not about:
        return []
    limit = about[0][0].task.spec.fails or 0
    wrong = [f"{one.task.name} {error:.1%}" for one, error in about if error > limit + 1e-9]
    mean = sum(error for _, error in about) / len(about)
    said = f"mean error {mean:.2%}; more than {limit:.0%} wrong in {len(wrong)} of {len(about)} tasks"
    return [f"{said}{': ' if wrong else ''}{', '.join(wrong)}"]


def _table(by_model: Mapping[str, Sequence[TaskResult]]) -> Table:
    """A model alone has a column for its intervals; several stand side by side, each with its own in brackets."""
    records = []
    for several in zip(*by_model.values()):
        first = several[0]
        for number, (name, metric) in enumerate(first.metrics().items()):
            values = [metric.shown(one.value(name)) for one in several]
            bounds = [between(metric, one.interval(name)) for one in several]
            beside = {model: f"{value} ({sure})" for model, value, sure in zip(by_model, values, bounds)}
            guess = first.chance if name.startswith("accuracy") else None
            records.append(
                {
                    "task": "" if number else first.task.name,
                    "metric": name,
                    **(beside if len(several) > 1 else {"value": values[0], "95% interval": bounds[0]}),
                    "chance": "-" if guess is None else metric.shown(guess),
                    "examples": f"{len(first.judged):,}",
                    "shots": _shots(several),
                    "likelihoods": first.task.kind.scored(name),
                }
            )
    return Table.of(records, left=(0, 1, len(records[0]) - 1))


def _differences(by_model: Mapping[str, Sequence[TaskResult]]) -> Table:
    rows: Rows = [("task", "metric", f"minus {next(iter(by_model))}", "difference", "95% interval", "")]
    for first, *others in zip(*by_model.values()):
        for name in first.metrics():
            for other in others:
                apart = other.minus(first, name)
                beyond = "beyond chance" if apart.sign else ""
                rows.append((first.task.name, name, other.model, *apart.cells, beyond))
    return Table(rows, left=(0, 1, 2, 5))


def _shots(several: Sequence[TaskResult]) -> str:
    """As many as asked for, and how many there was room for if those are fewer."""
    used = [one.shots_used for one in several]
    asked = several[0].shots
    return str(asked) if min(used) == asked else f"{'/'.join(f'{one:.1f}' for one in used)} of {asked}"


def notes(results: Sequence[TaskResult]) -> list[str]:
    """What there is to say, each thing once with the tasks it is about."""
    about: dict[str, list[str]] = {}
    for one in results:
        for line in one.notes():
            about.setdefault(line, []).append(one.task.name)
    return [f"{', '.join(tasks)}: {line}" for line, tasks in about.items()]


def values(result: TaskResult) -> dict[str, object]:
    """For programs."""
    found = {}
    for name in result.metrics():
        found[name] = {
            "value": finite(result.value(name)),
            "interval": finite_bounds(result.interval(name)),
            "likelihoods": result.task.kind.scored(name),
        }
    return {
        "task": result.task.name,
        "model": result.model,
        "metrics": found,
        "chance": result.chance,
        "examples": len(result.judged),
        "shots": result.shots,
        "shots_used": result.shots_used,
        "notes": result.notes(),
    }


def differences(by_model: Mapping[str, Sequence[TaskResult]]) -> list[dict[str, object]]:
    found = []
    for first, *others in zip(*by_model.values()):
        for other in others:
            for name in first.metrics():
                apart = other.minus(first, name)
                found.append(
                    {
                        "task": first.task.name,
                        "metric": name,
                        "model": other.model,
                        "minus": first.model,
                        "difference": finite(apart.value),
                        "interval": finite_bounds(apart.interval),
                    }
                )
    return found


def prompt(result: TaskResult) -> Iterator[str]:
    """The first example exactly as it was asked."""
    first = result.prompted[0]
    yield f"--- {result.task.name}: the first prompt, {shots_in_words(first.shots)} ---"
    yield asked(first)
    yield "---"


def asked(example: PromptedExample) -> str:
    """A query, with each continuation that was scored in brackets."""
    by_query: dict[str, list[str]] = {}
    for request in example.requests:
        by_query.setdefault(request.query, []).append(_tail(request))
    return "\n".join(f"{query}{''.join(tails)}" for query, tails in by_query.items())


def _tail(request: Request) -> str:
    return f"[{request.continuation}]" if hasattr(request, "continuation") else "[...]"


def write_examples(results: Sequence[TaskResult], path: Path) -> None:
    """Every example on a line: what was asked, what came back, whether it was right."""
    lines = (
        {
            "task": result.task.name,
            "model": result.model,
            "example": example.example.number,
            "shots": example.shots,
            "prompt": example.requests[0].query,
            **judged.shown,
            "judged": judged.values,
        }
        for result in results
        for example, judged in zip(result.prompted, result.judged)
    )
    write_json_lines(path, lines)


def report(models: Sequence[TrainedModel], tasks: Sequence[Task], how: PromptingSettings) -> Report:
    """Every task of every model, and how sure the numbers are."""
    found = _answers(models, tasks, how)
    everything = [result for several in found.values() for result in several]
    if how.examples is not None:
        write_examples(everything, how.examples)
    prompts = [line for one in next(iter(found.values())) for line in prompt(one)] if how.show_prompt else []
    tables = sections(found)
    if how.precision != "float32":
        tables[-1] = Section(tables[-1].title, *tables[-1].blocks, Text([f"asked in {how.precision}"]))
    trained = contamination.training_texts([model.name for model in models], how.overlap)
    overlaps = {
        name: [contamination.CleanAndDirty.of(result, text) for result in found[name]] for name, text in trained.items()
    }
    dirty = [
        contamination.section(several, trained[name].name + (f" ({name})" if len(found) > 1 else ""))
        for name, several in overlaps.items()
    ]
    overlapping = {
        name: {"training": trained[name].name, "tasks": {one.result.task.name: one.values() for one in several}}
        for name, several in overlaps.items()
    }
    return Report(
        "Tasks",
        [],
        [Section("Prompts", Text(prompts)), *tables, *dirty],
        {
            "precision": how.precision,
            "scores": list(map(values, everything)),
            "differences": differences(found),
            "overlap": overlapping,
        },
    )


def _answers(
    models: Sequence[TrainedModel], tasks: Sequence[Task], how: PromptingSettings
) -> dict[str, list[TaskResult]]:
    """The results of every model."""
    asked = [PromptedModel.of(one) for one in models]
    found: dict[str, list[TaskResult]] = {one.name: [] for one in asked}
    with ticking("evaluate") as ticker:
        for place, (one, task) in enumerate((one, task) for one in asked for task in tasks):

            def tell(done: float, place: int = place, name: str = f"{one.name}  {task.name}") -> None:
                ticker.update((place + done) / (len(asked) * len(tasks)), name)

            found[one.name].append(run_task(task, one, how.shots, how.limit, how.seed, tell))
    return found
