"""Zero-shot scores as training goes on: tasks put to the model at each evaluation, and the page that draws them.

Radford et al. (2018), figure 2: what a language model can do without being taught it grows with its training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foreword.assembly.recipe import Recipe
from foreword.basics import toml
from foreword.basics.messages import Fault, duration, thousands
from foreword.evaluate.prompted import run_task, shots_for
from foreword.evaluate.requests import PromptedModel
from foreword.networks.base import Model
from foreword.report import Facts, Plot, Report, Section, Table, Text
from foreword.report.plots import curves
from foreword.runs.folder import RunFolder
from foreword.tasks import task as tasks
from foreword.tasks.task import Task
from foreword.tokens.tokenizer import Tokenizer

EXAMPLES = 200  # of each task, the first ones: an evaluation comes often and should not last

GUESSING = Text(["A dashed line is what guessing gives."], note=True, page_only=True)

Scores = dict[str, dict[str, float]]  # task -> metric -> value


class ZeroShot:
    """Asks a model that is being trained, without any solved example in front."""

    def __init__(self, words: Sequence[str], recipe: Recipe, limit: int = EXAMPLES):
        if "score" not in recipe.abilities():
            raise Fault(
                f"{recipe.name} does not predict next tokens: it cannot be asked tasks while it trains.",
                "Leave out --ask.",
            )
        self.tasks: list[Task] = [task for word in words for task in tasks.load(word)]
        self.limit = limit
        for task in self.tasks:  # a missing file is said before anything is trained
            (first, *_), _ = task.examples(1)
            task.prompt(first, shots_for(task, first, 0), 0)

    def __call__(self, model: Model, tokenizer: Tokenizer) -> Scores:
        training = model.training
        model.eval()
        try:
            asked = PromptedModel("", model.language_model(tokenizer.vocabulary()), tokenizer)
            outcomes = [run_task(task, asked, 0, self.limit) for task in self.tasks]
        finally:
            model.train(training)
        return {
            one.task.name: {metric: one.value(metric) for metric in one.metrics()}
            | ({} if one.chance is None else {"chance": one.chance})
            for one in outcomes
        }


def training_report(run: RunFolder) -> Report:
    """The page of a run: what held-out text cost, and what tasks it could do, as training went on."""
    records, passport, recipe = run.metrics(), run.passport(), run.recipe()
    asked = [one for one in records if "valid" in one and "asked" in one]
    lead = [
        f"{recipe.name}{' ' + recipe.size if recipe.size else ''}: {passport.get('parameters', 0):,} parameters, "
        f"{thousands(passport.get('tokens', 0))} tokens in {duration(passport.get('seconds', 0.0))}."
    ]
    if asked:
        evaluations = f"the first to the last of {len(asked)} evaluations"
        lead.append(f"Zero-shot, on at most {EXAMPLES} examples of each task: {evaluations}.")
    about = [("recipe", recipe.paper), ("seed", str(passport.get("seed", ""))), ("run", str(run.path))]
    facts = Facts(about, ("all settings", toml.write(recipe.values())))
    return Report(
        f"{recipe.name} as it trained",
        lead,
        [
            Section("Held-out text", *loss_plots(records)),
            *([Section("Tasks, without any example", _table(asked), *_tasks(asked), GUESSING)] if asked else []),
            Section("How it was made", facts),
        ],
    )


def loss_plots(records: Sequence[Mapping[str, Any]]) -> list[Plot]:
    """Each part of the objective: nats per guess in training and on held-out text, by tokens read."""
    evaluated, drawn = [one for one in records if "valid" in one], []
    for part in evaluated[-1]["valid"] if evaluated else ():
        lines = {
            "training": [(one["tokens"], one[part]) for one in records if part in one],
            "held-out": [(one["tokens"], one["valid"][part]) for one in evaluated if part in one["valid"]],
        }
        drawn.append(curves({name: points for name, points in lines.items() if points}, "tokens", "nats", part, 3.0))
    return drawn


def _table(asked: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (task, metric, f"{asked[0]['asked'][task][metric]:.3f}", f"{value:.3f}", _shown(found.get("chance")))
        for task, found in asked[-1]["asked"].items()
        for metric, value in found.items()
        if metric != "chance"
    ]
    first, last = (f"at {thousands(one['tokens'])} tokens" for one in (asked[0], asked[-1]))
    return Table([("task", "metric", first, last, "guessing"), *rows], left=(0, 1))


def _tasks(asked: Sequence[Mapping[str, Any]]) -> list[Plot]:
    """A plot for each metric, a line for each task that has it."""
    drawn = []
    for metric in dict.fromkeys(name for found in asked[-1]["asked"].values() for name in found if name != "chance"):
        lines = {
            task: [(one["tokens"], one["asked"][task][metric]) for one in asked]
            for task, found in asked[-1]["asked"].items()
            if metric in found
        }
        last = asked[-1]["asked"].values() if metric == "accuracy" else ()
        chance = {found["chance"] for found in last if "chance" in found}
        drawn.append(curves(lines, "tokens", metric, height=3.4, levels=chance))
    return drawn


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
