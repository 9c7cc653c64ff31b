"""Against `transformers`: a fine-tuned folder opens there, tokenizer and all, and gives the predictions that we wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foreword.transfer.finetune import finetune
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder, task

transformers = pytest.importorskip("transformers")
transformers.utils.logging.set_verbosity_error()
QUICK = FinetuneSettings(epochs=3, batch_size=16, learning_rate=3e-3)


def tuned(family: str, kind: str, tmp_path: Path) -> tuple[Any, Path, list[dict[str, Any]]]:
    whole = task(kind, 48, 12, 12)
    run = finetune(folder(family, tmp_path / "base"), whole, tmp_path / "run", QUICK)
    lines = [json.loads(line) for line in (run.path / "predictions.jsonl").read_text("utf-8").splitlines()]
    return whole, run.model, [line for line in lines if line["split"] == "test"]


def asked(tokenizer: Any, *texts: Any, **more: Any) -> Any:
    return tokenizer(*texts, return_tensors="pt", padding=True, **more)


@pytest.mark.parametrize("family", ["gpt2", "gpt1", "bert"])
@pytest.mark.parametrize("kind", ["classify", "pair"])
def test_classes_are_those_of_auto_model_and_auto_tokenizer(kind: str, family: str, tmp_path: Path) -> None:
    whole, model, ours = tuned(family, kind, tmp_path)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    columns = [[one.texts[i] for one in whole.test] for i in range(len(whole.test[0].texts))]
    with torch.no_grad():
        shares = theirs(**asked(tokenizer, *columns)).logits.softmax(-1)
    for line, share in zip(ours, shares):
        named = {theirs.config.id2label[i]: float(value) for i, value in enumerate(share)}
        assert named == pytest.approx(line["scores"], abs=1e-5)
        assert max(named, key=lambda label: named[label]) == line["answer"]


def test_the_pipeline_of_transformers_says_the_same(tmp_path: Path) -> None:
    whole, model, ours = tuned("gpt2", "classify", tmp_path)
    ask = transformers.pipeline("text-classification", model=str(model), device="cpu")
    found = ask([one.texts[0] for one in whole.test], batch_size=4)
    assert [one["label"] for one in found] == [line["answer"] for line in ours]


def test_a_similarity_of_gpt_is_the_sum_over_both_orders(tmp_path: Path) -> None:
    whole, model, ours = tuned("gpt2", "similarity", tmp_path)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    first, second = ([one.texts[i] for one in whole.test] for i in (0, 1))
    with torch.no_grad():
        both = theirs(**asked(tokenizer, first, second)).logits + theirs(**asked(tokenizer, second, first)).logits
    assert both[:, 0].tolist() == pytest.approx([line["answer"] for line in ours], abs=1e-4)


def test_choices_of_bert(tmp_path: Path) -> None:
    whole, model, ours = tuned("bert", "choice", tmp_path)
    theirs = transformers.AutoModelForMultipleChoice.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    for one, line in zip(whole.test, ours):
        given = asked(tokenizer, [one.texts[0]] * 3, list(one.choices))
        with torch.no_grad():
            shares = theirs(**{name: value[None] for name, value in given.items()}).logits.softmax(-1)[0]
        assert shares.tolist() == pytest.approx(list(line["scores"].values()), abs=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_tags_at_first_pieces(family: str, tmp_path: Path) -> None:
    whole, model, ours = tuned(family, "tag", tmp_path)
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    for one, line in zip(whole.test, ours):
        given = asked(tokenizer, one.texts[0], return_offsets_mapping=True)
        offsets = given.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            said = theirs(**given).logits[0].argmax(-1)
        firsts = [
            next(i for i, (start, end) in enumerate(offsets) if start < word.end and end > word.start)
            for word in one.words
        ]
        assert [theirs.config.id2label[int(said[i])] for i in firsts] == line["answer"]


def test_answers_of_bert(tmp_path: Path) -> None:
    whole, model, ours = tuned("bert", "span", tmp_path)
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    for one, line in zip(whole.test, ours):
        given = asked(tokenizer, *one.texts, return_offsets_mapping=True)
        offsets = given.pop("offset_mapping")[0].numpy()
        with torch.no_grad():
            found = theirs(**given)
        text = given["token_type_ids"][0].bool().numpy() & (offsets[:, 1] > 0)
        table = found.start_logits[0].numpy()[:, None] + found.end_logits[0].numpy()[None]
        table[~(text[:, None] & text[None])] = -np.inf
        table[np.tril_indices(len(text), -1)] = -np.inf
        start, end = np.unravel_index(table.argmax(), table.shape)
        assert line["span"] == [int(offsets[start, 0]), int(offsets[end, 1])]
