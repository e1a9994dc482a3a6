"""Collections over time: columns, deltas, row stores, indexes, arrangements and the text dictionary."""
