"""Amounts that a device or a network is sold with: memory (80GB), speed (312TFLOPS), bandwidth (100GB/s, 400Gbit/s)."""

from __future__ import annotations

import re

from foreword.basics.messages import Fault

_SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SCALES |= {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_FORM = re.compile(r"^\s*([0-9][0-9_,]*\.?[0-9]*)\s*([KMGT]i|[kKMGTP])?(.*?)\s*$")
_BYTES = {"B": 1.0}
_SPEED = {"FLOPS": 1.0, "FLOP/s": 1.0, "flops": 1.0, "flop/s": 1.0}
_BANDWIDTH = {"B/s": 1.0, "Bps": 1.0, "bit/s": 1 / 8, "b/s": 1 / 8, "bps": 1 / 8}


def parse_memory(text: str, option: str) -> float:
    """Bytes."""
    return _amount(text, option, _BYTES, "bytes, like 80GB or 24GiB")


def parse_speed(text: str, option: str) -> float:
    """Floating-point operations a second."""
    return _amount(text, option, _SPEED, "operations a second, like 312TFLOPS")


def parse_bandwidth(text: str, option: str) -> float:
    """Bytes a second."""
    return _amount(text, option, _BANDWIDTH, "bytes or bits a second, like 100GB/s or 400Gbit/s")


def _amount(text: str, option: str, units: dict[str, float], example: str) -> float:
    match = _FORM.match(text)
    unit = units.get(match[3]) if match else None
    if not match or unit is None:
        raise Fault(f"{option} {text}: it is written in {example}.")
    found = float(match[1].replace(",", "").replace("_", "")) * _SCALES[match[2] or ""] * unit
    if found <= 0:
        raise Fault(f"{option} {text}: it must be more than nothing.")
    return found
