"""What a corpus is made of: sources and stages, from a TOML file in which every fault is found at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from foreword.basics import toml
from foreword.basics.messages import Fault, Faults
from foreword.basics.registry import Registry
from foreword.basics.sections import Written, construct
from foreword.basics.spec import Spec
from foreword.text.corpus.source import Source, walk
from foreword.text.corpus.stage import Stage
from foreword.text.readers import READERS
from foreword.text.stages import STAGES


class CorpusPlan(Spec):
    """A file of sections [[sources]] and [[stages]], in the order in which they work."""

    chosen: ClassVar[Mapping[str, Registry]] = {"sources": READERS, "stages": STAGES}

    name: str = ""
    sources: list[Source]
    stages: list[Stage] = []

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.sources else [("sources", "a corpus needs a section [[sources]].")]


def read_plan(path: Path) -> CorpusPlan:
    values, lines = toml.read(path)
    places = {key: f"{path}:{line}" for key, line in lines.items()}
    written = Written()
    written.lay_over(values, places)
    written.places.update(places)  # also inside of lists
    faults: list[Fault] = []
    plan = construct(CorpusPlan, values, written, (), faults)
    if faults:
        raise Faults(faults)
    return plan.model_copy(update={"name": plan.name or path.stem})


def plan_for(
    data: Sequence[Path], stages: Sequence[Stage], documents: str = "auto", column: str = "text"
) -> CorpusPlan:
    """Plain text through some stages."""
    from foreword.text.readers.plain import PlainText

    text = PlainText(path=[str(path) for path in data], documents=documents, column=column)
    return CorpusPlan(sources=[text], stages=list(stages))


def extraction(data: Sequence[Path], kind: str = "") -> CorpusPlan:
    """Files of one kind, without any stage. The kind is that which most endings point to."""
    names = [kind] if kind else [name for name in READERS.names() if _reads(name, data)]
    if not names:
        known = [ending for name in READERS.names() for ending in READERS.find(name).endings]
        raise Fault(f"{data[0]} holds no file that can be read.", f"Endings that are: {', '.join(known)}.")
    if len(names) > 1:
        raise Fault(
            f"{data[0]} holds files of several kinds: {', '.join(names)}.",
            "Say which are wanted:  --kind NAME, or write a plan with a [[sources]] for each.",
        )
    return CorpusPlan(sources=[READERS.find(names[0])(path=[str(path) for path in data])])


def _reads(kind: str, data: Sequence[Path]) -> bool:
    endings = READERS.find(kind).endings
    return any(
        file.name.lower().endswith(endings) for path in data for file in (walk(path) if path.is_dir() else [path])
    )
