"""Whole texts as tasks: fed de-tokenised, paid for by the bytes and words of the original."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.evaluate.bits_per_byte import score_texts, text_of
from foreword.evaluate.likelihood import score_whole_texts
from foreword.evaluate.prompted import run_task
from foreword.evaluate.requests import PromptedModel
from foreword.evaluate.score import Score
from foreword.tasks import metrics
from foreword.tasks.prompted.request import Likelihood
from foreword.tasks.prompted.whole_text import RollingRequest, WholeText
from foreword.tasks.task import load
from foreword.text.detokenise import FORMATS
from tests.tiny import reader

ORIGINAL = " The dogs ' owner didn 't see 1 @,@ 000 cats . \n \n = Heading = \n"


def rolling(model, tokenizer, original, format) -> Score:
    """What a text costs that is de-tokenised before it is read, in bytes, characters and words of the original."""
    how = format.fitted(original)
    score = score_texts(model, tokenizer, [text_of(how.text(original), tokenizer)]).score
    return replace(score, bytes=len(original.encode("utf-8")), characters=len(original), words=how.words(original))


def test_the_numbers_by_hand() -> None:
    kind = WholeText(format="wikitext")
    judged = kind.judge({"text": ORIGINAL}, [Likelihood(np.asarray([-1.0, -2.0, -3.0]))])
    values = {name: metrics.value(metric, [judged.values[name]]) for name, metric in kind.metrics().items()}
    words = 12 + 3 + 3  # words between spaces, and an <eos> for each of three lines
    assert values == {
        "bits per byte": pytest.approx(6 / math.log(2) / len(ORIGINAL)),
        "word perplexity": pytest.approx(math.exp(6 / words)),
    }
    assert "one <eos> for each line" in kind.scored("word perplexity")


def test_what_is_read_is_what_was_written() -> None:
    (asked,) = WholeText(format="wikitext").requests({"text": ORIGINAL})
    assert asked.text == "The dogs' owner didn't see 1,000 cats.\n\n= Heading =\n"
    (asked,) = WholeText().requests({"text": ORIGINAL})
    assert asked.text == ORIGINAL


@pytest.mark.parametrize("recipe", ["kneser-ney", "gpt2"])
def test_every_token_is_paid_for_once(recipe: str, store) -> None:
    """The sum over windows is the sum over a chain of single steps, for a model that sees everything anyway."""
    model, tokenizer = reader(recipe, store(), store(split="valid")), store().tokenizer
    text = ORIGINAL * 3
    (told,) = score_whole_texts(
        PromptedModel(recipe, model, tokenizer), [RollingRequest(original=text, format=FORMATS["wikitext"])]
    )
    read = FORMATS["wikitext"].fitted(text).text(text)
    ids = np.asarray(tokenizer.encode(read))
    assert len(told.logs) == len(ids)
    score = rolling(model, tokenizer, text, FORMATS["wikitext"])
    assert score.nats == pytest.approx(-told.total)
    assert (score.bytes, score.words) == (len(text), 3 * 18)
    if model.context is None:
        whole = model.score([np.concatenate([[tokenizer.special("[end]")], ids])], [1])[0]
        assert np.allclose(told.logs, whole)


def test_the_task_file_asks_the_whole_text(data, store, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wikitext-2").mkdir()
    lines = (data / "wikitext-2" / "valid.txt").read_text(encoding="utf-8").split("\n")[:40]
    (tmp_path / "wikitext-2" / "test.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (task,) = load("wikitext2", tmp_path)
    model = reader("bigram", store())
    outcome = run_task(task, PromptedModel("bigram", model, store().tokenizer))
    score = rolling(model, store().tokenizer, "\n".join(lines) + "\n", FORMATS["wikitext"])
    assert outcome.value("bits per byte") == pytest.approx(score.bits_per_byte)
    assert outcome.value("word perplexity") == pytest.approx(score.word_perplexity)
    low, high = outcome.interval("word perplexity")
    assert low < outcome.value("word perplexity") < high


def test_a_lossy_tokenizer_has_no_bits_per_byte(store) -> None:
    with pytest.raises(Fault, match="does not keep the whole text"):
        score_whole_texts(
            PromptedModel("bigram", reader("bigram", store("wordpiece")), store("wordpiece").tokenizer),
            [RollingRequest(original="a b")],
        )


@pytest.mark.parametrize("name", ["wikitext2", "ptb", "text8"])
def test_the_tasks_are_known(name: str) -> None:
    assert load(name)[0].kind.written is FORMATS[load(name)[0].kind.format]  # type: ignore[attr-defined]


def test_a_wrong_format_is_said(tmp_path) -> None:
    (tmp_path / "a.toml").write_text(
        'name = "a"\n[source]\nkind = "whole"\ntest = "a.txt"\n[request]\nkind = "text"\nformat = "ptbb"\n'
    )
    with pytest.raises(Fault, match="'ptbb' is not one of wikitext, ptb, text8"):
        load(str(tmp_path / "a.toml"))
