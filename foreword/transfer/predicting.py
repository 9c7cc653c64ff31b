"""Label new text with a fine-tuned run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault
from foreword.batches.examples import Examples
from foreword.exchange.family import task_of
from foreword.exchange.hugging_face import Loaded
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.tasks import LEARN
from foreword.tasks.example import Example, Span
from foreword.tasks.labelled import unlabelled
from foreword.tasks.learn import Learn
from foreword.tasks.sources import numbered
from foreword.transfer.answering import Reply, form_of, reply
from foreword.transfer.finetune import way_of
from foreword.transfer.writer import Writer


class Predictor:
    """A fine-tuned run, open."""

    def __init__(self, path: Path):
        said: dict[str, Any] = RunFolder(path).passport().get("task", {})
        if not said:
            raise Fault(f"{path} is not a fine-tuned run.", "Make one:  foreword finetune MODEL TASK --out RUN")
        self.loaded: Loaded = open_model(path)
        self.learn: Learn = LEARN.find(said["kind"])(**said["learn"])
        self.form, self.labels = form_of(said["kind"]), tuple(said["labels"])
        tokenizer, cut = self.loaded.tokenizer, self.loaded.recipe.batches
        assert tokenizer is not None
        assert isinstance(cut, Examples)
        self.tokenizer = tokenizer
        self.writer = Writer(way_of(self.loaded.recipe), tokenizer, cut)

    def examples(self, path: Path) -> list[Example]:
        """The examples of a file, which need no labels: columns as in training; of a .txt, every line is one."""
        return lines_of(path, self.learn) if path.suffix == ".txt" else unlabelled(path, self.learn)

    def predict(self, examples: list[Example]) -> Reply:
        encoded = self.form.encode(examples, self.labels, self.writer)
        return reply(self.loaded.model, task_of(self.loaded.recipe), self.form, examples, encoded, self.tokenizer)


def lines_of(path: Path, learn: Learn) -> list[Example]:
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    if learn.kind not in ("classify", "tag"):
        raise Fault(f"{path} has one text on a line; {learn.in_words} needs more than that.",
                    f"Give a csv, tsv or jsonl with the columns {', '.join(name for _, name in learn.fields(labelled=False))}.")
    found = [Example(str(number), (line.strip(),), words=_words(line.strip())) for number, line in numbered(path) if line.strip()]
    if not found:
        raise Fault(f"{path} holds no text.")
    return found


def _words(line: str) -> tuple[Span, ...]:
    found, at = [], 0
    for word in line.split():
        at = line.index(word, at)
        found.append(Span(at, at + len(word), word))
        at += len(word)
    return tuple(found)
