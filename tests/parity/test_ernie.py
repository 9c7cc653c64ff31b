"""ERNIE as transformers has it, task ids included: opened, compared, written back."""

from __future__ import annotations

import pytest
import torch

from foreword.exchange import hugging_face
from foreword.networks.base import Inputs

transformers = pytest.importorskip("transformers")
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-8}
CASES = [(act, tasks, cls) for act in ("gelu", "relu") for tasks in (0, 7) for cls in ("MaskedLM", "PreTraining")]


def theirs(act: str, tasks: int, cls: str):
    torch.manual_seed(3)
    config = transformers.ErnieConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=56,
        vocab_size=83,
        max_position_embeddings=24,
        type_vocab_size=4,
        hidden_act=act,
        use_task_id=bool(tasks),
        task_type_vocab_size=tasks or 3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = getattr(transformers, f"ErnieFor{cls}")(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(0.0, 0.1)
            if name.endswith("LayerNorm.weight"):
                weight += 1.0
    return model


def batch(tasks: int):
    draw = torch.Generator().manual_seed(7)
    ids, segments = torch.randint(0, 83, (3, 11), generator=draw), torch.randint(0, 4, (3, 11), generator=draw)
    real = torch.arange(11) < torch.tensor([[11], [6], [9]])
    return ids, real, segments, torch.tensor([0, 3, 6]) if tasks else None


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("act", "tasks", "cls"), CASES)
def test_logits_and_gradients_are_theirs(act, tasks, cls, dtype, tmp_path):
    other = theirs(act, tasks, cls)
    other.save_pretrained(tmp_path)
    mine = hugging_face.read(tmp_path).model.to(dtype).eval()
    other.to(dtype)
    ids, real, segments, task = batch(tasks)
    output = mine.network(Inputs(ids, real, segments, task))
    logits = mine.heads["tokens"].logits(output.last)
    more = {} if task is None else {"task_type_ids": task[:, None].expand_as(ids)}
    answer = other(input_ids=ids, attention_mask=real.long(), token_type_ids=segments, **more)
    wanted = answer.logits if cls == "MaskedLM" else answer.prediction_logits
    torch.testing.assert_close(logits[real], wanted[real], atol=TOLERANCE[dtype], rtol=0)
    if cls == "PreTraining":
        pairs = mine.heads["next_sentence"](output.last)
        torch.testing.assert_close(pairs, answer.seq_relationship_logits, atol=TOLERANCE[dtype], rtol=0)
    logits[real].square().sum().backward()
    wanted[real].square().sum().backward()
    found = [(mine.network.embeddings.segments, other.ernie.embeddings.token_type_embeddings)]
    found += [(mine.network.embeddings.tasks, other.ernie.embeddings.task_type_embeddings)] if tasks else []
    found += [(mine.network.blocks[0].feedforward.inner, other.ernie.encoder.layer[0].intermediate.dense)]
    for ours, its in found:
        scale = its.weight.grad.abs().max()
        torch.testing.assert_close(ours.weight.grad / scale, its.weight.grad / scale, atol=TOLERANCE[dtype], rtol=0)


def test_the_task_is_heard(tmp_path):
    theirs("gelu", 7, "MaskedLM").save_pretrained(tmp_path)
    network = hugging_face.read(tmp_path).model.network.eval()
    ids, real, segments, task = batch(7)
    first, second = (network(Inputs(ids, real, segments, one)).last for one in (task, task.flip(0)))
    assert (first[0] - second[0]).abs().max() > 1e-2
    torch.testing.assert_close(first[1], second[1])
    silent = network(Inputs(ids, real, segments)).last  # no task is the first
    torch.testing.assert_close(silent[0], first[0])


@pytest.mark.parametrize("tasks", [0, 7])
def test_what_we_write_they_open(tasks, tmp_path):
    other = theirs("relu", tasks, "PreTraining")
    other.save_pretrained(tmp_path / "theirs")
    loaded = hugging_face.read(tmp_path / "theirs")
    hugging_face.write(tmp_path / "ours", loaded.recipe, loaded.model, None)
    # without a table of tasks ERNIE is BERT, name for name
    cls = transformers.ErnieForPreTraining if tasks else transformers.BertForPreTraining
    again, report = cls.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    ids, real, segments, task = batch(tasks)
    more = {} if task is None else {"task_type_ids": task[:, None].expand_as(ids)}
    with torch.no_grad():
        one, two = (
            model.eval()(input_ids=ids, attention_mask=real.long(), token_type_ids=segments, **more).prediction_logits
            for model in (other, again)
        )
    torch.testing.assert_close(one, two, atol=1e-5, rtol=0)
