"""Beam search, beside trying every text there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from foreword.generate.batch import generate
from foreword.generate.beam import Beam, Fused, beam_search
from foreword.generate.sample import Sampling
from tests.tiny import drawn, reader, tiny

V, END, LONGEST = 4, 3, 4


class Table:
    """A language model of four tokens: what follows depends on the prompt and on all that was said. States are lists of texts."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def logs(self, text: tuple[int, ...]) -> np.ndarray:
        draw = np.random.default_rng([self.seed, *(token + 1 for token in text)])
        return np.log(draw.dirichlet(np.full(V, 0.7)))

    def begin(self, prompts):
        texts = [tuple(map(int, prompt)) for prompt in prompts]
        return torch.from_numpy(np.stack([self.logs(text) for text in texts])), texts

    def advance(self, tokens, state):
        texts = [(*text, int(token)) for text, token in zip(state, tokens)]
        return torch.from_numpy(np.stack([self.logs(text) for text in texts])), texts

    def select(self, state, rows):
        return [state[row] for row in rows]


def every(model: Table, prompt: tuple[int, ...], how: Beam) -> list[tuple[float, tuple[int, ...]]]:
    """Every text of up to LONGEST tokens with its score, the best first."""
    found = []
    for length in range(LONGEST + 1):
        for text in product(range(END), repeat=length):
            logs = sum(model.logs((*prompt, *text[:i]))[token] for i, token in enumerate((*text, END)))
            found.append((logs / how.penalty(length + 1), text))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_beam_that_keeps_everything_finds_the_best_of_all_texts(alpha, seed):
    model, how = Table(seed), Beam(V**LONGEST, alpha)
    prompts = [(0,), (1, 2), (2,)]
    found = beam_search(model, [np.asarray(one) for one in prompts], END, how, [LONGEST] * 3)
    for prompt, texts in zip(prompts, found):
        score, text = every(model, prompt, how)[0]
        assert texts[0].ids == text
        assert texts[0].score == pytest.approx(score)


def test_a_narrow_beam_misses_some():
    """The control: with one text kept, the best is not always found."""
    missed = 0
    for seed in range(20):
        model = Table(seed)
        found = beam_search(model, [np.asarray([0])], END, Beam(1, 0.0), [LONGEST])[0][0]
        missed += found.ids != every(model, (0,), Beam(1, 0.0))[0][1]
    assert 0 < missed < 20


def test_the_penalty_is_the_published_one():
    assert Beam(length_penalty=0.6).penalty(7) == pytest.approx(2**0.6)
    assert Beam(length_penalty=0.0).penalty(70) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_of_prompts_gives_what_each_alone_gives(seed):
    model, how = Table(seed), Beam(3, 0.6)
    prompts, limits = [np.asarray(one) for one in ([0], [1, 2], [2, 2, 1], [1])], [4, 2, 3, 4]
    together = beam_search(model, prompts, END, how, limits)
    alone = [beam_search(model, [one], END, how, [limit])[0] for one, limit in zip(prompts, limits)]
    assert [one[0].ids for one in together] == [one[0].ids for one in alone]
    assert all(len(texts[0].ids) <= limit for texts, limit in zip(together, limits))


def test_another_model_has_a_say():
    model, other = Table(0), Table(1)

    class Both(Table):
        def logs(self, text):
            return model.logs(text) + 0.5 * other.logs(text[1:])

    prompt, how = [np.asarray([2])], Beam(V**LONGEST, 0.6)
    fused = beam_search(Fused(model, other, 0.5), prompt, END, how, [LONGEST])[0][0]
    assert (fused.ids, fused.score) == (
        (best := every(Both(), (2,), how)[0])[1],
        pytest.approx(best[0]),
    )
    alone = beam_search(Fused(model, other, 0.0), prompt, END, how, [LONGEST])[0][0]
    assert alone.ids == every(model, (2,), how)[0][1]


@pytest.mark.parametrize("name", ["gpt2", "modern-gpt", "lstm", "transformer-xl", "kneser-ney"])
def test_one_text_kept_is_the_likeliest_token_each_time_with_and_without_a_cache(name, store):
    """Through the caches of every kind of model, re-ordered at every step."""
    texts, model = store("byte_bpe"), reader(name, store("byte_bpe"))
    prompts = [texts.document(i)[:length] for i, length in enumerate((3, 7, 5))]
    end = texts.tokenizer.special("[end]")
    greedy = generate(model, texts.tokenizer, prompts, Sampling(temperature=0, max_tokens=8))
    found = beam_search(model, prompts, end, Beam(1, 0.0), [8] * 3)
    assert [list(one[0].ids) for one in found] == [one.ids for one in greedy]


@pytest.mark.parametrize("name", ["t5", "transformer"])
def test_a_beam_over_a_written_target_scores_what_reading_it_whole_does(name, store_of):
    recipe = tiny(name)
    texts = store_of(recipe)
    made = drawn(recipe, texts.tokenizer)
    from dataclasses import replace

    vocabulary = replace(texts.tokenizer.vocabulary(), start=recipe.objective.start_id(texts.tokenizer))
    model, end = made.language_model(vocabulary), texts.tokenizer.special("[end]")
    sources = [np.append(texts.document(i)[:length], end) for i, length in enumerate((4, 9, 6))]
    found = beam_search(model, sources, end, Beam(3, 0.6), [6] * 3)
    for source, hypotheses in zip(sources, found):
        alone = beam_search(model, [source], end, Beam(3, 0.6), [6])[0]
        assert hypotheses[0].ids == alone[0].ids
        for one in hypotheses:
            (logs,) = model.score_targets([source], [np.append(one.ids, end).astype(np.int64)])
            assert float(logs.sum()) == pytest.approx(one.log_probability, abs=1e-3)
    greedy = generate(model, texts.tokenizer, sources, Sampling(temperature=0, max_tokens=6))
    one = beam_search(model, sources, end, Beam(1, 0.0), [6] * 3)
    assert [list(texts[0].ids) for texts in one] == [text.ids for text in greedy]
