"""`make bench`: every benchmark, each printing ratios measured in one run, collected in benchmarks/RESULTS.md.

python benchmarks/run.py                 all of them
python benchmarks/run.py train memory    some; the others keep their place in RESULTS.md
python benchmarks/run.py train --shape 10m --rounds 2        with options, printed and not kept
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import re
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from foreword.basics.cores import cores  # noqa: E402
from foreword.basics.messages import Fault  # noqa: E402

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
SECTION = re.compile(r"^## (\w+), (\S+)\n\n```text\n(.*?)\n```$", re.M | re.S)
PACKAGES = ("torch", "transformers", "ctranslate2", "tokenizers", "tiktoken", "numpy", "gensim")
NAMES = (
    "loop",
    "memory",
    "attention",
    "layers",
    "segments",
    "finetune",
    "tokens",
    "counts",
    "counting",
    "corpus",
    "vectors",
    "cooccurrence",
    "train",
    "recurrent",
    "processes",
    "generate",
    "serve",
    "learning",
)
ADJUSTABLE = {
    "train": ("shape", "rounds", "no_compile"),
    "processes": ("shape", "rounds"),
    "generate": ("shape", "rounds", "batch"),
    "tokens": ("data", "megabytes", "rounds"),
    "counts": ("data", "megabytes", "rounds"),
    "counting": ("megabytes",),
    "corpus": ("data", "megabytes", "rounds"),
}


def report(name: str, asked: Namespace) -> str:
    """The lines of one benchmark."""
    module = importlib.import_module(f"benchmarks.{name}")
    if name not in ADJUSTABLE:
        return module.report()
    found = module.measure(**settings(name, asked))
    return json.dumps(found) if asked.json else "\n".join(module.lines(found))


def settings(name: str, asked: Namespace) -> dict[str, Any]:
    """The options of one benchmark, as its `measure` calls them; what was not given is left out."""
    from benchmarks.shapes import ALL

    if name == "train":
        found = {"names": asked.shape or ALL, "rounds": asked.rounds, "compiled": not asked.no_compile}
    elif name == "processes":
        found = {"names": asked.shape, "rounds": asked.rounds}
    elif name == "generate":
        if asked.shape and len(asked.shape) > 1:
            raise Fault("generate measures one shape at a time.")
        found = {"name": asked.shape and asked.shape[0], "batches": asked.batch, "rounds": asked.rounds}
    else:
        found = {"data": asked.data, "megabytes": asked.megabytes, "rounds": asked.rounds}
    return {key: value for key, value in found.items() if value is not None}


def machine() -> list[str]:
    """What a reader must know before comparing."""
    memory = _line("/proc/meminfo", "MemTotal").removesuffix(" kB")
    return [
        f"- processor: {_line('/proc/cpuinfo', 'model name') or platform.processor()}, {cores()} cores",
        f"- memory: {f'{int(memory) / 1e6:.1f} GB' if memory.isdigit() else 'not known'}",
        f"- {platform.system()} {platform.release()}, Python {platform.python_version()}",
        f"- {', '.join(f'{name} {_version(name)}' for name in PACKAGES)}",
    ]


def _line(file: str, name: str) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(rf"^{name}\s*:\s*(.+)$", text, re.M)
    return found.group(1) if found else ""


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def written(before: str, name: str, said: str, today: str) -> str:
    """RESULTS.md with one section anew. A section names its day: not all need be of the same."""
    sections = {one: (day, lines) for one, day, lines in SECTION.findall(before)} | {name: (today, said)}
    ordered = [*(one for one in NAMES if one in sections), *(one for one in sections if one not in NAMES)]
    head = [
        "# Results of `make bench`",
        "",
        "Only ratios within one section mean anything: its candidates took turns in one process.",
        "Best: the quickest call, least disturbed by others; median: the middle one.",
        "",
        *machine(),
        "",
    ]
    return "\n".join([*head, *("## {}, {}\n\n```text\n{}\n```\n".format(one, *sections[one]) for one in ordered)])


def parsed(words: Sequence[str]) -> tuple[Namespace, set[str]]:
    """(what was asked, the options among it)"""
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"all by default: {', '.join(NAMES)}")
    parser.add_argument(
        "--shape", action="append", help="train, generate: tiny, char, 10m, 10m-50k, 124m or bert; repeatable"
    )
    parser.add_argument("--rounds", type=int, help="how often each candidate's turn comes")
    parser.add_argument(
        "--batch", type=int, action="append", help="generate: texts at once (default 1, 8 and 32); repeatable"
    )
    parser.add_argument("--data", type=Path, action="append", help="tokens, counts: your own text; repeatable")
    parser.add_argument("--megabytes", type=float, help="tokens, counts: how much text (default 80 and 10)")
    parser.add_argument("--no-compile", action="store_true", help="train: leave out what has to be compiled first")
    parser.add_argument("--json", action="store_true", help="numbers instead of lines")
    asked = parser.parse_args(words)
    if unknown := [name for name in asked.names if name not in NAMES]:
        parser.error(f"there is no benchmark {', '.join(unknown)}. Benchmarks: {', '.join(NAMES)}.")
    given = {option for option, value in vars(asked).items() if value and option != "names"}
    for name in asked.names or NAMES:
        if idle := sorted(given - {*ADJUSTABLE.get(name, ()), *(["json"] if name in ADJUSTABLE else [])}):
            parser.error(f"{name} has no --{idle[0].replace('_', '-')}.")
    return asked, given


def main(words: Sequence[str]) -> None:
    asked, given = parsed(words)
    shared = ROOT.parent / "shared" / "data"
    if shared.is_dir():
        os.environ.setdefault("FOREWORD_DATA", str(shared))
    for name in asked.names or NAMES:
        print(f"== {name}", file=sys.stderr if asked.json else sys.stdout, flush=True)
        # a process of its own, so that none inherits another's memory, threads or compiled code
        try:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                said = pool.submit(report, name, asked).result()
        except Fault as fault:
            sys.exit(str(fault))
        print(said, flush=True)
        if not given:
            before = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else ""
            RESULTS.write_text(written(before, name, said, time.strftime("%Y-%m-%d")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
