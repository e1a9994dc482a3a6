"""Golden plans: what EXPLAIN says of whole queries."""
