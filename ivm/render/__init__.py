"""Plan to dataflow, straight-line and without heuristics; the only place where expressions meet columns."""
