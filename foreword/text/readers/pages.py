"""HTML to text: trafilatura, and a second extractor on request. Nothing runs, nothing is fetched."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from foreword.basics.packages import needed
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.source import Source
from foreword.text.corpus.stage import Tally
from foreword.text.readers.charset import NONE, decode_page


class PageSource(Source):
    """What sources of pages have in common."""

    second: Literal["", "justext"] = ""  # also ask jusText, and take the longer text: which one won is counted
    stop_words: str = "English"  # the language by whose frequent words jusText knows text

    @cached_property
    def trafilatura(self) -> Any:
        logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # a page without text is counted, not logged
        logging.getLogger("htmldate").setLevel(logging.CRITICAL)
        return needed("trafilatura", "corpus", "HTML needs")

    @cached_property
    def justext(self) -> Any:
        return needed("justext", "corpus", 'second = "justext" needs')

    def page(self, content: bytes, charset: str, about: CorpusDocument, tally: Tally) -> CorpusDocument | str:
        """The document of a page, or the rule that leaves it out."""
        if len(content) > self.limit:
            return "too large"
        html, note = decode_page(content, charset)
        if note == NONE:
            return NONE
        if note:
            tally.change(note, about.address or about.source)
        text = self.text_of(html.replace("\x00", ""), tally)
        return replace(about, text=text) if text else "no text found"

    def text_of(self, html: str, tally: Tally) -> str:
        first = (
            self.trafilatura.extract(html, include_comments=False, include_tables=False, fast=bool(self.second)) or ""
        )
        if not self.second:
            return first
        words = self.justext.get_stoplist(self.stop_words)
        try:
            paragraphs = self.justext.justext(html, words)
        except (ValueError, self.justext.core.JustextError, *_parsing_errors()):  # an empty page, or none at all
            paragraphs = []
        second = "\n".join(one.text for one in paragraphs if not one.is_boilerplate)
        won = "justext" if len(second) > len(first) else "trafilatura"
        if first or second:
            tally.change(f"extracted by {won}", second if won == "justext" else first)
        return second if won == "justext" else first


def _parsing_errors() -> tuple[type[Exception], ...]:
    return (needed("lxml.etree", "corpus", "HTML needs").LxmlError,)
