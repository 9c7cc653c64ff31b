"""The unit that follows a label: what is carried is read exactly, a planted unit is found, and exchanged labels find nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import foreword
from foreword.basics.messages import Fault
from foreword.compare import units
from foreword.networks.base import Inputs
from foreword.runs.train import train
from foreword.tasks.example import Example
from foreword.tasks.labelled.classify import Classification
from foreword.tasks.labelled_task import LabelledTask
from tests.tiny import tiny


def task(sizes=(400, 200, 400)) -> LabelledTask:
    learn = Classification(text="{text}", label="{label}")
    made = [
        tuple(Example(str(n), (f"{split} {n}",), "good" if n % 2 else "bad") for n in range(size))
        for split, size in zip(("train", "dev", "test"), sizes)
    ]
    return LabelledTask("planted", learn, ("bad", "good"), *made)


class Planted:
    """Twenty units of noise, the seventh of which mostly has the sign of the label."""

    carries = True

    def of(self, texts):
        rows = []
        for text in texts:
            rng = np.random.default_rng([len(text), *text.encode()])
            row = rng.normal(size=20)
            row[7] += 1.5 if int(text.split()[1]) % 2 else -1.5
            rows.append(row)
        return np.stack(rows)

    def along(self, text, unit):
        return [(sign, float(place)) for place, sign in enumerate(text)]


class Named:
    name = "runs/x"


def test_a_planted_unit_is_found_and_exchanged_labels_find_none():
    found = units.find(Named(), task(), Planted())
    assert found.units[0].number == 7
    assert found.units[0].weight > 0
    assert found.units[0].means["bad"] < -1 < 1 < found.units[0].means["good"]
    assert found.alone.test[0].value > 0.88
    assert found.whole.test[0].value > 0.88
    assert found.control.test[0].value < 0.6
    assert found.control.name != "unit 7, of exchanged labels"
    assert 1 <= found.left < 20
    said = units.report(found, Planted())
    assert "it follows the label." in said.lead[0]
    assert "--clamp 7=" in "\n".join(said.lines())
    assert "<svg" in said.html()
    assert said.values["units"][0]["unit"] == 7


def test_fewer_units_are_left_the_smaller_c_is():
    reader, some = Planted(), task()
    train_, labels = units.read(reader, some.train), np.asarray([example.label for example in some.train])
    left = [int((units._l1(train_, labels, c)[-1].coef_ != 0).sum()) for c in units.STRENGTHS]
    assert left == sorted(left)
    assert left[0] < left[-1]


def test_a_task_of_pairs_has_no_unit(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("premise,hypothesis,label\n" + "".join(f"p{n},h{n},{n % 2}\n" for n in range(40)), encoding="utf-8")
    from foreword.tasks.labelled_task import load

    with pytest.raises(Fault, match="units are read for the classes of single texts"):
        units.find(Named(), load(str(path)), Planted())


TEXTS = ["A class definition", "the", "今天 a class", "one, two, three", "the", "two lines\nof text"]


@pytest.mark.parametrize("name", ["mlstm", "lstm", "rnnlm", "gpt2"])
def test_what_is_carried_is_that_of_reading_token_by_token(name, stores, tmp_path):
    train(tiny(name, 'training.budget="2"'), stores["byte_bpe"], tmp_path / "run")
    model = foreword.load(tmp_path / "run")
    reader, network = units.UnitReader(model), model.with_heads.network
    together = reader.of(TEXTS)
    assert reader.carries == (name != "gpt2")
    for text, row in zip(TEXTS, together):
        alone = units.UnitReader(model).of([text])[0]
        assert np.allclose(alone, row, atol=1e-5)
        along = reader.along(text, 1)
        assert "".join(sign for sign, _ in along) == text
        if not reader.carries:
            continue
        state = None
        with torch.inference_mode():
            for token in [model.tokenizer.special("[end]"), *model.tokenizer.encode(text)]:
                state = network(Inputs(torch.tensor([[token]])), state).state
        assert np.allclose(network.units(state)[0].numpy(), row, atol=1e-5)
        assert along[-1][1] == pytest.approx(row[1], abs=1e-5)
