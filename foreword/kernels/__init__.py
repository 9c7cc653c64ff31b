"""C for the processor it runs on: what torch does in several passes or at half the memory's speed, and the tokenizer's loop."""
