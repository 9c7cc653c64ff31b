"""The text of simple HTML, such as chapters and mails: blocks on lines of their own, no scripts, no styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LISTS = ("li", "tr", "table", "ul", "ol", "dt", "dd")
BLOCKS = frozenset((*HEADINGS, *LISTS, "p", "div", "br", "section", "article", "blockquote", "pre", "hr"))
SILENT = frozenset(("script", "style", "head", "title", "template", "noscript"))


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.silent += tag in SILENT
        self._block(tag)

    def handle_endtag(self, tag: str) -> None:
        self.silent = max(0, self.silent - (tag in SILENT))
        self._block(tag)

    def _block(self, tag: str) -> None:
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.parts.append(re.sub(r"\s+", " ", data))


def markup_text(html: str) -> str:
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = [" ".join(line.split()) for line in "".join(parser.parts).split("\n")]
    return "\n".join(line for line in lines if line)
