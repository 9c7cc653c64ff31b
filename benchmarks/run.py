"""`make bench`: every benchmark, each printing ratios measured in one run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import encoding, loop  # noqa: E402


def main() -> None:
    for benchmark in (loop, encoding):
        print(benchmark.report(), flush=True)


if __name__ == "__main__":
    main()
