"""A study as a TOML file or as options of `foreword study`: what is fine-tuned or trained, and what is varied.

model = "runs/gpt2"               # or: recipe = "gpt2", which is trained
task = "mrpc"
seeds = 5
labels = [64, 256, "all"]         # several: a label curve
learning_rate = [3e-4, 1e-3]      # several: dev chooses
compare = ["scratch", "runs/bert"]
vary = { "objective.read" = ["place", "mean"] }        # settings of the recipe: every combination is compared

[arms.static]                     # or: arms that are trained and compared, each a recipe with its size and settings of its own
recipe = "roberta:laptop"
set = { batches = { copies = 1 } }
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field

from foreword.assembly import catalogue
from foreword.basics import toml
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, Faults
from foreword.basics.numbers import Seed
from foreword.basics.progress import say
from foreword.basics.sections import Written, construct
from foreword.basics.spec import Spec
from foreword.compare.claims import Claim, refuse_untestable
from foreword.compare.contenders import Plan
from foreword.compare.starts import Start, trained_starts
from foreword.compare.study import study
from foreword.compare.study_report import report
from foreword.compare.training_study import Arm, TrainingJob, arm_jobs, named_arms, training_jobs
from foreword.report import Report
from foreword.tasks.example import groups
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.training.hardware import Hardware
from foreword.transfer.label_subset import strata
from foreword.transfer.tuning import FinetuneSettings
from foreword.vectors.words import is_vectors


def _listed(value: object) -> tuple[str, ...]:
    """'16,64,all', [16, 64, 'all'] or 16 -> ('16', '64', 'all')."""
    several = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return tuple(str(one).strip() for one in several if str(one).strip())


Value = TypeVar("Value")
Several = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class StudySpec(Spec):
    """Everything about a study. A model and a task are fine-tuning; a recipe and data are training."""

    model: str = ""  # a run, its model folder, or a Hugging Face directory
    task: str = ""
    recipe: Several = ()  # a recipe's name or file; several, each with its size (gpt2:laptop), are compared with each other
    size: str = ""
    data: str = ""  # the folder of a known task's data; of training, a store or text
    out: str = ""
    seeds: int = Field(5, ge=1)
    seed: Seed = 0  # the first
    vary: JsonObject = {}  # settings of the recipe, with several values each
    set: JsonObject = {}  # settings of the recipe, the same for all runs
    jobs: int | None = Field(None, ge=1)  # runs in parallel; None: measured
    cluster: str = ""  # runs go to a Ray cluster: auto, or its address
    # fine-tuning
    labels: Several = ()  # numbers, shares ("10%") or "all"; several: a label curve
    learning_rate: Several = ()  # several: dev chooses
    layers: Several = ()  # that are transferred, from below, or "all"; several are compared
    batch_size: int | None = None
    epochs: float = FinetuneSettings.epochs
    patience: int | None = None
    features: str = ""
    network: str = ""  # of word vectors: the recipe whose token table they become
    init: str = FinetuneSettings.init
    aux: float = 0.0
    starts: dict[
        str, Start
    ] = {}  # by name: recipes that are trained first, and then compared with each other and scratch
    text: str = ""  # that they learn from; the task's own training texts by default
    compare: Several = ()  # scratch, shuffled, shuffled-labels, or another model's folder
    grid: bool = False  # BERT's learning rates and batch sizes; dev chooses
    restarts: int = 0  # of a seed that collapsed
    ensemble: bool = False
    kind: str = ""  # of the task, where its columns do not tell
    dev: str = ""
    test: str = ""
    claim: Claim | None = None  # what the study is to test: docs/claims.md
    # training
    arms: dict[str, Start] = {}  # by name: recipes with settings of their own, compared with each other on test text
    scaling: str = ""  # of arms that differ in size: the one that is predicted from the others before it is trained
    budget: Annotated[str, BeforeValidator(str)] = ""
    documents: str = "auto"
    column: str = "text"

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if sum(map(bool, (self.model, self.starts, self.recipe, self.arms))) != 1:
            found.append(
                ("model", "a study has either a model (or starts) to fine-tune or a recipe (or arms) to train.")
            )
        if (self.model or self.starts) and not self.task:
            found.append(("task", "a model is fine-tuned on a task, and none is given."))
        trains = bool(self.recipe or self.arms)
        if trains and not self.data:
            found.append(("data", "a recipe is trained on data, and none is given."))
        if (len(self.recipe) > 1 or self.arms) and (self.size or self.vary):
            found.append(
                ("recipe", "several recipes are compared as they are: a size stands behind each (gpt2:laptop).")
            )
        if odd := [name for name in self.arms if not re.fullmatch(r"[\w.-]+", name)]:
            found.append(("arms", f"{odd[0]!r} is the name of a folder too: letters, digits, dots and dashes."))
        other, said = (
            "fine-tuning" if trains else "training",
            self.model_dump(exclude=EITHER, exclude_defaults=True),
        )
        found += [(name, f"this is for {other} only.") for name in said if (name in TRAINING) != trains]
        if self.scaling and self.scaling not in self.arms:
            found.append(
                ("scaling", f"{self.scaling!r} is none of the arms: {', '.join(self.arms) or 'there are none'}.")
            )
        if self.grid and self.batch_size is not None:
            found.append(("grid", "--grid tries its own batch sizes. Leave out --batch-size or --grid."))
        return found

    def settings(self) -> list[str]:
        """As --set takes them."""
        budget = [f'training.budget="{self.budget}"'] if self.budget else []
        return [*map("=".join, self.given()), *budget]

    def given(self) -> list[tuple[str, str]]:
        return [(key, _written(value)) for key, value in flat(self.set)]

    def begun(self) -> dict[str, tuple[str, list[str]]]:
        """By name, the recipe of each start and its settings."""
        found = {}
        for name, one in self.starts.items():
            budget = [f'training.budget="{one.budget}"'] if one.budget else []
            found[name] = one.recipe, [*_settings(one), f"training.seed={self.seed}", *budget]
        return found

    def compared(self) -> dict[str, Arm]:
        """The arms by name; several recipes are arms of nothing but themselves."""
        if self.arms:
            return {name: Arm(one.recipe, _settings(one), one.budget) for name, one in self.arms.items()}
        return named_arms(self.recipe)

    def varied(self) -> list[str]:
        """As --vary takes them."""
        return [f"{key}={','.join(_listed(value))}" for key, value in flat(self.vary)]


EITHER = {"claim", "model", "recipe", "data", "out", "seeds", "seed", "vary", "set", "jobs", "cluster"}
TRAINING = {"arms", "scaling", "size", "budget", "documents", "column"}  # all others are for fine-tuning


def flat(values: Mapping[str, object], at: str = "") -> Iterator[tuple[str, object]]:
    """{'a': {'b': 1}} and {'a.b': 1} -> ('a.b', 1)."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{at}{key}.")
        else:
            yield f"{at}{key}", value


def _settings(one: Start) -> list[str]:
    return [f"{key}={_written(value)}" for key, value in flat(one.set)]


def _written(value: object) -> str:
    return value if isinstance(value, str) else toml.write({"value": value}).partition("=")[2].strip()


def read_study(subject: str, options: Mapping[str, object]) -> StudySpec:
    """A study file, or a model or a recipe; `options` are laid over what the file says."""
    written = Written()
    path = catalogue.study(subject) or Path(subject)
    if path.suffix == ".toml" and path.is_file():
        refuse_untestable(subject, path)
        values, lines = toml.read(path)
        if {"model", "recipe", "starts", "arms"} & set(values):
            written.lay_over(values, {key: f"{path}:{line}" for key, line in lines.items()})
    if not written.values:
        written.lay_over({"model" if path.is_dir() and options.get("task") else "recipe": subject}, {})
    for name, value in options.items():
        written.lay_over({name: value}, {(name,): f"--{name.replace('_', '-')}"})
    faults: list[Fault] = []
    spec = construct(StudySpec, written.values, written, (), faults)
    if faults:
        raise Faults(faults)
    return spec


def training_runs(spec: StudySpec) -> list[TrainingJob]:
    words = (*(spec.recipe or spec.arms), spec.size)
    named = "-".join(Path(one).stem.replace(":", "-") for one in words if one) + "-study"
    seeds, out = range(spec.seed, spec.seed + spec.seeds), Path(spec.out or f"runs/{named}")
    if len(spec.recipe) != 1:
        return arm_jobs(spec.compared(), [*map("=".join, spec.given())], spec.budget, seeds, out)
    return training_jobs(spec.recipe[0], spec.size, spec.settings(), spec.varied(), seeds, out)


def finetune_study(spec: StudySpec, hardware: Hardware | None = None) -> tuple[Report, Path]:
    """(what was found, where the runs are)"""
    data, dev, test = (Path(one) if one else None for one in (spec.data, spec.dev, spec.test))
    task, compare = load(spec.task, data, spec.kind, dev, test), spec.compare
    model, out = Path(spec.model), Path(spec.out) if spec.out else None
    if spec.starts:
        out = out or Path(f"runs/{task.name}-starts-study")
        model, *others = trained_starts(spec.begun(), task, spec.text, out, hardware).values()
        own = () if is_vectors(model) and not spec.network else ("scratch",)  # a table of vectors is read as it is
        compare = (*own, *map(str, others), *compare)
    labels = label_counts(spec.labels, task)
    rates, layers = learning_rates(spec.learning_rate), layer_counts(spec.layers)
    how = FinetuneSettings(
        batch_size=FinetuneSettings.batch_size if spec.batch_size is None else spec.batch_size,
        learning_rate=_only(rates),
        labels=_only(labels),
        layers=_only(layers),
        settings=tuple(spec.settings()),
        **spec.model_dump(include={"epochs", "seed", "init", "aux", "patience", "features", "network"}),
    )
    plan = Plan(
        curve=_more(labels),
        layers=_more(layers),
        rates=_more(rates),
        vary=tuple(spec.varied()),
        compare=compare,
        **spec.model_dump(include={"seeds", "grid", "restarts", "ensemble", "jobs", "cluster"}),
    )
    out = out or Path("runs", f"{model.name}-{task.name}-study".replace("/", "-"))
    return report(study(model, task, out, how, plan, hardware), out, model.name), out


def _only(several: tuple[Value, ...]) -> Value | None:
    return several[0] if len(several) == 1 else None


def _more(several: tuple[Value, ...]) -> tuple[Value, ...]:
    return several if len(several) > 1 else ()


def label_counts(words: Sequence[str], task: LabelledTask) -> tuple[int | None, ...]:
    """('16', '10%', 'all') -> (16, a tenth of the training examples, None)."""
    there, classes = len(groups(task.train)), len(strata(task.train))
    found: list[int | None] = []
    for word in words:
        number = float(word.rstrip("%")) if re.fullmatch(r"\d+|\d+(\.\d+)?%", word) else 0.0
        if word != "all" and (not number or (number > 100 and "%" in word)):
            raise Fault(
                f"--labels {','.join(words)}: give numbers of labels or percentages, separated by commas, and 'all'.",
                "For instance: 16,64,256,all or 1%,10%,100%",
            )
        size = None if word == "all" else round(number / 100 * there) if "%" in word else int(number)
        if "%" in word and size is not None:
            if size < classes:
                least = math.ceil(1e4 * (classes - 0.5) / there) / 100
                raise Fault(
                    f"--labels {word}: of {there:,} training examples that is {size}, and {task.name} has {classes} "
                    f"class{'es' if classes > 1 else ''}, each of which needs one.",
                    f"Give at least {least:g}%.",
                )
            say(f"{word} of {there:,} training examples: {size:,}")
            size = size if size < there else None
        found.append(size)
    return tuple(dict.fromkeys(found))


def learning_rates(words: Sequence[str]) -> tuple[float, ...]:
    """('3e-4', '1e-3') -> (3e-4, 1e-3)."""
    try:
        found = tuple(float(word) for word in words)
    except ValueError:
        found = (0.0,)
    if not all(0 < rate < math.inf for rate in found):
        raise Fault(
            f"--learning-rate {','.join(words)}: give numbers above 0, separated by commas.",
            "For instance: 1e-3 or 3e-4,1e-3,3e-3",
        )
    return tuple(dict.fromkeys(found))


def layer_counts(words: Sequence[str]) -> tuple[int | None, ...]:
    """('0', '2', 'all') -> (0, 2, None)."""
    if not all(word == "all" or word.isdecimal() for word in words):
        raise Fault(
            f"--layers {','.join(words)}: give numbers of layers, separated by commas, or 'all'.",
            "For instance: 2 or 0,1,2,all",
        )
    return tuple(dict.fromkeys(None if word == "all" else int(word) for word in words))
