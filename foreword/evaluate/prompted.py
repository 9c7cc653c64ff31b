"""A task put to a language model: prompts that fit its context, answers judged, and notes on what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foreword.basics.messages import Fault
from foreword.evaluate.requests import PromptedModel, RequestCounts, answer
from foreword.tasks.confidence import Interval
from foreword.tasks.metrics import Metric, difference, value
from foreword.tasks.prompted.request import Judged, Request
from foreword.tasks.task import FewShotPrompt, Question, Task

AT_ONCE = 256  # examples


@dataclass(frozen=True)
class PromptedExample:
    """An example as one model was asked it."""

    example: Question
    requests: tuple[Request, ...]  # with the prompt in front
    shots: int  # as many as there was room for


@dataclass
class TaskResult:
    """One task, one model: what every example came to."""

    task: Task
    model: str
    shots: int  # as asked for
    prompted: list[PromptedExample]
    judged: list[Judged]
    counts: RequestCounts
    left_out: list[str] = field(default_factory=list)

    def metrics(self) -> dict[str, Metric]:
        return self.task.kind.metrics()

    def of(self, metric: str) -> list[Any]:
        """What each example gave for a metric."""
        return [one.values[metric] for one in self.judged]

    def value(self, metric: str) -> float:
        return value(self.metrics()[metric], self.of(metric))

    def interval(self, metric: str) -> Interval:
        return self.metrics()[metric].interval(self.of(metric))

    @property
    def chance(self) -> float | None:
        """What guessing would give."""
        each = [self.task.kind.chance(one.example.row) for one in self.prompted]
        known = [one for one in each if one is not None]
        return float(np.mean(known)) if known else None

    @property
    def shots_used(self) -> float:
        """As many as there was room for, on average."""
        return float(np.mean([one.shots for one in self.prompted]))

    def minus(self, other: TaskResult, metric: str) -> tuple[float, Interval]:
        """How much more than another model, on the same examples."""
        if [one.example.number for one in self.prompted] != [one.example.number for one in other.prompted]:
            raise Fault(f"{self.model} and {other.model} were not asked the same examples of {self.task.name}.")
        return difference(self.metrics()[metric], other.of(metric), self.of(metric))

    def notes(self) -> list[str]:
        """What a reader of the number must know."""
        said = (
            [
                self.left_out[0]
                + (f" (and {len(self.left_out) - 1:,} more were left out)" if len(self.left_out) > 1 else "")
            ]
            if self.left_out
            else []
        )
        if self.shots and self.task.pool == self.task.spec.split:
            said.append(f"the shots are other examples of the same split ({self.task.pool})")
        short = [one.shots for one in self.prompted if one.shots < self.shots]
        if short:
            said.append(
                f"{len(short):,} of {len(self.prompted):,} prompts had no room for {shots_in_words(self.shots)}: "
                f"{self.shots_used:.1f} on average, at least {min(short)}; "
                "whole examples were dropped, the first ones first"
            )
        if self.counts.cut:
            said.append(
                f"{self.counts.cut:,} of {self.counts.requests:,} requests did not fit: "
                "the beginning of their context was cut"
            )
        if self.counts.unknown:
            said.append(f"{self.counts.unknown / self.counts.tokens:.1%} of the tokens are words unknown to the model")
        return said


def run_task(
    task: Task,
    model: PromptedModel,
    shots: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    tell: Callable[[float], None] = lambda done: None,
) -> TaskResult:
    """Ask a model every example of a task (or the first `limit`)."""
    examples, left_out = task.examples(limit)
    wanted = shots_for(task, examples[0], shots)
    asked = replace(model, counts=RequestCounts())
    result = TaskResult(task, model.name, wanted, [], [], asked.counts, left_out)
    for at in range(0, len(examples), AT_ONCE):
        some = [prompted_example(task, example, asked, wanted, seed) for example in examples[at : at + AT_ONCE]]
        answers = iter(answer(asked, [request for one in some for request in one.requests]))
        result.prompted += some
        result.judged += [task.kind.judge(one.example.row, [next(answers) for _ in one.requests]) for one in some]
        tell(len(result.prompted) / len(examples))
    return result


def shots_for(task: Task, example: Question, shots: int | None = None) -> int:
    """How many are to be shown: the task's own number if none is said, none where its questions take none."""
    takes = any(request.shots for request in task.kind.requests(example.row))
    return (task.spec.shots if shots is None else shots) if takes else 0


def shots_in_words(shots: int) -> str:
    return f"{shots} shot" if shots == 1 else f"{shots} shots"


def prompted_example(task: Task, example: Question, model: PromptedModel, shots: int, seed: int = 0) -> PromptedExample:
    """The requests of an example behind its prompt; as many whole shots as fit, the same for all its requests."""
    prompt = task.prompt(example, shots, seed)
    requests = task.kind.requests(example.row)
    keep = most_shots(prompt, requests, model)
    before = prompt.before(keep)
    return PromptedExample(
        example,
        tuple(
            replace(request, query=before + request.query) if request.shots else request  # type: ignore[type-var]
            for request in requests
        ),
        keep,
    )


def most_shots(prompt: FewShotPrompt, requests: Sequence[Request], model: PromptedModel) -> int:
    """How many shots leave every request whole."""
    if model.context is None or not prompt.shots:
        return len(prompt.shots)
    context = model.context

    def fits(keep: int) -> bool:
        before = prompt.before(keep)
        texts = [before + request.whole for request in requests if request.shots]
        rooms = [request.room(context) for request in requests if request.shots]
        return all(len(ids) <= room for ids, room in zip(model.tokenizer.encode_many(texts), rooms))

    if fits(len(prompt.shots)):
        return len(prompt.shots)
    low, high = 0, len(prompt.shots)  # low fits, or nothing does; high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
