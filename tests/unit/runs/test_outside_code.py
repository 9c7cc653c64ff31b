"""A folder that somebody gives you imports no code: only a recipe file, a task file or a setting that you name does."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

import foreword
from foreword.assembly import loader
from foreword.basics import toml
from foreword.basics.messages import Fault
from foreword.runs.folder import RunFolder
from foreword.runs.train import train
from foreword.tasks.task import opened
from foreword.transfer.predict import taught
from tests.tiny import tiny

CODE = '''"""Parts from outside Foreword."""
from typing import Literal
from foreword.objectives.causal import Causal

class Mine(Causal):
    kind: Literal["sentinel:Mine"] = "sentinel:Mine"
'''
PARTS = (
    "network",
    "network.cell",
    "head",
    "objective",
    "batches",
    "tokenizer",
    "training",
    "training.optimizer",
    "training.schedule",
)


@pytest.fixture
def sentinel(tmp_path, monkeypatch):
    """A module in the current folder, which is searched for imports; True once it was imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "sentinel.py").write_text(CODE, encoding="utf-8")
    yield lambda: "sentinel" in sys.modules
    sys.modules.pop("sentinel", None)


@pytest.fixture(scope="module")
def trained(stores, tmp_path_factory):
    return train(tiny("lstm", 'training.budget="2"'), stores["byte_bpe"], tmp_path_factory.mktemp("runs") / "lstm").path


def renamed(values: dict, part: str) -> dict:
    """The recipe with a dotted kind in one of its parts."""
    inner = values
    for name in part.split("."):
        inner = inner[name]
    inner["kind"] = "sentinel:Mine"
    return values


@pytest.mark.parametrize("part", PARTS)
def test_a_run_or_model_folder_imports_nothing(trained, sentinel, tmp_path, part):
    run = RunFolder(shutil.copytree(trained, tmp_path / "run", symlinks=True))
    config = json.loads((run.model / "config.json").read_text())
    renamed(config["foreword"]["recipe"], part)
    (run.model / "config.json").write_text(json.dumps(config))
    (run.path / "recipe.toml").write_text(toml.write(renamed(run.recipe().values(), part)))
    for opens in (
        lambda: foreword.load(run.path),
        lambda: foreword.load(run.model),
        run.recipe,
        lambda: loader.load(str(run.path)),
    ):
        with pytest.raises(Fault, match=rf"{part}.kind\s+'sentinel:Mine' is code from outside Foreword"):
            opens()
        assert not sentinel()


def test_a_passport_imports_nothing(trained, sentinel, tmp_path):
    run = RunFolder(shutil.copytree(trained, tmp_path / "run", symlinks=True))
    for kind in ("sentinel:Mine", "subprocess:run"):
        run.sign(task={"name": "x", "kind": kind, "learn": {"args": "true"}})
        with pytest.raises(Fault, match="code from outside Foreword"):
            taught(run.path)
    assert not sentinel()


def test_a_recipe_that_is_named_imports_its_code_and_its_run_goes_on(stores, sentinel, tmp_path, monkeypatch):
    values = renamed(tiny("gpt2", 'training.budget="2"').values(), "objective")
    (tmp_path / "mine.toml").write_text(toml.write(values))
    train(loader.load("mine.toml"), stores["byte_bpe"], tmp_path / "run")
    assert sentinel()
    del sys.modules["sentinel"]
    run = train(loader.load("mine.toml", "", ['training.budget="3"']), stores["byte_bpe"], tmp_path / "run")
    assert run.passport()["step"] == 3
    assert loader.load("run/recipe.toml") == run.recipe()

    del sys.modules["sentinel"]
    assert loader.load("gpt2", "", ["objective.kind=sentinel:Mine"]).objective.kind == "sentinel:Mine"
    assert run.recipe().objective.kind == "sentinel:Mine", "a program that imported the module itself may open the run"
    del sys.modules["sentinel"]
    monkeypatch.setenv("FOREWORD_MODULES", "other,sentinel")
    assert run.recipe().objective.kind == "sentinel:Mine"


def test_a_module_that_is_there_gives_no_more_than_settings(trained, tmp_path):
    """An imported module's functions are not called: what a recipe names must be a Spec."""
    run = RunFolder(shutil.copytree(trained, tmp_path / "run", symlinks=True))
    (run.path / "recipe.toml").write_text(
        toml.write(renamed(run.recipe().values(), "head")).replace("sentinel:Mine", "shutil:rmtree")
    )
    with pytest.raises(Fault, match="shutil:rmtree must be a Spec"):
        run.recipe()


def test_a_task_file_that_is_named_imports_its_code(sentinel, tmp_path):
    (tmp_path / "mine.toml").write_text('name = "mine"\n[source]\nkind = "sentinel:Mine"\n')
    with pytest.raises(Fault):
        opened("mine.toml")
    assert sentinel()
