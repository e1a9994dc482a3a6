"""Benchmarks: each a command of `ivm tpch bench`, each measurement in a process of its own."""
