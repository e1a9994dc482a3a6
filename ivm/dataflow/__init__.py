"""The graph of operators, driven one commit at a time, with the counters that introspection reads."""
