"""Which operators answer for themselves: sources, views and all that have state of their own."""


class Kept:
    """The contents are kept, here or in a table: `contents` asks no input."""
