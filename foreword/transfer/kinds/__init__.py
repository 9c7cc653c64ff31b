"""Kinds of labelled tasks as a network learns them, one file each: objective, encoding, answers, baseline."""
