"""Evaluate: how good a model is, in one unit for all (bits per byte of the original text), and what won."""
