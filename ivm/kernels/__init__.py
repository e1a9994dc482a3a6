"""Compiled loops over plain arrays: hash, probe, group, merge, sort, consolidate. No objects, no policy."""
