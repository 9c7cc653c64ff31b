"""Processes of a pool end with whoever started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, time
from foreword.basics.processes import process_pool

def number():
    return os.getpid()

def long():
    time.sleep(600)

if __name__ == "__main__":
    pool = process_pool(1)
    print(pool.submit(number).result(), flush=True)
    pool.submit(long).result()
"""


def test_workers_of_a_killed_parent_end_too(tmp_path):
    (tmp_path / "parent.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    child = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(200):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().split(")")[-1].split()[0] == "Z":
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the worker lived on")
