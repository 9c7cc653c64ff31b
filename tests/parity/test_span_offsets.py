"""Every answer of SQuAD dev and CMRC2018 dev, to tokens of a window and back to the characters of the text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foreword.batches.examples import Examples
from foreword.tasks.labelled_task import load
from foreword.transfer import INPUT_FORMATS
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.span import SpanTransfer, trimmed
from tests.published_tokenizers import bert_from_vocab, gpt2_from_ranks

READERS = {
    "bert-uncased": (
        "bidirectional_transformer",
        lambda data: bert_from_vocab(data / "bert-vocab/bert-base-uncased-vocab.txt"),
    ),
    "bert-chinese": (
        "bidirectional_transformer",
        lambda data: bert_from_vocab(data / "bert-vocab/bert-base-chinese-vocab.txt"),
    ),
    "gpt2": ("causal_transformer", lambda data: gpt2_from_ranks(data / "gpt2-bpe/gpt2.tiktoken")),
}


def borders(text: str, offsets: np.ndarray) -> tuple[set[int], set[int]]:
    """Where tokens begin and where they end: only there can any choice of tokens."""
    spans = [trimmed(text, start, end) for start, end in offsets.tolist() if end > start]
    return {span.start for span in spans}, {span.end for span in spans}


@pytest.mark.parametrize(
    ("task", "vocabulary", "least"),
    [("squad", "bert-uncased", 0.99), ("squad", "gpt2", 0.98), ("cmrc2018", "bert-chinese", 0.98)],
)
def test_every_answer_that_tokens_can_say_is_found_again(data: Path, task: str, vocabulary: str, least: float) -> None:
    network, made = READERS[vocabulary]
    tokenizer, input_format = made(data), INPUT_FORMATS.find(network)()
    labelled = load(task, data)
    examples = [one for split in (labelled.train, labelled.dev, labelled.test) for one in split if one.placed]
    encoder = Encoder(input_format, input_format.extended(tokenizer), Examples(length=384, stride=128))
    found: dict[int, bool] = {}
    for window in SpanTransfer().encode(examples, (), encoder):
        number = window.examples[0]
        assert window.target is not None
        assert window.offsets is not None
        first, last = window.target
        if window.offsets[first, 0] < 0:
            found.setdefault(number, False)
            continue
        span = trimmed(examples[number].texts[1], int(window.offsets[first, 0]), int(window.offsets[last, 1]))
        found[number] = found.get(number, False) or span == examples[number].placed[0]
    known = {text: borders(text, encoder.tokens(text)[1]) for text in {one.texts[1] for one in examples}}
    possible = [
        one.placed[0].start in known[one.texts[1]][0] and one.placed[0].end in known[one.texts[1]][1]
        for one in examples
    ]
    assert all(found[number] for number, can in enumerate(possible) if can)
    print(
        f"{task}, {vocabulary}: {sum(found.values()):,} of {len(examples):,} answers ({np.mean(list(found.values())):.2%})"
    )
    assert np.mean(possible) > least
