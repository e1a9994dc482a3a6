"""The ordered kind of state: rows in the order of a tree."""
