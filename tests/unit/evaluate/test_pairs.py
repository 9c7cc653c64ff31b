"""Where the border between context and continuation falls."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.evaluate.likelihood import Pair, encode_pair, encode_pairs, fit

TEXTS = [
    ("The function", " returns a value"),
    ("The function ", "returns"),
    ("Answer:\n\n", "yes"),
    ("x = (", ")"),
    ("the clas", "s body"),
    ("今天", "天气很好"),
    ("", "import this"),
    ("  ", "x"),
    ("a b", ""),
    ("tab\t ", "é"),
]


@pytest.mark.parametrize("kind", ["byte", "byte_bpe"])
@pytest.mark.parametrize(("context", "continuation"), TEXTS)
def test_nothing_is_lost_and_spaces_go_with_the_word(store, kind, context, continuation):
    tokenizer = store(kind).tokenizer
    pair = encode_pair(tokenizer, context, continuation)
    kept = context.rstrip()
    if kept:
        assert pair.context.tolist() == tokenizer.encode(kept)
        whole = tokenizer.encode(context + continuation)
        assert pair.continuation.tolist() == whole[len(pair.context) :]
    else:
        assert pair.context.tolist() == [tokenizer.special("[end]")]
        assert pair.continuation.tolist() == tokenizer.encode(context + continuation)


def test_many_are_as_one(store):
    tokenizer = store("byte_bpe").tokenizer
    for many, (context, continuation) in zip(encode_pairs(tokenizer, TEXTS), TEXTS):
        one = encode_pair(tokenizer, context, continuation)
        assert many.context.tolist() == one.context.tolist()
        assert many.continuation.tolist() == one.continuation.tolist()


def test_a_continuation_is_never_nothing_for_a_merge(store):
    """Where the border lies inside a token and the whole is no longer than the context, each is encoded by itself."""
    tokenizer = store("byte_bpe").tokenizer
    found = 0
    for piece in tokenizer.pieces(range(300, 500)):
        text = tokenizer.decode([tokenizer.backend.token_to_id(piece)])
        if text.isalpha() and len(tokenizer.encode(text)) == len(tokenizer.encode(text[:-1])) == 1:
            assert encode_pair(tokenizer, text[:-1], text[-1]).continuation.tolist() == tokenizer.encode(text[-1])
            found += 1
    assert found > 3


def test_fitting_cuts_the_oldest_and_never_the_continuation():
    for context in (1, 2, 5, 8, 20):
        for before in range(1, 12):
            for after in range(12):
                pair = Pair(np.arange(before), np.arange(100, 100 + after))
                fitted = fit(pair, context)
                assert fitted.continuation.tolist() == pair.continuation.tolist()
                assert fitted.context.tolist() == pair.context[len(pair.context) - len(fitted.context) :].tolist()
                assert len(fitted.context) >= 1
                if before + after <= context + 1:
                    assert fitted is pair
                elif after <= context:
                    assert len(fitted.context) + after == context + 1
    assert fit(pair, None) is pair
