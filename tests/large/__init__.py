"""Texts of any size, which must be planned in a time that follows it."""
