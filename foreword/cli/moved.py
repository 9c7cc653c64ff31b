"""Options and verbs that moved: whoever gives them at their old place is told the new one."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.basics.messages import Fault

STUDY = "foreword study"
EXAMPLE = f"For example:  {STUDY} MODEL TASK --seeds 5 --labels 64,all --compare scratch"
OPTIONS = {
    "finetune": {
        **{name: f"{name} is an option of {STUDY}." for name in ("--grid", "--restarts", "--compare", "--ensemble")},
        "--multi": "--multi is a recipe: foreword train mt-dnn --from MODEL --data TASK TASK.",
        "--curve": f"--curve is --labels of {STUDY}.",
        "--at-once": f"--at-once is --jobs of {STUDY}.",
        "--layers": f"--layers is a setting: --set layers=NUMBER; to compare several, --layers of {STUDY}.",
        **{f"--{name}": f"--{name} is a setting: --set {name}=VALUE." for name in ("init", "aux", "patience")},
    },
    "train": {"--memory": "--memory is a setting: --set training.memory=500MB (glove: batches.memory)."},
    "evaluate": {
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
