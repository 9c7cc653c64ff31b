"""Models that read a source and write a target, asked from Python."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import foreword
from foreword.basics.messages import Fault
from foreword.parts.heads import Softmax
from foreword.runs.train import train
from tests.tiny import store_kind, tiny


@pytest.fixture(scope="module", params=["transformer", "t5"])
def model(request, stores, tmp_path_factory):
    recipe = tiny(request.param)
    return foreword.load(train(recipe, stores[store_kind(recipe)], tmp_path_factory.mktemp("runs") / "run").path)


def test_a_target_costs_what_its_logits_say(model):
    source, target = "what is a class?", "class is ssalc."
    ids = model.tokenizer.encode(target)
    read = [*model.tokenizer.encode(source), model.tokenizer.special("[end]")]
    logits = torch.from_numpy(model.logits(read, ids)).log_softmax(-1)
    assert logits.shape == (len(ids), len(model.tokenizer))
    score = model.score(target, given=source)
    assert score.nats == pytest.approx(-float(logits[np.arange(len(ids)), ids].sum()), abs=1e-3)
    assert score.tokens == len(ids) == len(score.each)
    both = model.score([target, source], given=[source, target])
    assert both[0].nats == pytest.approx(score.nats, abs=1e-3)


def test_it_writes_the_same_alone_and_in_a_batch_by_sampling_and_by_beam(model):
    texts = ["what is a class?", "what is it? no more than that, I think.", "no"]
    for settings in ({"temperature": 0}, {"beam": 3}, {"beam": 1, "length_penalty": 0.0}):
        together = model.generate(texts, max_tokens=6, **settings)
        assert together == [model.generate(text, max_tokens=6, **settings) for text in texts]
    assert model.generate(texts, max_tokens=6, temperature=0) == model.generate(texts, max_tokens=6, beam=1)
    assert model.translate(texts, max_tokens=6) == [
        text.strip() for text in model.generate(texts, max_tokens=6, beam=4)
    ]
    assert model.translate(texts, max_tokens=6, rows=1) == model.translate(texts, max_tokens=6)


def test_what_is_missing_or_too_long_is_said(model, capsys):
    with pytest.raises(Fault, match="writes from a source"):
        model.score("no source")
    with pytest.raises(Fault, match="logits\\(source_ids, target_ids\\)"):
        model.logits([5, 6])
    with pytest.raises(Fault, match="cannot embed"):
        model.embed("a text")
    model.translate(["short", "long " * 60], beam=1, max_tokens=2)
    assert "source 2: longer than the 32 tokens" in capsys.readouterr().err


@pytest.mark.parametrize("bias", [False, True])
def test_smoothing_is_torchs(bias):
    """Its charge, gradient and minimum are those of CrossEntropyLoss(label_smoothing)."""
    torch.manual_seed(0)
    head = Softmax(tied=False, bias=bias).build(8, 13, None).double()
    hidden, targets = torch.randn(6, 8, dtype=torch.float64, requires_grad=True), torch.randint(0, 13, (6,))
    mine = head.total(hidden, targets) + 0.1 * head.spread(hidden, targets)
    theirs = torch.nn.functional.cross_entropy(head.logits(hidden), targets, label_smoothing=0.1, reduction="sum")
    assert mine.item() == pytest.approx(theirs.item(), abs=1e-9)
    weights = [hidden, *head.parameters()]
    for one, other in zip(torch.autograd.grad(mine, weights), torch.autograd.grad(theirs, weights)):
        assert torch.allclose(one, other, atol=1e-9)
    assert mine.item() != pytest.approx(head.total(hidden, targets).item(), abs=1e-3)
