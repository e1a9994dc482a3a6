"""Rows as people want them: results, drawn and as data frames."""
