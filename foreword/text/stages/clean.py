"""Leave out lines and documents that rules call no text: C4's, GPT-3's and Gopher's, by name, each counted."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from foreword.basics.files import JsonObject
from foreword.basics.messages import did_you_mean
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.files import file_state, listed
from foreword.text.corpus.stage import Documents, Stage, Tally
from foreword.text.stages.rules import (
    BAD_WORDS,
    CITATIONS,
    LINE_RULES,
    NAMES,
    PAGE_RULES,
    SETS,
    RulePage,
    without_citations,
)
from foreword.text.words import HAN


class Clean(Stage):
    """Rules by name. Lines go first; then the document that is left is judged, and the first rule that objects is counted."""

    kind: str = "clean"
    rules: list[str] = ["c4"]  # names of rules, or of sets of them: c4, gpt3, gopher, gopher_repetition
    bad_words: str = ""  # a file of words or phrases, one to a line: a document with one of them goes

    def faults(self) -> list[tuple[str, str]]:
        known = [*SETS, *NAMES]
        unknown = [rule for rule in self.rules if rule not in known]
        found = [
            (
                "rules",
                f"there is no rule {rule!r}.{did_you_mean(rule, known)} Sets: {', '.join(SETS)}. Rules: {', '.join(NAMES)}.",
            )
            for rule in unknown
        ]
        if BAD_WORDS in self.rules and not self.bad_words:
            found.append(("rules", "bad_words needs a list: bad_words = FILE, one word to a line."))
        return found

    def settings(self) -> JsonObject:
        return {**super().settings(), **file_state([self.bad_words] if self.bad_words else [])}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The rules in the order in which they are asked."""
        wanted = {name for rule in self.rules for name in SETS.get(rule, (rule,))}
        return tuple(name for name in NAMES if name in wanted)

    @cached_property
    def bad(self) -> re.Pattern[str] | None:
        """Whole words only; Chinese has no borders between words to ask for."""
        if not self.bad_words or BAD_WORDS not in self.names:
            return None
        words = [re.escape(one) for one in listed(Path(self.bad_words))]
        bounded = [one if re.search(f"[{HAN}]", one) else rf"(?<!\w){one}(?!\w)" for one in words]
        return re.compile("|".join(bounded) or r"(?!)", re.IGNORECASE)

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        for document in documents:
            cleaned = self._lines(document, tally)
            rule = self._objection(cleaned.text)
            if rule:
                tally.remove(rule, cleaned if cleaned.text else document)
            else:
                yield cleaned

    def _lines(self, document: CorpusDocument, tally: Tally) -> CorpusDocument:
        rules = [(name, LINE_RULES[name]) for name in self.names if name in LINE_RULES]
        if document.dialogue or not (rules or CITATIONS in self.names):  # turns are not lines of a page
            return document
        text, citations = without_citations(document.text) if CITATIONS in self.names else (document.text, 0)
        if citations:
            tally.change(CITATIONS, document.text, citations)
        kept, gone = [], 0
        for line in text.split("\n"):
            rule = next((name for name, objects in rules if objects(line)), "") if line.strip() else ""
            if rule:
                tally.change(rule, line)
                gone += 1
            else:
                kept.append(line)
        if not gone and not citations:
            return document
        left = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")
        return replace(document, text=left).noted(self.kind, {"lines": gone} if gone else {"citations": citations})

    def _objection(self, text: str) -> str:
        if not text.strip():
            return "no line left"
        if self.bad is not None and self.bad.search(text):
            return BAD_WORDS
        page = RulePage(text)
        return next((name for name in self.names if name in PAGE_RULES and PAGE_RULES[name](page)), "")
