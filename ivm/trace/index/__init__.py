"""Indexes: keys as words, hash chains and ascending runs, and how rows are looked up."""
