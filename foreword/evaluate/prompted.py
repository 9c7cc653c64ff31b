"""A task put to a language model: prompts that fit its context, answers judged, and notes on what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.messages import Fault
from foreword.evaluate.generation import write_continuations
from foreword.evaluate.likelihood import score_continuations, score_whole_texts
from foreword.evaluate.requests import PromptedModel, RequestCounts
from foreword.tasks.confidence import Interval
from foreword.tasks.metrics import Metric, PairedDifference, difference, value
from foreword.tasks.prompted.request import GenerationRequest, Judged, LikelihoodRequest, Request
from foreword.tasks.prompted.whole_text import RollingRequest
from foreword.tasks.task import FewShotPrompt, Question, Task

AT_ONCE = 256  # examples
# who answers each sort of request: (asked, requests of that sort) -> an answer for each, in order
ANSWERS: dict[type[Request], Callable[..., list[Any]]] = {
    LikelihoodRequest: score_continuations,
    GenerationRequest: write_continuations,
    RollingRequest: score_whole_texts,
}


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
        """Those that every example has a value for: a unigram score needs the text that a model was trained on."""
        return {
            name: metric
            for name, metric in self.task.kind.metrics().items()
            if all(one.values[name] is not None for one in self.judged)
        }

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

    def minus(self, other: TaskResult, metric: str) -> PairedDifference:
        """How much more than another model, on the same examples."""
        if [one.example.number for one in self.prompted] != [one.example.number for one in other.prompted]:
            raise Fault(f"{self.model} and {other.model} were not asked the same examples of {self.task.name}.")
        return difference(self.metrics()[metric], other.of(metric), self.of(metric))

    def notes(self) -> list[str]:
        """What a reader of the number must know."""
        more = f" (and {len(self.left_out) - 1:,} more were left out)" if len(self.left_out) > 1 else ""
        said = [one + more for one in self.left_out[:1]]
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


@dataclass(frozen=True)
class PromptingSettings:
    """How tasks are asked."""

    shots: int | None = None  # solved examples shown; None: the task's own number
    seed: int = 0
    limit: int | None = None  # examples of each task
    examples: Path | None = None  # where every prompt and answer is written
    show_prompt: bool = False
    precision: str = "float32"
    overlap: str = ""  # training text that examples are looked for in; none: do not look


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


def answer(asked: PromptedModel, requests: Sequence[Request]) -> list[object]:
    """An answer for each request; those of one sort are asked together."""
    found: list[object] = [None] * len(requests)
    for sort in dict.fromkeys(map(type, requests)):
        if asked.closes is not None and sort is not GenerationRequest:
            raise Fault(
                f"{asked.name} writes from a source: it can be asked what is answered by writing, not how likely a text is.",
                'Tasks whose request.kind is "write" are.',
            )
        places = [place for place, request in enumerate(requests) if type(request) is sort]
        for place, one in zip(places, ANSWERS[sort](asked, [requests[place] for place in places])):
            found[place] = one
    return found


def shots_for(task: Task, example: Question, shots: int | None = None) -> int:
    """How many are to be shown: the task's own number if none is said, none where its questions take none."""
    takes = any(request.shots for request in task.kind.requests(example.row))
    return (task.spec.shots if shots is None else shots) if takes else 0


def check_shots(tasks: Sequence[Task], how: PromptingSettings) -> None:
    """A missing file, or shots that are not there, are said before any model is opened."""
    for task in tasks:
        (first, *_), _ = task.examples(1)
        task.prompt(first, shots_for(task, first, how.shots), how.seed)


def shots_in_words(shots: int) -> str:
    return f"{shots} shot" if shots == 1 else f"{shots} shots"


def prompted_example(task: Task, example: Question, model: PromptedModel, shots: int, seed: int = 0) -> PromptedExample:
    """The requests of an example behind its prompt; as many whole shots as fit, the same for all its requests."""
    prompt = task.prompt(example, shots, seed)
    requests = task.kind.requests(example.row)
    keep = most_shots(prompt, requests, model)
    before = prompt.before(keep)
    asked = (replace(request, query=before + request.query) if request.shots else request for request in requests)
    return PromptedExample(example, tuple(asked), keep)


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
