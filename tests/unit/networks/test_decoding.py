"""Reading on with a cache: each row is read as alone, the cache grows, and a state may be read on from again."""

from __future__ import annotations

import ctypes
import shutil

import numpy as np
import pytest
import torch

from foreword.kernels import build, decode
from foreword.networks import decoding
from foreword.networks.decoding import Decoder
from foreword.parts.attention import KeyValues
from foreword.parts.frozen import freeze
from foreword.parts.visible import CachedPattern, CausalPattern, Packed
from tests.tiny import READERS, drawn, tiny
from tests.widths import needs_kernels

CAUSAL = [  # tables of n-grams are read on by NeuralReader: test_ngrams.py
    name
    for name in READERS
    if tiny(name).head is not None
    and tiny(name).network.kind == "causal_transformer"
    and tiny(name).network.ngrams is None
]
PROMPTS = [np.arange(5, 9), np.arange(40, 49), np.arange(7, 8), np.arange(5, 9)]


@pytest.fixture(params=["plain", "float32", "int8", "no compiler"])
def way(request, monkeypatch):
    if request.param == "no compiler":
        monkeypatch.setattr(decode, "library", lambda: None)
    return request.param


@pytest.fixture(params=CAUSAL)
def recipe(request):
    return tiny(request.param)


def made(recipe, store, way) -> Decoder:
    model = drawn(recipe, store().tokenizer)
    if way != "plain":
        model = freeze(model, "int8" if way == "int8" else "float32")
    return model.language_model(store().tokenizer.vocabulary())


@pytest.fixture
def reader(recipe, store, way) -> Decoder:
    return made(recipe, store, way)


def following(reader, state, texts: np.ndarray) -> torch.Tensor:
    """The answers after each of some more tokens. texts [rows, tokens]"""
    found = []
    for tokens in texts.T:
        log_probs, state = reader.advance(tokens, state)
        found.append(log_probs)
    return torch.stack(found, 1)


def at_once(reader, text: np.ndarray) -> torch.Tensor:
    """The definition: the whole text read by the network itself."""
    from foreword.networks.base import Inputs

    with torch.inference_mode():
        return reader.head.log_probs(reader.network(Inputs(torch.from_numpy(text)[None])).last[0])


def more(rows: int, tokens: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(5, 500, (rows, tokens))


@needs_kernels
def test_frozen_networks_run_as_programs(reader, way):
    assert (reader._program is not None) == (way in ("float32", "int8"))


def test_every_row_is_read_as_the_network_reads_it_at_once(reader):
    texts = more(4, 20)
    _, state = reader.begin(PROMPTS)
    found = following(reader, state, texts)
    for row, prompt in enumerate(PROMPTS):
        wanted = at_once(reader, np.concatenate([prompt, texts[row]]))[len(prompt) :]
        assert (found[row] - wanted).abs().max() < 5e-5


def test_the_cache_grows_as_it_is_filled(reader, monkeypatch):
    monkeypatch.setattr(decoding, "SPARE", 2)
    _, state = reader.begin(PROMPTS[:1])
    assert state.cache.room == 6
    texts, rooms = more(1, 28), []
    for token in texts.T:
        log_probs, state = reader.advance(token, state)
        rooms.append(state.cache.room)
    assert sorted(set(rooms)) == [6, 12, 24, 32]  # never more than the context
    assert (log_probs[0] - at_once(reader, np.concatenate([PROMPTS[0], texts[0]]))[-1]).abs().max() < 5e-5


def test_reading_on_does_not_move_the_cache(reader):
    _, state = reader.begin(PROMPTS)
    where = state.cache.kept.data_ptr()
    for token in more(4, 9).T:
        _, state = reader.advance(token, state)
    assert state.cache.kept.data_ptr() == where


def test_a_state_may_be_read_on_from_more_than_once(reader):
    """As beam search does: from one state with several tokens, and from what follows, in any order."""
    one, other, later = more(4, 3, 1), more(4, 3, 2), more(4, 2, 3)
    _, state = reader.begin(PROMPTS)
    fresh = [following(reader, reader.begin(PROMPTS)[1], np.concatenate([text, later], 1)) for text in (one, other)]
    _, first = reader.advance(one[:, 0], state)
    _, second = reader.advance(other[:, 0], state)
    again = following(reader, state, one)
    found = [
        following(reader, each, np.concatenate([text[:, 1:], later], 1))
        for each, text in ((first, one), (second, other))
    ]
    for wanted, got in zip(fresh, found):
        assert (got - wanted[:, 1:]).abs().max() < 1e-5
    assert (again - fresh[0][:, :3]).abs().max() < 1e-5


def test_rows_may_be_selected_from_a_state_that_was_read_on_from(reader):
    _, state = reader.begin(PROMPTS)
    text = more(4, 4)
    whole = following(reader, state, text)
    rows = np.array([2, 0, 2])
    some = following(reader, reader.select(state, rows), text[rows])
    assert (some - whole[rows]).abs().max() < 1e-5


def test_only_full_rows_are_read_again(reader, monkeypatch):
    """Rows of 30 and 3 tokens of 32: the first fills up; the other goes on as it was."""
    prompts, texts = [more(1, 30)[0], more(1, 3)[0]], more(2, 8, 5)
    read = []
    packed = Decoder._read
    monkeypatch.setattr(
        Decoder, "_read", lambda self, texts: read.append([len(text) for text in texts]) or packed(self, texts)
    )
    together = following(reader, reader.begin(prompts)[1], texts)
    assert read == [[3, 30], [17]]
    for row, prompt in enumerate(prompts):
        alone = following(reader, reader.begin([prompt])[1], texts[row : row + 1])[0]
        assert (together[row] - alone).abs().max() < 5e-5


def test_a_prompt_asked_several_times_is_read_once_and_none_is_padded(reader, monkeypatch):
    read = []
    packed = Decoder._read
    monkeypatch.setattr(
        Decoder, "_read", lambda self, texts: read.append([len(text) for text in texts]) or packed(self, texts)
    )
    log_probs, _ = reader.begin(PROMPTS)
    assert read == [[1, 4, 9]]
    assert torch.equal(log_probs[0], log_probs[3])
    monkeypatch.setattr(reader, "tokens_at_once", 5)  # what does not fit one pass takes several
    assert (reader.begin(PROMPTS)[0] - log_probs).abs().max() < 1e-5
    assert read[1:] == [[1, 4], [9]]


def test_a_token_that_is_not_in_the_vocabulary_is_refused(reader):
    for token in (512, -1):
        with pytest.raises(IndexError):
            reader.advance(np.array([token]), reader.begin(PROMPTS[:1])[1])


@pytest.mark.parametrize("rows", [32, 33, 40])
def test_many_rows(store, rows):
    reader = made(tiny("modern-gpt"), store, "float32")
    prompts = [more(1, 1 + row % 5, row)[0] for row in range(rows)]
    texts = more(rows, 4)
    found = following(reader, reader.begin(prompts)[1], texts)
    for row in (0, 13, rows - 1):
        assert (
            found[row] - at_once(reader, np.concatenate([prompts[row], texts[row]]))[len(prompts[row]) :]
        ).abs().max() < 5e-5


@pytest.mark.parametrize("name", CAUSAL)
def test_other_dtypes_are_read_without_a_program(name, store):
    model = freeze(drawn(tiny(name), store().tokenizer, dtype=torch.float64))
    reader = model.language_model(store().tokenizer.vocabulary())
    assert reader._program is None
    texts = more(4, 6)
    found = following(reader, reader.begin(PROMPTS)[1], texts)
    for row, prompt in enumerate(PROMPTS):
        assert (found[row] - at_once(reader, np.concatenate([prompt, texts[row]]))[len(prompt) :]).abs().max() < 1e-5


# ----------------------------------------------------------------------------------------------------- patterns, mutants


def test_patterns_attend_as_their_masks_say():
    q, k, v = (torch.randn(1, 2, 12, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    for pattern in (Packed((3, 3, 1, 5)), Packed((12,)), CausalPattern()):
        wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=pattern.mask(12, 12))
        assert torch.allclose(pattern.attend(q, k, v, None), wanted, atol=1e-6)
    reached = CachedPattern(torch.tensor([1, 12, 5, 6]))
    q, k, v = torch.randn(4, 2, 1, 8), *(x.expand(4, -1, -1, -1).contiguous() for x in (k, v))
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=reached.mask(1, 12)[:, None])
    assert torch.allclose(reached.attend(q, k, v), wanted, atol=1e-6)


@pytest.mark.parametrize("wrong", [-1, 1], ids=["its own token is hidden", "a place too far"])
@pytest.mark.parametrize("compiler", [True, False])
def test_a_mask_that_is_one_off_would_be_noticed(store, monkeypatch, wrong, compiler):
    """The negative control: the test of reading row by row fails on a broken mask."""
    if not compiler:
        monkeypatch.setattr(decode, "library", lambda: None)
    reader = made(tiny("gpt2"), store, "plain")
    monkeypatch.setattr(decoding, "CachedPattern", lambda lengths: CachedPattern(lengths + wrong))
    with pytest.raises(AssertionError):
        test_every_row_is_read_as_the_network_reads_it_at_once(reader)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("length, a->size, scores", "length - 1, a->size, scores"),
        ("head = i % a->heads, length = seen(a, row)", "head = i % a->heads, length = seen(a, 0)"),
        ("now->second[lengths[row] * a + i]", "now->second[lengths[0] * a + i]"),
        ("* a->room + a->lengths[row]) * a->size", "* a->room + a->lengths[0]) * a->size"),
    ],
)
def test_a_program_that_is_wrong_would_be_noticed(store, monkeypatch, tmp_path, right, wrong):
    source = decode.SOURCE.read_text()
    assert right in source
    (tmp_path / "mutant.c").write_text(source.replace(right, wrong))
    for header in decode.SOURCE.parent.glob("*.h"):
        shutil.copy(header, tmp_path)
    library = build.typed(ctypes.CDLL(str(build.build(tmp_path / "mutant.c"))), decode.SIGNATURES)
    monkeypatch.setattr(decode, "library", lambda: library)
    with pytest.raises(AssertionError):
        test_every_row_is_read_as_the_network_reads_it_at_once(made(tiny("gpt2"), store, "float32"))


@pytest.mark.thorough
@needs_kernels
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("rows", [1, 7])
def test_two_threads_read_what_one_reads(store, precision, rows):
    """Large enough that a second thread is woken; every sum is made by one thread, so the numbers are the same."""
    recipe = tiny("gpt2")
    network = recipe.network.model_copy(update={"width": 192, "heads": 4, "layers": 3})
    model = freeze(drawn(recipe.model_copy(update={"network": network}), store().tokenizer), precision)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        reader = model.language_model(store().tokenizer.vocabulary())
        _, state = reader.begin([np.arange(5, 9)] * rows)
        for tokens in more(rows, 12).T:
            found.append(reader._program.run(tokens, state.lengths, state.cache.kept).clone())
            _, state = reader.advance(tokens, state)
    torch.set_num_threads(1)
    assert len(found) == 24
    assert all(torch.equal(one, two) for one, two in zip(found[:12], found[12:]))


def test_a_token_takes_the_place_after_its_row():
    cache = decoding.Layer(torch.zeros(3, 2, 9, 5), torch.zeros(3, 2, 9, 5), torch.tensor([0, 8, 3]))
    together = (
        torch.randn(3, 1, 30).unflatten(-1, (6, 5)).transpose(1, 2)
    )  # queries, keys and values as a product makes them
    _, keys, values = together.split(2, 1)
    seen = cache.then(KeyValues(keys, values))
    for row, place in enumerate((0, 8, 3)):
        assert torch.equal(seen.keys[row, :, place], keys[row, :, 0])
        assert torch.equal(seen.values[row, :, place], values[row, :, 0])
    assert int((seen.keys != 0).any(-1).sum()) == 6
