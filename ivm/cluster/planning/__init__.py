"""What the driver and each shard plan alike: views over shards, guards, levels."""
