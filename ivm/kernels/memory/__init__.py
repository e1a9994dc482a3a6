"""Memory itself: given back, moved, asked for ahead of its use, read where it lies."""
