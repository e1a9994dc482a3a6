"""Functions of the values of one row: which there are, what they take and give, and their many spellings."""
