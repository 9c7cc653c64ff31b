"""Files of word vectors: read, written, opened by gensim, and refused with their line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.runs.moving import export_model, import_model
from foreword.runs.train import train
from foreword.vectors.evaluation import analogies, pairs_of, questions_of, report, spearman, word_similarity
from foreword.vectors.formats import FORMS, is_vector_file, read_vectors, write_vectors
from foreword.vectors.words import WordVectors
from tests.tiny import tiny

WORDS = ["the", "naïve", "君", "b_c", "1"]
VECTORS = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_to_the_last_bit(form, tmp_path):
    words, vectors = read_vectors(write_vectors(tmp_path / "x.txt", WORDS, VECTORS, form))
    assert words == WORDS
    assert (vectors == VECTORS).all()


@pytest.mark.parametrize("form", ["word2vec", "word2vec-text"])
def test_gensim_opens_it_with_the_same_neighbours(form, stores, tmp_path):
    gensim = pytest.importorskip("gensim.models")
    run = train(tiny("word2vec"), stores["byte_bpe"], tmp_path / "run")
    file = export_model(run.path, form, tmp_path / "vectors.txt")
    theirs = gensim.KeyedVectors.load_word2vec_format(file, binary=form == "word2vec")
    ours = foreword.load(run.path)
    near = [(word, pytest.approx(cosine, abs=1e-5)) for word, cosine in ours.neighbours("the", 5)]
    assert theirs.most_similar("the", topn=5) == near


def test_gensim_files_are_read_and_become_a_run(tmp_path):
    gensim = pytest.importorskip("gensim.models")
    theirs = gensim.KeyedVectors(7)
    theirs.add_vectors(WORDS, VECTORS)
    for binary in (True, False):
        theirs.save_word2vec_format(tmp_path / "vectors.bin", binary=binary)
        words, vectors = read_vectors(tmp_path / "vectors.bin")
        assert words == WORDS
        assert np.allclose(vectors, VECTORS, atol=1e-6)
    run, loaded = import_model(tmp_path / "vectors.bin", tmp_path / "run")
    assert loaded.model.width == 7
    opened, direct = foreword.load(run.path), foreword.load(tmp_path / "vectors.bin")
    assert opened.neighbours("the", 4) == direct.neighbours("the", 4)
    assert [word for word, _ in opened.neighbours("the", 4)] == [word for word, _ in theirs.most_similar("the", topn=4)]
    theirs.save(str(tmp_path / "pickled.txt"))
    with pytest.raises(Fault, match="is a pickle"):
        read_vectors(tmp_path / "pickled.txt")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3 2\na 1 2\nb 3 4\n", r"x.txt:1.*\n?.*the first line says 3 words; the file has 2"),
        ("2 2\na 1 2\nb 3 4 5\n", r"x.txt:3.*\n?.*this line has 3 numbers; the first line says 2"),
        ("2 2\na 1 2\nb 3 x\n", r"x.txt:3.*\n?.*the vector of 'b' holds what is no number"),
        ("2 2\na 1 x\nb 3 4\n", r"x.txt:2.*\n?.*the vector of 'a' holds what is no number"),
        ("2 3\na 1 2\nb 3 4\n", r"x.txt:2.*\n?.*this line has 2 numbers; the first line says 3"),
        ("a 1 2\nb 3\n", r"x.txt:2.*\n?.*this line has 1 numbers; those before have 2"),
        ("a 1 2\nb 3 4\na 5 6\n", r"x.txt:3.*\n?.*the word 'a' comes a second time \(first as word 1\)"),
        ("2 2\na 1 2\nb nan 4\n", r"x.txt:3.*\n?.*the vector of 'b' holds what is no number"),
        ("a 1 2\nb x 4\n", r"x.txt:2.*\n?.*the vector of 'b' holds what is no number"),
        ("", r"x.txt:1.*\n?.*empty"),
        ("2 2\n", "holds no vector"),
    ],
)
def test_a_bad_file_is_named_with_its_line(text, words, tmp_path):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(Fault, match=words):
        read_vectors(tmp_path / "x.txt")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"2 2\nnew york 1 2\n. . . 3 4\n", ["new york", ". . ."]),  # as GloVe's of web text
        (b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n", ["a", "b"]),
        (b"\xef\xbb\xbfa 1 2\nb 3 4\n", ["a", "b"]),
        (b"2 2\r\na 1 2\r\nb 3 4\r\n", ["a", "b"]),
        (b"2\t2\na\t1\t2\nb\t3\t4\n", ["a", "b"]),
        (b" a  1  2 \n b  3  4 \n", ["a", "b"]),
        (b"2 2\nna\xefve 1 2\nb 3 4\n", ["na\ufffdve", "b"]),
    ],
)
def test_spaces_tabs_and_marks_of_other_programs_are_read(content, words, tmp_path):
    (tmp_path / "x.txt").write_bytes(content)
    assert is_vector_file(tmp_path / "x.txt")
    found, vectors = read_vectors(tmp_path / "x.txt")
    assert found == words
    assert vectors.tolist() == [[1, 2], [3, 4]]


def test_chinese_is_cut_into_the_words_of_a_file(tmp_path):
    words = ["我", "喜欢", "这个", "电影", "不"]
    vectors = foreword.load(write_vectors(tmp_path / "x.txt", words, np.eye(5, dtype=np.float32), "glove"))
    assert vectors.embed("我不喜欢电影")[0].tolist() == pytest.approx([0.25, 0.25, 0, 0.25, 0.25])


def test_other_models_that_are_files_are_not_taken_for_vectors(tmp_path):
    for form in FORMS:
        assert is_vector_file(write_vectors(tmp_path / "x.bin", WORDS, VECTORS, form))
    for content in (
        b"\\data\\\nngram 1=3\n",
        b"\nngram 1 2\n",
        b"mmap lm http://kheafield.com/code format version 5\n",
        b"",
    ):
        (tmp_path / "y.bin").write_bytes(content)
        assert not is_vector_file(tmp_path / "y.bin")
    assert not is_vector_file(tmp_path / "nowhere.txt")


def test_a_binary_file_cut_short_says_so(tmp_path):
    file = write_vectors(tmp_path / "x.bin", WORDS, VECTORS, "word2vec")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(Fault, match="says 5 words; the file ends after 4"):
        read_vectors(file)


# --- evaluation


def planted() -> WordVectors:
    """Capitals are their countries plus one direction."""
    draw = np.random.default_rng(0)
    countries = {f"land{n}": draw.normal(size=30) for n in range(8)}
    capitals = {f"city{n}": vector + 2 * np.eye(30)[0] for n, vector in enumerate(countries.values())}
    both = countries | capitals
    return WordVectors.of("planted", list(both), np.stack(list(both.values())).astype(np.float32))


def test_analogies_are_right_where_they_were_planted_and_coverage_is_said(tmp_path):
    lines = [": capitals", *(f"LAND{a} city{a} land{b} city{b}" for a in range(8) for b in range(8) if a != b)]
    (tmp_path / "q.txt").write_text("\n".join([*lines, ": other", "land1 city1 nowhere city2"]))
    found = analogies(planted(), tmp_path / "q.txt")
    assert (found.value, found.asked, found.total) == (1.0, 56, 57)
    assert found.all_counted == pytest.approx(56 / 57)
    assert found.sections == {"capitals": (56, 56), "other": (0, 0)}
    assert analogies(planted(), tmp_path / "q.txt", "mul").value > 0.9
    shuffled = planted()
    shuffled.table.vectors[1:17] = shuffled.table.vectors[1:17][np.random.default_rng(1).permutation(16)]
    assert analogies(shuffled, tmp_path / "q.txt").value < 0.5


def test_similarity_is_spearmans_and_leaves_unknown_words_out(tmp_path):
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(0)
    one, other = draw.integers(5, size=40), draw.integers(5, size=40)
    assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
    vectors = planted()
    pairs = [(f"land{n}", f"city{m}") for n in range(8) for m in range(8)]
    rows = [f"{a}\t{b}\t{vectors.similarity(a, b) + 5}" for a, b in pairs]
    (tmp_path / "pairs.tsv").write_text("# about\n" + "\n".join([*rows, "land0\tnowhere\t3"]))
    found = word_similarity(vectors, tmp_path / "pairs.tsv")
    assert (round(found.value, 9), found.asked, found.total) == (1.0, 64, 65)
    assert found.interval[0] > 0.9
    write_vectors(tmp_path / "v.txt", [f"land{n}" for n in range(8)], VECTORS[[0] * 8], "glove")
    values = report([str(tmp_path / "v.txt")], [str(tmp_path / "pairs.tsv")], None).data()
    assert next(iter(values.values()))[f"{tmp_path / 'pairs.tsv'} Spearman"]["asked"] == 0


def test_files_in_another_format_are_a_sentence_with_their_line(tmp_path):
    (tmp_path / "q.txt").write_text(": a\nathens greece oslo norway\nathens greece oslo\n")
    with pytest.raises(Fault, match=r"q.txt:3.*\n?.*a question has four words"):
        questions_of(tmp_path / "q.txt")
    (tmp_path / "q.csv").write_text("athens,greece,oslo,norway\nathens,greece,rome,italy\n")  # no line names a section
    write_vectors(tmp_path / "w.txt", WORDS, VECTORS, "glove")
    with pytest.raises(Fault, match=r"q.csv:1.*\n?.*word, word, number"):
        report([str(tmp_path / "w.txt")], [str(tmp_path / "q.csv")], None)
    (tmp_path / "p.txt").write_text("tiger cat 7.35\ntiger cat much\n")
    with pytest.raises(Fault, match=r"p.txt:2.*\n?.*word, word, number"):
        pairs_of(tmp_path / "p.txt")
    write_vectors(tmp_path / "v.txt", WORDS, VECTORS, "glove")
    with pytest.raises(Fault, match="no set of word pairs or analogies. Did you mean wordsim353"):
        report([str(tmp_path / "v.txt")], ["wordsim35"], Path())
