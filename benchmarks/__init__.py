"""Measurements: speed and memory on TPC-H streams, beside DuckDB on the same machine. Nobody imports them."""
