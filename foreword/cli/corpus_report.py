"""The page about a corpus: sections from the content of corpus.json."""

from __future__ import annotations

from foreword.basics.files import JsonObject
from foreword.report import Plot, Report, Sample, Section, Table, Text
from foreword.report.plots import columns

SHOWN = 20  # rows of a table


def report(content: JsonObject, name: str) -> Report:
    read = sum(source["kept"][0] for source in content["sources"])
    lead = [
        f"{content['documents']:,} documents, {content['bytes']:,} bytes and {content['words']:,} words were kept, of {read:,} "
        f"documents read from {len(content['sources'])} source{'s' if len(content['sources']) > 1 else ''}."
    ]
    tasks = content["tasks"]
    sections = [
        Section("Sources", _sources(content)),
        Section("Stages", _stages(content)),
        *(_removed(stage) for stage in [*content["sources"], *content["stages"]] if stage["samples"]),
        Section("Lengths", _columns(_lengths(content["lengths"]), "bytes of a document, up to")),
        *(
            Section(title, _counts(content[what], column))
            for title, what, column in (
                ("Languages", "languages", "language"),
                ("Hosts", "hosts", "host"),
                ("Years", "years", "year"),
            )
            if set(content[what]) - {"unknown"}
        ),
        *(
            [Section("Quality", _columns(sorted(content["quality"].items()), "score, from"))]
            if content["quality"]
            else []
        ),
        Section(
            "Tasks that occur by nature",
            _counts(tasks["counts"], "task") if tasks["counts"] else Text(["none of those that are looked for"]),
            *_samples(tasks["samples"]),
        ),
    ]
    return Report(f"Corpus {content['name'] or name}", lead, sections, content)


def _sources(content: JsonObject) -> Table:
    whole = max(content["bytes"], 1)
    return Table.of(
        [
            {
                "source": one["name"],
                "kind": one["kind"],
                "licence": one["licence"] or "not stated",
                "read": f"{one['kept'][0]:,}",
                "kept": f"{content['by_source'].get(one['name'], 0):,}",
                "bytes kept": f"{content['bytes_by_source'].get(one['name'], 0):,}",
                "share": f"{content['bytes_by_source'].get(one['name'], 0) / whole:.1%}",
            }
            for one in content["sources"]
        ],
        left=(0, 1, 2),
    )


def _stages(content: JsonObject) -> Table:
    head = ("stage", "documents", "kept", "bytes kept", "what it did")
    rows = [
        (one["kind"], f"{one['read'][0]:,}", f"{one['kept'][0]:,}", f"{one['kept'][1]:,}", _did(one))
        for one in content["stages"]
    ]
    return Table([head, *rows], left=(0, 4))


def _did(one: JsonObject) -> str:
    counts = {**one["removed"], **one["changed"]}
    told = [f"{rule} {count:,}" for rule, count in sorted(counts.items(), key=lambda item: -item[1])]
    held = one.get("held_out")
    return (
        "; ".join(told + ([f"AUC {held['auc']:.3f}, shuffled {held['auc_shuffled']:.3f}"] if held else [])) or "nothing"
    )


def _removed(one: JsonObject) -> Section:
    return Section(f"Samples of what {one['kind']} left out or changed", *_samples(one["samples"]))


def _samples(samples: dict[str, list[str]]) -> list[Sample]:
    return [Sample(text, rule) for rule, some in samples.items() for text in some]


def _counts(counts: dict[str, int], what: str) -> Table:
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    return Table([(what, "number"), *((name, f"{count:,}") for name, count in rows)])


def _lengths(lengths: dict[str, int]) -> list[tuple[str, int]]:
    return [(f"{2 ** int(bits):,}", count) for bits, count in sorted(lengths.items(), key=lambda item: int(item[0]))]


def _columns(bins: list[tuple[str, int]], xlabel: str) -> Plot:
    whole = max(sum(count for _, count in bins), 1)
    return columns([(name, count, count / whole) for name, count in bins], xlabel, "percent of the documents")
