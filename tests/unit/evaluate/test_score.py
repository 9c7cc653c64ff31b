"""Scores in every unit, and which of them a text does not have."""

import math

import pytest

from foreword.evaluate.score import Score


def test_a_text_without_spaces_has_no_word_perplexity():
    """Chinese does not part its words: a sentence is not one word of sixty characters."""
    assert Score(100.0, 50, 180, 60, 1).word_perplexity is None
    assert Score(100.0, 50, 60, 60, 12).word_perplexity == pytest.approx(math.exp(100 / 12))
