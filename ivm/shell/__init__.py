"""`ivm shell`: statements and commands that are typed, piped in or given; answers to look at or to read in."""
