"""`ivm top`: what a database does, on a terminal, and again and again."""
