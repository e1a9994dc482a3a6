"""What stands where a database has its engine: orders for all shards, and what they said."""
