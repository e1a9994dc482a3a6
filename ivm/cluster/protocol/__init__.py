"""What a driver and shards say to each other, and which shard a row is for."""
