"""Types as DuckDB gives them: of declarations, literals, operators, functions and casts. Tables and pure functions."""
