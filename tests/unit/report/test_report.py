"""One report, three ways to see it: a page that needs nothing else, lines for a terminal, JSON for programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from foreword.report import Facts, HeatMap, Plot, Report, Sample, Section, Table, Text
from foreword.report.plots import bars, curves


@pytest.fixture
def report() -> Report:
    table = Table([("model", "bits"), ("gpt2", "1.803"), ("<bigram>", "3.607")], caption="of 3 documents", best=1)
    return Report(
        "What came of <it>",
        ["GPT-2 won & how."],
        [
            Section("Results", table, Text(["shown small"], note=True), Text(["for pages"], page_only=True), None),
            Section(
                "Drawn",
                bars({"gpt2": 1.8, "bigram": 3.6}, "bits", "gpt2", "The shorter the better."),
                curves({"gpt2": [(0, 5.0), (10, 3.0)]}, "tokens"),
            ),
            Section("Empty"),
            Section("Written", Sample("Once upon <script>alert(1)</script> a time", "predicted: good")),
            Section("How", Facts([("text", "3 documents")], ("Settings", "layers = 2"))),
        ],
    )


def test_the_page_needs_nothing_else(report: Report) -> None:
    page = report.html()
    outside = [link for link in re.findall(r"https?://[^\s\"'<>)]+", page) if "www.w3.org" not in link]
    assert not outside
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)\s*=", page)
    assert "@import" not in page
    assert not re.findall(r"\burl\((?!#)", page)
    assert page.count("<svg") == 2


def test_the_page_shows_all_and_escapes_it(report: Report) -> None:
    page = report.html()
    for text in (
        "What came of &lt;it&gt;",
        "GPT-2 won &amp; how.",
        "1.803",
        "&lt;bigram&gt;",
        "layers = 2",
        "3 documents",
        "a time",
        "<div>predicted: good</div>",
        "for pages",
        "shown small",
        "The shorter the better.",
        "of 3 documents",
    ):
        assert text in page, text
    assert "<script>alert" not in page
    assert '<tr class="best"><td>gpt2' in page
    assert "Empty" not in page, "a section without blocks has no title either"


def test_the_terminal_has_tables_and_text_and_ends_with_what_was_found(report: Report) -> None:
    assert list(report.lines()) == [
        "of 3 documents",
        "model      bits",
        "gpt2      1.803",
        "<bigram>  3.607",
        "shown small",
        "",
        "GPT-2 won & how.",
    ]


def test_programs_get_the_values_or_what_was_shown(report: Report, tmp_path) -> None:
    found = json.loads(report.json())
    assert found["sections"][0]["tables"] == [[["model", "bits"], ["gpt2", "1.803"], ["<bigram>", "3.607"]]]
    report.values = {"bits": 1.8}
    assert json.loads(report.json()) == {"bits": 1.8}
    assert report.save(tmp_path, "found.json") == tmp_path / "report.html"
    assert json.loads((tmp_path / "found.json").read_text()) == {"bits": 1.8}


def test_nothing_is_drawn_before_a_page_is_made() -> None:
    code = (
        "import sys\nfrom foreword.report import Report, Section\nfrom foreword.report.plots import bars\n"
        "list(Report('t', [], [Section('s', bars({'a': 1.0}, 'x'))]).lines())\n"
        "assert not {'matplotlib', 'jinja2', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_plot_is_drawn_on_axes_of_its_own() -> None:
    seen = []
    drawn = Plot(2.0, lambda axes: seen.append(axes) or axes.plot([1, 2]), "", "across", "upwards").svg()
    assert re.search(r"rotate\(-90[^>]*>upwards<", drawn)
    assert re.search(r"rotate\(-0[^>]*>across<", drawn)
    assert drawn.startswith("<svg")
    assert len(seen) == 1


def test_a_heat_map_in_colour_and_without(capsys, monkeypatch) -> None:
    heat = HeatMap([("a", 0.0), ("b", 0.02), ("<", 1.0), ("d", 1.7), (" ", -0.5), ("e", -0.5)])
    assert heat.pieces == [("ab", 0.0), ("<d", 1.0), (" e", -0.5)]
    assert list(heat.terminal()) == ["", "ab<d e", "..++--"]
    page = Report("t", [], [Section("s", heat)]).html()
    assert '<span style="background: rgba(217, 98, 43, 1.0)">&lt;d</span>' in page
    assert '<span style="background: rgba(74, 124, 155, 0.5)"> e</span>' in page
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    coloured = list(heat.terminal())[1]
    assert "\033[48;5;202m" in coloured
    assert re.sub(r"\033\[[0-9;]*m", "", coloured) == "ab<d e"
    monkeypatch.setenv("NO_COLOR", "1")
    assert list(heat.terminal())[2] == "..++--"
