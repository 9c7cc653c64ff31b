"""A report: sections of text, tables and plots, written once and shown as a page, in the terminal, or as JSON.

table = Table([("split", "accuracy"), ("test", "84.1")])
Report("GPT-2 on MRPC", ["Accuracy 84.1 on test."], [Section("Results", table)]).save(folder)
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.basics.files import write_json, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LINE = 110  # characters of a line in the terminal


@dataclass(frozen=True)
class Text:
    """Paragraphs. On a page a note is smaller than other text; in the terminal every line stands alone."""

    lines: Sequence[str]
    note: bool = False
    page_only: bool = False
    kind = "text"

    def terminal(self) -> Iterator[str]:
        yield from () if self.page_only else self.lines


@dataclass(frozen=True)
class Table:
    """Rows of cells, the head first."""

    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)  # columns that begin at the left in the terminal
    caption: str = ""
    best: int | None = None  # the row that a page highlights, the head being row 0
    kind = "table"

    @staticmethod
    def of(
        records: Sequence[Mapping[str, str]], left: Sequence[int] = (0,), caption: str = "", best: int | None = None
    ) -> Table:
        """A row for each record; what they call their values is the head."""
        return Table([tuple(records[0]), *(tuple(record.values()) for record in records)], left, caption, best)

    def terminal(self) -> Iterator[str]:
        if self.caption:
            yield self.caption
        yield from aligned(self.rows, self.left)

    @property
    def wide(self) -> bool:
        return len(self.rows[0]) > 7


class PageOnly:
    """What a terminal does not show."""

    def terminal(self) -> Iterator[str]:
        yield from ()


@dataclass(frozen=True)
class Plot(PageOnly):
    """A drawing, made only when a page is: `draw` is given the axes."""

    height: float  # inches; the width is a page's
    draw: Callable[[Axes], object]
    note: str = ""
    xlabel: str = ""
    ylabel: str = ""
    kind = "plot"

    def svg(self) -> str:
        from foreword.report.plots import svg

        return svg(self)


@dataclass(frozen=True)
class Sample(PageOnly):
    """Text that a model read, shown as it is, and a line about it."""

    text: str
    below: str = ""
    kind = "sample"


@dataclass(frozen=True)
class HeatMap:
    """A text, each character coloured by a number from -1 (blue) to 1 (orange)."""

    characters: Sequence[tuple[str, float]]
    kind = "heat"

    @property
    def pieces(self) -> list[tuple[str, float]]:
        """Characters of one colour together; strengths in tenths."""
        tenths = [(sign, max(-10, min(10, round(10 * value)))) for sign, value in self.characters]
        groups = itertools.groupby(tenths, key=lambda one: one[1])
        return [("".join(sign for sign, _ in some), tenth / 10) for tenth, some in groups]

    def terminal(self) -> Iterator[str]:
        """In colour; where there is none, a line of signs below: + and - for more than a third of the way."""
        yield ""
        if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
            yield "".join(f"\033[48;5;{_shade(value)}m\033[38;5;16m{text}\033[0m" for text, value in self.pieces)
            return
        text = "".join(" " if sign.isspace() else sign for sign, _ in self.characters)
        signs = "".join("+" if value > 1 / 3 else "-" if value < -1 / 3 else "." for _, value in self.characters)
        for at in range(0, len(text), LINE):
            yield text[at : at + LINE]
            yield signs[at : at + LINE]


def _shade(value: float) -> int:
    """Of the 256 colours of a terminal: white, towards orange or blue."""
    return ((231, 223, 216, 209, 202) if value > 0 else (231, 195, 153, 111, 75))[min(4, round(4 * abs(value)))]


@dataclass(frozen=True)
class Continuations:
    """A prompt, and how it goes on according to each of several."""

    prompt: str
    texts: Mapping[str, str]  # by who wrote it
    kind = "continuations"

    def terminal(self) -> Iterator[str]:
        width = max(map(len, self.texts), default=0)
        yield ""
        for name, text in {"": self.prompt, **self.texts}.items():
            words, margin = " ".join(text.split()), " " * (width + 2)
            yield textwrap.fill(words, LINE, initial_indent=f"{name:>{width}}  ", subsequent_indent=margin)


@dataclass(frozen=True)
class Facts(PageOnly):
    """How something was made: names and values, and what unfolds below them."""

    pairs: Sequence[tuple[str, str]]
    details: tuple[str, str] | None = None  # (what it is, the text)
    kind = "facts"


Block = Text | Table | Plot | Sample | HeatMap | Continuations | Facts


class Section:
    """A title, which only a page shows, and blocks; those that are None are left out."""

    def __init__(self, title: str, *blocks: Block | None):
        self.title, self.blocks = title, tuple(block for block in blocks if block is not None)

    def terminal(self) -> list[str]:
        return [line for block in self.blocks for line in block.terminal()]

    def data(self) -> dict[str, object]:
        text = [line for block in self.blocks if isinstance(block, Text) for line in block.lines]
        tables = [list(map(list, block.rows)) for block in self.blocks if isinstance(block, Table)]
        return {"title": self.title, "text": text, "tables": tables}


@dataclass
class Report:
    """What was found, in words first. In the terminal these come last, where they are read first."""

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    values: object = None  # for programs, where tables and text are not enough

    def lines(self) -> Iterator[str]:
        """For the terminal: sections, separated by empty lines, then what was found."""
        parts = [*(section.terminal() for section in self.sections), list(self.lead)]
        for number, lines in enumerate([lines for lines in parts if lines]):
            yield from ["", *lines] if number else lines

    def html(self) -> str:
        """One file that needs nothing else."""
        from jinja2 import Environment, PackageLoader, select_autoescape

        pages = Environment(loader=PackageLoader("foreword.report", "."), autoescape=select_autoescape())
        return pages.get_template("report.html").render(report=self)

    def json(self) -> str:
        return json.dumps(self.data(), ensure_ascii=False)

    def data(self) -> object:
        if self.values is not None:
            return self.values
        return {"title": self.title, "lead": list(self.lead), "sections": [one.data() for one in self.sections]}

    def show(self, as_json: bool = False) -> None:
        print(self.json() if as_json else "\n".join(self.lines()))

    def save(self, folder: Path, data: str = "") -> Path:
        """report.html in a folder; `data`: also a JSON file of that name."""
        write_text(folder / "report.html", self.html())
        if data:
            write_json(folder / data, self.data())
        return folder / "report.html"


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    """Columns below each other; those that are not `left` end at the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = (
            f"{cell:<{width}}" if place in left else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(row, widths))
        )
        yield "  ".join(cells).rstrip()
