"""What `datasets` gives becomes the rows our files have: names instead of class numbers, our columns. All local, no network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.tasks import hub
from foreword.tasks import task as tasks
from foreword.tasks.hub import Hub
from foreword.tasks.labelled_task import load

datasets = pytest.importorskip("datasets")

CARD = """---
dataset_info:
  features:
  - name: {text}
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          '0': {names[0]}
          '1': {names[1]}
---
"""


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


def write(path: Path, rows: list[dict]) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def folder(tmp_path: Path, text: str = "sentence", names: tuple[str, str] = ("negative", "positive")) -> Path:
    for split in ("train", "validation"):
        write(tmp_path / "set" / f"{split}.jsonl", [{text: f"{split} {n}", "label": n % 2} for n in range(20)])
    (tmp_path / "set" / "README.md").write_text(CARD.format(text=text, names=names), encoding="utf-8")
    return tmp_path / "set"


def test_class_numbers_become_names(tmp_path):
    rows = hub.rows(Hub(path=str(folder(tmp_path)), train="train", test="validation", rename={"sentence": "text"}))
    assert rows["train"][1] == {"text": "train 1", "label": "positive"}
    assert rows.keys() == {"train", "test"}


def test_a_known_task_comes_from_the_hub_under_its_own_name(tmp_path, monkeypatch):
    """sst2 asks for nyu-mll/glue; a folder answers in its place."""
    here, asked, real = folder(tmp_path), [], datasets.load_dataset

    def answered(path, config, **given):
        asked.append((path, config))
        return real(str(here), **given)

    monkeypatch.setattr(datasets, "load_dataset", answered)
    task = load("hf:sst2")
    assert asked == [("nyu-mll/glue", "sst2")]
    assert task.name == "sst2"
    assert task.labels == ("negative", "positive")
    assert [len(task.train), len(task.dev), len(task.test)] == [18, 2, 20]
    assert task.test[1].label == "positive"
    assert task.notes[0] == "Read through datasets from nyu-mll/glue."


def test_a_task_of_one_s_own_with_files(tmp_path):
    row = {"context": "It is here.", "question": "Where?", "answers": {"text": ["here"], "answer_start": [6]}}
    file = write(tmp_path / "a" / "train.jsonl", [{**row, "context": row["context"] + " " * n} for n in range(30)])
    path = tmp_path / "mine.toml"
    path.write_text(
        f'''name = "mine"
[source]
kind = "jsonl"
train = "none.jsonl"
[learn]
kind = "span"
question = "{{question}}"
context = "{{context}}"
spans = "{{answers}}"
[hub]
path = "json"
files = {{ train = "{file}" }}
''',
        encoding="utf-8",
    )
    task = load(f"hf:{path}")
    assert (task.kind, task.one_file) == ("span", True)
    assert task.train[0].label[0].text == "here"


def test_any_data_set_whose_columns_say_what_it_is(tmp_path):
    task = load(f"hf:{folder(tmp_path, 'text', ('ham', 'spam'))}")
    assert (task.kind, task.labels) == ("classify", ("ham", "spam"))
    assert len(task.dev) == 20
    assert task.notes[0] == "columns text and label, 2 different labels: single-text classification."


def test_minus_one_is_no_label():
    feature = datasets.Sequence(datasets.ClassLabel(names=["O", "B-PER"]))
    assert hub._words(feature, [1, 0, -1]) == ["B-PER", "O", "-"]
    assert hub._words(datasets.Value("int64"), 1) == 1


def test_what_cannot_be_loaded_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(Fault, match="could not be loaded"):
        load(f"hf:{tmp_path}/nothing")
    with pytest.raises(Fault, match="lambada has no data to learn from"):
        load("hf:lambada")
    with pytest.raises(Fault, match="has no split 'test'. It has: train, validation"):
        hub.rows(Hub(path=str(folder(tmp_path)), test="test"))


@pytest.mark.parametrize("name", [name for name in tasks.known() if tasks.opened(name)[0].spec.hub])
def test_what_the_hub_renames_is_what_is_read(name):
    spec = tasks.opened(name)[0].spec
    assert spec.learn is not None, "data to learn from"
    assert spec.hub.train
    assert set(spec.hub.rename.values()) <= {field for _, field in spec.learn.fields()} | {spec.learn.id.strip("{}")}
