"""Postgres's wire protocol: what psql, drivers and tools of Postgres's say, and what they are told."""
