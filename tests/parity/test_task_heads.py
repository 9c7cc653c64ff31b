"""Against `transformers`: heads for labelled tasks give the same logits, read from its folders and written into ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.exchange import hugging_face
from foreword.exchange.family import task_of
from foreword.networks.base import Inputs
from foreword.objectives.examples import ExampleBatch
from foreword.tokens.vocabulary import Vocabulary
from tests.parity.test_hugging_face import BERT, CASES, NEO, SMALL, TOLERANCE, redrawn

transformers = pytest.importorskip("transformers")
both_dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=["float32", "float64"])
CHOICES = 2


@dataclass(frozen=True)
class Task:
    """One of their classes, and the same as an objective of ours."""

    cls: str
    case: str
    objective: str
    settings: tuple[str, ...]

    @property
    def first(self) -> bool:
        return self.case == "bert"

    def theirs(self) -> Any:
        torch.manual_seed(0)
        more = (
            {}
            if self.objective in ("span", "choose")
            else {"num_labels": 1 if self.objective in ("regress", "rank") else 3}
        )
        more |= {} if self.first else {"pad_token_id": 0}
        return redrawn(getattr(transformers, self.cls)(CASES[self.case].config(**more)).eval())

    def ours(self) -> tuple[Any, Any]:
        torch.manual_seed(1)
        case = CASES[self.case]
        labels = {"labels": ["a", "b", "c"]} if self.objective in ("classify", "tag") else {}
        values = loader.load(case.recipe, "", self.settings).values()
        values["objective"] = {"kind": self.objective, "reading": "first" if self.first else "last", **labels}
        values["batches"] = {"kind": "examples"}
        recipe = loader.from_values(values, "test")
        return recipe, redrawn(model_for(recipe, Vocabulary(case.vocabulary, -1, ())).eval())


TASKS = {
    f"{case} {kind}": Task(cls, case, kind, settings)
    for case, settings, classes in (
        (
            "bert",
            BERT,
            {
                "classify": "BertForSequenceClassification",
                "regress": "BertForSequenceClassification",
                "rank": "BertForSequenceClassification",
                "choose": "BertForMultipleChoice",
                "tag": "BertForTokenClassification",
                "span": "BertForQuestionAnswering",
            },
        ),
        (
            "gpt2",
            SMALL,
            {
                "classify": "GPT2ForSequenceClassification",
                "regress": "GPT2ForSequenceClassification",
                "rank": "GPT2ForSequenceClassification",
                "choose": "GPT2DoubleHeadsModel",
                "tag": "GPT2ForTokenClassification",
                "span": "GPT2ForQuestionAnswering",
            },
        ),
        (
            "openai-gpt",
            SMALL,
            {"classify": "OpenAIGPTForSequenceClassification", "choose": "OpenAIGPTDoubleHeadsModel"},
        ),
        (
            "gpt_neo",
            NEO,
            {
                "classify": "GPTNeoForSequenceClassification",
                "tag": "GPTNeoForTokenClassification",
                "span": "GPTNeoForQuestionAnswering",
            },
        ),
    )
    for kind, cls in classes.items()
}
every_task = pytest.mark.parametrize("name", TASKS)


@dataclass(frozen=True)
class Rows:
    ids: torch.Tensor
    there: torch.Tensor
    segments: torch.Tensor


def rows(vocabulary: int) -> Rows:
    """Four sequences of unequal length, padded at the right with 0, which no token is."""
    lengths = torch.tensor([9, 5, 3, 9])
    there = torch.arange(9) < lengths[:, None]
    draw = torch.Generator().manual_seed(3)
    ids = torch.randint(1, vocabulary, (4, 9), generator=draw).where(there, 0)
    return Rows(ids, there, (torch.arange(9) > 3).long().expand(4, 9).where(there, 0))


def said_by_us(recipe: Any, model: Any, given: Rows) -> list[torch.Tensor]:
    task = task_of(recipe)
    inputs = Inputs(given.ids, given.there, given.segments) if task.reading == "first" else Inputs(given.ids)
    counts = (CHOICES,) * 2 if task.kind == "choose" else (1,) * 4
    batch = ExampleBatch(inputs, {}, there=given.there, counts=counts, units={})
    with torch.no_grad():
        return task.scores(model, model.network(inputs), batch)


def said_by_them(task: Task, model: Any, given: Rows) -> list[torch.Tensor]:
    asked = {"input_ids": given.ids, "attention_mask": given.there.long()}
    asked |= {"token_type_ids": given.segments} if task.first else {}
    if task.objective == "choose":
        asked = {name: value.view(2, CHOICES, -1) for name, value in asked.items()}
        if not task.first:
            del asked["attention_mask"]  # GPT-1's class cannot take it with choices; what is at the right is not seen
            asked["mc_token_ids"] = (given.there.sum(1) - 1).view(2, CHOICES)
    with torch.no_grad():
        found = model(**asked)
    if task.objective == "span":
        return [torch.stack([a, b], 1)[there] for a, b, there in zip(found.start_logits, found.end_logits, given.there)]
    if task.objective == "choose":
        return list(found.logits if task.first else found.mc_logits)
    if task.objective == "tag":
        return [one[there] for one, there in zip(found.logits, given.there)]
    return [one[0] if task.objective == "regress" else one for one in found.logits]


def alike(ours: list[torch.Tensor], theirs: list[torch.Tensor], tolerance: float) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape
        assert float((a - b).abs().max()) < tolerance
        assert float(b.abs().max()) > 1e-3, "nothing is compared"


@both_dtypes
@every_task
def test_their_folder_opens_with_its_head(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    task = TASKS[name]
    theirs = task.theirs()
    theirs.save_pretrained(tmp_path)
    loaded = hugging_face.read(tmp_path)
    if task.objective == "rank":  # to them it is a class of one number, which is a regression
        recipe = loaded.recipe
        assert recipe.objective.kind == "regress"
        task = replace(task, objective="regress")
    assert loaded.recipe.objective.kind == task.objective
    given = rows(CASES[task.case].vocabulary)
    tolerance = CASES[task.case].tolerance(dtype)
    alike(
        said_by_us(loaded.recipe, loaded.model.to(dtype), given), said_by_them(task, theirs.to(dtype), given), tolerance
    )


@both_dtypes
@every_task
def test_our_folder_opens_there(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    task = TASKS[name]
    recipe, model = task.ours()
    hugging_face.write(tmp_path, recipe, model, None)
    theirs, report = getattr(transformers, task.cls).from_pretrained(tmp_path, output_loading_info=True, pad_token_id=0)
    assert not [key for key in report["missing_keys"] if key != "lm_head.weight"]
    assert not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    given = rows(CASES[task.case].vocabulary)
    tolerance = CASES[task.case].tolerance(dtype)
    ours = said_by_us(recipe, model.to(dtype), given)
    alike(ours, said_by_them(task, theirs.to(dtype).eval(), given), tolerance)
    again = hugging_face.read(tmp_path)
    assert again.recipe.objective == recipe.objective
    alike(said_by_us(again.recipe, again.model.to(dtype), given), ours, tolerance)


def test_a_class_keeps_the_names_of_its_labels(tmp_path: Path) -> None:
    recipe, model = TASKS["bert classify"].ours()
    hugging_face.write(tmp_path, recipe, model, None)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    assert config.id2label == {0: "a", 1: "b", 2: "c"}
    assert config.problem_type == "single_label_classification"


@pytest.mark.parametrize("name", ["gpt2 classify", "openai-gpt classify"])
def test_padding_on_the_left_changes_nothing(name: str) -> None:
    recipe, model = TASKS[name].ours()
    given = rows(CASES[TASKS[name].case].vocabulary)
    right = said_by_us(recipe, model, given)
    moved = [torch.cat([ids[~there], ids[there]]) for ids, there in zip(given.ids, given.there)]
    there = given.there.flip(1)
    inputs = Inputs(torch.stack(moved), there)
    batch = ExampleBatch(inputs, {}, there=there, counts=(1,) * 4, units={})
    with torch.no_grad():
        left = task_of(recipe).scores(model, model.network(inputs), batch)
    alike(left, right, 1e-5)
