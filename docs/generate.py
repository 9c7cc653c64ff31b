"""Write the parts of the documentation that the program itself knows: recipe heads, settings, commands, the Python API.

python docs/generate.py            write them anew
python docs/generate.py --check    end with 1 if any of them is out of date
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import importlib
import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel
from typer.testing import CliRunner

from foreword import batches, counts, networks, objectives, parts, tokens, training, vectors
from foreword.assembly import catalogue, loader
from foreword.assembly.build import model_for
from foreword.assembly.catalogue import Entry
from foreword.assembly.difference import difference
from foreword.assembly.recipe import Recipe, kind
from foreword.basics.registry import Registry
from foreword.basics.spec import Spec
from foreword.cli.main import app
from foreword.compare.claims import NOT_RUN, NOT_TESTABLE, Verdict, verdicts
from foreword.networks.base import Model
from foreword.text.readers import READERS
from foreword.text.stages import STAGES
from foreword.text.stages.rules import SETS
from foreword.tokens.vocabulary import Vocabulary
from foreword.vectors.table import VectorTableSpec

DOCS = Path(__file__).parent
BEGIN, END = "<!-- generated from the recipe -->", "<!-- end -->"
WIDTH = 100  # columns of the help texts, whatever terminal this runs in

# heading, section of a recipe, the tables that answer its `kind`
TABLES = (
    ("Networks", "network", networks.KINDS),
    ("Count models", "network", counts.KINDS),
    ("Tables of vectors", "network", vectors.KINDS),
    ("What the layers of a causal network see", "network.visible", parts.VISIBLE),
    ("Ways through the layers", "network.depth", parts.DEPTHS),
    ("Cells of the recurrent network", "network.cell", parts.CELLS),
    ("Words of the recurrent network", "network.words", parts.WORDS),
    ("Between the layers of the recurrent network", "network.between", parts.BETWEEN),
    ("Linear maps of the block-sparse cell", "network.cell.linear", parts.LINEAR),
    ("Layouts of blocks", "network.cell.linear.layout", parts.LAYOUTS),
    ("Feed-forward networks of a Transformer, other than the dense one", "network.feedforward", parts.FEEDFORWARD),
    ("Heads", "head", parts.HEADS),
    ("Objectives", "objective", objectives.KINDS),
    ("Objectives of labelled examples", "objective", objectives.LABELLED),
    ("Cuts", "batches", batches.CUTS),
    ("Cuts of co-occurrences", "batches", vectors.CUTS),
    ("Cuts of labelled examples", "batches", batches.LABELLED),
    ("Tokenizers", "tokenizer", tokens.KINDS),
    ("Training", "training", training.KINDS),
    ("Optimizers", "training.optimizer", training.OPTIMIZERS),
    ("Schedules", "training.schedule", training.SCHEDULES),
)

# what the Python reference describes, by heading: "module:name", or "module:name method method"
API = {
    "Open a model and ask it": (
        "foreword:load",
        "foreword.model:LoadedModel",
        "foreword.vectors.words:WordVectors",
        "foreword.vectors.documents:DocumentVectors embed nearest_documents document",
        "foreword.transfer.vector_classifier:VectorClassifier predict probabilities",
        "foreword.model:Guess",
        "foreword.generate.sample:Sampling",
        "foreword.generate.batch:GenerationBatch",
        "foreword.generate.batch:Continuation",
        "foreword.evaluate.score:Score",
    ),
    "Text and tokens": (
        "foreword.text.reading:documents",
        "foreword.text.dedup:without_near_duplicates",
        "foreword.text.corpus.plan:read_plan",
        "foreword.text.corpus.build:build_corpus",
        "foreword.tokens.build:build_store",
        "foreword.tokens.store:TokenStore counts document open read",
        "foreword.tokens.tokenizer:Tokenizer decode encode encode_many load pieces save vocabulary",
    ),
    "Train": (
        "foreword.assembly.loader:load",
        "foreword.runs.train:train",
        "foreword.runs.folder:RunFolder checkpoints metrics passport recipe",
    ),
    "Labelled tasks": (
        "foreword.tasks.labelled_task:load",
        "foreword.transfer.finetune:finetune",
        "foreword.transfer.tuning:FinetuneSettings",
        "foreword.transfer.multitask:multitask",
        "foreword.compare.study:study",
    ),
    "Count models": ("foreword.counts.arpa:read_arpa",),
}
EXAMPLE = """\
```sh
foreword train gpt2 --size laptop --data my-text --budget 3m --out runs/gpt2
```

```python
import foreword

lm = foreword.load("runs/gpt2")
print(lm)  # what it is, and what it can do
print(lm.score("The cat sat on the mat.").bits_per_byte)
print(lm.generate("The", max_tokens=20, top_p=0.9, seed=1))
print(lm.embed(["a sentence", "another"]).shape)
```
"""


def pages() -> dict[Path, str]:
    """What every generated page should hold now."""
    found = {
        DOCS / "reference" / "settings.md": settings(),
        DOCS / "reference" / "corpus.md": corpus(),
        DOCS / "reference" / "commands.md": commands(),
        DOCS / "reference" / "python.md": python(),
        DOCS / "claims.md": claims(),
    }
    for entry in catalogue.entries():
        path = DOCS / "lineage" / f"{entry.name}.md"
        by_hand = path.read_text(encoding="utf-8").split(END, 1)[-1] if path.is_file() else "\n"
        found[path] = f"{head(entry)}{by_hand}"
    return found


# lineage


def head(entry: Entry) -> str:
    """The top of a system's page: all of it follows from the recipe."""
    file = catalogue.find(entry.name).name
    facts = [("recipe", f"[{file}](../../foreword/recipes/{file})"), ("year", entry.year), ("paper", entry.paper)]
    if entry.extends:
        facts.append(("extends", f"[{entry.extends}]({entry.extends}.md)"))
    lines = [
        BEGIN,
        f"# {entry.name}",
        "",
        entry.about,
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in facts),
        "",
    ]
    if entry.extends:
        changed = [
            line
            for line in difference(loader.load(entry.extends).values(), loader.load(entry.name).values())
            if not line.startswith(("name:", "paper:", "extends:"))
        ]
        lines += [f"What it changes about {entry.extends}:", "", "```text", *map(_folded, changed), "```", ""]
    sizes = [(size, loader.load(entry.name, size)) for size in ("", *entry.sizes)]
    lines += [*_sizes(sizes), "", "Train it on a folder of text:", "", "```sh", _command(entry), "```", END]
    return "\n".join(lines)


def _short(default: str) -> str:
    """The beginning of a long list says what it is."""
    return default if len(default) <= 100 else f"{default[:80].rsplit(',', 1)[0]}, ...]"


def _folded(line: str) -> str:
    """A change on lines that fit a page."""
    return "\n".join(textwrap.wrap(line, 120, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))


def _sizes(sizes: list[tuple[str, Recipe]]) -> Iterator[str]:
    names = [name for name in ("order", "layers", "width", "heads", "context") if hasattr(sizes[0][1].network, name)]
    columns = ["size", *names, "tokenizer", "budget", "parameters"]
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for size, recipe in sizes:
        shape = [str(getattr(recipe.network, name)) for name in names]
        told = getattr(recipe.tokenizer, "vocabulary", None)
        tokenizer = f"{kind(recipe.tokenizer)}{f', {told:,}' if told else ''}"
        name = size or ("(published)" if len(sizes) > 1 else "-")
        yield f"| {' | '.join([name, *shape, tokenizer, recipe.training.budget, parameters(recipe)])} |"


def parameters(recipe: Recipe) -> str:
    """How many numbers are learned, counted on a model without storage; V stands for a vocabulary that the text decides."""
    told = getattr(recipe.tokenizer, "vocabulary", None)

    def count(vocabulary: int) -> int | None:
        with torch.device("meta"):
            model = model_for(recipe, Vocabulary(vocabulary, 0, ()))
        return model.parameter_count() if isinstance(model, Model) else None

    if isinstance(recipe.network, VectorTableSpec):
        joined = getattr(recipe.objective, "joined", 1)
        own = recipe.network.parameters(0, 1, joined)
        return f"{recipe.network.parameters(1, 0, joined):,} V" + f" + {own:,} D" * bool(own)
    if recipe.head is None:
        return "counts"
    if told:
        return f"{count(told):,}"
    each = (count(3) or 0) - (count(2) or 0)
    return f"{(count(2) or 0) - 2 * each:,} + {each:,} V"


def _command(entry: Entry) -> str:
    size = " --size laptop" if "laptop" in entry.sizes else ""
    return f"foreword train {entry.name}{size} --data my-text"


# claims

CLAIMS = """\
# Claims

What the paper of each system claims, and what a study of it found here. Written by `python docs/generate.py` from the studies in
[`foreword/studies/claims`](../foreword/studies/claims) and from what they wrote: no number stands here that no study wrote.

```text
foreword study claims/kneser-ney --data my-text --out runs/claim
cp runs/claim/study.json docs/claims/kneser-ney.json && python docs/generate.py
```

- *replicated*: the difference is on the claim's side, and its 95% intervals over seeds and over examples exclude zero.
- *not replicated*: they exclude it on the other side.
- *inconclusive*: they do not exclude it.

Differences are in the claim's favour where they are positive. The paper's figure is of its own data and size, no measure of ours.

What was run: WikiText-2 (12 MB, byte-level BPE of 4,096 tokens), 200 kB of its test text in whole documents, 2026-11-20.
"""


def claims() -> str:
    found = verdicts(DOCS / "claims")
    tally = collections.Counter(one.status for one in found)
    lines = [
        CLAIMS,
        f"{len(found)} claims: {', '.join(f'{count} {status}' for status, count in tally.most_common())}.",
        "",
    ]
    for one in found:
        name = Path(one.study).name
        lines += [
            f"## {name}",
            "",
            *_wrapped(f"[{one.claim.system}](lineage/{one.claim.system}.md): {one.claim.says}"),
            "",
        ]
        lines += _wrapped(f"- The paper: {one.claim.figure}.") if one.claim.figure else []
        lines += [*_wrapped(f"- Here: *{one.status}*{_found(one)}", "  "), ""]
    return "\n".join(lines)


def _found(one: Verdict) -> str:
    if one.status == NOT_TESTABLE:
        return f": {one.claim.untestable}"
    results = f"claims/{Path(one.study).name}.json"
    return f", `foreword study {one.study}`." if one.status == NOT_RUN else f", {one.ours} ([results]({results}))."


# reference


def settings() -> str:
    lines = [
        "# Settings",
        "",
        "Every setting a recipe can have, section by section, as the program checks them. Written by "
        "`python docs/generate.py`.",
        "",
        "A default of `-` means that a recipe must give the value. "
        "`kind` chooses the part; a dotted path (`my_module:MyClass`) chooses one of your own.",
        "",
        "## The recipe itself",
        "",
        *_table(Recipe, without=set(Recipe.chosen)),
        "| `network`, `objective`, `batches`, `tokenizer`, `training` | section | `-` | the parts, below |",
        "| `head` | section | none | what reads the network's vectors; count models have none |",
        "",
    ]
    for title, section, table in TABLES:
        lines += [f"## {title}", "", f"Section `[{section}]`.", "", *_kinds(table)]
    return "\n".join(lines).rstrip() + "\n"


def corpus() -> str:
    lines = [
        "# Sources and stages of a corpus",
        "",
        "What a plan for `foreword corpus build` may say ([Build a corpus](../how-to/build-a-corpus.md)). Written by "
        "`python docs/generate.py`.",
        "",
    ]
    for title, section, table in (("Sources", "sources", READERS), ("Stages", "stages", STAGES)):
        lines += [f"## {title}", "", f"Sections `[[{section}]]`, each with a `kind`.", "", *_kinds(table)]
    rules = [f"`{name}`: {', '.join(some)}" for name, some in SETS.items()]
    lines += ["## Sets of rules", "", *(line for one in rules for line in [*_wrapped(one), ""])]
    return "\n".join(lines).rstrip() + "\n"


def _kinds(table: Registry) -> Iterator[str]:
    for name in table.places:
        cls = table.find(name)
        yield from [f"### {name}", "", *_wrapped(_about(table, name, cls)), "", *_table(cls), ""]


def _about(table: Registry, name: str, cls: type) -> str:
    own = cls.__dict__.get("__doc__")
    text = inspect.cleandoc(own) if own else table.about(name)
    return " ".join(text.split("\n\n")[0].split())


def _table(cls: type[BaseModel], without: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    rows = list(_rows(cls, "", without))
    if not rows:
        return ["No settings."]
    return [
        "| setting | type | default | |",
        "|---|---|---|---|",
        *(f"| `{name}` | {said} | {default} | {about} |" for name, said, default, about in rows),
    ]


def _rows(cls: type[BaseModel], at: str, without: set[str]) -> Iterator[tuple[str, str, str, str]]:
    for name, field in cls.model_fields.items():
        if name in without or name == "kind":
            continue
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Spec) and name not in getattr(cls, "chosen", {}):
            yield from _rows(inner, f"{at}{name}.", set())
            continue
        chosen = name in getattr(cls, "chosen", {})
        default = "`-`" if field.is_required() else f"`{_short(_written(field.default))}`"
        said = (
            ("sections with a `kind`" if "list" in str(inner) else "section with a `kind`") if chosen else _type(inner)
        )
        section = next((one for one in typing.get_args(inner) if isinstance(one, type) and issubclass(one, Spec)), None)
        if section and not chosen:  # one that need not be there
            yield f"{at}{name}", "section", default, _comment(cls, name)
            yield from _rows(section, f"{at}{name}.", set())
            continue
        yield f"{at}{name}", said, default, _comment(cls, name)


def _type(annotation: Any) -> str:
    """A type in a reader's words."""
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return " or ".join(f"`{_written(value)}`" for value in inside)
    if origin is typing.Annotated:  # the range of a number is said when it is left
        return _type(inside[0])
    if origin is list or (origin is tuple and inside[-1] is ...):
        return f"list of {_type(inside[0])}"
    if origin is tuple:
        return f"{len(inside)} of {_type(inside[0])}"
    if inside:
        return " or ".join(_type(one) for one in inside if one is not type(None))
    return {int: "whole number", float: "number", str: "text", bool: "true or false"}.get(annotation, str(annotation))


def _written(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)


def _comment(cls: type, name: str) -> str:
    """The comment beside a setting in the source of the class that declares it."""
    for owner in cls.__mro__:
        if name in owner.__dict__.get("__annotations__", {}):
            line = re.search(rf"^    {name}:.*?\s{{2,}}#\s*(.+)$", inspect.getsource(owner), re.MULTILINE)
            return line.group(1).replace("|", "\\|") if line else ""
    return ""


def commands() -> str:
    runner = CliRunner()
    lines = [
        "# Commands",
        "",
        "What `foreword VERB --help` says, in the order data flows. Written by `python docs/generate.py`.",
        "",
    ]
    groups = [
        f"{group.name} {command.name}"
        for group in app.registered_groups
        if group.typer_instance
        for command in group.typer_instance.registered_commands
    ]
    for verb in ("", *(command.name for command in app.registered_commands if not command.hidden), *groups):
        said = runner.invoke(
            app, [*str(verb).split(), "--help"], prog_name="foreword", terminal_width=WIDTH, env={"COLUMNS": str(WIDTH)}
        )
        text = "\n".join(line.rstrip() for line in said.output.strip().split("\n"))
        lines += [f"## foreword {verb}".rstrip(), "", "```text", text, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


# the Python API


def python() -> str:
    """Signatures and docstrings of what a script uses."""
    lines = [
        "# Python",
        "",
        "What a script needs, with its signatures. Written by `python docs/generate.py` from the source.",
        "",
        EXAMPLE,
    ]
    for title, names in API.items():
        lines += [f"## {title}", ""]
        for name in names:
            place, *methods = name.split()
            module, _, attribute = place.partition(":")
            thing = getattr(importlib.import_module(module), attribute)
            lines += [f"### {module}.{attribute}", ""]
            lines += _class(thing, methods) if inspect.isclass(thing) else _function(attribute, thing)
    return "\n".join(lines).rstrip() + "\n"


def _class(cls: type, methods: list[str]) -> list[str]:
    found = [*_wrapped(_first(cls)), ""]
    if dataclasses.is_dataclass(cls):
        found += ["| field | type | default | |", "|---|---|---|---|"]
        for field in dataclasses.fields(cls):
            default = "" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
            found.append(f"| `{field.name}` | `{_cell(field.type)}` | {default} | {_comment(cls, field.name)} |")
        found.append("")
    for name, member in sorted(_members(cls).items()):
        if methods and name not in methods:
            continue
        if isinstance(member, property | functools.cached_property):
            found += [f"**`{name}`** {_first(member)}", ""]
        elif methods or not dataclasses.is_dataclass(cls):
            found += _function(name, member)
    return found


def _members(cls: type) -> dict[str, Any]:
    """Public methods and properties, those of our own base classes included."""
    ours = [one for one in reversed(cls.__mro__) if one.__module__.startswith("foreword.")]
    found = {
        name: getattr(member, "__func__", member)
        for one in ours
        for name, member in vars(one).items()
        if not name.startswith("_")
    }
    return {
        name: member
        for name, member in found.items()
        if inspect.isfunction(member) or isinstance(member, property | functools.cached_property) and _first(member)
    }


def _function(name: str, function: Any) -> list[str]:
    return ["```text", *_signature(name, inspect.signature(function)), "```", "", *_wrapped(_first(function)), ""]


def _signature(name: str, signature: inspect.Signature) -> list[str]:
    """`name(a: int, b: str = "x") -> bool`, an argument to a line where that is long."""
    given = []
    for one in signature.parameters.values():
        if one.name in ("self", "cls"):
            continue
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        typed = "" if one.annotation is one.empty else f": {_cell(one.annotation, table=False)}"
        given.append(f"{star}{one.name}{typed}" + ("" if one.default is one.empty else f" = {one.default!r}"))
    ending = (
        ""
        if signature.return_annotation is signature.empty
        else f" -> {_cell(signature.return_annotation, table=False)}"
    )
    whole = f"{name}({', '.join(given)}){ending}"
    return [whole] if len(whole) <= WIDTH else [f"{name}(", *(f"    {one}," for one in given), f"){ending}"]


def _cell(annotation: Any, table: bool = True) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("|", "\\|") if table else text


def _first(thing: Any) -> str:
    """The docstring's first paragraph, on one line."""
    return " ".join(inspect.cleandoc(getattr(thing, "__doc__", "") or "").split("\n\n")[0].split())


def _wrapped(text: str, further: str = "") -> list[str]:
    return textwrap.wrap(text, 140, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    wanted = pages()
    old = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in old:
        print(f"{path.relative_to(DOCS.parent)} {'is out of date' if arguments else 'written'}")
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    if old and arguments:
        print("Write them anew:  python docs/generate.py")
    return 1 if old and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
