"""A report as one HTML file that needs nothing else. Jinja is imported here alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foreword.report.report import Report


def page(report: Report) -> str:
    from jinja2 import Environment, PackageLoader, select_autoescape

    pages = Environment(loader=PackageLoader("foreword.report", "."), autoescape=select_autoescape())
    return pages.get_template("report.html").render(report=report)
