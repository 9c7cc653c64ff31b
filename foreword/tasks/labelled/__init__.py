"""Kinds of labelled tasks, one file each: the columns it reads, its labels and its metrics."""
