"""ARPA files: written and read back, files by others, and what is wrong with broken ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.basics.messages import Fault
from foreword.counts.arpa import ArpaModel, escape, names, read_arpa, unescape, write_arpa
from foreword.counts.smoothed import SmoothedNGram
from foreword.tokens.vocabulary import Vocabulary

FOREIGN = """written by somebody else

\\data\\
ngram 1=5
ngram 2=4
ngram 3=1

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.30103
-0.69897\t</s>
-0.39794\ta\t-0.2
-0.5228787\tb\u3000c\t-0.1

\\2-grams:
-0.2218487 <s> a -0.05
-0.30103\ta b\u3000c\t-0.4
-0.4\tb\u3000c </s>
-0.9\t</s> a

\\3-grams:
-0.1\t<s> a b\u3000c

\\end\\
"""


def file_with(tmp_path, text):
    path = tmp_path / "model.arpa"
    path.write_text(text, encoding="utf-8")
    return path


@given(st.text())
def test_escaping_can_be_undone(piece):
    name = escape(piece)
    assert unescape(name) == piece
    assert name
    assert not any(letter.isspace() for letter in name)
    name.encode()  # lone surrogates are escaped too


@given(st.lists(st.sampled_from(["a", "\ufffd", " ", "<s>", "</s>", "<unk>", "", "a\\#1", "\\", "\\e"]), max_size=12))
def test_every_id_has_a_name_of_its_own(pieces):
    given_names = names(Vocabulary(size=len(pieces) + 1, end=len(pieces), silent=()), [*pieces, "[end]"].__getitem__)
    assert len(set(given_names)) == len(given_names)
    assert given_names[-1] == "</s>"
    assert [unescape(name) for name in given_names[:-1]] == pieces


@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_model_written_and_read_back_scores_the_same(order, tmp_path, vocabulary, train, held_out):
    model = SmoothedNGram(order=order).build(vocabulary)
    model.count(train)
    model.estimate(None)
    pieces = [
        "a",
        " b",
        "\n",
        "<s>",
        "\x00",
        "\\",
        "é",
        "\u3000",
        "<unk>",
        "\ufffd",
        "\ufffd",
        "k",
        "[pad]",
        "[end]",
        "[mask]",
    ]
    path = tmp_path / "m.arpa"
    write_arpa(model, pieces.__getitem__, path)
    again = read_arpa(path)
    assert isinstance(again, ArpaModel)
    assert again.pieces[again.vocabulary.end] == "</s>"
    mine = names(vocabulary, pieces.__getitem__)
    there = {name: token for token, name in enumerate(again.pieces)}
    assert set(there) == {name for token, name in enumerate(mine) if token not in vocabulary.silent}
    renamed = np.array([there.get(name, -1) for name in mine])
    text = np.concatenate([[13], held_out, [11, 10, 3, 13]])
    np.testing.assert_allclose(again.score([renamed[text]], [1])[0], model.score([text], [1])[0], atol=1e-7)
    log_probs, state = again.begin([np.array([], int), renamed[held_out[:3]]])
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, atol=1e-6)
    theirs, _ = model.begin([np.array([], int), held_out[:3]])
    np.testing.assert_allclose(log_probs[:, renamed[model.events]], theirs[:, model.events], atol=1e-7)
    twin = ArpaModel(again.vocabulary, 1, [])
    twin.restore(again.arrays())
    assert twin.pieces == again.pieces
    np.testing.assert_array_equal(twin.begin([renamed[held_out[:3]]])[0], again.begin([renamed[held_out[:3]]])[0])


def test_a_file_by_others_is_read_by_the_rules_of_backing_off(tmp_path):
    model = read_arpa(file_with(tmp_path, FOREIGN))
    assert model.pieces == ["<unk>", "</s>", "a", "b\u3000c"]
    end, a, b = 1, 2, 3
    scores = model.score([np.array([end, a, b, end]), np.array([b, a, b, b])], [1, 1])
    np.testing.assert_allclose(scores[0] / np.log(10), [-0.2218487, -0.1, -0.4 - 0.4], atol=1e-9)
    np.testing.assert_allclose(scores[1] / np.log(10), [-0.1 - 0.39794, -0.30103, -0.4 - 0.1 - 0.5228787], atol=1e-9)
    first, _ = model.begin([np.array([], int)])
    assert np.isclose(first[0, b] / np.log(10), -0.30103 - 0.5228787)
    with pytest.raises(Fault, match="cannot count"):
        model.count(np.array([1]))


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("ngram 2=4", "ngram 2=5", 20, "the header says there are 5 2-grams; the section ends after 4"),
        ("ngram 2=4", "ngram 2=3", 19, "3-grams: was expected here"),
        ("ngram 2=4", "ngram two=4", 5, "'ngram 2=<count>' was expected here"),
        ("-0.4\tb", "x\tb", 18, "a number was expected"),
        ("-0.5228787\tb", "-0.5\tb b b", 13, "a 1-gram has 2 or 3 fields; this line has 5"),
        ("-0.30103\ta b", "-0.30103\ta q", 17, "q\u3000c is not among the 1-grams"),
        ("-0.4\tb\u3000c </s>", "-0.4\t<s> a", 18, "this 2-gram is listed twice"),
        ("-0.39794\ta", "-0.39794\t</s>", 12, "</s> is listed twice"),
        ("-0.1\t<s> a b", "-0.1\t<s> <unk> b", 22, "begins with a 2-gram that is not in the file"),
        ("\\3-grams:", "\\4-grams:", 21, "3-grams: was expected here"),
        ("\\end\\", "\\fin\\", 24, "end\\ was expected here"),
        ("\\end\\\n", "", 23, "the file ends before"),
        ("\\data\\", "data", 24, "no \\data\\ line"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path, old, new, line, says):
    path = file_with(tmp_path, FOREIGN.replace(old, new, 1))
    with pytest.raises(Fault, match=re.escape(says)) as caught:
        read_arpa(path)
    assert caught.value.where == f"{path}:{line}"


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(Fault, match="is not there"):
        read_arpa(tmp_path / "none.arpa")
