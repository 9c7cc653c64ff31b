"""`make bench ARGS=corpus`: megabytes per core-second of each stage, beside datatrove, rensa, datasketch and lingua
where they are installed (extra `peers`)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.race import Work, race
from benchmarks.texts import documents, size_of
from foreword.basics.progress import say
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Stage, Tally
from foreword.text.dedup import HASHES, SHINGLE, signatures
from foreword.text.document import in_batches
from foreword.text.stages.clean import Clean
from foreword.text.stages.language import Language
from foreword.text.stages.private import Private
from foreword.text.stages.repeats import Repeats

MEGABYTES = 4.0


def measure(megabytes: float = MEGABYTES, data: Sequence[Path] = (), rounds: int = 2) -> dict[str, Any]:
    texts = documents(megabytes, data)
    say(f"bench corpus, {size_of(texts) / 1e6:.1f} MB in {len(texts):,} documents")
    found: dict[str, Work] = {
        "clean, c4": _stage(Clean(rules=["c4"]), texts),
        "clean, gopher": _stage(Clean(rules=["gopher"]), texts),
        "clean, gopher_repetition": _stage(Clean(rules=["gopher_repetition"]), texts),
        "language": _stage(Language(), texts),
        "private": _stage(Private(), texts),
        "repeats, hashes of three sentences": lambda: [list(Repeats().parts(text)) for text in texts],
        "dedup, signatures": lambda: [  # in batches, as the stage makes them
            signatures([one.text for one in batch]) for batch in in_batches(map(CorpusDocument, texts))
        ],
    }
    for make in (_rensa, _datasketch, _datatrove, _lingua):
        try:
            found |= make(texts)
        except ImportError as error:
            say(f"left out: {error}")
    times = race(found, rounds, 0.0)
    size = size_of(texts) / 1e6
    rates = {name: {"best": size / one.core, "median": size / one.core_median} for name, one in times.items()}
    return {"megabytes": size, "documents": len(texts), "candidates": rates}


def _stage(stage: Stage, texts: Sequence[str]) -> Work:
    return lambda: sum(1 for _ in stage.run(map(CorpusDocument, texts), Tally(), Path()))


def _runs(text: str) -> list[str]:
    words = text.lower().split()
    return [" ".join(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))]


def _rensa(texts: Sequence[str]) -> dict[str, Work]:
    library = importlib.import_module("rensa")

    def work() -> None:
        for text in texts:
            one = library.RMinHash(num_perm=HASHES, seed=1)
            one.update(_runs(text))
            one.digest()

    return {"  rensa, signatures": work}


def _datasketch(texts: Sequence[str]) -> dict[str, Work]:
    library = importlib.import_module("datasketch")

    def work() -> None:
        for text in texts:
            one = library.MinHash(num_perm=HASHES, seed=1)
            one.update_batch([run.encode() for run in _runs(text)])

    return {"  datasketch, signatures": work}


def _datatrove(texts: Sequence[str]) -> dict[str, Work]:
    filters = importlib.import_module("datatrove.pipeline.filters")
    document = importlib.import_module("datatrove.data").Document

    def work(one: Any) -> Callable[[], object]:
        one.filter(document(text=texts[0], id=""))  # what it loads, it loads now
        return lambda: [one.filter(document(text=text, id="")) for text in texts]

    return {
        "  datatrove, c4": work(filters.C4QualityFilter(filter_no_terminal_punct=True)),
        "  datatrove, gopher": work(filters.GopherQualityFilter()),
        "  datatrove, gopher repetition": work(filters.GopherRepetitionFilter()),
    }


def _lingua(texts: Sequence[str]) -> dict[str, Work]:
    """Among English, Chinese and German, which is what ours tells apart with certainty."""
    library = importlib.import_module("lingua")
    three = (library.Language.ENGLISH, library.Language.CHINESE, library.Language.GERMAN)
    detector = library.LanguageDetectorBuilder.from_languages(*three).with_preloaded_language_models().build()
    return {"  lingua, language": lambda: [detector.detect_language_of(text) for text in texts]}


def lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['megabytes']:.1f} MB in {found['documents']:,} documents; megabytes per core-second"
    for name, one in found["candidates"].items():
        yield f"  {name:40} {one['best']:>7.1f} best {one['median']:>7.1f} median"
