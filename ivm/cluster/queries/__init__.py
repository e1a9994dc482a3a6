"""Queries that shards, or tasks, answer each for itself."""
