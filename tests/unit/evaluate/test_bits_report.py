import re

from foreword.evaluate.bits_report import results
from foreword.evaluate.score import Score
from foreword.report import Report


def score(nats=1000.0, **more):
    return Score(
        **{
            "nats": nats,
            "tokens": 500,
            "bytes": 800,
            "characters": 700,
            "words": 100,
            "documents": 3,
            "policy": "each document on its own",
            **more,
        }
    )


def lines(*given):
    return results(*given).terminal()


def test_the_table_gives_number_unit_and_policy():
    said = lines({"gpt2": score(), "bigram": score(2000.0)}, "store (test)", {"gpt2": 0.75, "bigram": 0.25})
    text = "\n".join(said)
    assert said[0] == "store (test): 3 documents, 800 bytes"
    assert re.search(r"gpt2\s+1\.8034\s+2\.0610\s", text)
    assert "bits/byte" in said[1]
    assert "mixture = 0.750 gpt2 + 0.250 bigram" in text
    assert text.count("context: each document on its own") == 1


def test_the_table_never_prints_what_does_not_compare():
    pseudo = "\n".join(lines({"bert": score(kind="pseudo-likelihood", lossless=False, unknown=7)}, "store"))
    assert "PSEUDO-LIKELIHOOD" in pseudo
    assert "7 unknown tokens" in pseudo
    assert re.search(r"bert\s+-\s+-\s+-\s+7\.39", pseudo)
    assert "infinite" in "\n".join(lines({"x": score(float("inf"))}, "store"))


def test_the_best_model_is_highlighted_on_a_page():
    page = Report("t", [], [results({"bigram": score(2000.0), "gpt2": score()}, "store")]).html()
    assert re.findall(r'<tr class="best"><td>(.*?)</td>', page) == ["gpt2"]
