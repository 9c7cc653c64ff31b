"""A bag of features is the mean of what the model, as it is, says of a text's tokens, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.transfer import baselines
from tests.labelled import KINDS, task
from tests.trunks import FAMILIES, folder

TEXTS = ["the film was good", "a day", "it was a lovely story and the house with a tree was a fine house", "a day"]


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_read_together_are_the_texts_read_alone(family: str, tmp_path: Path) -> None:
    model, read = foreword.load(folder(family, tmp_path / "base")), []

    def embed(texts: list[str]) -> np.ndarray:
        read.extend(texts)
        return model.embed(texts)

    alone = np.concatenate([model.embed(text) for text in TEXTS])  # without any padding
    bag = baselines.remembered(embed)
    assert np.allclose(bag(TEXTS), alone, atol=1e-5)
    assert np.allclose(bag(TEXTS[2:]), alone[2:], atol=1e-5)
    assert read == TEXTS[:3], "no text is read twice"
    assert np.abs(alone[0] - alone[1]).max() > 1e-3


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_what_does_not_fit_is_cut_and_nothing_is_something(family: str, tmp_path: Path) -> None:
    path = folder(family, tmp_path / "base")
    long = "the film was a day in a house " * 20
    found = foreword.load(path).embed([long, long + "and more", ""])
    assert np.allclose(found[0], found[1])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if baselines.fits_texts(kind)])
def test_a_regression_on_it_is_a_baseline(kind: str, tmp_path: Path) -> None:
    whole = task(kind, 400, 40, 60)
    model = foreword.load(folder("gpt2", tmp_path / "base", "network.width=64"))
    found = baselines.vectors(whole, model.embed)
    assert len(found.predictions) == 60
    if kind == "classify":
        assert found.test[0].value > 0.65, "even vectors of a network that has learned nothing tell words apart"


def test_a_model_that_cannot_read_texts_gives_no_vectors_of_them(tmp_path: Path) -> None:
    path = folder("gpt2", tmp_path / "base")
    (path / "tokenizer.json").unlink()
    for other in path.glob("vocab*"):
        other.unlink()
    with pytest.raises(Fault, match="has no tokenizer"):
        foreword.load(path).embed("a day")
