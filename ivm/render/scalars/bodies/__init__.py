"""The bodies of the scalar functions, by families; `table` has them all."""
