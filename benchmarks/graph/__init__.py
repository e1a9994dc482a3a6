"""The benchmark of loops: recursive views over graphs that change. `ivm graph` is its command line."""
