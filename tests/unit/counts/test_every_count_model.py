"""What every count model promises, whatever it counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.counts import KINDS
from foreword.counts.model import CountModel, CountSpec
from foreword.counts.ngrams import NGram
from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.smoothing import AbsoluteDiscounting, JelinekMercer, Katz, KneserNey, WittenBell
from foreword.tokens.vocabulary import Vocabulary

SPECS = [
    NGram(order=0),
    NGram(order=1),
    NGram(order=2),
    NGram(order=3),
    NGram(order=5),
    NGram(order=2, add=0.5),
    NGram(order=1, add=0.0),
    NGram(order=3, add=0.0),
    SmoothedNGram(order=1, smoothing=JelinekMercer(buckets=1, weights=[0.01, 0.99])),
    SmoothedNGram(order=1, smoothing=JelinekMercer(buckets=1)),
    SmoothedNGram(order=2, smoothing=JelinekMercer(buckets=1)),
    SmoothedNGram(order=4, smoothing=JelinekMercer(buckets=1)),
    SmoothedNGram(order=3, smoothing=JelinekMercer(buckets=1, weights=[0.1, 0.0, 0.5, 0.4])),
    SmoothedNGram(order=2, smoothing=JelinekMercer(buckets=1, weights=[0.0, 0.0, 1.0])),
    SmoothedNGram(order=1),
    SmoothedNGram(order=2),
    SmoothedNGram(order=3),
    SmoothedNGram(order=5),
    SmoothedNGram(order=9),
    SmoothedNGram(order=3, smoothing=KneserNey(discounts=1)),
    SmoothedNGram(order=4, smoothing=AbsoluteDiscounting()),
    SmoothedNGram(order=3, smoothing=AbsoluteDiscounting(discounts=3)),
    SmoothedNGram(order=1, smoothing=WittenBell()),
    SmoothedNGram(order=4, smoothing=WittenBell()),
    SmoothedNGram(order=1, smoothing=Katz()),
    SmoothedNGram(order=3, smoothing=Katz()),
    SmoothedNGram(order=5, smoothing=Katz(discounted=2)),
    SmoothedNGram(order=3, smoothing=JelinekMercer()),
    SmoothedNGram(order=5, smoothing=JelinekMercer(buckets=4)),
    SmoothedNGram(order=4, prune=[0, 0, 1]),
    SmoothedNGram(order=3, prune=[0, 1, 2]),
    SmoothedNGram(order=4, entropy=1e-3),
    SmoothedNGram(order=4, entropy=1e9),
    SmoothedNGram(order=4, prune=[0, 0, 0, 1], entropy=1e-4),
    SmoothedNGram(order=4, smoothing=Katz(), prune=[0, 0, 1], entropy=1e-4),
    SmoothedNGram(order=3, smoothing=WittenBell(), entropy=1e-3),
    SmoothedNGram(order=4, quantize=3),
    SmoothedNGram(order=4, quantize=8, hashed=True),
    SmoothedNGram(order=3, smoothing=Katz(), prune=[0, 1], quantize=2),
    SmoothedNGram(order=5, hashed=True),
]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=str)


def built(spec: CountSpec, vocabulary: Vocabulary, train: np.ndarray, held_out: np.ndarray) -> CountModel:
    model = spec.build(vocabulary)
    assert model.count(train) == len(train)
    model.estimate(held_out)
    return model


def histories(train: np.ndarray, vocabulary: Vocabulary) -> list[np.ndarray]:
    """Document starts, histories from the text, random ones, and ones with tokens never counted or never written."""
    rng = chance(5)
    out: list[np.ndarray] = [np.array([], int), np.array([vocabulary.end]), np.array([11]), np.array([12, 3])]
    for length in (1, 2, 3, 4, 7):
        for _ in range(15):
            at = int(rng.integers(len(train) - length))
            part = train[at : at + length]
            out += [part, rng.integers(0, 12, length), np.append(vocabulary.end, part)]
            if length > 1:
                out.append(np.where(np.arange(length) == length // 2, 11, part))
    return out


@each_spec
def test_probabilities_of_the_next_token_sum_to_one(spec, vocabulary, train, held_out):
    model = built(spec, vocabulary, train, held_out)
    log_probs, state = model.begin(histories(train, vocabulary))
    assert log_probs.dtype == np.float64
    assert log_probs.shape[1] == vocabulary.size
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)
    assert (log_probs[:, list(vocabulary.silent)] == -np.inf).all()
    for token in (0, 3, 11, vocabulary.end):
        log_probs, state = model.advance(np.full(len(log_probs), token), state)
        np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)


@each_spec
def test_token_by_token_equals_scoring_at_once(spec, vocabulary, train, held_out):
    model = built(spec, vocabulary, train, held_out)
    text = np.concatenate([[vocabulary.end], held_out[:150], [11, 3, 10, 10, vocabulary.end, vocabulary.end, 2]])
    at_once = model.score([text], [1])[0]
    log_probs, state = model.begin([text[:1]])
    steps = []
    for token in text[1:]:
        steps.append(log_probs[0, token])
        log_probs, state = model.advance(np.array([token]), state)
    np.testing.assert_allclose(at_once, steps, rtol=0, atol=1e-12)


@each_spec
def test_a_prompt_is_read_as_its_tokens_one_by_one(spec, vocabulary, train, held_out):
    model = built(spec, vocabulary, train, held_out)
    prompts = [prompt for prompt in histories(train, vocabulary) if len(prompt)]
    answers, _ = model.begin(prompts)
    for prompt, answer in zip(prompts, answers):
        log_probs, state = model.begin([prompt[:1]])
        for token in prompt[1:]:
            log_probs, state = model.advance(np.array([token]), state)
        np.testing.assert_array_equal(answer, log_probs[0])
    empty, opened = model.begin([np.array([], int)])[0], model.begin([np.array([vocabulary.end])])[0]
    np.testing.assert_array_equal(empty, opened)


@each_spec
def test_scores_do_not_depend_on_batch_or_on_where_scoring_starts(spec, vocabulary, train, held_out):
    model = built(spec, vocabulary, train, held_out)
    sequences = [held_out[:40], held_out[7:8], held_out[3:90], np.array([vocabulary.end]), held_out[50:53]]
    starts = [1, 0, 17, 1, 2]
    together = model.score(sequences, starts)
    for ids, start, batched in zip(sequences, starts, together):
        full = model.score([ids], [0])[0]
        assert len(full) == max(len(ids) - 1, 0)
        np.testing.assert_array_equal(batched, full[max(start, 1) - 1 :])
    assert model.score([], []) == []


@each_spec
def test_what_is_before_a_documents_end_is_forgotten(spec, vocabulary, train, held_out):
    model = built(spec, vocabulary, train, held_out)
    end = vocabulary.end
    first, second = model.begin([np.array([3, 1, 2, end]), np.array([5, end])])[0]
    np.testing.assert_array_equal(first, second)
    long, short = model.score([np.array([3, 1, end, 2, 0, 1]), np.array([end, 2, 0, 1])], [3, 1])
    np.testing.assert_array_equal(long, short)


@each_spec
def test_rows_can_be_chosen_and_reordered(spec, vocabulary, train, held_out):
    model = built(spec, vocabulary, train, held_out)
    _, state = model.begin([train[:3], train[2:9], np.array([], int)])
    rows = np.array([2, 0, 0])
    chosen, _ = model.advance(np.array([1, 2, 2]), model.select(state, rows))
    every, _ = model.advance(np.array([2, 5, 1]), state)
    np.testing.assert_array_equal(chosen, every[rows])


@each_spec
def test_a_saved_model_is_the_same_model(spec, vocabulary, train, held_out):
    model = built(spec, vocabulary, train, held_out)
    again = spec.build(vocabulary)
    again.restore({name: array.copy() for name, array in model.arrays().items()})
    assert set(again.arrays()) == set(model.arrays())
    text = np.append(vocabulary.end, held_out)
    np.testing.assert_array_equal(again.score([text], [1])[0], model.score([text], [1])[0])
    prompts = histories(train, vocabulary)
    np.testing.assert_array_equal(again.begin(prompts)[0], model.begin(prompts)[0])


@each_spec
def test_counting_nothing_at_all_still_gives_a_distribution(spec, vocabulary, held_out):
    model = built(spec, vocabulary, np.array([], int), held_out)
    log_probs, _ = model.begin([np.array([], int), np.array([1, 2, 3])])
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)


@each_spec
def test_without_an_end_symbol_there_is_one_long_document(spec, train, held_out):
    vocabulary = Vocabulary(size=10, end=-1, silent=())
    model = built(spec, vocabulary, train[train < 10], held_out[held_out < 10])
    log_probs, state = model.begin([np.array([], int), train[:4]])
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)
    log_probs, _ = model.advance(np.array([9, 0]), state)
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)


@given(cuts=st.lists(st.integers(0, 500), max_size=8), again=st.integers(0, 8))
@settings(max_examples=15, deadline=None)
def test_how_the_stream_is_cut_changes_nothing(cuts, again):
    rng = chance(9)
    ids = rng.integers(0, 5, 500)  # 4 ends a document
    vocabulary = Vocabulary(size=5, end=4, silent=())
    for spec in (NGram(order=3), SmoothedNGram(order=3, smoothing=JelinekMercer(buckets=1)), SmoothedNGram(order=4)):
        whole = spec.build(vocabulary)
        whole.count(ids)
        whole.estimate(ids[:50])
        pieces = spec.build(vocabulary)
        for number, run in enumerate(np.split(ids, sorted(cuts))):
            if number == again:  # a run that was stopped, saved and taken up again
                saved = pieces.counted()
                pieces = spec.build(vocabulary)
                pieces.recount(saved)
            pieces.count(run)
        pieces.estimate(ids[:50])
        for name, array in whole.arrays().items():
            np.testing.assert_array_equal(array, pieces.arrays()[name], err_msg=name)


def test_more_can_be_counted_after_an_estimate(vocabulary, train):
    whole, twice = SmoothedNGram(order=3).build(vocabulary), SmoothedNGram(order=3).build(vocabulary)
    whole.count(train)
    whole.estimate(None)
    twice.count(train[:100])
    twice.estimate(None)
    twice.count(train[100:])
    twice.estimate(None)
    np.testing.assert_array_equal(whole.score([train], [1])[0], twice.score([train], [1])[0])


def test_recounting_replaces_what_was_counted(vocabulary, train):
    model = NGram(order=2).build(vocabulary)
    model.count(train)
    model.recount({"ids": train[:20]})
    np.testing.assert_array_equal(model.counted()["ids"], train[:20])


def test_the_callers_buffer_may_be_used_again(vocabulary, train):
    model, buffer = NGram(order=2).build(vocabulary), train.astype(np.int64)
    model.count(buffer)
    buffer[:] = 0
    np.testing.assert_array_equal(model.counted()["ids"], train)


@pytest.mark.parametrize("spec", [NGram(order=2), SmoothedNGram(order=2), NGram(order=0)], ids=str)
def test_ids_outside_the_vocabulary_are_refused(spec, vocabulary, train):
    model = built(spec, vocabulary, train, train)
    with pytest.raises(Fault, match="id 15 is outside the vocabulary of 15"):
        model.count(np.array([1, 15]))
    with pytest.raises(Fault, match="id -1 is outside"):
        model.score([np.array([1, -1])], [1])
    with pytest.raises(Fault, match="id 12 is never part of a text"):
        model.count(np.array([1, 12]))


def test_specs_say_what_is_wrong():
    assert [setting for setting, _ in NGram(order=0, add=-2.0).faults()] == ["add"]
    assert [setting for setting, _ in SmoothedNGram(order=0).faults()] == ["order"]
    assert "3 weights" in SmoothedNGram(order=2, smoothing=JelinekMercer(buckets=1, weights=[0.5, 0.5])).faults()[0][1]
    assert "sum to 1" in JelinekMercer(buckets=1, weights=[0.5, 0.6]).faults()[0][1]
    assert "buckets = 1" in JelinekMercer(weights=[0.5, 0.5]).faults()[0][1]
    assert [setting for setting, _ in Katz(discounted=0).faults()] == ["discounted"]
    for prune in ([], [1], [0, 2, 1], [0] * 6):
        assert [setting for setting, _ in SmoothedNGram(prune=prune).faults()] == ["prune"]
    assert [setting for setting, _ in SmoothedNGram(quantize=17).faults()] == ["quantize"]
    assert not any(spec.faults() for spec in SPECS)
    for wrong in (lambda: NGram(order=-1), lambda: JelinekMercer(buckets=0), lambda: SmoothedNGram(entropy=-1.0)):
        with pytest.raises(ValidationError, match="greater than or equal to"):
            wrong()


def test_every_kind_is_found_by_its_name():
    assert {KINDS.find(name).model_fields["kind"].default for name in KINDS.names()} == set(KINDS.names())


def test_counting_does_not_need_torch():
    import subprocess
    import sys

    code = (
        "import sys, foreword.counts.ngrams, foreword.counts.smoothed, foreword.counts.mixture, "
        "foreword.counts.arpa; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
