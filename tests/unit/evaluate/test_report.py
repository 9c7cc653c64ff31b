import re

import pytest

from foreword.evaluate.bits_report import Page, table, write_page
from foreword.evaluate.score import Score


def score(nats=1000.0, **more):
    return Score(**{"nats": nats, "tokens": 500, "bytes": 800, "characters": 700, "words": 100, "documents": 3,
                    "policy": "each document on its own", **more})


def test_the_table_gives_number_unit_and_policy():
    lines = list(table({"gpt2": score(), "bigram": score(2000.0)}, "store (test)", {"gpt2": 0.75, "bigram": 0.25}))
    text = "\n".join(lines)
    assert lines[0] == "store (test): 3 documents, 800 bytes"
    assert re.search(r"gpt2\s+1\.8034\s+2\.0610\s", text)
    assert "bits/byte" in lines[1]
    assert "mixture = 0.750 gpt2 + 0.250 bigram" in text
    assert text.count("context: each document on its own") == 1


def test_the_table_never_prints_what_does_not_compare():
    pseudo = "\n".join(table({"bert": score(kind="pseudo-likelihood", lossless=False, unknown=7)}, "store"))
    assert "PSEUDO-LIKELIHOOD" in pseudo
    assert "7 unknown tokens" in pseudo
    assert re.search(r"bert\s+-\s+-\s+-\s+7\.39", pseudo)
    assert "infinite" in "\n".join(table({"x": score(float("inf"))}, "store"))


@pytest.fixture
def page(tmp_path):
    made = Page("What came of <it>", ["GPT-2 won & how."], {"gpt2": score(), "bigram": score(2000.0)},
                {"gpt2": ([(0, 5.0), (10, 3.0)], [(10, 3.2)])}, [("gpt2", "Once", "upon <script>alert(1)</script> a time")],
                [("text", "3 documents")], "layers = 2", "gpt2")
    write_page(made, tmp_path / "report.html")
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_else(page):
    outside = [link for link in re.findall(r"https?://[^\s\"'<>)]+", page) if "www.w3.org" not in link]
    assert not outside
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)\s*=", page)
    assert "@import" not in page
    assert not re.findall(r"\burl\((?!#)", page)
    assert page.count("<svg") == 2


def test_the_page_shows_what_was_measured_and_escapes_it(page):
    for text in ("What came of &lt;it&gt;", "GPT-2 won &amp; how.", "1.803", "3.607", "layers = 2", "3 documents", "a time"):
        assert text in page
    assert "<script>alert" not in page
    assert page.index("<td>gpt2") < page.index("<td>bigram")


def test_a_page_without_curves_or_samples_is_still_a_page(tmp_path):
    write_page(Page("t", [], {"a": score()}), tmp_path / "r.html")
    assert "</html>" in (tmp_path / "r.html").read_text()
