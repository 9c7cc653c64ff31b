"""Smaller twins: a share of the parameters in the same proportions."""

from __future__ import annotations

import pytest

from foreword.assembly import loader
from foreword.assembly.build import shape_of
from foreword.basics.messages import Fault
from foreword.runs.shrink import shrunk
from foreword.tokens.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("name", "size", "factor"),
    [
        ("gpt2", "small", 10),
        ("bert", "", 4),
        ("gpt2", "xl", 100),
        ("modern-gpt", "laptop", 3),
        ("transformer-xl", "", 10),
    ],
)
def test_a_twin_has_its_share_of_the_parameters_and_the_proportions(name: str, size: str, factor: float) -> None:
    vocabulary = Vocabulary(1000, -1, ())
    whole = loader.load(name, size)
    found = shrunk(name, size, [], vocabulary, factor)
    assert found.whole == shape_of(whole, vocabulary).parameter_count()
    assert found.parameters == shape_of(found.recipe, vocabulary).parameter_count()
    assert found.whole / found.parameters == pytest.approx(factor, rel=0.25)
    aspects = [one.network.width / one.network.layers for one in (whole, found.recipe)]
    assert 1 / 2 < aspects[0] / aspects[1] < 2
    assert found.recipe.network.width % found.recipe.network.heads == 0
    again = loader.load(name, size, list(found.settings))
    assert again.network == found.recipe.network
    assert f"--set network.layers={found.recipe.network.layers}" in found.line()


def test_what_cannot_be_shrunk_is_said() -> None:
    vocabulary = Vocabulary(50_000, -1, ())
    with pytest.raises(Fault, match="the twin would not be smaller"):
        shrunk("gpt2", "small", [], vocabulary, 1)
    with pytest.raises(Fault, match="has no layers, width and heads"):
        shrunk("kneser-ney", "", [], vocabulary, 10)
    with pytest.raises(Fault, match="--set tokenizer.vocabulary=4096"):
        shrunk("gpt2", "laptop", [], Vocabulary(500_000, -1, ()), 500)
