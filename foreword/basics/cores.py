"""How many cores there are to work with."""

from __future__ import annotations

import os


def cores() -> int:
    """Those this process may use: `taskset -c 0 COMMAND` leaves the others to somebody else."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
