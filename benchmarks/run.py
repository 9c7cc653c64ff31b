"""`make bench`: every benchmark, each printing ratios measured in one run, collected in benchmarks/RESULTS.md.

    python benchmarks/run.py                 all of them
    python benchmarks/run.py train memory    some; the others keep their place in RESULTS.md
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from foreword.basics.cores import cores  # noqa: E402

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
SECTION = re.compile(r"^## (\w+), (\S+)\n\n```text\n(.*?)\n```$", re.M | re.S)
PACKAGES = ("torch", "transformers", "ctranslate2", "tokenizers", "tiktoken", "numpy")
NAMES = ("loop", "memory", "attention", "finetune", "tokens", "counts", "train", "generate",
         *(["learning"] if (ROOT / "benchmarks" / "learning.py").is_file() else []))


def report(name: str) -> str:
    """The lines of one benchmark."""
    if name in ("loop", "memory", "attention", "finetune", "learning"):
        return importlib.import_module(f"benchmarks.{name}").report()
    module = importlib.import_module(f"foreword.bench.{name}")
    measure: Callable[..., dict] = module.measure
    if name == "train":
        from foreword.bench.shapes import ALL
        return "\n".join(module.lines(measure(ALL)))
    return "\n".join(module.lines(measure()))


def machine() -> list[str]:
    """What a reader must know before comparing."""
    memory = _line("/proc/meminfo", "MemTotal").removesuffix(" kB")
    return [f"- processor: {_line('/proc/cpuinfo', 'model name') or platform.processor()}, {cores()} cores",
            f"- memory: {f'{int(memory) / 1e6:.1f} GB' if memory.isdigit() else 'not known'}",
            f"- {platform.system()} {platform.release()}, Python {platform.python_version()}",
            f"- {', '.join(f'{name} {_version(name)}' for name in PACKAGES)}"]


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
    head = ["# Results of `make bench`", "",
            "Only ratios within one section mean anything: its candidates took turns in one process.",
            "Best: the quickest call, least disturbed by others; median: the middle one.", "", *machine(), ""]
    return "\n".join([*head, *("## {}, {}\n\n```text\n{}\n```\n".format(one, *sections[one]) for one in ordered)])


def main(names: list[str]) -> None:
    if unknown := [name for name in names if name not in NAMES]:
        sys.exit(f"there is no benchmark {', '.join(unknown)}. Benchmarks: {', '.join(NAMES)}.")
    shared = ROOT.parent / "shared" / "data"
    if shared.is_dir():
        os.environ.setdefault("FOREWORD_DATA", str(shared))
    for name in names or NAMES:
        print(f"== {name}", flush=True)
        # a process of its own, so that none inherits another's memory, threads or compiled code
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            said = pool.submit(report, name).result()
        print(said, flush=True)
        before = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else ""
        RESULTS.write_text(written(before, name, said, time.strftime("%Y-%m-%d")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
