"""The backend of a database over shards: orders for all shards, and what they said."""
