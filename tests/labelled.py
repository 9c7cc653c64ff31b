"""Tiny models and labelled tasks for tests: words that decide, and words that do not."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.batches.examples import Examples
from foreword.exchange import hugging_face
from foreword.exchange.hugging_face import LoadedFolder
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.example import Example, Span
from foreword.tasks.labelled_task import LabelledTask
from foreword.tokens.kinds import ByteBPE, CharBPE, WordPiece
from foreword.tokens.tokenizer import Tokenizer
from foreword.transfer import INPUT_FORMATS
from foreword.transfer.encoding import Encoder, InputFormat

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "poor", "grim")
PLAIN = ("the", "film", "was", "a", "day", "in", "house", "tree", "with", "story", "and", "it")
CHINESE = "今天天气很好我们去公园看花他在家里读书你喜欢吗山上有大大的云"
FAMILIES = {"gpt2": ByteBPE(vocabulary=320), "gpt1": CharBPE(vocabulary=320), "bert": WordPiece(vocabulary=320)}
COLUMNS: dict[str, dict[str, Any]] = {
    "classify": {"text": "{text}", "label": "{label}"},
    "pair": {"first": "{a}", "second": "{b}", "label": "{label}"},
    "similarity": {"first": "{a}", "second": "{b}", "score": "{score}"},
    "choice": {"context": "{context}", "choices": "{choices}", "gold": "{gold}"},
    "span": {"question": "{question}", "context": "{context}", "spans": "{answers}"},
    "tag": {"sentence": "{words}", "tags": "{tags}"},
    "rank": {"query": "{query}", "candidate": "{candidate}", "relevance": "{r}"},
}


def phrase(draw: np.random.Generator, words: int, *more: str) -> str:
    said = [PLAIN[i] for i in draw.integers(len(PLAIN), size=words)]
    for word in more:
        said.insert(int(draw.integers(len(said) + 1)), word)
    return " ".join(said)


@functools.cache
def tokenizer(family: str) -> Tokenizer:
    draw = np.random.default_rng(0)
    texts = [phrase(draw, 8, *GOOD, *BAD) for _ in range(40)] + [CHINESE] * 3
    return FAMILIES[family].train(iter(texts))


def base(family: str, *settings: str, seed: int = 0) -> LoadedFolder:
    """A pretrained model that has learned nothing."""
    torch.manual_seed(seed)
    recipe = loader.load(
        family,
        "",
        [
            "network.layers=2",
            "network.width=32",
            "network.heads=2",
            "network.context=48",
            "network.initial.deviation=0.2",
            "network.dropout={table=0.0, embeddings=0.0, attention=0.0, residual=0.0}",
            *settings,
        ],
    )
    return LoadedFolder(recipe, model_for(recipe, tokenizer(family).vocabulary()), tokenizer(family))


def folder(family: str, path: Path, *settings: str) -> Path:
    made = base(family, *settings)
    hugging_face.write(path, made.recipe, made.model, made.tokenizer)
    return path


def input_format(family: str) -> InputFormat:
    return INPUT_FORMATS.find("bidirectional_transformer" if family == "bert" else "causal_transformer")()


def encoder(family: str, length: int = 48, **settings: Any) -> Encoder:
    manner = input_format(family)
    return Encoder(manner, manner.extended(tokenizer(family)), Examples(length=length, **settings))


def examples(kind: str, count: int, seed: int = 0) -> list[Example]:
    """What is to be found depends on words that anything could learn."""
    draw = np.random.default_rng(seed)
    return [_MAKERS[kind](draw, str(number), number) for number in range(count)]


def _some(draw: np.random.Generator, *more: str) -> str:
    return phrase(draw, int(draw.integers(2, 9)), *more)


def _classify(draw: np.random.Generator, name: str, number: int) -> Example:
    right = number % 2
    return Example(name, (_some(draw, draw.choice(GOOD if right else BAD)),), ("bad", "good")[right])


def _pair(draw: np.random.Generator, name: str, number: int) -> Example:
    word = draw.choice(GOOD)
    other = word if number % 2 else draw.choice(BAD)
    return Example(name, (_some(draw, word), _some(draw, other)), ("unlike", "alike")[number % 2])


def _similarity(draw: np.random.Generator, name: str, number: int) -> Example:
    return Example(
        name,
        (_some(draw, draw.choice(GOOD)), _some(draw, draw.choice(GOOD if number % 3 else BAD))),
        float(number % 3) + 0.5,
    )


def _choice(draw: np.random.Generator, name: str, number: int) -> Example:
    right, choices = int(draw.integers(3)), [_some(draw, draw.choice(BAD)) for _ in range(3)]
    choices[right] = _some(draw, draw.choice(GOOD))
    return Example(name, (_some(draw),), right, choices=tuple(choices))


def _span(draw: np.random.Generator, name: str, number: int) -> Example:
    word = str(draw.choice(GOOD))
    text = phrase(draw, int(draw.integers(4, 12)), word)
    start = f" {text} ".index(f" {word} ")
    return Example(name, ("what is it", text), (Span(start, start + len(word), word),))


def _tag(draw: np.random.Generator, name: str, number: int) -> Example:
    words = phrase(draw, int(draw.integers(2, 7)), draw.choice(GOOD), draw.choice(BAD)).split()
    spans, at = [], 0
    for word in words:
        spans.append(Span(at, at + len(word), word))
        at += len(word) + 1
    tags = tuple("B-GOOD" if word in GOOD else "B-BAD" if word in BAD else "O" for word in words)
    return Example(name, (" ".join(words),), tags, words=tuple(spans))


def _rank(draw: np.random.Generator, name: str, number: int) -> Example:
    query, right = f"the day {number // 3}", number % 3 == 1
    return Example(name, (query, _some(draw, draw.choice(GOOD if right else BAD))), float(right), group=query)


_MAKERS = {
    "classify": _classify,
    "pair": _pair,
    "similarity": _similarity,
    "choice": _choice,
    "span": _span,
    "tag": _tag,
    "rank": _rank,
}
KINDS = tuple(_MAKERS)


def task(kind: str, train: int = 96, dev: int = 24, test: int = 24, **columns: Any) -> LabelledTask:
    learn = LABELLED_KINDS.find(kind)(**COLUMNS[kind], **columns)
    parts = [examples(kind, count, seed) for seed, count in enumerate((train, dev, test))]
    return LabelledTask(
        "toy", learn, learn.label_set(example.label for example in parts[0]), *(tuple(part) for part in parts)
    )


def ids(laid: Sequence[Any]) -> list[list[int]]:
    return [one.ids.tolist() for one in laid]
