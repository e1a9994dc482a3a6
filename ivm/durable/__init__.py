"""A database that outlives its process: what is logged of it, and how it is found again."""
