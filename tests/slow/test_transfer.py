"""Text without labels is worth labels: which words go together shows in it, and few labelled texts then say what they mean.

Two topics of sixty words, which look alike. Labelled texts are short and show one word in six; the others are known to belong
to a topic only by whoever read the unlabelled text.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.seeds import chance
from foreword.compare.contenders import Plan
from foreword.compare.study import study
from foreword.runs.train import train
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.tokens.build import build_store
from foreword.training.hardware import Hardware
from foreword.transfer.tuning import FinetuneSettings

pytestmark = pytest.mark.slow
LABELS, WORDS, SENTENCE, SENTENCES = 8, 3, 6, 6
SYLLABLES = [a + b for a, b in itertools.product("bdgklmnprst", "aeiou")]


def topics() -> tuple[np.ndarray, np.ndarray]:
    every = np.array(["".join(pair) for pair in itertools.product(SYLLABLES, SYLLABLES)])
    chosen = chance(5).permutation(every)[:120]
    return chosen[:60], chosen[60:]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand documents, each of one topic, and nothing that says which."""
    path = tmp_path_factory.mktemp("unlabelled") / "text.txt"
    lines = []
    for number in range(2000):
        draw = chance(6, number)
        words = draw.choice(topics()[int(draw.integers(2))], (SENTENCES, SENTENCE))
        lines.append(" ".join(" ".join(sentence).capitalize() + "." for sentence in words) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> LabelledTask:
    folder = tmp_path_factory.mktemp("labelled")
    for place, (name, count) in enumerate({"train": 200, "dev": 100, "test": 400}.items()):
        rows = ["text,label\n"]
        for number in range(count):
            draw = chance(7, place, number)
            topic = number % 2
            rows.append(
                f"{' '.join(draw.choice(topics()[topic], WORDS)).capitalize()}.,{'one' if topic else 'other'}\n"
            )
        (folder / f"{name}.csv").write_text("".join(rows), encoding="utf-8")
    return load(str(folder / "train.csv"), None, "", folder / "dev.csv", folder / "test.csv")


@pytest.mark.parametrize("name", ["gpt1", "bert"])
def test_what_was_read_before_is_worth_labels(name: str, text: Path, labelled: LabelledTask, tmp_path: Path) -> None:
    recipe = loader.load(
        name,
        "laptop",
        [
            "tokenizer.vocabulary=400",
            "tokenizer.minimum=2",
            "network.width=64",
            "network.heads=2",
            "network.context=48",
            'training.budget="1500"',
        ],
    )
    build_store([text], tmp_path / "store", recipe.tokenizer, documents="line", workers=1)
    train(recipe, tmp_path / "store", tmp_path / "run", hardware=Hardware())
    found = study(
        tmp_path / "run",
        labelled,
        tmp_path / "study",
        FinetuneSettings(epochs=20, batch_size=8, labels=LABELS),
        Plan(seeds=5, compare=("scratch", "shuffled")),
        Hardware(),
    )
    rows = {row.name: row for row in found.results if row.chosen}
    print(*(f"{row.name}: {row.test:.3f} {row.over_seeds}" for row in rows.values()), *found.differences, sep="\n")
    apart = {one.minus: one for one in found.differences}
    for control in ("scratch", "shuffled"):
        assert apart[control].over_seeds[0] > 0, f"{control}: {apart[control]}"
        assert apart[control].over_examples[0] > 0, f"{control}: {apart[control]}"
