"""Killed before any of its operations on files, the same command comes to the same end, and nothing half-written stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from foreword.runs.moving import export_model, import_model
from foreword.runs.train import train
from foreword.tasks.labelled_task import load
from foreword.tokens import KINDS
from foreword.tokens.build import build_store
from foreword.transfer.finetune import finetune
from foreword.transfer.tuning import FinetuneSettings
from tests.kills import kill_everywhere
from tests.tiny import tiny

TIMES = ("seconds", "hardware", "command", "tokens_per_second", "pace")


def end_of(folder: Path) -> dict[str, str]:
    """What a folder holds, without what the clock says."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        if path.suffix in (".json", ".jsonl"):
            lines = [content] if path.suffix == ".json" else content.splitlines()
            content = "\n".join(str(_timeless(json.loads(line))) for line in lines).encode()
        if path.name == "README.md":
            content = b""  # it says how long it took
        found[str(path.relative_to(folder))] = hashlib.sha256(content.replace(folder.name.encode(), b"")).hexdigest()
    return found


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {name: _timeless(one) for name, one in value.items() if name not in TIMES}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def begun(stores, tmp_path_factory) -> Path:
    return train(_short("gpt2"), stores["byte_bpe"], tmp_path_factory.mktemp("kills") / "begun").path


def _short(name: str, seed: int = 0):
    return tiny(name, 'training.budget="2"', 'training.save="1"', "training.keep=1", f"training.seed={seed}")


@pytest.fixture
def works(stores, begun, corpus, tmp_path) -> dict[str, Callable[[Path], object]]:
    labels = tmp_path / "labels.csv"
    labels.write_text("text,label\n" + "".join(f"a {'good' if i % 2 else 'bad'} {i},{i % 2}\n" for i in range(40)))
    store, byte = stores["byte_bpe"], KINDS.find("byte")()
    return {
        "train": lambda out: train(_short("gpt2"), store, out),
        "train --from": lambda out: train(_short("gpt2", 1), store, out, start=begun),
        "counting": lambda out: train(tiny("kneser-ney"), store, out),
        "finetune": lambda out: finetune(begun, load(labels), out, FinetuneSettings(epochs=0.1, batch_size=8)),
        "tokens": lambda out: build_store([corpus], out, byte, fractions=(0.8, 0.1, 0.1), workers=1),
        "import": lambda out: import_model(begun / "model", out),
        "export": lambda out: export_model(begun, "hf", out),
    }


VERBS = ["train", "train --from", "counting", "finetune", "tokens", "import", "export"]


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_before_any_operation_on_files_costs_nothing(works, tmp_path, verb) -> None:
    tried = _kill(works[verb], tmp_path / "runs", 1)
    print(f"{verb}: {tried} kill points")
    assert tried >= 40


@pytest.mark.thorough
@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_before_some_operations_on_files_costs_nothing(works, tmp_path, verb) -> None:
    """The same for every thirteenth operation, the first ones among them."""
    assert _kill(works[verb], tmp_path / "runs", 13) >= 3


def _kill(work: Callable[[Path], object], place: Path, every: int) -> int:
    torch.set_num_threads(1)
    place.mkdir()
    tried, faults = kill_everywhere(work, end_of, place, every)
    assert not faults, faults[:5]
    return tried


def test_a_kill_is_noticed_where_the_work_is_not_whole(tmp_path) -> None:
    """The control: who writes two files one after the other, and never again what is there, is found out."""

    def careless(out: Path) -> None:
        if not out.exists():
            out.mkdir()
            (out / "one").write_text("1")
            (out / ".two.partial").write_text("2")
            (out / ".two.partial").rename(out / "two")

    tried, faults = kill_everywhere(careless, end_of, tmp_path)
    assert tried == 2
    assert len(faults) == 1
