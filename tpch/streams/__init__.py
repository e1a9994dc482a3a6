"""The change streams, one file per kind: each turns the generated tables into updates (row, `_time`, `_diff`)."""
