"""What exists: SQL types and their columnar form, tables and keys, view definitions, who uses whom."""
