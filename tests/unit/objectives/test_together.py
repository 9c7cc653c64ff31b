import pytest
import torch

from foreword.objectives.base import NOTHING, Batch, Charge
from foreword.objectives.causal import Causal
from foreword.objectives.combine import CombinedObjectives
from foreword.objectives.masked import Masked
from foreword.objectives.next_sentence import NextSentence
from tests.rows import causal
from tests.tiny import drawn, learner_for, tiny


def test_weights_multiply_the_charges(store):
    recipe = tiny("bert")
    open_store = store("wordpiece")
    model = drawn(recipe, open_store.tokenizer)
    _, stream = learner_for(recipe, open_store)
    batch = stream.batch(0)
    plain = CombinedObjectives(parts=[Masked(), NextSentence()]).loss(model, batch).charges
    weighted = CombinedObjectives(parts=[Masked(), NextSentence()], weights=[2.0, 0.5]).loss(model, batch).charges
    assert {name: charge.weight for name, charge in plain.items()} == {"tokens": 1.0, "next_sentence": 1.0}
    assert {name: charge.weight for name, charge in weighted.items()} == {"tokens": 2.0, "next_sentence": 0.5}
    assert all(torch.equal(plain[name].total, weighted[name].total) for name in plain)
    assert isinstance(plain["tokens"], Charge)


def test_it_needs_parts_and_as_many_weights():
    assert CombinedObjectives(parts=[]).faults()[0][0] == "parts"
    assert CombinedObjectives(parts=[Masked()], weights=[1.0, 2.0]).faults()[0][0] == "weights"
    assert CombinedObjectives(parts=[Masked(rate=1.0)]).faults()[0][0] == "parts.0.rate"
    both = CombinedObjectives(parts=[Masked(), NextSentence()])
    assert both.writes == {"ids", "real", "segments"}
    assert both.specials == ("[cls]", "[separator]", "[mask]")


def test_causal_targets_are_the_inputs_one_later(store):
    from foreword.batches.cuts import Documents

    open_store = store("paragraphs")
    rows = causal(Documents(length=20)).over(open_store, 8, 0).rows(0, 0, 8)
    batch = Causal().collate(rows, open_store.tokenizer)
    assert isinstance(batch, Batch)
    for row, ids, targets in zip(rows, batch.inputs.ids, batch.targets["tokens"]):
        length = len(row.ids) - 1
        assert ids[:length].tolist() == row.ids[:-1].tolist()
        assert targets[:length].tolist() == row.ids[1:].tolist()
        assert (targets[length:] == NOTHING).all()
    assert batch.guesses["tokens"] == sum(len(row.ids) - 1 for row in rows)
    with pytest.raises(TypeError):
        super(Causal, Causal()).collate(rows, open_store.tokenizer)
