"""The part of `foreword evaluate` that asks fine-tuned runs about labelled sets: their own, or others of the same kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Words:
    """What stands on the command line: fine-tuned runs, and the sets they are asked about."""

    runs: list[Path]
    sets: list[str]


def sort_words(given: list[str]) -> Words | None:
    """None: no folder among them is fine-tuned, and the words are for others to read."""
    from foreword.basics.messages import Fault

    folders = [Path(word) for word in given if Path(word).is_dir()]
    if not folders:
        return None
    from foreword.transfer.predict import is_tuned

    plain = [path for path in folders if not is_tuned(path)]
    if len(plain) == len(folders):
        return None
    if plain:
        raise Fault(f"{', '.join(map(str, plain))} is not fine-tuned, and is asked in another way than those that are.",
                    "Give two commands.")
    sets = [word for word in given if not Path(word).is_dir()]
    if not sets or "bits" in sets:
        raise Fault(f"{folders[0]} is fine-tuned: it answers a labelled task, and no longer says what text costs.",
                    f"Give the sets to ask it about:  foreword evaluate {folders[0]} TASK\n"
                    f"    Label new text with it:  foreword predict {folders[0]} FILE")
    return Words(folders, sets)


def ask_tuned(words: Words, data: Path | None, limit: int | None, examples: Path | None, out: Path | None, as_json: bool) -> None:
    """Every run about every set, labels joined where one set's are coarser."""
    from foreword.basics.files import write_json, write_text
    from foreword.basics.messages import Fault
    from foreword.basics.progress import say, ticking
    from foreword.compare import cross_dataset
    from foreword.compare.cross_dataset import cross, matching, of_run
    from foreword.tasks.labelled_task import load

    if limit is not None and limit < 1:
        raise Fault(f"--limit {limit}: there must be an example.")
    sets = [load(word, data) for word in words.sets]
    pairs = [pair for path in words.runs for pair in matching(of_run(path), sets)]        # before any work
    found = []
    with ticking("evaluate") as ticker:
        for place, (who, other) in enumerate(pairs):
            ticker.update(place / len(pairs), f"{who.name}  {other.name}")
            found.append(cross(who, other, limit))
    for name, cut in dict.fromkeys((one.name, one.cut()) for one, _ in pairs):
        if cut:
            say(f"{name}: {cut}")
    if examples is not None:
        cross_dataset.write_examples(found, examples)
    report = cross_dataset.report(found, [f"{one.name}: {note}" for one in sets for note in one.notes])
    if out is not None:
        report.save(out)
        write_json(out / "crossed.json", cross_dataset.values(found))
        write_text(out / "crossed.svg", cross_dataset.matrix(found).svg())
    report.show(as_json)
