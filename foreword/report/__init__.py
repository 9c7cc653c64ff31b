"""Sections of text, tables and plots, shown as a page, on the terminal or as JSON. Knows no model."""
