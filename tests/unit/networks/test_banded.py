"""A whole network of banded layers: what reaches whom, at once, token by token, and in batches of unequal prompts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foreword.networks.base import Inputs
from foreword.parts.frozen import freeze
from foreword.tokens.vocabulary import Vocabulary
from tests.tiny import drawn, tiny

WINDOW, LENGTH = 3, 12
ORDERS = {"banded": '["banded"]', "alternating": '["dense", "banded"]', "banded first": '["banded", "dense"]'}
REACH = {"banded": 2 * (WINDOW - 1), "alternating": LENGTH, "banded first": LENGTH}  # places back, through two layers
every_order = pytest.mark.parametrize("name", ORDERS)


@pytest.fixture
def model(name, store):
    recipe = tiny("gpt3", f"network.visible.window={WINDOW}", f"network.visible.order={ORDERS[name]}")
    return lambda dtype=torch.float64: drawn(recipe, store().tokenizer, dtype=dtype)


def ids(length: int = LENGTH) -> np.ndarray:
    return np.random.default_rng(0).integers(5, 300, length)


@every_order
@torch.no_grad()
def test_an_edit_reaches_as_far_as_the_layers_carry_it(model, name):
    network, text = model().network, torch.from_numpy(ids())[None]
    plain = network(Inputs(text)).last[0]
    for j in range(LENGTH):
        other = text.clone()
        other[0, j] += 1
        changed = (network(Inputs(other)).last[0] != plain).any(-1).tolist()
        assert changed == [0 <= i - j <= REACH[name] for i in range(LENGTH)], f"token {j}"


@every_order
@pytest.mark.parametrize("frozen", [False, True])
def test_the_same_holds_for_what_is_said_next(model, name, frozen):
    """The decoder, which reads a prompt packed and then one token after the other from its cache."""
    made = model(torch.float32)
    vocabulary = Vocabulary(len(made.network.table()), -1, ())
    reader = (freeze(made) if frozen else made).language_model(vocabulary)

    def said(text: np.ndarray, prompt: int) -> np.ndarray:
        log_probs, state = reader.begin([text[:prompt], text[1:prompt]])  # the second row is shorter
        found = [log_probs[0]]
        for token, other in zip(text[prompt:], text[prompt:]):
            log_probs, state = reader.advance(np.array([token, other]), state)
            found.append(log_probs[0])
        return torch.stack(found).numpy()

    for prompt in (2, 7):
        plain = said(ids(), prompt)
        for j in range(LENGTH):
            other = ids()
            other[j] += 1
            changed = np.abs(said(other, prompt) - plain).max(1) > 0
            assert changed.tolist() == [0 <= i - j <= REACH[name] for i in range(prompt - 1, LENGTH)], (
                f"token {j}, prompt {prompt}"
            )


@every_order
@torch.no_grad()
def test_remembering_in_pieces_and_padding_change_nothing(model, name):
    network, text = model().network, torch.from_numpy(ids())[None]
    whole = network(Inputs(text)).last
    for piece in (1, 2, WINDOW, 5):
        state, found = None, []
        for start in range(0, LENGTH, piece):
            output = network(Inputs(text[:, start : start + piece]), state)
            state = output.state
            found.append(output.last)
        assert (torch.cat(found, 1) - whole).abs().max() < 1e-10
    real = torch.arange(LENGTH + 4)[None] >= 4
    padded = torch.cat([torch.full((1, 4), 7), text], 1)
    assert (network(Inputs(padded, real)).last[:, 4:] - whole).abs().max() < 1e-10
    assert (network(Inputs(padded.roll(-4, 1), real.roll(-4, 1))).last[:, :LENGTH] - whole).abs().max() < 1e-10
