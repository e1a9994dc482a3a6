"""Engines that are connected by exchanges: the shards of one database, and who leads them from version to version."""
