"""Layers beside `embed`, neighbours beside a double loop, and words in context beside themselves."""

from __future__ import annotations

import json

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.compare import in_context, layers, text_map
from foreword.runs.train import train
from foreword.transfer import feature_file
from tests.tiny import tiny

TEXTS = ["A class definition is here", "the end", "one, two, three", "of a class, words"]


@pytest.fixture(scope="module")
def gpt2(stores, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "gpt2"
    train(tiny("gpt2", 'training.budget="2"'), stores["byte_bpe"], folder)
    return foreword.load(folder)


def test_a_layer_is_what_embed_says_of_it(gpt2):
    reader = layers.LayerReader(gpt2)
    there = len(reader.layers(TEXTS)[0])
    assert there == 3
    every = [reader.of(TEXTS, str(number)) for number in range(there)]
    assert np.allclose(every[0], gpt2.embed(TEXTS, layer=0), atol=1e-6)
    assert np.allclose(every[1], gpt2.embed(TEXTS, layer=1), atol=1e-6)
    assert np.allclose(every[2], gpt2.embed(TEXTS), atol=1e-6), "the last after its norm"
    assert np.allclose(reader.of(TEXTS, "mix"), np.mean(every, 0), atol=1e-6)


def test_features_in_a_file_are_those_of_the_model(gpt2, tmp_path):
    said = gpt2.layers(TEXTS)
    for form in feature_file.FORMS:
        if form == "hdf5":
            h5py = pytest.importorskip("h5py")
        path = feature_file.write(tmp_path / f"features.{form}", form, TEXTS, said)
        with np.load(path) if form == "npz" else h5py.File(path) as file:
            index = file["sentence_to_index"][()]
            known = json.loads(str(index) if form == "npz" else index[0])
            for text, wanted in zip(TEXTS, said):
                found = np.asarray(file[known[text]])
                assert np.array_equal(found, np.stack(wanted))
                assert found.shape == (3, len(gpt2.tokenizer.encode(text)), gpt2.with_heads.network.width)
        with pytest.raises(Fault, match="is already there"):
            feature_file.write(path, form, TEXTS, said)
    with pytest.raises(Fault, match="Give a file with a text on each line"):
        feature_file.lines_of(None, "npz")


def test_a_word_in_its_own_sentence_is_nearest_to_itself(gpt2):
    sentences = ["A class definition is here", "of a class, words"]
    for layer in (0, -1):
        found = in_context.nearest(gpt2, "class", sentences, ["", *TEXTS], layer, top=3)
        for sentence, some in zip(sentences, found):
            cosine, place = some[0]
            assert cosine == pytest.approx(1.0, abs=1e-5)
            assert place.word.strip() == "class"
            assert layer == 0 or place.text == sentence


def test_neighbours_vote_as_a_double_loop_says_and_noise_is_at_chance():
    rng = np.random.default_rng(0)
    labels = ["one" if n % 2 else "other" for n in range(60)]
    noise = rng.normal(size=(60, 8))
    apart = noise + np.asarray([[3.0 if label == "one" else -3.0] for label in labels])
    assert np.mean(text_map.neighbours(apart, labels)) == 1.0
    found = text_map.neighbours(noise, labels)
    assert 0.2 < np.mean(found) < 0.8
    centred = noise - noise.mean(0)
    for place in range(0, 60, 7):
        lengths = np.linalg.norm(centred, axis=1) * np.linalg.norm(centred[place])
        near = np.argsort(-(centred @ centred[place]) / lengths)
        votes = [labels[other] for other in near if other != place][: text_map.NEAR]
        if votes.count("one") != text_map.NEAR // 2:
            most = "one" if votes.count("one") > text_map.NEAR // 2 else "other"
            assert found[place] == (most == labels[place])


def test_a_map_of_planted_groups():
    from tests.unit.compare.test_units import task

    some = task((4, 4, 40))

    def embed(texts):
        rng = np.random.default_rng(1)
        return np.stack([rng.normal(size=6) + (4 if int(text.split()[1]) % 2 else -4) for text in texts])

    said = text_map.draw(embed, some, "runs/x")
    assert said.values["neighbours"] == 1.0
    assert len(said.values["points"]["tsne"]) == len(said.values["points"]["pca"]) == 40
    pca = np.asarray(said.values["points"]["pca"])[:, 0]
    assert len({bool(x > 0) == bool(n % 2) for n, x in enumerate(pca)}) == 1, "the first component parts them"
    assert said.html().count("<svg") == 2
