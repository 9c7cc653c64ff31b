"""TEXT: where documents come from, which are copies of each other, and on which side of a split each falls."""
