"""Pages: one HTML file each, that needs nothing else. Jinja is imported here alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foreword.basics.files import write_text


def render(template: str, path: Path, **values: Any) -> None:
    """A page of this room's templates, filled in."""
    from jinja2 import Environment, PackageLoader, select_autoescape
    pages = Environment(loader=PackageLoader("foreword.report", "."), autoescape=select_autoescape())
    write_text(path, pages.get_template(template).render(**values))
