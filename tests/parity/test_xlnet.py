"""XLNet beside `transformers` (`XLNetLMHeadModel`), both ways: orders, guesses, what is remembered, segments, reversed rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import foreword
from foreword.batches.encoded import EncodedExample, EncodedText
from foreword.exchange import hugging_face
from foreword.networks.base import Inputs
from foreword.objectives.answerable_span import CHANCE, ENDS, START, UNANSWERABLE
from foreword.objectives.examples import to_batch
from tests.labelled import tokenizer

transformers = pytest.importorskip("transformers")
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

ROWS, LENGTH, REMEMBERED = 4, 10, 7


def config(**more):
    return transformers.XLNetConfig(
        vocab_size=60, d_model=32, n_layer=3, n_head=4, d_inner=48, dropout=0.0, mem_len=REMEMBERED, **more
    )


def redrawn(model):
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(torch.randn_like(weight) * 0.3 + ("norm.weight" in name))
    return model.eval()


@pytest.fixture
def pair(tmp_path, request):
    theirs = redrawn(transformers.XLNetLMHeadModel(config(**getattr(request, "param", {}))))
    theirs.save_pretrained(tmp_path / "theirs")
    return theirs, hugging_face.read(tmp_path / "theirs")


def given(seed: int = 1):
    torch.manual_seed(seed)
    order = torch.stack([torch.randperm(LENGTH) for _ in range(ROWS)])
    return {
        "ids": torch.randint(5, 60, (ROWS, LENGTH)),
        "segments": torch.randint(0, 3, (ROWS, LENGTH)).sort(1).values,
        "visible": order[:, None] < order[:, :, None],
        # the first of an order sees nothing but memory: without one, their attention is uniform over what is hidden
        "queries": torch.stack([row.argsort()[1 + torch.randperm(LENGTH - 1)[:4]] for row in order]),
    }


def logits(loaded, inputs, state=None):
    output = loaded.model.network(inputs, state)
    return loaded.model.heads["tokens"].logits(output.last), output.state


@torch.no_grad()
def test_reading_padding_and_segments_give_their_logits(pair):
    theirs, loaded = pair
    said = given()
    real = torch.arange(LENGTH) < torch.tensor([LENGTH, 7, 3, 9])[:, None]
    wanted = theirs(said["ids"], attention_mask=real.long(), token_type_ids=said["segments"]).logits
    found, _ = logits(loaded, Inputs(said["ids"], real, said["segments"]))
    assert (found - wanted)[real].abs().max() < 1e-4
    assert wanted.abs().max() > 0.5, "all logits are nearly zero"


@pytest.mark.parametrize("pair", [{}, {"reuse_len": 4}], indirect=True)
@torch.no_grad()
def test_orders_guesses_and_memory_give_their_logits(pair):
    theirs, loaded = pair
    reuse = theirs.config.reuse_len
    state, mems = None, None
    for seed in (1, 2, 3):  # the third goes on from more than there is room for
        said = given(seed)
        asked = {"perm_mask": (~said["visible"]).float(), "target_mapping": F.one_hot(said["queries"], LENGTH).float()}
        wanted = theirs(said["ids"], token_type_ids=said["segments"], mems=mems, use_mems=True, **asked)
        inputs = Inputs(
            said["ids"],
            segments=said["segments"],
            visible=said["visible"],
            queries=said["queries"],
            remembered=reuse,
        )
        found, state = logits(loaded, inputs, state)
        assert (found - wanted.logits).abs().max() < 1e-4
        mems = wanted.mems
        assert all((ours - other.transpose(0, 1)).abs().max() < 1e-4 for ours, other in zip(state.layers, mems))
    assert state.layers[0].size(1) == REMEMBERED


@torch.no_grad()
def test_the_reversed_half_of_a_batch_gives_their_logits(pair, tmp_path):
    _, loaded = pair
    theirs = redrawn(transformers.XLNetLMHeadModel(config(bi_data=True)))
    said = given()
    before = given(5)["ids"]
    mems = theirs(before, use_mems=True).mems
    wanted = theirs(said["ids"], token_type_ids=said["segments"], mems=mems, use_mems=True).logits
    backward = torch.arange(ROWS) >= ROWS // 2
    _, state = logits(loaded, Inputs(before, backward=backward))
    found, _ = logits(loaded, Inputs(said["ids"], segments=said["segments"], backward=backward), state)
    assert (found - wanted).abs().max() < 1e-4


@torch.no_grad()
def test_the_first_of_an_order_is_where_they_leak_and_we_do_not(pair):
    """1e30 taken from every score swallows them all: their first guess depends on what it must not see, ours does not."""
    theirs, loaded = pair
    ids, other = torch.randint(5, 60, (1, 5)), torch.randint(5, 60, (1, 5))
    hidden, place = torch.ones(1, 5, 5), torch.tensor([[2]])
    said = [theirs(x, perm_mask=hidden, target_mapping=F.one_hot(place, 5).float()).logits for x in (ids, other)]
    ours = [logits(loaded, Inputs(x, visible=hidden == 0, queries=place))[0] for x in (ids, other)]
    assert (said[0] - said[1]).abs().max() > 1e-2
    assert torch.equal(*ours)


@torch.no_grad()
def test_our_folder_gives_them_our_logits_and_python_has_the_same(pair, tmp_path):
    theirs, loaded = pair
    hugging_face.write(tmp_path / "ours", loaded.recipe, loaded.model, None)
    back, report = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["unexpected_keys"]
    assert not report["missing_keys"]
    ids = given()["ids"]
    wanted = back.eval()(ids).logits
    assert (wanted - theirs(ids).logits).abs().max() < 1e-6
    lm = foreword.load(tmp_path / "ours")
    assert "logits" in lm.abilities
    assert np.abs(lm.logits(ids[0].tolist()) - wanted[0].numpy()).max() < 1e-4
    said = given()
    asked = back(
        ids[:1],
        perm_mask=(~said["visible"][:1]).float(),
        target_mapping=F.one_hot(said["queries"][:1], LENGTH).float(),
    ).logits[0]
    found = lm.logits(ids[0].tolist(), visible=said["visible"][0].numpy(), targets=said["queries"][0].tolist())
    assert np.abs(found - asked.numpy()).max() < 1e-4


@torch.no_grad()
def test_a_trunk_alone_is_opened(tmp_path):
    theirs = redrawn(transformers.XLNetModel(config()))
    theirs.save_pretrained(tmp_path / "theirs")
    loaded = hugging_face.read(tmp_path / "theirs")
    ids = given()["ids"]
    assert (loaded.model.network(Inputs(ids)).last - theirs(ids).last_hidden_state).abs().max() < 1e-4


@pytest.mark.parametrize(
    ("said", "words"), [({"attn_type": "uni"}, "attn_type = 'uni'"), ({"same_length": True}, "same_length = True")]
)
def test_what_we_do_not_have_is_said(said, words, tmp_path):
    transformers.XLNetLMHeadModel(config(**said)).save_pretrained(tmp_path / "theirs")
    with pytest.raises(foreword.basics.messages.Fault, match=words):
        hugging_face.read(tmp_path / "theirs")


@torch.no_grad()
def test_starts_ends_and_answerability_are_theirs_both_ways(tmp_path):
    """SQuAD 2.0: the likeliest starts, the ends of each given it, and the score of no answer, of `XLNetForQuestionAnswering`."""
    theirs = redrawn(transformers.XLNetForQuestionAnswering(config(start_n_top=3, end_n_top=4)))
    theirs.save_pretrained(tmp_path / "theirs")
    loaded = hugging_face.read(tmp_path / "theirs")
    objective = loaded.recipe.objective.model_copy(update={"none": True, "starts": 3})
    sequences = [
        EncodedText(np.asarray(ids), np.asarray(segments))
        for ids, segments in (
            ([7, 8, 9, 4, 20, 21, 22, 23, 24, 4, 3], [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2]),
            ([9, 9, 4, 30, 31, 32, 33, 34, 35, 4, 3], [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2]),
        )
    ]
    examples = [
        EncodedExample((0,), (sequences[0],), np.asarray([5, 7])),
        EncodedExample((1,), (sequences[1],), np.asarray([10, 10])),
    ]
    batch = to_batch(
        examples,
        tokenizer("bert"),
        "end",
        {"answerable_span": objective.targets(examples)},
        {"answerable_span": "example"},
    )
    output = loaded.model.network(batch.inputs)
    hidden = 1.0 - objective.allowed(batch).float()
    said = {"token_type_ids": batch.inputs.segments, "p_mask": hidden}
    wanted = theirs(batch.inputs.ids, **said)
    found = torch.stack(objective.scores(loaded.model, output, batch))
    logs = theirs.start_logits(output.last, p_mask=hidden).log_softmax(-1)
    assert (found[:, :, CHANCE] - logs.gather(1, found[:, :, START].long())).abs().max() < 1e-4
    assert (found[:, 0, UNANSWERABLE] - wanted.cls_logits).abs().max() < 1e-4
    for row in range(2):
        for likely in found[row]:
            start = likely[START].long().view(1)
            ends = theirs.end_logits(output.last[row : row + 1], start_positions=start, p_mask=hidden[row : row + 1])
            assert (likely[ENDS:].exp() - ends[0].softmax(-1)).abs().max() < 1e-5
            assert not objective.allowed(batch)[row, start] or int(start) < 10, (
                "a start is never the place of no answer"
            )
    answered = theirs(
        batch.inputs.ids,
        **said,
        start_positions=torch.tensor([5, 10]),
        end_positions=torch.tensor([7, 10]),
    ).loss  # the mean of both rows, without answerability
    plain = objective.model_copy(update={"none": False}).charges(loaded.model, output, batch)["answerable_span"].total
    assert float(plain) / 2 == pytest.approx(float(answered), rel=1e-4)
    with_none = objective.charges(loaded.model, output, batch)["answerable_span"].total
    more = F.binary_cross_entropy_with_logits(wanted.cls_logits, torch.tensor([0.0, 1.0]), reduction="sum")
    assert float(with_none - plain) == pytest.approx(0.5 * float(more), rel=1e-3)
    hugging_face.write(tmp_path / "ours", loaded.recipe, loaded.model, None)
    _, report = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["unexpected_keys"] | report["missing_keys"]


@pytest.mark.parametrize("architecture", ["SequenceClassification", "TokenClassification", "MultipleChoice"])
@torch.no_grad()
def test_their_classes_for_tasks_open_and_answer_alike(architecture, tmp_path):
    theirs = redrawn(getattr(transformers, f"XLNetFor{architecture}")(config(summary_last_dropout=0.0)))
    theirs.save_pretrained(tmp_path / "theirs")
    loaded = hugging_face.read(tmp_path / "theirs")
    ids = given()["ids"]
    head = loaded.model.heads[loaded.recipe.objective.kind]
    hidden = loaded.model.network(Inputs(ids)).last
    if architecture == "TokenClassification":
        assert (head(hidden) - theirs(ids).logits).abs().max() < 1e-4
    else:
        wanted = theirs(ids).logits if architecture == "SequenceClassification" else theirs(ids[:, None]).logits
        there = torch.ones_like(ids, dtype=torch.bool)
        assert (head(head.states(hidden, there)) - wanted).abs().max() < 1e-4
