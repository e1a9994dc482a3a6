"""Facts about relations, each computed bottom-up by one pure function in a file of its own."""
