"""Entities hidden as a whole: the right tokens, the right windows, and what a perfect and a wrong model score."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault
from foreword.evaluate.entity_cloze import EntityQuestion, ask, hidden, is_cloze, questions, report
from foreword.runs.opening import TrainedModel
from tests.tiny import drawn, tiny

TEXT = "the import statement binds a name in the local namespace"


class Knows(torch.nn.Module):
    """A head that answers with given ids, one after another; every other one wrongly if it is to fail."""

    def __init__(self, size, answers):
        super().__init__()
        self.size, self.answers = size, list(answers)

    def log_probs(self, vectors):
        found = torch.zeros(len(vectors), self.size)
        for row in found:
            row[self.answers.pop(0)] = 1.0
        return found


@pytest.fixture
def model(store):
    text = store("wordpiece")
    return drawn(tiny("bert"), text.tokenizer), text.tokenizer


def test_all_tokens_of_the_entity_are_hidden_and_no_others(model):
    _, tokenizer = model
    start = TEXT.index("import statement")
    shown, places, answer = hidden(EntityQuestion(TEXT, start, start + 16), tokenizer, None)
    ids = tokenizer.encode(TEXT)
    assert tokenizer.decode(answer) == "import statement"
    assert (shown == tokenizer.special("[mask]")).nonzero()[0].tolist() == places.tolist()
    restored = shown.copy()
    restored[places] = answer
    assert restored[1:-1].tolist() == ids


@pytest.mark.parametrize("context", [12, 14, 20])
def test_as_much_as_fits_stands_around_the_entity(model, context):
    _, tokenizer = model
    for word in ("the", "statement", "namespace"):
        start = TEXT.index(word)
        shown, places, answer = hidden(EntityQuestion(TEXT, start, start + len(word)), tokenizer, context)
        assert len(shown) == min(context, len(tokenizer.encode(TEXT)) + 2)
        assert tokenizer.decode(answer) == word
        assert (shown[places] == tokenizer.special("[mask]")).all()


def test_whole_entities_count_only_if_every_piece_is_right(model):
    network, tokenizer = model
    asked = [
        EntityQuestion(TEXT, TEXT.index(word), TEXT.index(word) + len(word))
        for word in ("binds a name", "local namespace")
    ]
    answers = [hidden(one, tokenizer, None)[2] for one in asked]
    assert min(map(len, answers)) > 1, "names of several pieces were wanted"
    order = np.concatenate(answers)  # one text: rows of equal length, read in order
    network.heads["tokens"] = Knows(len(tokenizer), order.tolist())
    score = ask(network, tokenizer, asked)
    assert (score.asked, score.whole, score.right) == (2, 2, len(order))
    wrong = order.copy()
    wrong[0] = (wrong[0] + 1) % len(tokenizer)
    network.heads["tokens"] = Knows(len(tokenizer), wrong.tolist())
    score = ask(network, tokenizer, asked)
    assert (score.whole, score.right) == (1, len(order) - 1)


def test_several_models_stand_side_by_side(model, tmp_path):
    path = tmp_path / "cloze.jsonl"
    path.write_text(json.dumps({"text": TEXT, "entities": [[0, 3], [4, 10]]}) + "\n", encoding="utf-8")
    assert is_cloze(path)
    assert len(questions(path)) == 2
    opened = TrainedModel("bert", tiny("bert"), *model)
    values = report({"one": opened, "two": opened}, [path]).values
    assert values["one"] == values["two"]
    assert values["one"]["cloze.jsonl"]["asked"] == 2


def test_files_without_entities_are_not_asked(tmp_path):
    path = tmp_path / "plain.jsonl"
    path.write_text('{"text": "nothing"}\n', encoding="utf-8")
    assert not is_cloze(path)
    with pytest.raises(Fault, match="no entity to ask for"):
        questions(path)
