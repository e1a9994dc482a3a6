"""The operators that run: thin shells over kernels that turn deltas into deltas and keep state in step."""
