"""Fine-tune a model on a labelled task, in a run folder: the best weights on dev, one look at test."""

from __future__ import annotations

from pathlib import Path

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.exchange.hugging_face import LoadedFolder
from foreword.runs.folder import RunFolder
from foreword.runs.loop import RunLoop
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.hardware import Hardware
from foreword.transfer import features
from foreword.transfer.encoding import UNLIMITED, input_format_of
from foreword.transfer.initial_weights import continued_objective
from foreword.transfer.kinds import learned_as
from foreword.transfer.labelled_run import completed, labelled_run, opened
from foreword.transfer.tuning import FinetuneSettings

# Radford et al. 2018, section 4.1; Devlin et al. 2018, appendix A.3; Yang et al. 2019, on SQuAD
RATES = {"last": 6.25e-5, "first": 5e-5, "end": 3e-5, "text": 1e-3}
PUBLISHED = 768  # the width of the networks these rates are for
DROPOUT = 0.1  # before the last layer of the head, in both
EVALUATIONS = 10  # of a run at most: an epoch of few labels is a step or two, and dev is not


def recipe_for(loaded: LoadedFolder, task: LabelledTask, how: FinetuneSettings) -> Recipe:
    """The pretrained model's recipe, with the task in the place of what it was pretrained for."""
    how.check()
    input_format = input_format_of(loaded.recipe)
    if how.aux and input_format.reading != "last":
        raise Fault(
            f"--aux {how.aux:g}: {loaded.recipe.name} is bidirectional, and would see the tokens that it is to guess.",
            "Leave it out.",
        )
    values = loaded.recipe.values()
    network: JsonObject = values["network"]
    if how.features:
        network = values["network"] = features.over(network, how.features)
        features.check_texts(how.features, task)
    trunk, frozen = network.get("trunk", network), "trunk" in network
    if frozen:
        features.check(how.aux, how.layers)
    rate = how.learning_rate or RATES[input_format.reading] * max(1.0, PUBLISHED / trunk["width"])
    learning = {"optimizer": {"kind": "adamw", "learning_rate": rate}, "schedule": {"kind": "linear", "warmup": 0.1}}
    if input_format.reading == "text":  # T5's: steps are shares of each weight, whatever the width
        rate = how.learning_rate or RATES["text"]
        learning = {"optimizer": {"kind": "adafactor", "learning_rate": rate}, "schedule": {"kind": "constant"}}
    fresh = learned_as(task.learn, task.name, loaded.recipe).objective(
        task.labels, input_format.reading, DROPOUT, task.train
    )
    objective = continued_objective(loaded, fresh).model_dump(mode="json")
    objective["tells_padding"] = frozen
    if trunk.get("tokens_from") and "read" in objective and not frozen:
        objective["read"] = "ends"  # a table that began as word vectors is most of what a small network knows
    both = {"kind": "together", "parts": [objective, {"kind": "read_along"}], "weights": [1.0, how.aux]}
    values["objective"] = both if how.aux else objective
    values["batches"] = {"kind": "examples"} | ({} if trunk.get("context") else {"length": UNLIMITED})
    values["training"] = {
        "kind": "gradient",
        "budget": f"{how.epochs:g}epochs",
        "batch_size": how.batch_size,
        "seed": how.seed,
        "evaluate": f"{max(1.0, how.epochs / EVALUATIONS):g}epochs",
        **(features.learning(how.learning_rate) if frozen else learning),
    }
    return loader.from_values(values, "fine-tuning", how.settings)


def finetune(
    model: str | Path,
    task: LabelledTask,
    out: Path,
    how: FinetuneSettings | None = None,
    hardware: Hardware | None = None,
) -> RunFolder:
    """Fine-tune until the epochs are over. A run that stopped before goes on from its last checkpoint."""
    return completed(finetune_run(model, task, RunFolder(out), how or FinetuneSettings(), hardware), model)


def finetune_run(
    model: str | Path, task: LabelledTask, run: RunFolder, how: FinetuneSettings, hardware: Hardware | None = None
) -> RunLoop:
    """All is there to begin, and nothing written."""
    loaded = opened(model, how)
    return labelled_run(recipe_for(loaded, task, how), [task], run, loaded, how, hardware)
