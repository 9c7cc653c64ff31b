"""What the machine offers: devices and number formats. None of it belongs to a recipe; all of it is said."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import torch

from foreword.basics.files import cache_folder, write_json
from foreword.basics.messages import Fault, did_you_mean
from foreword.kernels import build
from foreword.training.processes import join
from foreword.training.ranks import Ranks

Compile = Literal["auto", "on", "off"]
PRECISIONS: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
SHORT = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
WORTH = 1.3  # a lower precision is chosen by itself only where it multiplies this much faster


@dataclass(frozen=True)
class Hardware:
    """How a run uses the machine. The numbers it learns are the same but for rounding, whatever is chosen here."""

    device: str = "cpu"
    precision: str = "float32"
    compile: Compile = "off"
    prefetch: bool = True  # the next batch is made while the network learns from this one
    auto_batch: bool = False  # a batch too large for the memory is taken in parts
    ranks: Ranks = field(default_factory=Ranks)  # the processes that train together; one by default

    @classmethod
    def choose(
        cls,
        device: str = "auto",
        precision: str = "auto",
        compile: str = "auto",
        auto_batch: bool = False,
        shard: bool = False,
    ) -> Hardware:
        """The best there is, or what was asked for; what is not there is said, with what is."""
        there = devices()
        device = there[0] if device == "auto" else device
        if device.split(":")[0] not in there:
            raise Fault(
                f"there is no device {device!r} on this machine.{did_you_mean(device, there)}",
                f"Available: {', '.join(there)}.",
            )
        precision = SHORT.get(precision, precision)
        if precision not in (*PRECISIONS, "auto"):
            raise Fault(
                f"there is no precision {precision!r}.{did_you_mean(precision, [*PRECISIONS, *SHORT, 'auto'])}",
                f"Precisions: auto, {', '.join(PRECISIONS)}.",
            )
        if compile not in ("auto", "on", "off"):
            raise Fault(f"--compile {compile}: it can be auto, on or off.")
        if precision == "auto":
            precision = best_precision(device)
        elif precision not in (able := precisions(device)):
            raise Fault(f"{device} cannot multiply in {precision}.", f"Available here: {', '.join(able)}.")
        ranks = join(shard, device.startswith("cuda"))
        if device == "cuda" and ranks.world > 1:
            device = f"cuda:{os.environ['LOCAL_RANK']}"
            torch.cuda.set_device(device)
        return cls(device, precision, compile, True, auto_batch, ranks)  # type: ignore[arg-type]

    def __str__(self) -> str:
        threads = torch.get_num_threads()
        here = f"{self.device} ({threads} thread{'s' * (threads > 1)})" if self.device == "cpu" else self.device
        if (ranks := self.ranks).world > 1:
            here += f" x {ranks.world} processes" + (", the weights shared out" if ranks.sharded else "")
        return f"{here}, {self.precision}" + (", without kernels (FOREWORD_KERNELS=off)" if build.off() else "")

    def seed(self, number: int) -> None:
        """All chance on this device comes from this number. (torch.manual_seed visits every kind of device there may be.)"""
        torch.default_generator.manual_seed(number)
        if self.device != "cpu":
            torch.get_device_module(self.device).manual_seed(number)

    def autocast(self) -> AbstractContextManager:
        if self.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.split(":")[0], PRECISIONS[self.precision])


def devices() -> list[str]:
    """What can be computed on, the fastest first."""
    found = ["cuda"] if torch.cuda.is_available() else []
    return found + (["mps"] if torch.backends.mps.is_available() else []) + ["cpu"]


def precisions(device: str) -> list[str]:
    if device.startswith("cuda"):
        return ["float32", "float16", *(["bfloat16"] if torch.cuda.is_bf16_supported() else [])]
    if device == "mps":
        return ["float32", "float16", "bfloat16"]
    plain = speed("float32") or 0.0
    return ["float32", *(name for name in ("bfloat16", "float16") if (speed(name) or 0.0) > plain / 2)]  # not emulated


def best_precision(device: str) -> str:
    if device.startswith("cuda"):
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    if device == "mps" or not torch.cpu._is_amx_tile_supported():
        return "float32"
    low = speed("bfloat16")
    return "bfloat16" if low and low >= WORTH * (speed("float32") or low) else "float32"


PROBE = """
import sys, time, torch
a = torch.randn(1024, 1024).to(getattr(torch, sys.argv[1]))
best = min((lambda began: (a @ a, time.perf_counter() - began)[1])(time.perf_counter()) for _ in range(4))
print(2 * 1024**3 / best)
"""


@cache
def speed(precision: str) -> float | None:
    """Operations a second of a matrix product on the CPU; None where it cannot be done. Measured once on a machine.

    Asked of another process: a virtual machine may advertise instructions that kill whoever uses them.
    """
    known = cache_folder() / "machine.json"
    machine = f"{platform.node()} {platform.release()} {torch.__version__} {torch.backends.cpu.get_cpu_capability()}"
    try:
        facts = json.loads(known.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = {}
    if facts.get("machine") != machine:
        facts = {"machine": machine}
    if precision not in facts:
        done = subprocess.run([sys.executable, "-c", PROBE, precision], capture_output=True, text=True, timeout=120)
        facts[precision] = float(done.stdout) if done.returncode == 0 and done.stdout.strip() else None
        with suppress(OSError, Fault):  # a home that cannot be written only means asking again
            known.parent.mkdir(parents=True, exist_ok=True)
            write_json(known, facts)
    return facts[precision]
