"""Groups and their accumulators: found, changed, read, and what their changes put out."""
