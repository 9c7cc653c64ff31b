"""What is told of a corpus: sizes, lengths, languages, quality, hosts, dates, and tasks that occur in it by nature."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from foreword.basics.files import JsonObject
from foreword.text.corpus.stage import Documents, Tally, merged, size_of

HOSTS = 1000  # that a shard keeps: the many with a page or two do not matter to the whole
# GPT-2's authors looked for such lines to see what a model may learn from the web alone (Radford et al. 2019, section 2)
NATURAL_TASKS = {
    "question and answer": re.compile(r"^(?:Q|Question|问)\s*[:：].{3,300}\n+\s*(?:A|Answer|答)\s*[:：]", re.MULTILINE),
    "summary": re.compile(r"\bTL;?DR\b|\bIn summary\b|\bTo summarize\b|总而言之|总之", re.IGNORECASE),
    "translation": re.compile(
        r"\b(?:in|from) (?:French|German|Spanish|Italian|Chinese|Latin)\b[^\n]{0,40}[\"“«„]|"
        r"[\"”»] (?:in|means) (?:French|German|Spanish|Italian|Chinese|Latin|English)\b"
    ),
}
AROUND = 80  # characters of a sample before and behind what was found


class CorpusFacts:
    """Of one shard; those of all shards add up."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {
            what: Counter()
            for what in ("by_source", "bytes_by_source", "lengths", "languages", "quality", "hosts", "years")
        }
        self.tasks = Tally()
        self.words = 0

    def gather(self, documents: Documents) -> Documents:
        """The same documents, looked at as they pass."""
        for document in documents:
            size = size_of(document.text)
            self.words += len(document.text.split())
            self._count("by_source", document.name)
            self.counts["bytes_by_source"][document.name] += size
            self._count("lengths", str(size.bit_length()))
            self._count("years", document.date[:4] or "unknown")
            self._note(document.passed)
            if document.address and (host := urlsplit(document.address).hostname):
                self._count("hosts", host)
            for task, pattern in NATURAL_TASKS.items():
                for found in pattern.finditer(document.text):
                    start, stop = max(0, found.start() - AROUND), found.end() + AROUND
                    self.tasks.change(task, document.text[start:stop])
            yield document

    def _note(self, passed: Any) -> None:
        if "language" in passed:
            self._count("languages", passed["language"])
        if "quality" in passed:
            self._count("quality", f"{min(int(10 * passed['quality']), 9) / 10:.1f}")

    def _count(self, what: str, name: str) -> None:
        self.counts[what][name] += 1

    def data(self) -> JsonObject:
        found: JsonObject = {what: dict(counts) for what, counts in self.counts.items()}
        hosts = sorted(self.counts["hosts"].items(), key=lambda item: (-item[1], item[0]))[:HOSTS]
        return {**found, "hosts": dict(hosts), "tasks": self.tasks.data(), "words": self.words}


def merged_facts(facts: Iterable[JsonObject]) -> JsonObject:
    facts = list(facts)
    names = [what for what in facts[0] if what not in ("tasks", "words")]
    whole: JsonObject = {}
    for what in names:
        total = sum((Counter(one[what]) for one in facts), Counter[str]())
        whole[what] = dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))
    tasks = merged(one["tasks"] for one in facts)
    return {
        "documents": sum(whole["by_source"].values()),
        "bytes": sum(whole["bytes_by_source"].values()),
        "words": sum(one["words"] for one in facts),
        **whole,
        "tasks": {"counts": tasks["changed"], "samples": tasks["samples"]},
    }
