"""Options and verbs that moved: whoever gives them at their old place is told the new one."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.basics.messages import Fault

STUDY = "foreword study"
EXAMPLE = f"For example:  {STUDY} MODEL TASK --seeds 5 --labels 64,all --compare scratch"
STUDY_ONLY = (("restarts", "NUMBER"), ("ensemble", "true"))
OPTIONS = {
    "finetune": {
        **{name: f"{name} is an option of {STUDY}." for name in ("--grid", "--compare")},
        **{f"--{name}": f"--{name} is a setting of {STUDY}: --set {name}={value}." for name, value in STUDY_ONLY},
        "--multi": "--multi is a recipe: foreword train mt-dnn --from MODEL --data TASK TASK.",
        "--curve": f"--curve is --labels of {STUDY}.",
        "--at-once": f"--at-once is --jobs of {STUDY}.",
        "--layers": f"--layers is a setting: --set layers=NUMBER; to compare several, --layers of {STUDY}.",
        **{f"--{name}": f"--{name} is a setting: --set {name}=VALUE." for name in ("init", "aux", "patience")},
        "--network": "--network is a setting: --set network=RECIPE.",
        "--self-train": "--self-train is a setting: --set self_train=TEXT.",
    },
    "study": {f"--{name}": f"--{name} is a setting: --set {name}={value}." for name, value in STUDY_ONLY},
    "tokens": {
        f"--{name}": f"--{name} is an option of foreword marks, for a store that is made."
        for name in ("phrases", "entities", "capitals")
    },
    "train": {
        "--memory": "--memory is a setting: --set training.memory=500MB (glove: batches.memory).",
        "--encoder-from": "--encoder-from is a part of --from: --from encoder=RUN.",
        "--decoder-from": "--decoder-from is a part of --from: --from decoder=RUN.",
        "--tensorboard": "--tensorboard is a setting: --set tensorboard=true.",
    },
    "evaluate": {
        "--hidden": "--hidden is an option of foreword cloze.",
        "--context": "--context is an option of foreword recl.",
        "--word": "--word is foreword senses: foreword senses WORD MODEL MODEL --data SENTENCES.",
        "--mmi": "--mmi is an option of foreword dialogue.",
        "--out": "--out is an option of foreword test, which scores fine-tuned runs.",
    },
}


def check_moved(words: Sequence[str]) -> None:
    """A fault that names the new place, if an option or the verb itself has moved."""
    verb, *rest = words or [""]
    if verb == "sweep":
        raise Fault("foreword sweep is foreword study.", f"foreword study {' '.join(rest)}".strip())
    moved = OPTIONS.get(verb, {})
    found = [moved[name] for word in rest if (name := word.partition("=")[0]) in moved]
    if found:
        raise Fault(" ".join(dict.fromkeys(found)), EXAMPLE if any(STUDY in one for one in found) else "")
    if verb == "finetune" and any(
        option == "--learning-rate" and "," in value for option, value in zip(rest, rest[1:])
    ):
        raise Fault(f"Several learning rates are for {STUDY}, where dev chooses.", EXAMPLE)
