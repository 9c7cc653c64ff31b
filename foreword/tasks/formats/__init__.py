"""Formats that data sets are published in, one file each."""
