"""What a probe of labelled data found: a table, a picture and a file for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foreword.basics.files import write_json, write_text
from foreword.compare import cross_dataset_report as crossed
from foreword.compare.artefacts import Blind, Cue, Length
from foreword.compare.cross_dataset import Crossed
from foreword.compare.cross_dataset_report import between
from foreword.report.plot import as_svg, figure_of_height
from foreword.report.terminal import aligned
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.baselines import Baseline


@dataclass(frozen=True)
class Probe:
    """All that was asked of one task."""

    task: LabelledTask
    blind: Blind
    both: Baseline                     # the same classifier, seeing both texts
    cues: Mapping[str, Sequence[Cue]]
    lengths: Sequence[Length]
    crossed: Sequence[Crossed] = ()


def table(probe: Probe) -> Iterator[str]:
    """For the terminal: how much one side tells, which words do, and how far it carries to other sets."""
    task, blind = probe.task, probe.blind
    yield (f"{task.name}: {task.learn.in_words}, {len(task.train):,} to learn from, {len(task.dev):,} to choose by, "
           f"{len(task.test):,} to test")
    yield from task.notes
    yield ""
    rows: list[tuple[str, ...]] = [("classifier", "accuracy", "95% interval", "chosen on dev")]
    for one in (blind.commonest, blind.shuffled, blind.blind, probe.both):
        rows.append((one.name, one.test[0].shown, between(one.test[0]), one.setting))
    yield from aligned(rows, left=(0, 3))
    yield verdict(blind)
    yield f"easy (right from the {blind.side} text alone): {len(blind.easy):,}; hard: {len(blind.hard):,}"
    yield ""
    rows = [("label", "word", "PMI", "examples", "of the label", "right", "above its share")]
    for label, some in probe.cues.items():
        for number, cue in enumerate(some):
            rows.append(("" if number else label, cue.word, f"{cue.information:.2f}", f"{cue.count:,}", f"{cue.coverage:.1%}",
                         f"{cue.precision:.1%}", f"{100 * cue.above:+.1f}"))
    yield from aligned(rows, left=(0, 1))
    yield f"words in the {blind.side} text: " + ", ".join(f"{one.label} {one.words:.1f}" for one in probe.lengths)
    if probe.crossed:
        yield ""
        yield from crossed.lines(probe.crossed)


def verdict(blind: Blind) -> str:
    low, high = (100 * bound for bound in blind.interval)
    found = "labels are given away." if low > 0 else "no sign that labels are given away."
    above = f"{100 * blind.above:+.1f} points ({low:+.1f} to {high:+.1f})"
    return f"The {blind.side} text alone is {above} above the commonest class: {found}"


def values(probe: Probe) -> dict[str, Any]:
    """The same for programs."""
    blind = probe.blind
    return {
        "task": probe.task.name, "side": blind.side, "labels": list(probe.task.labels), "notes": list(probe.task.notes),
        "accuracy": {one.name: {"value": one.test[0].value, "interval": one.test[0].interval, "setting": one.setting}
                     for one in (blind.commonest, blind.shuffled, blind.blind, probe.both)},
        "above": blind.above, "interval": blind.interval,
        "easy": [example.id for example in blind.easy], "hard": [example.id for example in blind.hard],
        "cues": {label: [asdict(cue) for cue in some] for label, some in probe.cues.items()},
        "lengths": {one.label: one.words for one in probe.lengths},
        "crossed": crossed.values(probe.crossed),
    }


COLOURS = ("#4a7c9b", "#d9622b", "#6b8f4e", "#8b6ba8", "#b5933a", "#5b6670")


def picture(probe: Probe) -> str:
    """Every cue by how many examples have it and how often it is right, as SVG."""
    figure, axes = figure_of_height(4.6)
    for number, (label, some) in enumerate(probe.cues.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.scatter([cue.count for cue in some], [100 * cue.precision for cue in some], color=colour, s=18, label=label)
        for cue in some:
            axes.annotate(cue.word, (cue.count, 100 * cue.precision), xytext=(4, 2), textcoords="offset points",
                          fontsize=8, color=colour)
    axes.axhline(100 * probe.blind.commonest.test[0].value, color="#5b6670", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel(f"examples whose {probe.blind.side} text has the word")
    axes.set_ylabel("of them with the label, %")
    axes.set_title(f"{probe.task.name}: words that give a label away (dotted: the commonest class)", fontsize=11, loc="left")
    axes.legend(frameon=False)
    return as_svg(figure)


def save(probe: Probe, folder: Path) -> None:
    write_json(folder / "probe.json", values(probe))
    write_text(folder / "cues.svg", picture(probe))
