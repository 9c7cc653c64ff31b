"""Runs: a folder that knows how it was made, goes on where it stopped, and opens as a model."""
