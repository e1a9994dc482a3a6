"""SQL logic tests: scripts in the sqllogictest format, run on the engine, with expected results made by DuckDB."""
