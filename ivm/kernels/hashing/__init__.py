"""Rows found by their keys' hashes: the hash itself, the index, what it is asked and how it changes."""
