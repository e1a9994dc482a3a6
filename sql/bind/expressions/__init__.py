"""Expressions: the binder and its dispatch, operators and comparisons, conditions, subqueries."""
