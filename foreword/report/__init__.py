"""Reports: sections of text, tables and plots, shown as a page, in the terminal or as JSON. Knows no model."""

from foreword.report.report import Continuations, Facts, HeatMap, Plot, Report, Sample, Section, Table, Text

__all__ = ["Continuations", "Facts", "HeatMap", "Plot", "Report", "Sample", "Section", "Table", "Text"]
