"""Aggregates: how they are written, what they take and give, and the groups that they run over."""
