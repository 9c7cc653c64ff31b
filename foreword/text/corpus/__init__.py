"""A corpus in the making: sources are read, stages clean them shard by shard, and every removal is counted and kept track of."""
