"""Packages that only some commands need: imported when they are used, and named with what installs them."""

from __future__ import annotations

import importlib
from typing import Any

from foreword.basics.messages import Fault

NAMES = {"sklearn": "scikit-learn"}  # where a package is installed by another name than it is imported by


def needed(module: str, extra: str, who: str) -> Any:
    """The module; a fault that says `who` needs its package, and which extra of Foreword brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise Fault(
            f"{who} the package {NAMES.get(package, package)}.", f"Install it:  pip install 'foreword[{extra}]'"
        ) from error
