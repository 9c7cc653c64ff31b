"""Our metrics and pair encoding against the programs that published numbers were made with."""

from __future__ import annotations

import json

import pytest

from foreword.evaluate.likelihood import encode_pair
from foreword.tasks import text_match
from foreword.tasks.metrics import Bleu, difference, value


@pytest.fixture(scope="module")
def summaries(data):
    rows = [
        json.loads(line)
        for line in (data / "dialogsum/dialogsum.test.jsonl").read_text(encoding="utf-8").splitlines()[:120]
    ]
    return [(row["summary1"], [row["summary2"], row["summary3"]]) for row in rows] + [
        ("", ["a b"]),
        ("...", ["x"]),
        ("Don't stop", ["don t stop"]),
    ]


@pytest.mark.parametrize(("ours", "theirs"), [("rouge1", "rouge1"), ("rouge2", "rouge2"), ("rougeL", "rougeL")])
def test_rouge_is_google_s(summaries, ours, theirs):
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer([theirs], use_stemmer=False)
    for guess, references in summaries:
        expected = max(scorer.score(reference, guess)[theirs].fmeasure for reference in references)
        assert text_match.TEXT[ours](guess, references) == pytest.approx(expected, abs=1e-12)


def test_answers_are_compared_as_the_squad_script_does(data):
    """The script as lm-evaluation-harness carries it. Two answers of which nothing is left agree, as in version 2."""
    official = pytest.importorskip("lm_eval.tasks.qasper.metrics")
    articles = json.loads((data / "squad/dev-v1.1.json").read_text(encoding="utf-8"))["data"][:2]
    answers = [
        answer["text"]
        for article in articles
        for paragraph in article["paragraphs"][:8]
        for asked in paragraph["qas"]
        for answer in asked["answers"]
    ]
    for guess, gold in [
        *zip(answers, answers[1:]),
        ("", "x"),
        ("U.S.", "us"),
        ("An apple's", "apples"),
        ("Straße – 5%", "the STRASSE 5"),
    ]:
        assert text_match.normalised(guess) == official.normalize_answer(guess)
        assert text_match.word_f1(guess, [gold]) == pytest.approx(official.f1_abstractive([guess], [gold]))


def test_bleu_from_sums_over_sentences_is_sacrebleu_of_the_corpus(data):
    sacrebleu = pytest.importorskip("sacrebleu")
    english = (data / "multi30k/test_2016_flickr.en").read_text(encoding="utf-8").splitlines()[:80]
    guesses = [" ".join(line.split()[:-2] + ["dog"]) for line in english]
    judged = [(guess, [line]) for guess, line in zip(guesses, english)]
    expected = sacrebleu.corpus_bleu(guesses, [english]).score
    assert value(Bleu(), judged) == pytest.approx(expected, abs=1e-9)
    low, high = Bleu().interval(judged)
    assert low < expected < high < low + 15
    apart = difference(Bleu(), judged, [(line, [line]) for line in english])
    gain, (low, high) = apart.value, apart.interval
    assert gain == pytest.approx(100 - expected, abs=1e-6)
    assert 0 < low < gain < high


@pytest.mark.parametrize("kind", ["byte", "byte_bpe"])
def test_pairs_are_cut_where_lm_evaluation_harness_cuts_them(store, kind):
    model = pytest.importorskip("lm_eval.api.model")
    tokenizer = store(kind).tokenizer

    class Harness(model.TemplateLM):
        backend = "causal"
        eot_token_id = tokenizer.special("[end]")
        generate_until = loglikelihood_rolling = _loglikelihood_tokens = None

        def tok_encode(self, string, add_special_tokens=None, **more):
            return tokenizer.encode(string)

    texts = [
        "The value of",
        " the expression ",
        "\n\nAnswer:",
        " is (",
        "x",
        "今天天气",
        "e\u0301",
        "\t",
        "class",
        "es",
    ]
    for context in texts:
        for continuation in texts:
            if not context.strip():
                continue
            theirs = Harness()._encode_pair(context, continuation)
            if theirs[1]:  # where theirs is nothing, the harness itself cannot go on
                assert tuple(map(list, encode_pair(tokenizer, context, continuation))) == theirs
