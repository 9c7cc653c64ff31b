"""Studies: several runs of one question, what they differ by, and how sure that is."""
