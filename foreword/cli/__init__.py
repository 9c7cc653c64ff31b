"""The command line: one file per verb, each a thin shell over a function that Python users can call."""
