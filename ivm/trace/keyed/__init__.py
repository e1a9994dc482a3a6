"""The keyed kind of state: groups and their accumulators."""
