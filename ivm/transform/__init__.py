"""Rules that rewrite relations into equal relations, one per file, and the pipeline that applies them."""
