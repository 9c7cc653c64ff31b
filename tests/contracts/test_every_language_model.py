"""What everything promises that can say how likely each next token is: counts, networks and mixtures of both."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from foreword.counts.mixture import MixtureOfModels
from foreword.generate.batch import GenerationBatch, generate
from foreword.generate.sample import Sampling
from foreword.parts.frozen import PRECISIONS, freeze
from tests.tiny import GRADIENT, READERS, drawn, reader, tiny

FROZEN = [f"{name}, {precision}" for name in READERS if name in GRADIENT for precision in PRECISIONS]
every_model = pytest.mark.parametrize(
    "name",
    [
        *READERS,
        "a mixture",
        *(pytest.param(name, marks=() if name.startswith("gpt2, ") else pytest.mark.thorough) for name in FROZEN),
    ],
)
some_models = pytest.mark.parametrize(
    "name", ["kneser-ney", "lstm", "gpt2", "a mixture"]
)  # where the sampler is tested
PROMPTS = ("The", "A class definition defines", "", "今天天气", "x = [1, 2, 3]\nfor")


@pytest.fixture(scope="module")
def models(store):
    train, valid = store(), store(split="valid")

    @functools.cache
    def find(name):
        if name == "a mixture":
            return MixtureOfModels([find("gpt2"), find("kneser-ney")], np.array([0.6, 0.4]))
        if name in READERS:
            return reader(name, train, valid)
        name, precision = name.split(", ")
        return freeze(drawn(tiny(name), train.tokenizer), precision).language_model(train.tokenizer.vocabulary())

    return find


@pytest.fixture
def model(name, models):
    return models(name)


@pytest.fixture
def tokenizer(store):
    return store().tokenizer


@pytest.fixture
def prompts(tokenizer):
    return [np.asarray(tokenizer.encode(text), np.int64) for text in PROMPTS]


def numbers(log_probs) -> np.ndarray:
    return np.asarray(torch.as_tensor(log_probs).double())


def near(model) -> float:
    return 1e-9 if model.context is None and not hasattr(model, "network") else 2e-5


# ---------------------------------------------------------------------------------------------------------- answering


@every_model
def test_probabilities_sum_to_one(model, prompts):
    log_probs, state = model.begin(prompts)
    for _ in range(3):
        assert numbers(log_probs).shape == (len(prompts), 512)
        assert np.exp(numbers(log_probs)).sum(1) == pytest.approx(1, abs=1e-5)
        log_probs, state = model.advance(np.arange(40, 40 + len(prompts)), state)


@every_model
def test_score_is_the_sum_of_steps(model, store):
    """Several sequences of unequal length at once, asked from several starts; one token at a time is the definition."""
    text = store().document(0)
    sequences, starts = [text[:25], text[30:35], text[50:83], text[7:9], text[3:20]], [1, 3, 20, 1, 0]
    for sequence, start, scores in zip(sequences, starts, model.score(sequences, starts)):
        start = max(start, 1)
        log_probs, state = model.begin([sequence[:start]])
        steps = [numbers(log_probs)[0, sequence[start]]]
        for before, token in zip(sequence[start:], sequence[start + 1 :]):
            log_probs, state = model.advance(np.array([before]), state)
            steps.append(numbers(log_probs)[0, token])
        assert np.asarray(scores) == pytest.approx(np.array(steps), abs=near(model))


@every_model
def test_scores_do_not_depend_on_the_batch(model, store):
    text = store().document(1)
    sequences = [text[at : at + length] for at, length in ((0, 30), (4, 2), (9, 17), (11, 33), (40, 5))]
    together = model.score(sequences, [1] * 5)
    for sequence, scores in zip(sequences, together):
        assert np.asarray(model.score([sequence], [1])[0]) == pytest.approx(np.asarray(scores), abs=near(model))
        late = model.score([sequence], [len(sequence) - 1])[0]
        assert np.asarray(late) == pytest.approx(np.asarray(scores)[-1:], abs=near(model))


@every_model
def test_prompts_of_unequal_length_answer_as_alone(model, prompts):
    together, state = model.begin(prompts)
    following = np.arange(60, 60 + len(prompts))
    later, _ = model.advance(following, state)
    for row, prompt in enumerate(prompts):
        alone, own = model.begin([prompt])
        assert numbers(alone)[0] == pytest.approx(numbers(together)[row], abs=near(model))
        assert numbers(model.advance(following[row : row + 1], own)[0])[0] == pytest.approx(
            numbers(later)[row], abs=near(model)
        )


@every_model
def test_selected_rows_go_on_as_they_were(model, prompts):
    _, state = model.begin(prompts)
    whole, _ = model.advance(np.full(len(prompts), 70), state)
    rows = np.array([3, 0])
    some, _ = model.advance(np.full(2, 70), model.select(state, rows))
    assert numbers(some) == pytest.approx(numbers(whole)[rows], abs=near(model))


@every_model
def test_joined_states_go_on_as_they_were(model, prompts):
    """Read at different times, so that the rows of one have seen more than the others'."""
    _, early = model.begin(prompts[:3])
    _, early = model.advance(np.full(3, 70), early)
    _, late = model.begin(prompts[3:])
    together, joined = model.advance(np.full(len(prompts), 71), model.join(early, late))
    apart = [model.advance(np.full(3, 71), early)[0], model.advance(np.full(len(prompts) - 3, 71), late)[0]]
    assert numbers(together) == pytest.approx(np.concatenate([numbers(one) for one in apart]), abs=near(model))
    again, _ = model.advance(np.full(1, 72), model.select(joined, np.array([3])))
    _, alone = model.begin(prompts[3:4])
    _, alone = model.advance(np.array([71]), alone)
    assert numbers(again) == pytest.approx(numbers(model.advance(np.array([72]), alone)[0]), abs=near(model))


@every_model
def test_an_empty_prompt_is_the_start_of_a_document(model, tokenizer):
    nothing, _ = model.begin([np.zeros(0, np.int64)])
    end, _ = model.begin([np.array([tokenizer.special("[end]")])])
    assert numbers(nothing) == pytest.approx(numbers(end), abs=near(model))


@every_model
def test_a_prompt_longer_than_the_context_is_read_from_its_end(model, store):
    limit = model.context
    if limit is None:
        limit = 32
    text = store().document(2)[:90]
    long, _ = model.begin([text])
    short, _ = model.begin([text[-limit:]])
    if model.context is not None:
        assert numbers(long) == pytest.approx(numbers(short), abs=near(model))
    assert np.exp(numbers(long)).sum() == pytest.approx(1, abs=1e-5)


# --------------------------------------------------------------------------------------------------------- generating


def again_and_again(model, prompt: np.ndarray, tokens: int) -> list[int]:
    """Greedy, without any state: the whole text is read anew for every token. A full context keeps its later half."""
    text, found = list(prompt), []
    if model.context is not None:
        text = text[-model.context :]
    for _ in range(tokens):
        found.append(int(numbers(model.begin([np.asarray(text, np.int64)])[0])[0].argmax()))
        text.append(found[-1])
        if model.context is not None and len(text) > model.context:
            text = text[-(model.context // 2 + 1) :]
    return found


def greedy(**more) -> Sampling:
    return Sampling(**{"temperature": 0.0, "max_tokens": 12, **more})


def without_end(model, tokenizer):
    """The same model, which never ends a document: so that texts are as long as asked for."""
    end = tokenizer.special("[end]")

    class Endless:
        context = model.context

        def begin(self, prompts):
            return self._without(*model.begin(prompts))

        def advance(self, tokens, state):
            return self._without(*model.advance(tokens, state))

        def _without(self, log_probs, state):
            log_probs = torch.as_tensor(log_probs).clone()
            log_probs[:, end] = -torch.inf
            return log_probs, state

        def select(self, state, rows):
            return model.select(state, rows)

    return Endless()


@every_model
@pytest.mark.parametrize("tokens", [12, 50], ids=["within", "past the context"])
def test_cached_equals_uncached(model, tokenizer, prompts, tokens):
    """For prompts of unequal length together; 50 tokens go past the context of 32, once or twice."""
    endless = without_end(model, tokenizer)
    for prompt, one in zip(prompts, generate(endless, tokenizer, prompts, greedy(max_tokens=tokens))):
        prompt = prompt if len(prompt) else np.array([tokenizer.special("[end]")])
        assert one.ids == again_and_again(endless, prompt, tokens)


@every_model
def test_a_prompt_as_long_as_two_contexts_is_continued(model, tokenizer, store):
    prompt = store().document(0)[:70]
    endless = without_end(model, tokenizer)
    one = generate(endless, tokenizer, [prompt, prompt[:3]], greedy(max_tokens=20))
    assert [len(found.ids) for found in one] == [20, 20]
    assert one[0].ids == again_and_again(endless, prompt, 20)


@some_models
def test_top_k_of_one_is_greedy(model, tokenizer, prompts):
    likeliest = generate(model, tokenizer, prompts, greedy())
    one_choice = generate(model, tokenizer, prompts, Sampling(max_tokens=12, top_k=1, seed=5))
    small = generate(model, tokenizer, prompts, Sampling(max_tokens=12, top_p=1e-9, seed=6))
    assert [one.ids for one in one_choice] == [one.ids for one in likeliest] == [one.ids for one in small]


@some_models
def test_the_same_seed_gives_the_same_text_alone_or_in_a_batch(model, tokenizer, prompts):
    how = Sampling(max_tokens=15, seed=3, temperature=0.9, top_p=0.95)
    together = generate(model, tokenizer, prompts, how)
    assert [one.text for one in generate(model, tokenizer, prompts, how)] == [one.text for one in together]
    for prompt, one in zip(prompts, together):
        assert generate(model, tokenizer, [prompt], how)[0].ids == one.ids
    other = generate(model, tokenizer, prompts, Sampling(max_tokens=15, seed=4, temperature=0.9, top_p=0.95))
    assert [one.ids for one in other] != [one.ids for one in together]


@every_model
def test_sequences_that_join_and_leave_a_batch_say_what_they_say_alone(model, tokenizer, prompts):
    """With sampling rules of their own, past the context, one cancelled, one joined after all others have left."""
    wild = Sampling(max_tokens=40, seed=3, temperature=0.9, top_p=0.95)
    plans = [
        (0, prompts[:2], wild),
        (3, [prompts[2]], Sampling(max_tokens=9, temperature=0.0, repetition_penalty=1.3)),
        (7, [prompts[3], prompts[4], prompts[4]], Sampling(max_tokens=30, min_tokens=5, top_k=20, seed=8)),
        (60, [prompts[0]], wild),
    ]
    batch, joined, steps = GenerationBatch(model, tokenizer), [], []
    for at in range(101):
        for start, some, how in plans:
            if start == at:
                joined += zip(batch.join(some, how), generate(model, tokenizer, some, how))
        if at == 10:
            rest = batch.cancel(joined[0][0])
        steps += batch.step()
    assert not batch.running
    assert batch.step() == []
    for one, alone in joined[1:]:
        assert (one.ids, one.stream.text, one.reason) == (alone.ids, alone.text, alone.reason)
        assert one.log_probs == pytest.approx(alone.log_probs, abs=1e-4)
    for one, _ in joined:
        mine = [step for step in steps if step.sequence is one]
        assert [step.token for step in mine][: len(one.ids)] == one.ids
        assert "".join(step.text for step in mine) + rest * (one is joined[0][0]) == one.stream.text
        assert [step.log_prob for step in mine] == one.log_probs
    cancelled, whole = joined[0]
    assert (cancelled.reason == "cancelled" and cancelled.ids == whole.ids[:10]) or (
        cancelled.reason,
        cancelled.ids,
    ) == (whole.reason, whole.ids)


@some_models
def test_samples_of_one_prompt_differ(model, tokenizer, prompts):
    texts = [
        tuple(one.ids) for one in generate(model, tokenizer, [prompts[0]] * 4, Sampling(max_tokens=15, temperature=2.0))
    ]
    assert len(set(texts)) == 4


@some_models
def test_nothing_outside_top_k_or_top_p_is_chosen(model, tokenizer, prompts):
    for how in (Sampling(max_tokens=10, top_k=5, seed=1), Sampling(max_tokens=10, top_p=0.3, seed=1, temperature=1.3)):
        endless = without_end(model, tokenizer)
        for prompt, one in zip(prompts, generate(endless, tokenizer, prompts, how)):
            log_probs, state = endless.begin([prompt])
            for token in one.ids:
                p = np.exp(numbers(log_probs)[0] / how.temperature)
                p /= p.sum()
                likelier = p > p[token] * (1 + 1e-6)
                if how.top_k:
                    assert likelier.sum() < how.top_k
                assert p[likelier].sum() < how.top_p + 1e-6
                log_probs, state = endless.advance(np.array([token]), state)


@every_model
def test_log_probability_is_the_models_own(model, tokenizer, prompts):
    """Whatever the temperature and the limits were."""
    prompt = prompts[1]
    one = generate(
        model, tokenizer, [prompt], Sampling(max_tokens=10, temperature=0.7, top_k=20, repetition_penalty=1.2)
    )[0]
    scores = model.score([np.concatenate([prompt, one.ids]).astype(np.int64)], [len(prompt)])[0]
    assert one.log_probability == pytest.approx(float(np.sum(scores)), abs=1e-3)


@some_models
def test_stream_tells_the_text_and_stop_strings_do_not_appear(model, tokenizer, prompts):
    pieces = {row: [] for row in range(len(prompts))}
    how = Sampling(max_tokens=30, seed=2)
    free = generate(model, tokenizer, prompts, how, lambda row, text: pieces[row].append(text))
    assert ["".join(pieces[row]) for row in range(len(prompts))] == [one.text for one in free]
    assert [tokenizer.decode(one.ids) for one in free] == [one.text for one in free]
    stops = tuple(sorted({one.text[4:6] for one in free if len(one.text) > 6 and one.reason == "length"}))
    told = dict.fromkeys(range(len(prompts)), "")

    def tell(row, text):
        told[row] += text
        assert not any(stop in told[row] for stop in stops)

    stopped = generate(model, tokenizer, prompts, Sampling(max_tokens=30, seed=2, stop=stops), tell)
    for row, (one, whole) in enumerate(zip(stopped, free)):
        ends = [whole.text.find(stop) for stop in stops if stop in whole.text]
        assert one.text == told[row] == whole.text[: min(ends, default=len(whole.text))]
        assert (one.reason == "stop") == bool(ends)


@some_models
def test_lengths_are_kept(model, tokenizer, prompts):
    end = tokenizer.special("[end]")
    assert [one.ids for one in generate(model, tokenizer, prompts, Sampling(max_tokens=0))] == [[]] * len(prompts)

    class Ending:
        """Would end at once, always."""

        context, begin_ = model.context, staticmethod(model.begin)

        def begin(self, prompts):
            return self._sure(*model.begin(prompts))

        def advance(self, tokens, state):
            return self._sure(*model.advance(tokens, state))

        def _sure(self, log_probs, state):
            log_probs = torch.as_tensor(log_probs).clone()
            log_probs[:, end] = 50.0
            return log_probs.log_softmax(-1), state

        def select(self, state, rows):
            return model.select(state, rows)

    for one in generate(Ending(), tokenizer, prompts, Sampling(max_tokens=9)):
        assert (one.ids, one.text, one.reason) == ([], "", "end")
    for one in generate(Ending(), tokenizer, prompts, Sampling(max_tokens=9, min_tokens=4)):
        assert (len(one.ids), one.reason) == (4, "end")
        assert end not in one.ids
    for one in generate(Ending(), tokenizer, prompts, Sampling(max_tokens=3, min_tokens=4)):
        assert (len(one.ids), one.reason) == (3, "length")


@some_models
def test_a_strong_repetition_penalty_says_nothing_twice(model, tokenizer, prompts):
    endless = without_end(model, tokenizer)
    for prompt, one in zip(prompts, generate(endless, tokenizer, prompts, greedy(repetition_penalty=1e6))):
        assert len(set(one.ids)) == len(one.ids)
        assert not set(one.ids) & set(prompt.tolist())
