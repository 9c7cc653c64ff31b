"""Examples that are generated instead of read."""
