"""What we wrote is read back in the form that it was written in, or it is a fault of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from foreword.basics.messages import Fault


def checked(value: Any, form: TypeAdapter[Any], path: Path, do: str = "") -> None:
    """A fault unless what was read from `path` has the form that it is written in."""
    try:
        form.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise Fault(f"{path} is damaged: {where}: {first['msg']}.", do) from error
