"""Tasks whose answers are written, asked of a model that reads a source and writes a target."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.evaluate import prompted
from foreword.evaluate.requests import PromptedModel
from foreword.exchange import hugging_face
from foreword.model import LoadedModel
from foreword.tasks.prompted.request import LikelihoodRequest
from foreword.tasks.task import load
from tests.tiny import drawn, tiny


@pytest.fixture
def writer(store, tmp_path):
    recipe, tokenizer = tiny("transformer", "network.context=64"), store("dialogues").tokenizer
    hugging_face.write(tmp_path / "model", recipe, drawn(recipe, tokenizer), tokenizer)
    return LoadedModel.opened(tmp_path / "model")


def test_a_source_is_read_with_its_end_and_cut_to_what_fits(writer):
    asked, end = PromptedModel.of(writer), writer.tokenizer.special("[end]")
    ids, cut = asked.source(np.arange(20, 25))
    assert (ids.tolist(), cut) == ([20, 21, 22, 23, 24, end], False)
    ids, cut = asked.source(np.arange(100))
    assert (ids.tolist(), cut) == ([*range(63), end], True)


def test_what_is_judged_is_what_it_writes_from_each_source(writer):
    (task,) = load("symbols/copy")
    result = prompted.run_task(task, PromptedModel.of(writer), None, 6, 0)
    queries = [one.requests[0].query for one in result.prompted]
    written = writer.generate(queries, temperature=0.0, max_tokens=48, stop="\n")
    assert [one.shown["written"] for one in result.judged] == [text.strip() for text in written]
    assert all(written)


def test_it_is_not_asked_how_likely_a_text_is(writer):
    with pytest.raises(Fault, match="writes from a source"):
        prompted.answer(PromptedModel.of(writer), [LikelihoodRequest("a", " b")])
