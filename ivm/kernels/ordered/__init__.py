"""Ordered trees of the rows of groups, and what is kept in them: extremes, quantiles, top-k, threshold joins."""
