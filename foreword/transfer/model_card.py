"""The model card of a fine-tuned model."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.assembly.recipe import Recipe, kind
from foreword.exchange.family import task_of
from foreword.exchange.hugging_face import family_of
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.trainer import Progress

READ = {
    "first": "`[CLS] A [SEP] B [SEP]`, as its tokenizer makes it",
    "text": "the name of the task, then each text behind the name of its column; the answer is written",
    "end": "`A <sep> B <sep> <cls>`, in the words of its tokenizer",
    "last": "`<|start|> A <|delimiter|> B <|extract|>`, as its tokenizer makes it; a similarity is the sum over both orders",
}


def shared_card(recipe: Recipe, tasks: Sequence[LabelledTask]) -> str:
    """Of a network that several tasks share."""
    return (
        f"# {recipe.name}, fine-tuned on {', '.join(task.name for task in tasks)}\n\nOne trunk and a head for each task. "
        "This folder opens with Foreword; `model-TASK` beside it holds the trunk and one head.\n"
    )


def card(recipe: Recipe, task: LabelledTask, progress: Progress) -> str:
    objective, family = task_of(recipe), family_of(recipe)
    opens = f"`transformers` (`{family.tasks[kind(objective)].architecture}`) and " if family else ""
    alone = "" if family else " No class of `transformers` has its layout."
    return f"""---
library_name: {"transformers" if family else "foreword"}
pipeline_tag: {objective.pipeline}
tags: [foreword, {recipe.name}]
---
# {recipe.name}, fine-tuned on {task.name}

{task.learn.in_words.capitalize()}, learned with Foreword from {len(task.train):,} examples. The weights are those of step
{progress.best.get("step", progress.step):,.0f}, the best on {len(task.dev):,} examples of dev.
A sequence is {READ[objective.reading]}{"" if objective.published else "; the mean of its vectors is read"}.

This folder opens with {opens}`foreword predict`.{alone} Scores and their intervals are in the run's `passport.json`.
"""
