"""`foreword demo` on one's own text: from files to a page that a person enjoys reading."""

from __future__ import annotations

import html
import json
import re

import pytest

from tests.cli.program import Said, run


@pytest.fixture(scope="module")
def demo(text, tmp_path_factory) -> tuple:
    folder = tmp_path_factory.mktemp("own")
    lines = text.read_bytes().splitlines(keepends=True)
    (folder / "inner").mkdir()
    (folder / "one.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    (folder / "inner/two.jsonl").write_bytes(b"".join(lines[len(lines) // 2 :]))
    (folder / "inner/copy.jsonl").write_bytes(b"".join(lines[:30]))  # near-duplicates must go
    out = tmp_path_factory.mktemp("demo") / "out"
    return folder, out, run("demo", "--data", folder, "--budget", "5", "--out", out)


def page(demo) -> str:
    return (demo[1] / "report.html").read_text(encoding="utf-8")


def scores(demo) -> dict[str, float]:
    return {name: score["bits_per_byte"] for name, score in json.loads((demo[1] / "report.json").read_text()).items()}


def test_the_demo_ends_with_a_report(demo) -> None:
    said: Said = demo[2]
    assert said.right().splitlines()[-1] == f"report: {demo[1] / 'report.html'}"
    assert "gathering text" in said.err
    assert "gathering text" not in said.out


def test_each_model_is_better_than_the_simpler_one(demo) -> None:
    bits = scores(demo)
    assert bits["uniform"] > bits["unigram"] > bits["bigram"] > bits["Kneser-Ney 3"]
    assert bits["bigram"] > bits["Kneser-Ney 5"]
    assert bits["mixture of orders"] < bits["bigram"]


def test_the_mixture_stands_in_the_table(demo) -> None:
    bits = scores(demo)
    assert bits["modern GPT + Kneser-Ney 5"] <= min(bits["modern GPT"], bits["Kneser-Ney 5"]) + 0.02
    assert "<td>modern GPT + Kneser-Ney 5</td>" in page(demo)
    assert re.search(r"^modern GPT \+ Kneser-Ney 5 +\d\.\d{4} ", demo[2].out, re.M)
    for name, value in bits.items():
        assert f"<td>{name}</td><td>{value:.4f}</td>" in page(demo)


def test_words_say_what_won(demo) -> None:
    bits = scores(demo)
    del bits["modern GPT + Kneser-Ney 5"]
    best = min(bits, key=bits.__getitem__)
    lead = html.unescape(page(demo).split('<div class="lead">')[1].split("</div>")[0])
    assert f"{best} predicts this text best on its own: {bits[best]:.3f} bits per byte." in lead
    assert "Counting still wins here: modern GPT has trained for only" in lead  # five steps
    assert "Mixing the two gains nothing here" in lead or "Together they do better than either" in lead


def test_the_page_needs_nothing_else(demo) -> None:
    """No address is fetched: no script, link, image, font or import from elsewhere."""
    content = page(demo)
    assert not re.search(r"<script|<link|<img|<iframe|@import|@font-face", content)
    assert not re.search(
        r"""(?:src|href)\\s*=\\s*["'](?!#)""", re.sub(r'xlink:href="#[^"]*"|href="#[^"]*"', "", content)
    )
    assert not re.search(r"url\((?!#)", content)
    assert content.count("<svg") >= 2  # bars and a curve, drawn in the page itself
    assert content.startswith("<!doctype html>")


def test_held_out_text_stands_beside_what_the_models_write(demo) -> None:
    samples = [html.unescape(one.split("</figure>")[0]) for one in page(demo).split('<figure class="sample">')[1:]]
    assert len(samples) == 4
    texts = [json.loads(line)["text"] for line in (demo[1] / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    for sample in samples:
        (prompt,) = re.findall(r"<b>(.+?)</b>", sample, re.DOTALL)
        names = re.findall(r"<dt>(.+?)</dt>", sample)
        assert names == ["the text itself", "modern GPT", "Kneser-Ney 5"]
        rest = re.findall(r"<dd><pre>(.*?)</pre>", sample, re.DOTALL)[0].removesuffix(" ...")
        assert len(rest) > 20
        assert any(prompt + rest in text or f"{prompt}\n{rest}" in text for text in texts)
        assert " ".join(prompt.split())[:60] in demo[2].out
    assert demo[2].out.count("the text itself") == 4


def test_copies_are_left_out_before_the_split(demo) -> None:
    facts = json.loads((demo[1] / "corpus.json").read_text())
    assert facts["exact"] >= 30
    texts = [json.loads(line)["text"] for line in (demo[1] / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(texts) == len(set(texts)) == facts["kept"]


def test_every_setting_is_in_the_page(demo) -> None:
    content = html.unescape(page(demo))
    for words in ('name = "modern-gpt"', 'budget = "5"', "byte-level BPE", "by a hash of each document"):
        assert words in content


def test_given_again_it_does_nothing_twice_and_refuses_other_text(demo, text) -> None:
    folder, out, first = demo
    before = (out / "runs/modern-gpt/model/model.safetensors").read_bytes()
    again = run("demo", "--data", folder, "--budget", "5", "--out", out)
    again.right()
    assert again.err.count("this run is finished") == 7
    assert (out / "runs/modern-gpt/model/model.safetensors").read_bytes() == before
    said = run("demo", "--data", text, "--budget", "5", "--out", out).fault()
    assert said == f"{out} holds a demonstration on other text ({folder}).\n    Choose another --out."
